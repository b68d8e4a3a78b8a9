"""Tests of when a node is started again: pauses, and when that is given up."""

import pytest

from rlcomponents.launching import endings, restarts, watched

KILLED = endings.Failure("was ended by signal SIGKILL", by_signal=True)


class Node(watched.Node):
    def poll(self) -> None:
        """Nothing to do, like the others."""

    _start = request_stop = interrupt = kill = close = poll


@pytest.fixture
def node(tmp_path):
    return Node("a/0", tmp_path / "log")


def pauses(node, *steps_completed, lived_secs=59.9):
    """Pauses in seconds after deaths; None where the program is to end."""
    planner = restarts.Restarts()
    found = []
    for steps in steps_completed:
        node.start()
        node.signs.steps = steps
        restart = planner.plan(node, KILLED, now_secs=node.started_secs + lived_secs)
        is_start = isinstance(restart, endings.Restart)
        found.append(restart.pause_secs if is_start else None)
    return found


def test_pauses_grow_also_where_each_life_completes_a_step(node):
    assert pauses(node, 0, 0) == [0.5, 1.0]
    assert pauses(node, 0, 0, 1, 0, 0) == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert pauses(node, *[9] * 9) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_long_life_makes_the_pause_short_again(node):
    assert pauses(node, 9, 9, 9, lived_secs=60.1) == [0.5, 0.5, 0.5]
    planner = restarts.Restarts()
    found = []
    for lived_secs in (1.0, 1.0, 100.0, 1.0):
        node.start()
        node.signs.steps = 9
        restart = planner.plan(node, KILLED, now_secs=node.started_secs + lived_secs)
        found.append(restart.pause_secs)
    assert found == [0.5, 1.0, 0.5, 1.0]


def test_a_long_life_without_a_step_counts_as_a_death_like_any(node):
    assert pauses(node, 0, 0, 0, lived_secs=1_000.0) == [0.5, 0.5, None]


def test_the_third_death_without_a_step_is_the_last(node):
    assert pauses(node, 0, 0, 0) == [0.5, 1.0, None]
    assert pauses(node, 0, 0, 1, 0, 0, 0)[-1] is None


def causes_of_the_end(node, failures, *, lived_secs=1.0):
    """Why there is no start after each death at the tenth step; None: there is."""
    planner = restarts.Restarts()
    found = []
    for failure in failures:
        node.start()
        node.signs.steps = 10
        planned = planner.plan(node, failure, node.started_secs + lived_secs)
        found.append(None if isinstance(planned, endings.Restart) else planned.cause)
    return found


def test_one_error_again_and_again_ends_the_program_whatever_steps_there_were(node):
    error = endings.Failure("failed with exit code 1: ValueError: no")
    other = error._replace(cause="failed with exit code 1: KeyError: 'no'")
    *starts, last = causes_of_the_end(node, [error] * 5)
    assert starts == [None] * 4
    assert last == f"died 5 times in a row alike; the last time it {error.cause}"
    assert causes_of_the_end(node, [error, error, other] * 3) == [None] * 9
    assert causes_of_the_end(node, [error, error, KILLED] * 3) == [None] * 9
    assert causes_of_the_end(node, [error] * 9, lived_secs=60.0) == [None] * 9


def test_nodes_are_counted_apart(node, tmp_path):
    planner = restarts.Restarts()
    other = Node("b/0", tmp_path / "other")
    for _ in range(2):
        for each in (node, other):
            assert isinstance(planner.plan(each, KILLED, 0.0), endings.Restart)


def test_a_start_is_due_after_its_pause(node):
    planner = restarts.Restarts()
    planner.plan(node, KILLED, now_secs=100.0)
    assert planner.due_secs(node) == 100.5
    planner.note_start(node)
    assert planner.due_secs(node) is None
    assert [each.node for each in planner.made] == ["a/0"]


def test_what_is_given_up_is_not_made(node):
    planner = restarts.Restarts()
    planner.plan(node, KILLED, now_secs=100.0)
    planner.give_up()
    assert planner.due_secs(node) is None
    assert planner.made == []
