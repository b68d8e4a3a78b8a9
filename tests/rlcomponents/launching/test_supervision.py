import signal

import pytest

from rlcomponents.launching import endings, supervision, watched

RAISED = endings.Failure("failed: ValueError: no", ["Traceback", "ValueError: no"])
KILLED = endings.Failure("was ended by signal SIGKILL", by_signal=True)


class FakeNode(watched.Node):
    """Ends when asked to, unless it is one of those that need more."""

    def __init__(self, name, tmp_path, tape, wake, *, ends_when="request_stop"):
        super().__init__(name, tmp_path / "log")
        self.log_path.touch()
        self._tape = tape
        self._wake = wake
        self._ends_when = ends_when
        self.on_poll = lambda: None

    def start(self):
        """Runs from the beginning."""

    def poll(self):
        self.on_poll()

    def request_stop(self):
        self._take("request_stop")

    def interrupt(self):
        self._take("interrupt")

    def kill(self):
        self._take("kill")

    def close(self):
        """Leaves nothing."""

    def _take(self, what):
        self._tape.append((what, self.name))
        if what in (self._ends_when, "kill"):
            self.ended = True
            self._wake.set()


@pytest.fixture
def wake():
    made = watched.Wake()
    yield made
    made.close()


@pytest.fixture
def tape():
    return []


@pytest.fixture
def make_node(tmp_path, tape, wake):
    def make(name, **settings):
        return FakeNode(name, tmp_path, tape, wake, **settings)

    return make


def run(nodes, wake, *, calls=None, notice_secs=60.0, signals=(), on_tick=None):
    supervisor = supervision.Supervisor(
        nodes,
        wake,
        calls={node.name: [] for node in nodes} | (calls or {}),
        notice_secs=notice_secs,
        on_tick=on_tick,
    )
    for number in signals:
        supervisor.receive_signal(number)
    wake.set()
    return supervisor.run()


def test_nodes_are_asked_after_those_that_call_them(make_node, wake, tape):
    nodes = [make_node("shard/0"), make_node("worker/0"), make_node("worker/1")]
    calls = {"worker/0": ["shard/0"], "worker/1": ["shard/0"]}
    nodes[1].called_stop = True
    assert run(nodes, wake, calls=calls)[:3] == (0, "stopped", "worker/0")
    assert tape == [
        ("request_stop", "worker/0"),
        ("request_stop", "worker/1"),
        ("request_stop", "shard/0"),
    ]


def test_nodes_that_call_each_other_are_asked_together(make_node, wake, tape):
    nodes = [make_node("a/0"), make_node("b/0")]
    nodes[0].called_stop = True
    run(nodes, wake, calls={"a/0": ["b/0"], "b/0": ["a/0"]})
    assert tape == [("request_stop", "a/0"), ("request_stop", "b/0")]


def test_a_node_that_calls_itself_is_asked(make_node, wake, tape):
    node = make_node("a/0")
    node.called_stop = True
    run([node], wake, calls={"a/0": ["a/0"]})
    assert tape == [("request_stop", "a/0")]


def test_a_node_is_asked_then_interrupted_then_killed(make_node, wake, tape):
    node = make_node("a/0", ends_when="kill")
    node.called_stop = True
    ending = run([node], wake, notice_secs=0.02)
    assert tape == [("request_stop", "a/0"), ("interrupt", "a/0"), ("kill", "a/0")]
    assert "a/0 had not stopped after" in ending.detail


def test_a_caller_that_does_not_stop_does_not_take_the_others_time(
    make_node, wake, tape
):
    nodes = [make_node("shard/0"), make_node("worker/0", ends_when="kill")]
    nodes[1].called_stop = True
    run(nodes, wake, calls={"worker/0": ["shard/0"]}, notice_secs=0.05)
    assert tape.index(("request_stop", "shard/0")) < tape.index(("kill", "worker/0"))


def test_without_notice_nodes_are_killed_at_once(make_node, wake, tape):
    node = make_node("a/0", ends_when="kill")
    node.called_stop = True
    run([node], wake, notice_secs=0.0)
    assert tape == [("request_stop", "a/0"), ("kill", "a/0")]


def test_a_second_ctrl_c_kills_at_once(make_node, wake, tape):
    node = make_node("a/0", ends_when="kill")
    ending = run([node], wake, signals=[signal.SIGINT, signal.SIGINT])
    assert ending[:2] == (130, "interrupted")
    assert tape == [("request_stop", "a/0"), ("kill", "a/0")]


def test_a_second_sigterm_changes_nothing(make_node, wake, tape):
    node = make_node("a/0")
    ending = run([node], wake, signals=[signal.SIGTERM, signal.SIGTERM])
    assert ending == (143, "terminated by SIGTERM", None, "")
    assert tape == [("request_stop", "a/0")]


def test_a_killed_node_is_the_cause_of_its_peers_failures(make_node, wake):
    nodes = [make_node("worker/0"), make_node("shard/0")]
    nodes[0].failure = RAISED
    nodes[1].failure = KILLED
    ending = run(nodes, wake)
    assert ending[:3] == (1, "node died", "shard/0")
    first, *_, last = ending.detail.splitlines()
    assert first.startswith("While the program was ending, worker/0 failed")
    assert last.startswith("Log file of shard/0")


def test_the_first_reason_stays(make_node, wake):
    node = make_node("a/0")

    def die():
        if ("request_stop", "a/0") in node._tape:
            node.failure = RAISED

    node.on_poll = die
    nodes = [node, make_node("b/0", ends_when="interrupt")]
    ending = run(nodes, wake, signals=[signal.SIGINT], notice_secs=0.02)
    assert ending[:3] == (130, "interrupted", None)
    assert "While the program was ending, a/0 failed" in ending.detail


def test_a_node_whose_function_is_over_but_hangs_is_killed_silently(
    make_node, wake, tape
):
    node = make_node("a/0")
    node.finished_secs = 0.0
    assert run([node], wake) == (0, "finished", None, "")
    assert tape == [("kill", "a/0")]


def test_a_late_wake_after_closing_is_harmless():
    late = watched.Wake()
    late.close()
    late.set()


def test_many_wakes_do_not_block(wake):
    for _ in range(100_000):
        wake.set()
    wake.wait(60.0)
