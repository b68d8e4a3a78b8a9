import socket

import launchpad as lp
import pytest

from rlcomponents.nodes import replay_node
from rlcomponents.testing import harness


class Shard:
    def __init__(self):
        self.updates = 0

    def push(self, gradient):
        self.updates += len(gradient)
        return self.updates


class Learner:
    def __init__(self, index, shards, *, replay=None):
        self.index = index
        self.replay = replay
        self._shards = shards

    def step(self):
        pushed = [shard.futures.push(b"abc") for shard in self._shards]
        return [future.result() for future in pushed]

    def run(self):
        raise AssertionError("A harness does not run what it builds.")


class Stopper:
    def step(self):
        lp.stop()


def build_program(replay=None):
    program = lp.Program("toy")
    with program.group("shard"):
        shards = [program.add_node(lp.CourierNode(Shard)) for _ in range(2)]
    with program.group("learner"):
        for index in range(2):
            node = lp.CourierNode(Learner, index, shards, replay=replay)
            program.add_node(node)
    program.add_node(lp.PyClassNode(Stopper), label="stopper")
    program.add_node(lp.PyNode(print), label="function")
    return program


def test_a_node_is_built_with_its_settings_and_works_on_its_peers():
    with harness.ProgramHarness(build_program()) as program:
        learner = program.build("learner/1")
        assert learner.index == 1
        assert learner.step() == [3, 3]
        assert program.build("shard/0").updates == 3


def test_nodes_share_their_peers():
    with harness.ProgramHarness(build_program()) as program:
        program.build("learner/0").step()
        assert program.build("learner/1").step() == [6, 6]
        assert program.build("learner/1") is program.build("learner/1")


class FakeShard:
    def __init__(self):
        self.futures = self

    def push(self, gradient):
        return self

    def result(self):
        return "fake"


def test_a_fake_stands_for_one_node_or_for_a_group():
    with harness.ProgramHarness(build_program(), {"shard/1": FakeShard()}) as program:
        assert program.build("learner/0").step() == [3, "fake"]
    with harness.ProgramHarness(build_program(), {"shard": FakeShard()}) as program:
        assert program.build("learner/0").step() == ["fake", "fake"]


def test_a_node_can_stop_the_program():
    with harness.ProgramHarness(build_program()) as program:
        assert not program.stopped
        program.build("stopper/0").step()
        assert program.stopped
        assert lp.wait_for_stop(0)


def test_arguments_are_as_restricted_as_over_courier():
    class Sender:
        def __init__(self, shard):
            self.shard = shard

    program = lp.Program("arrays")
    shard = program.add_node(lp.CourierNode(Shard), label="shard")
    program.add_node(lp.CourierNode(Sender, shard), label="sender")
    with harness.ProgramHarness(program) as built:
        sender = built.build("sender/0")
        with pytest.raises(TypeError, match="may never return"):
            sender.shard.push(bytearray(3))


@pytest.mark.parametrize("name", ["learnr/0", "learner/7", "function/0"])
def test_what_cannot_be_built_is_refused(name):
    with (
        harness.ProgramHarness(build_program()) as program,
        pytest.raises(ValueError, match="cannot be built alone: choose of shard/0, "),
    ):
        program.build(name)


def test_an_unknown_fake_is_refused():
    with pytest.raises(ValueError, match="a fake for 'shrd', but the nodes are"):
        harness.ProgramHarness(build_program(), {"shrd": None})


def test_nodes_that_need_each_other_need_a_fake():
    program = lp.Program("circle")
    nodes = [lp.CourierNode(list), lp.CourierNode(list)]
    handles = [node.create_handle() for node in nodes]
    nodes[0].configure(handles[1])
    nodes[1].configure(handles[0])
    for node, label in zip(nodes, "ab", strict=True):
        program.add_node(node, label=label)
    with (
        harness.ProgramHarness(program) as built,
        pytest.raises(ValueError, match="a/0 -> b/0 -> a/0 need each other"),
    ):
        built.build("a/0")


def _make_tables():
    import reverb

    return [reverb.Table.queue("queue", max_size=10)]


def test_a_replay_server_runs_as_long_as_the_harness():
    import reverb

    program = lp.Program("replay")
    replay = program.add_node(replay_node.ReplayNode(_make_tables), label="replay")
    program.add_node(lp.CourierNode(Learner, 0, [], replay=replay), label="learner")
    with harness.ProgramHarness(program) as built:
        address = built.build("learner/0").replay
        client = reverb.Client(address)
        client.insert([1.0], {"queue": 1.0})
        assert client.server_info()["queue"].current_size == 1
    host, _, port = address.partition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
