"""Tests of what the live view draws: given rows, expected text in view."""

import dataclasses

import pytest

from rlcomponents.runs import live_view, node_table

SHARD = node_table.NodeRow(
    name="parameters/0",
    state="running",
    log_path="parameters-0.log",
    pid=10,
    steps=900,
    updates_per_sec=157.3,
    discarded=2,
    staleness_updates=0.59,
    cpu_fraction=0.12,
    memory_bytes=131_000_000,
)
BUNDLE = node_table.NodeRow(
    name="bundle/0",
    state="running",
    log_path="bundle-0.log",
    pid=20,
    steps=900,
    agent_steps_per_sec=78.3,
    updates_per_sec=78.1,
    discarded=3,
    staleness_updates=0.61,
    replay_items=500,
    replay_capacity_items=2_000,
    inserts_per_sec=78.2,
    samples_per_sec=2_500.4,
    cpu_fraction=0.85,
    memory_bytes=431_000_000,
)
WAITING = node_table.NodeRow(
    name="evaluator/0",
    state="running",
    log_path="evaluator-0.log",
    pid=30,
    steps=1,
    waiting_for="replay/0: 120 of 1000 items",
    waiting_secs=12.0,
    cpu_fraction=0.02,
    memory_bytes=1_400_000_000,
)
STARTING = node_table.NodeRow(
    name="coordinator/0", state="starting", log_path="coordinator-0.log", pid=40
)
GRAPH = [
    SHARD,
    dataclasses.replace(SHARD, name="parameters/1", pid=11),
    BUNDLE,
    dataclasses.replace(BUNDLE, name="bundle/1", pid=21, starts=2),
    WAITING,
    STARTING,
]
PROGRESS = [
    live_view.Field("█████░░░░░", live_view.GOOD),
    live_view.Field("50% of 10,000 steps"),
    live_view.Field("1:15 left"),
]
TOTALS = [live_view.Field("157 steps/s"), live_view.Field("return 4.24")]
EVALUATION = "evaluation 4.30 ± 0.41 over 10 episodes, at step 4,000"


def bundles(number):
    return [
        dataclasses.replace(BUNDLE, name=f"bundle/{index}", pid=100 + index)
        for index in range(number)
    ]


def draw(nodes, *, width=79, height=40, coloured=False, evaluation=EVALUATION):
    picture = live_view.Picture(PROGRESS, TOTALS, nodes, evaluation)
    return live_view.draw(picture, width=width, height=height, coloured=coloured)


def table_of(nodes, **settings):
    """Returns the lines between the totals and the evaluation."""
    lines = draw(nodes, **settings)
    return [line for line in lines[2:-1] if line]


def state_of(row, width=119):
    return table_of([row], width=width)[1].split("  ")[-1]


def test_in_80_columns_there_are_speeds_usage_and_states():
    assert draw(GRAPH) == [
        "█████░░░░░   50% of 10,000 steps   1:15 left",
        "157 steps/s   return 4.24",
        "",
        "node           steps/s  updates/s    CPU  memory  state",
        "parameters/0                  157    12%  131 MB  running",
        "parameters/1                  157    12%  131 MB  running",
        "bundle/0          78.3       78.1    85%  431 MB  running",
        "bundle/1          78.3       78.1    85%  431 MB  running, restarted 2x",
        "evaluator/0                           2%  1.4 GB  "
        "waits for replay/0: 120 of 1…",
        "coordinator/0                                     starting",
        "",
        EVALUATION,
    ]


def test_in_120_columns_there_is_all_that_is_known():
    assert table_of(GRAPH, width=119)[:5] == [
        "node           steps/s  updates/s  stale  discarded  replay   in/s  out/s"
        "    CPU  memory  state",
        "parameters/0                  157   0.59          2"
        "                          12%  131 MB  running",
        "parameters/1                  157   0.59          2"
        "                          12%  131 MB  running",
        "bundle/0          78.3       78.1   0.61          3     25%   78.2  2,500"
        "    85%  431 MB  running",
        "bundle/1          78.3       78.1   0.61          3     25%   78.2  2,500"
        "    85%  431 MB  running, restarted 2x",
    ]


def test_a_column_in_which_nobody_has_a_number_is_left_out():
    titles = table_of([SHARD], width=119)[0].split()
    assert titles == [
        *("node", "updates/s", "stale", "discarded", "CPU", "memory", "state")
    ]


@pytest.mark.parametrize("width", [1, 10, 20, 40, 79, 100, 119, 200])
@pytest.mark.parametrize("height", [1, 2, 3, 6, 9, 12, 23, 50])
def test_nothing_is_wider_or_higher_than_the_terminal(width, height):
    lines = draw([*GRAPH, *bundles(16)], width=width, height=height, coloured=True)
    assert 1 <= len(lines) <= height
    assert max(map(live_view.plain_length, lines)) <= width


def test_nodes_of_the_largest_role_share_a_row_where_room_is_scarce():
    nodes = [*GRAPH[:2], *bundles(16), WAITING, STARTING]
    assert table_of(nodes, width=119, height=23) == [
        "node           steps/s  updates/s  stale  discarded  replay   in/s   out/s"
        "    CPU  memory  state",
        "parameters/0                  157   0.59          2"
        "                           12%  131 MB  running",
        "parameters/1                  157   0.59          2"
        "                           12%  131 MB  running",
        "bundle x 16      1,253      1,250   0.61         48     25%  1,251  40,006"
        "  1360%  6.9 GB  16 running",
        "evaluator/0                                                               "
        "     2%  1.4 GB  waits for replay/0: 120 of …",
        "coordinator/0                                                             "
        "                 starting",
    ]
    assert len(table_of(nodes, height=60)) == 1 + len(nodes)


def test_shards_together_do_as_many_updates_as_each_of_them():
    lines = table_of([*GRAPH[:2], *bundles(16), WAITING, STARTING], height=8)
    assert lines[1].split()[:4] == ["parameters", "x", "2", "157"]


def test_a_shared_row_tells_of_those_that_are_not_well():
    dead = dataclasses.replace(BUNDLE, name="bundle/16", pid=None, state="died")
    waiting = dataclasses.replace(WAITING, name="bundle/17", starts=1)
    line = table_of([*bundles(16), dead, waiting], width=130, height=9)[1]
    assert line.endswith("  1 died, 1 waits, 16 running, restarted 1x")


def test_where_rows_are_left_out_those_in_trouble_stay():
    nodes = [
        dataclasses.replace(BUNDLE, name=f"role_{index}/0", pid=index)
        for index in range(10)
    ]
    nodes[7] = dataclasses.replace(nodes[7], state="died", pid=None)
    lines = table_of(nodes, height=8)
    assert [line.split()[0] for line in lines[1:-1]] == [
        "role_0/0",
        "role_1/0",
        "role_7/0",
    ]
    assert lines[-1] == "and 7 more"


def test_at_ten_rows_there_are_still_progress_nodes_and_evaluation():
    lines = draw([*GRAPH, *bundles(16)], height=9)
    assert [line[:14].strip() for line in lines] == [
        *("█████░░░░░   5", "157 steps/s", "node"),
        *("parameters/0", "parameters/1", "bundle x 18"),
        *("evaluator/0", "coordinator/0", "evaluation 4.3"),
    ]


def test_totals_give_way_to_a_table_where_room_is_scarce():
    totals = [live_view.Field(f"a total, number {index:,}") for index in range(6)]
    picture = live_view.Picture(PROGRESS, totals, GRAPH, EVALUATION)
    lines = live_view.draw(picture, width=25, height=10, coloured=False)
    assert [line[:14] for line in lines] == [
        *("█████░░░░░", "50% of 10,000 ", "1:15 left"),
        *("a total, numbe", "a total, numbe"),
        *("node          ", "parameters x 2", "evaluator/0   ", "and 3 more"),
        "evaluation 4.3",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"steps": 0}, "running"),
        ({"state": "starting"}, "starting"),
        ({"state": "died"}, "died"),
        ({"state": "ended", "silent_secs": 99.0}, "ended"),
        ({"starts": 2}, "running, restarted 2x"),
        ({"silent_secs": 11.2}, "silent for 11 s"),
        ({"silent_secs": 11.2, "steps": 0}, "running"),  # It loads large libraries.
        ({"waiting_for": "parameters", "waiting_secs": 3.0}, "waits for parameters"),
        ({"waiting_for": "parameters", "waiting_secs": 0.2}, "running"),
    ],
)
def test_a_state_is_told_in_words(changes, expected):
    assert state_of(dataclasses.replace(BUNDLE, **changes)) == expected


def test_threads_use_one_process_together():
    nodes = [dataclasses.replace(row, pid=7) for row in GRAPH]
    lines = table_of(nodes, width=119)
    assert lines[-1].split() == ["all", "of", "them", "12%", "131", "MB"]
    assert [line for line in lines if "MB" in line] == [lines[-1]]


def test_a_node_that_has_ended_uses_nothing():
    ended = dataclasses.replace(
        BUNDLE, state="ended", pid=None, memory_bytes=0, cpu_fraction=0.0
    )
    assert "CPU" not in table_of([ended], width=119)[0]


def test_colours_are_those_of_progress_and_of_trouble(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    dead = dataclasses.replace(BUNDLE, state="died", pid=None)
    text = "\n".join(draw([BUNDLE, WAITING, dead], width=119, coloured=True))
    assert "\x1b[32m█████░░░░░\x1b[0m" in text
    assert "\x1b[33mwaits for replay/0: 120 of" in text
    assert "\x1b[31mdied" in text


def test_without_colours_there_are_no_escape_codes():
    assert "\x1b" not in "\n".join(draw(GRAPH, coloured=False))


def test_square_brackets_are_no_markup():
    named = dataclasses.replace(WAITING, waiting_for="the disk: [bold]x[/bold]")
    assert state_of(named) == "waits for the disk: [bold]x[/bold]"


def test_before_the_first_evaluation_the_table_is_the_last():
    assert draw(GRAPH, evaluation=None)[-1].split() == ["coordinator/0", "starting"]
