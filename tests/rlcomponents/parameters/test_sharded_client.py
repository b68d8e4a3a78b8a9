"""The sharded store: over shards in this process, and over courier servers."""

from concurrent import futures

import numpy as np
import pytest

from rlcomponents import core
from rlcomponents.parameters import sharded_client, update_rules
from rlcomponents.testing import in_process, store_contract

LAYOUT = store_contract.LAYOUT
ONES = store_contract.ONES


def make_client(clients, settings=None, **kwargs):
    settings = settings or store_contract.StoreSettings()
    return sharded_client.ShardedClient(
        settings.layout,
        clients,
        max_gradient_norm=settings.max_gradient_norm,
        **kwargs,
    )


def make_in_process(settings, num_shards):
    return [
        in_process.InProcessClient(settings.make_shard()) for _ in range(num_shards)
    ]


@pytest.mark.parametrize("num_shards", [1, 3, 7])
class TestShardedClientInProcess(store_contract.StoreContract):
    @pytest.fixture
    def make_store(self, num_shards):
        return lambda settings: make_client(
            make_in_process(settings, num_shards), settings
        )


@pytest.mark.integration
class TestShardedClientOverCourier(store_contract.StoreContract):
    @pytest.fixture
    def make_store(self, serve):
        return lambda settings: make_client(
            [serve(settings.make_shard()) for _ in range(3)], settings
        )


@pytest.fixture
def serve():
    """Serves objects over courier; returns a client of each."""
    courier = pytest.importorskip("courier")
    from launchpad.nodes.courier import courier_utils

    servers = []

    def start(instance, **client_settings):
        server = courier_utils.make_courier_server(instance)
        server.Start()
        servers.append(server)
        return courier.Client(server.address, **client_settings)

    start.servers = servers
    yield start
    for server in servers:
        server.Stop()
        server.Join()


class SilentClient:
    """Takes calls and never answers, as a dead server does."""

    address = "silent:1"

    def __init__(self):
        self.calls = []

    @property
    def futures(self):
        return self

    def __getattr__(self, method):
        def call(*args):
            self.calls.append((method, args, futures.Future()))
            return self.calls[-1][-1]

        return call


def test_a_silent_shard_is_named_after_the_timeout():
    silent = SilentClient()
    clients = [*make_in_process(store_contract.StoreSettings(), 2), silent]
    store = make_client(clients, call_timeout_secs=0.05)
    with pytest.raises(
        core.StoreUnavailableError,
        match=r"pull failed for 1 of 3 .*shard 2 at silent:1: no answer in 0\.05 s",
    ):
        store.pull()
    assert silent.calls[0][-1].cancelled()


def test_a_push_is_never_retried():
    settings = store_contract.StoreSettings()
    alive, silent = make_in_process(settings, 1)[0], SilentClient()
    make_client([alive, in_process.InProcessClient(settings.make_shard())]).initialise(
        ONES
    )
    store = make_client([alive, silent], call_timeout_secs=0.05)
    with pytest.raises(core.StoreUnavailableError, match="push failed for 1 of 2"):
        store.push(ONES, [core.Version(0, 0)] * 2, steps=1)
    assert [method for method, _, _ in silent.calls] == ["push"]
    assert store.statistics().updates == 1  # Shard 0 has applied its part, once.


def test_at_most_one_push_is_in_flight_to_a_shard():
    silent = SilentClient()
    store = make_client([silent], call_timeout_secs=5)
    with futures.ThreadPoolExecutor(2) as executor:
        pushes = [
            executor.submit(store.push, ONES, [core.Version(0, 0)], 1) for _ in range(2)
        ]
        for answered in range(2):
            while len(silent.calls) <= answered:
                futures.wait(pushes, timeout=0.001)
            # The second call comes only after the first was answered.
            futures.wait(pushes, timeout=0.05)
            assert len(silent.calls) == answered + 1
            silent.calls[answered][-1].set_result((0, ("applied", 0)))
    assert all(push.result().applied for push in pushes)


def test_all_shards_are_asked_before_any_has_answered():
    clients = [SilentClient() for _ in range(3)]
    store = make_client(clients)
    with futures.ThreadPoolExecutor(1) as executor:
        pull = executor.submit(store.pull)
        while not all(client.calls for client in clients):
            futures.wait([pull], timeout=0.001)
        for client, part in zip(clients, LAYOUT.shard_slices(3), strict=True):
            client.calls[0][-1].set_result((0, (ONES[part].tobytes(), 0, 5, 9, 0, 4)))
        snapshot = pull.result()
    np.testing.assert_array_equal(snapshot.vector, ONES)
    assert snapshot.versions == (core.Version(0, 5),) * 3
    assert snapshot.steps == 9


def test_an_error_inside_a_shard_is_not_mistaken_for_a_dead_one():
    class Broken:
        def pull(self, target):
            raise KeyError("a bug")

    store = make_client([in_process.InProcessClient(Broken())])
    with pytest.raises(RuntimeError, match="a bug") as caught:
        store.pull()
    assert not isinstance(caught.value, core.StoreUnavailableError)


def test_no_clients_and_no_timeout_are_refused():
    with pytest.raises(ValueError, match="0 parameter shards"):
        make_client([])
    with pytest.raises(ValueError, match="call_timeout_secs is 0"):
        make_client([SilentClient()], call_timeout_secs=0)


@pytest.mark.integration
@pytest.mark.parametrize("client_settings", [{}, {"call_timeout": 0.2}])
def test_a_dead_server_raises_instead_of_hanging(serve, client_settings):
    settings = store_contract.StoreSettings()
    clients = [serve(settings.make_shard(), **client_settings) for _ in range(2)]
    store = make_client(clients, call_timeout_secs=0.5)
    store.initialise(ONES)
    versions = store.pull().versions
    dead = serve.servers.pop()
    dead.Stop()
    dead.Join()
    address = f"shard 1 at {clients[1].address}"
    with pytest.raises(core.StoreUnavailableError, match=address):
        store.pull()
    with pytest.raises(core.StoreUnavailableError, match=address):
        store.push(ONES, versions, 1)
    assert store.statistics().updates == 1  # Shard 0 answers still.


@pytest.mark.integration
def test_a_saved_state_crosses_courier(serve):
    made = store_contract.StoreSettings(
        rule=update_rules.Adam(), target_period_updates=1
    ).make_shard()
    client = serve(made)
    store = make_client([client])
    store.initialise(ONES)
    store.push(ONES, store.pull().versions, 1)
    saved = client.save()
    assert saved.keys() == made.save().keys()
    for name, value in made.save().items():
        np.testing.assert_array_equal(saved[name], value)


@pytest.mark.integration
def test_a_client_waits_for_a_server_that_starts_later():
    courier = pytest.importorskip("courier")
    from launchpad.nodes.courier import courier_utils

    server = courier_utils.make_courier_server(
        store_contract.StoreSettings().make_shard()
    )
    store = make_client([courier.Client(server.address)])
    with futures.ThreadPoolExecutor(1) as executor:
        taken = executor.submit(store.initialise, ONES)
        futures.wait([taken], timeout=0.2)
        assert not taken.done()
        server.Start()
        assert taken.result()
    server.Stop()
    server.Join()
