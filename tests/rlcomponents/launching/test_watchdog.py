"""Tests of who is named, and who hangs."""

import pytest

from rlcomponents.launching import watchdog, watched


class Node(watched.Node):
    def poll(self) -> None:
        """Nothing to do, like the others."""

    _start = request_stop = interrupt = kill = close = poll


class Watch:
    """A watchdog with its nodes and a clock of its own, looking once a second."""

    def __init__(self, tmp_path, hang_timeout_secs=None):
        self.nodes = []
        self.hung = []
        self.lines = []
        self.now_secs = 0
        self._tmp_path = tmp_path
        self._watchdog = watchdog.Watchdog(hang_timeout_secs)

    def add(self, name):
        node = Node(name, self._tmp_path / "log")
        node.signs = watched.Signs(seen_secs=0.0)
        self.nodes.append(node)
        return node

    def run(self, secs, *pulses):
        """Lets time pass, while nodes say the same of themselves each second.

        Args:
            secs: How long.
            *pulses: A node, steps, whether it steps, and what it waits for.
        """
        begin_secs = self.now_secs
        for now_secs in range(begin_secs + 1, begin_secs + secs + 1):
            for node, steps, is_stepping, waiting_for in pulses:
                waiting_secs = now_secs - begin_secs if waiting_for else 0.0
                node.signs.take(now_secs, steps, is_stepping, waiting_for, waiting_secs)
            line, hung = self._watchdog.look(self.nodes, now_secs)
            self.hung += [(node.name, cause) for node, cause in hung]
            if line is not None:
                self.lines.append(line)
        self.now_secs += secs


@pytest.fixture
def watch(tmp_path):
    return Watch(tmp_path)


def test_a_node_that_waits_is_named_with_what_it_waits_for(watch):
    learner = watch.add("learner/1")
    watch.run(10, (learner, 5, True, "replay/0: 120 of 1000 items"))
    assert watch.lines == []
    watch.run(1, (learner, 5, True, "replay/0: 130 of 1000 items"))
    assert watch.lines == []
    watch.run(12, (learner, 5, True, "replay/0: 140 of 1000 items"))
    assert watch.lines == ["learner/1 has waited 11 s for replay/0: 140 of 1000 items"]


def test_a_node_that_says_nothing_is_named(watch):
    learner = watch.add("learner/0")
    watch.run(1, (learner, 5, True, None))
    watch.run(12)
    [line] = watch.lines
    assert line.startswith("learner/0 has shown no sign of life for 11 s (stopped, or")


def test_a_silent_node_is_named_with_what_it_last_waited_for(watch):
    learner = watch.add("learner/0")
    watch.run(1, (learner, 5, True, "replay/0: 3 of 9 items"))
    watch.run(12)
    assert watch.lines[0].endswith("; it last waited for replay/0: 3 of 9 items")


def test_a_node_that_is_starting_may_be_silent_for_longer(watch):
    learner = watch.add("learner/0")
    watch.run(60)
    assert watch.lines == []
    watch.run(2, (watch.add("other/0"), 1, True, None))
    assert learner.name in watch.lines[0]


def test_there_is_one_line_in_30_s_for_all_nodes(watch):
    nodes = [watch.add(f"worker/{index}") for index in range(3)]
    watch.run(100, *((node, 5, True, "parameters/0") for node in nodes))
    assert watch.lines == [
        "worker/0 has waited 11 s for parameters/0 (and 2 more)",
        "worker/0 has waited 41 s for parameters/0 (and 2 more)",
        "worker/0 has waited 71 s for parameters/0 (and 2 more)",
    ]


def test_the_silent_one_is_named_before_those_that_wait_for_it(watch):
    shard, worker = watch.add("parameters/0"), watch.add("worker/0")
    watch.run(1, (shard, 5, False, None))
    watch.run(15, (worker, 5, True, "parameters/0"))
    assert watch.lines[0].startswith("parameters/0 has shown no sign of life")


def test_nodes_that_get_on_are_not_named(watch):
    worker, server = watch.add("worker/0"), watch.add("parameters/0")
    for step in range(100):
        watch.run(1, (worker, step, True, "replay/0"), (server, 7, False, None))
    assert watch.lines == []


def test_without_a_limit_nothing_hangs(watch):
    worker = watch.add("worker/0")
    watch.run(1, (worker, 5, True, None))
    watch.run(10_000)
    assert watch.hung == []


def test_a_node_that_is_silent_for_too_long_hangs(tmp_path):
    watch = Watch(tmp_path, hang_timeout_secs=20.0)
    worker = watch.add("worker/0")
    watch.run(1, (worker, 5, False, None))
    watch.run(20)
    assert watch.hung == []
    watch.run(1)
    assert watch.hung == [("worker/0", "was silent for 21 s and was killed")]


def test_a_node_that_works_on_one_step_for_too_long_hangs(tmp_path):
    watch = Watch(tmp_path, hang_timeout_secs=20.0)
    worker = watch.add("worker/0")
    watch.run(22, (worker, 5, True, None))
    [(name, cause)] = watch.hung
    assert name == "worker/0"
    assert cause.startswith("has completed no step for 21 s, waiting for nobody, and w")


@pytest.mark.parametrize(
    "pulse",
    [
        pytest.param((5, True, "replay/0"), id="waits for another"),
        pytest.param((5, False, None), id="serves, or stands still"),
        pytest.param((0, True, None), id="is starting"),
    ],
)
def test_what_is_no_hang(tmp_path, pulse):
    watch = Watch(tmp_path, hang_timeout_secs=20.0)
    watch.run(200, (watch.add("worker/0"), *pulse))
    assert watch.hung == []


def test_a_launcher_that_was_itself_stopped_blames_nobody(tmp_path):
    watch = Watch(tmp_path, hang_timeout_secs=20.0)
    worker = watch.add("worker/0")
    watch.run(1, (worker, 5, True, None))
    watch.now_secs = 1_000
    watch.run(5)
    assert (watch.lines, watch.hung) == ([], [])
