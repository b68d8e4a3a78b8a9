"""The sharded store: over shards in this process, and over courier servers."""

from concurrent import futures

import numpy as np
import pytest

from rlcomponents import core, schedules
from rlcomponents.parameters import shard, sharded_client, update_rules
from rlcomponents.testing import in_process, store_contract

LAYOUT = store_contract.LAYOUT
ONES = store_contract.ONES

SETTINGS = {
    "rule": update_rules.SGD(),
    "learning_rate": schedules.Constant(1.0),
    "max_staleness_updates": None,
    "target_period_updates": None,
}


def make_client(clients, settings=None, **kwargs):
    settings = settings or store_contract.StoreSettings()
    kwargs = {"should_stop": lambda: False, **kwargs}
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
        return courier.Client(server.address, wait_for_ready=False, **client_settings)

    start.servers = servers
    yield start
    for server in servers:
        server.Stop()
        server.Join()


class SilentClient:
    """Takes calls and never answers, as a dead server does."""

    address = "silent"

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


def make_flaky(call_timeout_secs=5.0):
    """Returns an initialised store of two shards, and its clients."""
    settings = store_contract.StoreSettings()
    clients = [in_process.FlakyClient(settings.make_shard()) for _ in range(2)]
    store = make_client(clients, call_timeout_secs=call_timeout_secs)
    store.initialise(ONES)
    return store, clients


def parts_of(vector):
    return [vector[part] for part in LAYOUT.shard_slices(2)]


def test_a_pull_waits_until_a_shard_is_back():
    store, clients = make_flaky(call_timeout_secs=0.3)
    failures = [
        in_process.Unavailable("Socket closed"),
        futures.Future(),
        in_process.Unavailable("gone"),
    ]
    clients[1].fails = lambda method: failures.pop(0) if failures else None
    snapshot = store.pull()
    np.testing.assert_array_equal(snapshot.vector, ONES)
    assert not failures


def test_a_pull_that_waited_is_new_from_every_shard():
    store, clients = make_flaky()
    versions = store.pull().versions
    other = make_client(clients)

    def fails(method):
        clients[1].fails = lambda method: None
        other.push(ONES, versions, steps=1)  # After shard 0 has answered, perhaps.
        return in_process.Unavailable("Socket closed")

    clients[1].fails = fails
    np.testing.assert_array_equal(store.pull().vector, 0 * ONES)


def test_statistics_and_initial_parameters_wait_too():
    store, clients = make_flaky()
    for method in ("statistics", "initialise"):
        clients[0].fail_once(method, in_process.Unavailable("Socket closed"))
    clients[0].fail_once("statistics", in_process.Unavailable("Socket closed"))
    assert store.statistics().updates == 0
    clients[0].fail_once("initialise", in_process.Unavailable("Socket closed"))
    assert not store.initialise(ONES)


def test_a_lost_push_is_said_and_never_sent_again():
    store, clients = make_flaky()
    snapshot = store.pull()
    clients[1].fail_once("push", in_process.Unavailable("Socket closed"))
    result = store.push(ONES, snapshot.versions, steps=1)
    assert result.verdicts == (core.Verdict.APPLIED, core.Verdict.LOST)
    assert not result.applied
    after = store.pull()
    assert [version.updates for version in after.versions] == [1, 0]
    assert [client.calls.count("push") for client in clients] == [1, 1]
    assert store.push(ONES, after.versions, steps=1).applied


def test_a_shard_that_hangs_holds_up_one_push_only():
    store, clients = make_flaky(call_timeout_secs=0.3)
    versions = store.pull().versions
    silence = futures.Future()
    clients[1].fails = lambda method: silence
    for updates in range(3):
        versions = [core.Version(0, updates), core.Version(0, 0)]
        result = store.push(ONES, versions, steps=1)
        assert result.verdicts == (core.Verdict.APPLIED, core.Verdict.LOST)
    assert clients[1].calls.count("push") == 1
    assert silence.cancelled()


def test_steps_that_a_shard_lost_are_not_counted_twice():
    store, clients = make_flaky()
    store.add_steps(3)
    clients[0].fail_once("add_steps", in_process.Unavailable("Socket closed"))
    assert store.add_steps(4) == 3
    assert clients[0].calls.count("add_steps") == 2
    assert store.add_steps(5) == 8


def test_a_shard_that_comes_back_empty_is_offered_the_initial_parameters(capsys):
    store, clients = make_flaky()
    store.push(ONES, store.pull().versions, steps=1)
    clients[1]._instance = store_contract.StoreSettings().make_shard()
    changed, anew = parts_of(store.pull().vector)
    assert set(changed) == {0.0}
    assert set(anew) == {1.0}
    assert "parameters/1 came back without its parameters" in capsys.readouterr().out


def test_a_push_to_a_shard_that_came_back_empty_is_lost():
    store, clients = make_flaky()
    versions = store.pull().versions
    clients[1]._instance = store_contract.StoreSettings().make_shard()
    result = store.push(ONES, versions, steps=1)
    assert result.verdicts == (core.Verdict.APPLIED, core.Verdict.LOST)
    assert store.push(ONES, store.pull().versions, 1).applied


def test_a_gradient_for_a_shard_that_was_restored_is_discarded_there():
    store, clients = make_flaky()
    store.push(ONES, store.pull().versions, steps=1)
    saved = clients[1]._instance.save()
    store.push(ONES, store.pull().versions, steps=1)
    newer = store.pull().versions
    again = shard.ParameterShard(**SETTINGS, epoch=1)
    again.restore(saved)
    clients[1]._instance = again
    result = store.push(ONES, newer, steps=1)
    assert result.verdicts == (core.Verdict.APPLIED, core.Verdict.OTHER_EPOCH)
    snapshot = store.pull()
    assert snapshot.versions == (core.Version(0, 3), core.Version(2, 1))
    first, second = parts_of(snapshot.vector)
    assert (set(first), set(second)) == ({-2.0}, {0.0})


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

    def answer(replies):
        while not all(client.calls for client in clients):
            futures.wait([pull], timeout=0.001)
        for client, reply in zip(clients, replies, strict=True):
            client.calls.pop()[-1].set_result((0, reply))

    with futures.ThreadPoolExecutor(1) as executor:
        pull = executor.submit(store.pull)
        answer([(0, 0, 0, 0, 0)] * 3)  # They are new: are they there?
        parts = [ONES[part].tobytes() for part in LAYOUT.shard_slices(3)]
        answer([(part, 0, 5, 9, 0, 4) for part in parts])
        snapshot = pull.result()
    np.testing.assert_array_equal(snapshot.vector, ONES)
    assert snapshot.versions == (core.Version(0, 5),) * 3
    assert snapshot.steps == 9


def test_an_error_inside_a_shard_is_not_mistaken_for_a_dead_one():
    class Broken:
        def statistics(self):
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
    store = make_client([courier.Client(server.address, wait_for_ready=False)])
    with futures.ThreadPoolExecutor(1) as executor:
        taken = executor.submit(store.initialise, ONES)
        futures.wait([taken], timeout=0.2)
        assert not taken.done()
        server.Start()
        assert taken.result()
    server.Stop()
    server.Join()
