import datetime
import signal
import types

import pytest

from rlcomponents.launching import endings, restarts, screen, supervision, watched

STOPS = {"called_stop": True}
RAISED = endings.Failure("failed: ValueError: no", ["Traceback", "ValueError: no"])
KILLED = endings.Failure("was ended by signal SIGKILL", by_signal=True)


class FakeNode(watched.Node):
    """Ends when asked to, unless it is one of those that need more.

    Each start takes the next of its lives: attributes that it then has. An error among
    them is raised instead.
    """

    def __init__(self, name, tmp_path, tape, wake, *lives, ends_when="request_stop"):
        super().__init__(name, tmp_path / "log")
        self.log_path.touch()
        self._tape = tape
        self._wake = wake
        self._lives = list(lives)
        self._ends_when = ends_when
        self.on_poll = lambda: None

    def _start(self):
        if self.starts:
            self._take("start")
        life = self._lives.pop(0) if self._lives else {}
        if isinstance(life, Exception):
            raise life
        for name, value in life.items():
            setattr(self, name, value)
            self._wake.set()

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


class FakeWake:
    """Seconds pass only while the supervisor waits, and then at once."""

    def __init__(self):
        self.now_secs = 1_000.0
        self._is_set = False

    def set(self):
        self._is_set = True

    def wait(self, timeout_secs):
        if not self._is_set:
            self.now_secs += max(0.0, timeout_secs)
        self._is_set = False


@pytest.fixture
def wake(monkeypatch):
    made = FakeWake()
    clock = types.SimpleNamespace(monotonic=lambda: made.now_secs)
    monkeypatch.setattr(supervision, "time", clock)
    return made


@pytest.fixture
def tape():
    return []


@pytest.fixture
def make_node(tmp_path, tape, wake):
    def make(name, *lives, **settings):
        return FakeNode(name, tmp_path, tape, wake, *lives, **settings)

    return make


def run(
    nodes,
    wake,
    *,
    calls=None,
    notice_secs=60.0,
    signals=(),
    on_tick=None,
    restart_nodes=False,
    on_message=lambda line: None,
):
    supervisor = supervision.Supervisor(
        nodes,
        wake,
        calls={node.name: [] for node in nodes} | (calls or {}),
        notice_secs=notice_secs,
        restart_nodes=restart_nodes,
        shown_on=screen.Screen(on_tick, on_message),
    )
    for number in signals:
        supervisor.receive_signal(number)
    wake.set()
    return supervisor.run()


@pytest.fixture
def no_pauses(monkeypatch):
    monkeypatch.setattr(restarts, "_FIRST_PAUSE_SECS", 0.0)


def death(failure=KILLED, *, steps=0):
    signs = watched.Signs(seen_secs=0.0, steps=steps)
    return {"failure": failure, "ended": True, "signs": signs}


def test_nodes_are_asked_after_those_that_call_them(make_node, wake, tape):
    nodes = [make_node("shard/0"), make_node("worker/0", STOPS), make_node("worker/1")]
    calls = {"worker/0": ["shard/0"], "worker/1": ["shard/0"]}
    assert run(nodes, wake, calls=calls)[:3] == (0, "stopped", "worker/0")
    assert tape == [
        ("request_stop", "worker/0"),
        ("request_stop", "worker/1"),
        ("request_stop", "shard/0"),
    ]


def test_nodes_that_call_each_other_are_asked_together(make_node, wake, tape):
    nodes = [make_node("a/0", STOPS), make_node("b/0")]
    run(nodes, wake, calls={"a/0": ["b/0"], "b/0": ["a/0"]})
    assert tape == [("request_stop", "a/0"), ("request_stop", "b/0")]


def test_a_node_that_calls_itself_is_asked(make_node, wake, tape):
    node = make_node("a/0", STOPS)
    run([node], wake, calls={"a/0": ["a/0"]})
    assert tape == [("request_stop", "a/0")]


def test_a_node_is_asked_then_interrupted_then_killed(make_node, wake, tape):
    node = make_node("a/0", STOPS, ends_when="kill")
    ending = run([node], wake, notice_secs=10.0)
    assert tape == [("request_stop", "a/0"), ("interrupt", "a/0"), ("kill", "a/0")]
    assert ending.detail.startswith("a/0 had not stopped after 10.0 s and was killed")


def test_a_caller_that_does_not_stop_does_not_take_the_others_time(
    make_node, wake, tape
):
    nodes = [make_node("shard/0"), make_node("worker/0", STOPS, ends_when="kill")]
    run(nodes, wake, calls={"worker/0": ["shard/0"]}, notice_secs=10.0)
    assert tape.index(("request_stop", "shard/0")) < tape.index(("kill", "worker/0"))


def test_the_coordinator_is_asked_when_those_whose_states_it_saves_have_ended(
    make_node, wake, tape
):
    nodes = [
        make_node("shard/0"),
        make_node("replay/0"),
        make_node("worker/0"),
        make_node("coordinator/0"),
        make_node("evaluator/0"),
    ]
    calls = {name: ["shard/0"] for name in ("coordinator/0", "evaluator/0")}
    calls["worker/0"] = ["replay/0", "shard/0"]
    run(nodes, wake, calls=calls, signals=[signal.SIGINT])
    asked = [name for what, name in tape if what == "request_stop"]
    assert asked[:2] == ["worker/0", "evaluator/0"]
    assert sorted(asked[2:4]) == ["coordinator/0", "replay/0"]
    assert asked[4:] == ["shard/0"]


def test_the_coordinator_waits_for_no_server_that_saves_its_own(make_node, wake, tape):
    nodes = [
        make_node("replay/0", ends_when="kill"),
        make_node("worker/0"),
        make_node("coordinator/0"),
    ]
    start_secs = wake.now_secs
    asked_secs = note_requests(nodes[2], wake)
    run(nodes, wake, calls={"worker/0": ["replay/0"]}, signals=[signal.SIGINT])
    assert asked_secs == [start_secs]


def test_a_worker_that_hangs_keeps_the_coordinator_from_saving_for_a_quarter(
    make_node, wake, tape
):
    nodes = [
        make_node("shard/0"),
        make_node("worker/0", ends_when="kill"),
        make_node("coordinator/0"),
    ]
    start_secs = wake.now_secs
    coordinator_secs = note_requests(nodes[2], wake)
    shard_secs = note_requests(nodes[0], wake)
    calls = {"worker/0": ["shard/0"], "coordinator/0": ["shard/0"]}
    run(nodes, wake, calls=calls, notice_secs=10.0, signals=[signal.SIGINT])
    assert coordinator_secs == [start_secs + 2.5]
    assert shard_secs == [start_secs + 5.0]  # Time for the save in between.
    assert wake.now_secs == start_secs + 10.0


def note_requests(node, wake):
    """Returns a list that grows by the time of each request to stop."""
    asked_secs, request_stop = [], node.request_stop

    def note():
        asked_secs.append(wake.now_secs)
        request_stop()

    node.request_stop = note
    return asked_secs


def test_without_notice_nodes_are_killed_at_once(make_node, wake, tape):
    node = make_node("a/0", STOPS, ends_when="kill")
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
    assert ending[:4] == (143, "terminated by SIGTERM", None, "")
    assert tape == [("request_stop", "a/0")]


def test_a_killed_node_is_the_cause_of_its_peers_failures(make_node, wake):
    nodes = [
        make_node("worker/0", {"failure": RAISED}),
        make_node("shard/0", {"failure": KILLED}),
    ]
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
    ending = run(nodes, wake, signals=[signal.SIGINT], notice_secs=10.0)
    assert ending[:3] == (130, "interrupted", None)
    assert "While the program was ending, a/0 failed" in ending.detail


def test_a_node_whose_function_is_over_but_hangs_is_killed_silently(
    make_node, wake, tape
):
    node = make_node("a/0", {"finished_secs": 0.0})
    assert run([node], wake)[:4] == (0, "finished", None, "")
    assert tape == [("kill", "a/0")]


# --------------------------------------------------------------------- starting again


def test_a_dead_node_is_started_again_and_its_peers_are_not(
    make_node, wake, tape, no_pauses
):
    nodes = [make_node("a/0", death(), STOPS), make_node("b/0")]
    said = []
    ending = run(nodes, wake, restart_nodes=True, on_message=said.append)
    assert ending[:4] == (0, "stopped", "a/0", "")
    assert tape[0] == ("start", "a/0")
    assert [what for what, name in tape if name == "b/0"] == ["request_stop"]
    [restart] = ending.restarts
    assert (restart.node, restart.cause) == ("a/0", "was ended by signal SIGKILL")
    assert restart.starts == 1
    assert datetime.datetime.fromisoformat(restart.time).utcoffset().seconds == 0
    [line] = said
    assert line.startswith("a/0 was ended by signal SIGKILL; it starts again in 0 s")
    assert line.endswith(f"log: {nodes[0].log_path}")


def test_nodes_that_die_at_once_are_all_started_again(make_node, wake, no_pauses):
    nodes = [make_node("a/0", death(), STOPS), make_node("b/0", death(RAISED))]
    ending = run(nodes, wake, restart_nodes=True)
    assert ending[:4] == (0, "stopped", "a/0", "")
    assert sorted(each.node for each in ending.restarts) == ["a/0", "b/0"]


def test_three_deaths_without_a_step_end_the_program(make_node, wake, tape, no_pauses):
    nodes = [make_node("a/0", death(), death(), death(RAISED)), make_node("b/0")]
    ending = run(nodes, wake, restart_nodes=True)
    assert ending[:3] == (1, "node died", "a/0")
    assert ending.detail.splitlines() == [
        "a/0 died 3 times in a row without completing a step; the last time it failed: "
        "ValueError: no",
        "Last frames of its traceback:",
        "Traceback",
        "ValueError: no",
        f"Log file of a/0: {nodes[0].log_path}",
    ]
    assert len(ending.restarts) == 2
    assert ("request_stop", "b/0") in tape


def test_deaths_with_steps_between_them_do_not_end_the_program(
    make_node, wake, no_pauses
):
    lives = [death(), death(), death(steps=1), death(), death(), STOPS]
    ending = run([make_node("a/0", *lives)], wake, restart_nodes=True)
    assert ending[:4] == (0, "stopped", "a/0", "")
    assert [each.starts for each in ending.restarts] == [1, 2, 3, 4, 5]


def test_a_node_that_says_that_no_start_would_help_is_not_started(
    make_node, wake, no_pauses
):
    fatal = endings.Failure("failed: FatalError: no", is_fatal=True)
    ending = run([make_node("a/0", death(fatal, steps=9))], wake, restart_nodes=True)
    assert ending[:3] == (1, "node died", "a/0")
    assert ending.detail.startswith("a/0 failed: FatalError: no")
    assert ending.restarts == ()


def test_a_node_that_cannot_be_started_has_died(make_node, wake):
    full = OSError(11, "Resource temporarily unavailable")
    ending = run([make_node("a/0", full), make_node("b/0")], wake)
    assert ending[:3] == (1, "node died", "a/0")
    first = ending.detail.splitlines()[0]
    assert first == (
        "a/0 could not be started: [Errno 11] Resource temporarily unavailable"
    )


def test_a_start_that_failed_is_tried_again(make_node, wake, no_pauses):
    full = OSError(11, "Resource temporarily unavailable")
    ending = run([make_node("a/0", full, STOPS)], wake, restart_nodes=True)
    assert ending[:4] == (0, "stopped", "a/0", "")
    assert len(ending.restarts) == 1


@pytest.mark.parametrize(
    ("number", "exit_code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
)
def test_a_signal_in_the_pause_before_a_start_ends_the_program_without_it(
    make_node, wake, tape, monkeypatch, number, exit_code
):
    monkeypatch.setattr(restarts, "_FIRST_PAUSE_SECS", 60.0)
    nodes = [make_node("a/0", death()), make_node("b/0")]
    supervisor = supervision.Supervisor(
        nodes,
        wake,
        calls={"a/0": [], "b/0": []},
        notice_secs=60.0,
        restart_nodes=True,
        shown_on=screen.Screen(None, lambda line: supervisor.receive_signal(number)),
    )
    wake.set()
    ending = supervisor.run()
    assert ending.exit_code == exit_code
    assert ending.restarts == ()
    assert tape == [("request_stop", "b/0")]


def test_nothing_is_started_while_the_program_ends(make_node, wake, tape, no_pauses):
    node = make_node("a/0", ends_when=None)

    def die():
        if ("request_stop", "a/0") in tape:
            node.failure, node.ended = RAISED, True

    node.on_poll = die
    ending = run([node, make_node("b/0", STOPS)], wake, restart_nodes=True)
    assert ending[:3] == (0, "stopped", "b/0")
    assert ending.restarts == ()
    assert ("start", "a/0") not in tape


def test_a_program_waits_for_a_start_even_when_all_others_have_ended(
    make_node, wake, monkeypatch
):
    monkeypatch.setattr(restarts, "_FIRST_PAUSE_SECS", 60.0)
    nodes = [make_node("a/0", death(), STOPS), make_node("b/0", {"ended": True})]
    assert run(nodes, wake, restart_nodes=True).reason == "stopped"


# -------------------------------------------------------------------------- the screen


def test_what_a_node_says_is_shown_with_its_name_and_once(make_node, wake):
    node = make_node("a/0", STOPS)
    node.messages.extend(["disk full", "disk full", "disk is back"])
    said = []
    run([node], wake, on_message=said.append)
    assert said == ["a/0: disk full", "a/0: disk is back"]
