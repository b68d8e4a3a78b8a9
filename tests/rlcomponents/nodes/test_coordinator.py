"""Tests of rlcomponents.nodes.coordinator, on real files and a real store."""

import errno
import json
import os
import time

import numpy as np
import pytest

from rlcomponents import core, pulse, schedules
from rlcomponents.nodes import coordinator as coordinators
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, shard, sharded_client, update_rules
from rlcomponents.runs import (
    atomic_files,
    checkpoints,
    metrics,
    node_state,
    run_folder,
    summary,
)
from rlcomponents.testing import fakes, in_process

LAYOUT = layouts.ParameterLayout(["w", "b"], [[2, 3], [3]])
INITIAL = np.arange(LAYOUT.num_parameters, dtype=np.float32)
MAX_STEPS = 1_000


def make_store():
    return local_store.LocalStore(
        LAYOUT,
        update_rules.AdaGrad(),
        schedules.Constant(0.1),
        max_staleness_updates=0,
        target_period_updates=2,
    )


class Program:
    """A run folder with what workers, evaluator and shards of a program do in it."""

    def __init__(self, path):
        self.folder = run_folder.RunFolder.create(path / "run")
        self.clock = fakes.ManualClock(1_000.0)
        self.store = make_store()
        self.num_stops = 0
        self._writers = {}

    def coordinator(self, **settings):
        settings = {
            "agent": "gorila_dqn",
            "environment": "atari:pong",
            "max_steps": MAX_STEPS,
            "frames_per_step": 4,
            "replay_capacity_items": 5_000,
            "checkpoint_period_secs": 60.0,
            "stop_program": self._stop,
            "wait_for_stop": lambda timeout_secs: False,
            "clock": self.clock,
            "statistics": self.store.statistics,
            "shards": [self.store],
            **settings,
        }
        return coordinators.Coordinator(
            settings.pop("statistics"), settings.pop("shards"), self.folder, **settings
        )

    def learn(self, steps, *, secs=0.0):
        """Takes agent steps and applies one gradient, in some seconds."""
        self.clock.secs += secs
        self.store.initialise(INITIAL)
        versions = self.store.pull().versions
        self.store.push(np.ones_like(INITIAL), versions, steps)

    def report(self, node, **row):
        """Writes the row of a worker."""
        self._write(self.folder.metrics / f"{node}.csv", metrics.WORKER_COLUMNS, row)

    def evaluate(
        self, agent_steps, mean_return, *, final=0, episodes=10, standard_error=None
    ):
        """Writes the row of the evaluator."""
        row = {
            "agent_steps": agent_steps,
            "mean_return": mean_return,
            "episodes": episodes,
            "standard_error": standard_error,
            "final": final,
        }
        self._write(self.folder.evaluation_csv, metrics.EVALUATION_COLUMNS, row)

    def rows(self):
        return metrics.MetricsFile(self.folder.program_csv).read_new()

    def last(self, *columns):
        row = self.rows()[-1]
        return [row[column] for column in columns]

    def summary(self):
        return summary.read(self.folder.summary_json)

    def checkpoints(self):
        return sorted(path.name for path in self.folder.checkpoints.glob("step_*"))

    def _write(self, path, columns, row):
        if path not in self._writers:
            self._writers[path] = metrics.MetricsWriter(path, columns)
        self._writers[path].write(row)

    def _stop(self):
        self.num_stops += 1


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


# Rows.


def test_counts_are_those_of_the_store(program):
    coordinator = program.coordinator()
    program.learn(3)
    stale = program.store.pull().versions
    program.learn(4)
    program.store.push(np.ones_like(INITIAL), stale, 5)
    coordinator.step()
    assert program.last("agent_steps", "environment_frames") == [12, 48]
    assert program.last("updates", "discarded_stale", "mean_staleness_updates") == [
        2,
        1,
        0,
    ]


def test_counts_of_several_workers_are_added_up(program):
    coordinator = program.coordinator()
    program.report("bundle-0", episodes=2, discarded_outlier=1, replay_items=10)
    program.report("bundle-1", episodes=5, discarded_outlier=3, replay_items=20)
    coordinator.step()
    columns = ("episodes", "discarded_outlier", "replay_items", "replay_capacity_items")
    assert program.last(*columns) == [7, 4, 30, 5_000]
    program.report("bundle-1", episodes=6, discarded_outlier=4, replay_items=25)
    coordinator.step()
    assert program.last(*columns) == [8, 5, 35, 5_000]


def test_workers_without_a_column_add_nothing(program):
    coordinator = program.coordinator()
    program.report("actor-0", agent_steps=5, episodes=2, episode_return=1.0)
    program.report("learner-0", updates=3, loss=0.5, replay_items=10)
    coordinator.step()
    assert program.last("episodes", "replay_items", "train_return") == [2, 10, 1]


def test_there_is_one_row_a_round(program):
    coordinator = program.coordinator()
    for _ in range(3):
        program.learn(10, secs=1.0)
        coordinator.step()
    assert [row["agent_steps"] for row in program.rows()] == [10, 20, 30]


def test_a_row_has_every_column(program):
    program.coordinator().step()
    [row] = program.rows()
    assert row.keys() == set(metrics.PROGRAM_COLUMNS)
    blank = [column for column, value in row.items() if value is None]
    assert blank == ["train_return", "evaluation_return"]


def test_the_training_return_is_the_mean_over_games_not_over_rows(program):
    coordinator = program.coordinator()
    program.report("bundle-0", episodes=3, episode_return=1.0)
    program.report("bundle-1", episodes=1, episode_return=5.0)
    coordinator.step()
    assert program.last("train_return") == [2.0]
    program.report("bundle-1", episodes=1)  # No game has ended since.
    program.report("bundle-0", episodes=5, episode_return=8.0)
    coordinator.step()
    assert program.last("train_return") == [4.0]


def test_the_training_return_is_that_of_recent_games(program):
    coordinator = program.coordinator()
    for episodes, episode_return in ((90, 0.0), (180, 1.0), (190, 4.0)):
        program.report("bundle-0", episodes=episodes, episode_return=episode_return)
        coordinator.step()
    # The first 90 games are forgotten once there are a hundred without them.
    returns = [row["train_return"] for row in program.rows()]
    assert returns == [0.0, 90 * 1.0 / 180, (90 * 1.0 + 10 * 4.0) / 100]


def test_a_worker_that_starts_again_takes_no_games_back(program):
    coordinator = program.coordinator()
    for episodes, episode_return in ((50, 1.0), (2, None), (3, 3.0)):
        program.report("bundle-0", episodes=episodes, episode_return=episode_return)
        coordinator.step()
    assert program.last("train_return") == [(50 * 1.0 + 3.0) / 51]


def test_its_own_rows_are_not_a_workers(program):
    coordinator = program.coordinator()
    for _ in range(3):
        program.report("bundle-0", episodes=2, episode_return=1.0)
        coordinator.step()
    assert program.last("episodes") == [2]


def test_the_newest_evaluation_is_in_the_row(program):
    coordinator = program.coordinator()
    program.evaluate(100, 1.5)
    program.evaluate(200, 2.5)
    coordinator.step()
    coordinator.step()
    assert [row["evaluation_return"] for row in program.rows()] == [2.5, 2.5]


# Rates.


def test_rates_are_those_of_the_last_seconds(program):
    coordinator = program.coordinator()
    for steps in [10] * 20 + [30] * 10:
        coordinator.step()
        program.learn(steps, secs=1.0)
    coordinator.step()
    columns = ("steps_per_sec", "frames_per_sec", "updates_per_sec")
    assert program.last(*columns) == [30.0, 120.0, 1.0]


def test_a_long_round_has_a_rate_too(program):
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(500, secs=100.0)
    coordinator.step()
    assert program.last("steps_per_sec") == [5.0]


def test_there_is_no_rate_before_the_second_round(program):
    coordinator = program.coordinator()
    program.learn(500)
    coordinator.step()
    coordinator.step()  # At the same moment.
    assert [row["steps_per_sec"] for row in program.rows()] == [0.0, 0.0]


def test_wall_time_and_overall_rates_begin_with_the_first_step(program):
    coordinator = program.coordinator()
    for _ in range(30):  # Seconds in which nodes start.
        coordinator.step()
        program.clock.secs += 1.0
    coordinator.step()
    for _ in range(5):
        program.learn(40, secs=1.0)
        coordinator.step()
    assert program.last("wall_secs") == [5.0]
    assert program.summary().steps_per_sec == 40.0
    assert program.summary().updates_per_sec == 1.0


def test_overall_rates_leave_out_the_last_evaluation(program):
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(MAX_STEPS, secs=10.0)
    coordinator.step()
    program.clock.secs += 90.0
    program.evaluate(MAX_STEPS, 1.0, final=1)
    coordinator.step()
    result = program.summary()
    assert result.wall_secs == 100.0
    assert (result.steps_per_sec, result.frames_per_sec) == (100.0, 400.0)


def test_overall_rates_of_a_continued_run_leave_out_what_was_before(program):
    program.learn(500)
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(100, secs=10.0)
    coordinator.step()
    assert program.summary().steps_per_sec == 10.0
    assert program.summary().wall_secs == 10.0


def test_a_long_run_is_not_kept_in_memory(program):
    coordinator = program.coordinator()
    for _ in range(40):
        program.learn(1, secs=1.0)
        coordinator.step()
    assert len(coordinator._speed._recent) <= 12


# What is waited for.


def test_says_that_workers_are_starting(program):
    coordinator = program.coordinator()
    coordinator.step()
    assert program.last("waiting") == ["workers are starting"]
    program.report("bundle-0", episodes=0)
    coordinator.step()
    assert program.last("waiting") == [None]


def test_says_which_worker_waits_for_what(program):
    coordinator = program.coordinator()
    program.report("bundle-0", waiting=None)
    program.report("bundle-1", waiting="waiting for replay: 5 of 10 items")
    coordinator.step()
    assert program.last("waiting") == ["bundle-1: waiting for replay: 5 of 10 items"]
    for index in (0, 2):
        program.report(f"bundle-{index}", waiting="waiting for replay: 6 of 10 items")
    coordinator.step()
    assert program.last("waiting") == [
        "bundle-0: waiting for replay: 6 of 10 items (and 2 more)"
    ]


def test_says_that_the_last_evaluation_is_played(program):
    coordinator = program.coordinator()
    program.report("bundle-0", waiting="waiting for replay: 5 of 10 items")
    program.learn(MAX_STEPS)
    coordinator.step()
    assert program.last("waiting") == ["last evaluation"]


# The end.


def test_the_program_ends_after_the_last_evaluation_only(program):
    coordinator = program.coordinator()
    program.learn(MAX_STEPS - 1)
    program.evaluate(MAX_STEPS - 1, 1.0)
    assert not coordinator.step()
    program.learn(1)
    assert not coordinator.step()  # The budget is spent.
    assert program.summary().reason == "running"
    program.evaluate(MAX_STEPS, 2.0, final=1, episodes=30)
    assert coordinator.step()
    assert program.summary().reason == "max_steps"


def test_the_last_evaluation_of_a_smaller_budget_does_not_end_the_program(program):
    coordinator = program.coordinator()
    program.learn(MAX_STEPS // 2)
    program.evaluate(MAX_STEPS // 2, 1.0, final=1)
    assert not coordinator.step()


def test_the_end_of_the_program_is_its_doing(program):
    program.learn(MAX_STEPS)
    program.evaluate(MAX_STEPS, 2.0, final=1)
    program.coordinator().run()
    assert program.num_stops == 1
    assert program.summary().reason == "max_steps"
    assert len(program.checkpoints()) == 1


def test_the_summary_says_what_the_run_came_to(program):
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(MAX_STEPS, secs=50.0)
    program.report(
        "bundle-0",
        episodes=7,
        episode_return=0.5,
        discarded_outlier=2,
        discarded_nonfinite=3,
    )
    program.evaluate(400, -1.0, episodes=9)
    program.evaluate(500, 3.5, episodes=10, standard_error=0.5)
    program.evaluate(600, 3.5, episodes=11)
    program.evaluate(MAX_STEPS, 2.5, final=1, episodes=30, standard_error=0.25)
    coordinator.step()
    assert json.loads(program.folder.summary_json.read_text()) == {
        "reason": "max_steps",
        "environment": "atari:pong",
        "agent": "gorila_dqn",
        "agent_steps": 1_000,
        "environment_frames": 4_000,
        "updates": 1,
        "discarded_stale": 0,
        "discarded_outlier": 2,
        "discarded_nonfinite": 3,
        "mean_staleness_updates": 0.0,
        "episodes": 7,
        "train_return": 0.5,
        "evaluation_return": 2.5,
        "evaluation_episodes": 30,
        "evaluation_standard_error": 0.25,
        "evaluation_agent_steps": 1_000,
        "best_evaluation_return": 3.5,
        "best_evaluation_episodes": 10,
        "best_evaluation_standard_error": 0.5,
        "best_evaluation_agent_steps": 500,
        "wall_secs": 50.0,
        "steps_per_sec": 20.0,
        "frames_per_sec": 80.0,
        "updates_per_sec": 0.02,
        "restarts": [],
    }


def test_only_the_summary_of_the_end_is_forced_to_the_disk(program, monkeypatch):
    forced = []
    publish = atomic_files.publish

    def note(aside, path):
        forced.append(path.name)
        publish(aside, path)

    monkeypatch.setattr(atomic_files, "publish", note)
    coordinator = program.coordinator()
    program.learn(10)
    coordinator.step()
    assert program.summary().reason == "running"
    assert "summary.json" not in forced
    coordinator.stop()
    assert forced.count("summary.json") == 1
    program.learn(MAX_STEPS)
    program.evaluate(MAX_STEPS + 10, 2.0, final=1)
    assert coordinator.step()
    assert forced.count("summary.json") == 2


def test_the_best_evaluation_is_that_of_the_whole_run(program):
    program.learn(5)
    program.evaluate(100, 3.5)
    program.evaluate(200, 2.5)
    coordinator = program.coordinator()  # As after a resume: both were there before.
    program.evaluate(300, 3.0)
    coordinator.step()
    result = program.summary()
    assert (result.best_evaluation_return, result.evaluation_return) == (3.5, 3.0)
    assert result.best_evaluation_agent_steps == 100


def test_a_stop_from_elsewhere_saves_and_sums_up(program):
    program.learn(5)
    coordinator = program.coordinator(wait_for_stop=fakes.StopAfter(1))
    coordinator.step()
    program.learn(6)
    coordinator.run()
    assert program.num_stops == 0
    assert program.summary().reason == "stopped"
    assert program.summary().agent_steps == 11
    assert program.checkpoints() == ["step_000000000011"]


def test_a_stop_after_the_last_evaluation_takes_nothing_from_the_run(program):
    coordinator = program.coordinator(wait_for_stop=fakes.StopAfter(0))
    program.learn(MAX_STEPS)
    program.evaluate(MAX_STEPS, 2.0, final=1)
    coordinator.run()
    assert program.summary().reason == "max_steps"
    assert program.summary().evaluation_return == 2.0
    assert len(program.checkpoints()) == 1


def test_a_stop_before_the_first_update_saves_nothing(program):
    program.coordinator(wait_for_stop=fakes.StopAfter(0)).run()
    assert program.summary().reason == "stopped"
    assert program.checkpoints() == []


def test_rounds_are_a_period_apart(program):
    wait_for_stop = fakes.StopAfter(3)
    program.coordinator(wait_for_stop=wait_for_stop, period_secs=2.5).run()
    assert wait_for_stop.waits_secs == [2.5] * 4
    assert len(program.rows()) == 3


# Checkpoints.


def test_checkpoints_are_a_period_apart(program):
    coordinator = program.coordinator(checkpoint_period_secs=3.0)
    saved = []
    for _ in range(7):
        program.learn(10, secs=1.0)
        coordinator.step()
        saved.append(program.checkpoints()[-1:])
    third, sixth = ["step_000000000030"], ["step_000000000060"]
    assert saved == [[], [], third, third, third, sixth, sixth]


def test_nothing_is_saved_before_the_first_update(program):
    coordinator = program.coordinator(checkpoint_period_secs=1.0)
    program.store.initialise(INITIAL)
    program.store.add_steps(10)
    program.clock.secs += 5.0
    coordinator.step()
    assert program.checkpoints() == []
    program.learn(1)
    coordinator.step()
    assert program.checkpoints() == ["step_000000000011"]


def test_one_state_is_saved_once(program):
    coordinator = program.coordinator(checkpoint_period_secs=1.0)
    state = node_state.NodeState(program.folder.state / "dqn-0.json", period_secs=0.0)
    program.learn(MAX_STEPS, secs=2.0)
    coordinator.step()
    program.clock.secs += 2.0
    coordinator.step()
    state.save()  # The same bytes.
    program.evaluate(MAX_STEPS, 1.0, final=1)
    assert coordinator.step()
    coordinator.stop()
    assert program.checkpoints() == ["step_000000001000"]


@pytest.mark.parametrize("end", ["stop", "max_steps"])
def test_what_a_node_wrote_after_the_last_checkpoint_is_saved_at_the_end(program, end):
    coordinator = program.coordinator(checkpoint_period_secs=1.0)
    state = node_state.NodeState(program.folder.state / "dqn-0.json", period_secs=0.0)
    program.learn(MAX_STEPS, secs=2.0)
    coordinator.step()
    state.save(ended=True)
    if end == "stop":
        coordinator.stop()
    else:
        program.evaluate(MAX_STEPS, 1.0, final=1)
        assert coordinator.step()
    path = checkpoints.latest(program.folder.checkpoints)
    saved = node_state.parse(checkpoints.load_documents(path)["dqn-0.json"])
    assert saved["ended"]


def test_a_store_that_is_behind_is_saved_as_it_goes_on(program):
    coordinator = program.coordinator(
        statistics=lambda: program.store.statistics(), checkpoint_period_secs=1.0
    )
    program.learn(40, secs=2.0)
    coordinator.step()
    program.store = make_store()
    behind = program.coordinator(
        statistics=lambda: program.store.statistics(),
        checkpoint_period_secs=1.0,
        num_checkpoints_kept=9,
    )
    for _ in range(3):
        program.learn(10, secs=2.0)
        behind.step()
    assert program.last("agent_steps") == [40]
    assert program.checkpoints() == [f"step_{steps:012d}" for steps in (10, 20, 30, 40)]


def test_a_checkpoint_holds_all_that_the_store_needs(program):
    coordinator = program.coordinator(checkpoint_period_secs=0.0)
    for _ in range(3):
        program.learn(10)
    coordinator.step()
    parts, facts = checkpoints.load(checkpoints.latest(program.folder.checkpoints))
    assert facts.pop("time_secs") == pytest.approx(time.time(), abs=60)
    assert facts == {
        "agent": "gorila_dqn",
        "environment": "atari:pong",
        "agent_steps": 30,
        "updates": 3,
        "num_parameter_shards": 1,
    }
    restored = make_store()
    restored.restore(parts["parameters_0"])
    gradient = np.linspace(-1, 1, INITIAL.size, dtype=np.float32)
    for store in (program.store, restored):
        store.push(gradient, store.pull().versions, 10)
    for target in (False, True):
        np.testing.assert_array_equal(
            restored.pull(target=target).vector,
            program.store.pull(target=target).vector,
        )
    assert restored.statistics() == program.store.statistics()


def test_a_checkpoint_of_many_shards_is_the_vector_in_parts(program):
    shards = [
        shard.ParameterShard(
            update_rules.SGD(),
            schedules.Constant(1.0),
            max_staleness_updates=None,
            target_period_updates=None,
        )
        for _ in range(4)
    ]
    clients = [in_process.InProcessClient(each) for each in shards]
    store = sharded_client.ShardedClient(LAYOUT, clients, should_stop=lambda: False)
    coordinator = program.coordinator(
        statistics=store.statistics, shards=clients, checkpoint_period_secs=0.0
    )
    store.initialise(INITIAL)
    store.push(np.ones_like(INITIAL), store.pull().versions, 10)
    coordinator.step()
    parts, facts = checkpoints.load(checkpoints.latest(program.folder.checkpoints))
    assert facts["num_parameter_shards"] == 4
    vector = [parts[f"parameters_{index}"]["parameters"] for index in range(4)]
    np.testing.assert_array_equal(np.concatenate(vector), INITIAL - 1)


def test_a_checkpoint_is_named_after_what_it_holds(program):
    # Workers go on between the count and the save.
    old = core.StoreStatistics(
        steps=5, updates=1, discarded_stale=0, mean_staleness_updates=0.0
    )
    coordinator = program.coordinator(
        statistics=lambda: old, checkpoint_period_secs=0.0
    )
    program.learn(8)
    coordinator.step()
    assert program.checkpoints() == ["step_000000000008"]


# TensorBoard.


def test_workers_evaluation_and_program_are_in_tensorboard(program):
    coordinator = program.coordinator()
    program.report("bundle-0", episodes=1, episode_return=2.0)
    program.evaluate(100, 1.5)
    coordinator.step()
    coordinator.close()
    [file] = program.folder.tensorboard.iterdir()
    events = file.read_bytes()
    for tag in (
        b"bundle/episode_return/0",
        b"evaluation/mean_return",
        b"program/steps_per_sec",
    ):
        assert tag in events


def test_the_film_of_an_evaluation_is_in_tensorboard_beside_its_scores(program):
    coordinator = program.coordinator()
    path = program.folder.video_gif(100)
    path.parent.mkdir()
    path.write_bytes(b"GIF89a\x02\x00\x01\x00 and so on")
    program.evaluate(100, 1.5)
    program.evaluate(200, 2.5)  # Not filmed.
    coordinator.step()
    coordinator.close()
    [file] = program.folder.tensorboard.iterdir()
    events = file.read_bytes()
    assert events.count(b"evaluation/mean_return") == 2
    assert events.count(b"evaluation/video") == 1
    assert b"GIF89a\x02\x00\x01\x00 and so on" in events


def test_a_film_that_cannot_be_read_ends_no_run(program):
    coordinator = program.coordinator()
    videos = program.folder.video_gif(100).parent
    videos.write_text("A file where the folder should be.")
    program.evaluate(100, 1.5)
    coordinator.step()
    videos.unlink()
    videos.mkdir()
    program.folder.video_gif(200).touch()  # As a power cut leaves it.
    program.evaluate(200, 2.5)
    coordinator.step()
    coordinator.close()
    [file] = program.folder.tensorboard.iterdir()
    assert file.read_bytes().count(b"evaluation/mean_return") == 2


def test_the_settings_of_the_run_are_in_tensorboard(program):
    program.folder.write_config({"agent": "a3c", "learning_rate": 0.5})
    program.coordinator().close()
    [file] = program.folder.tensorboard.iterdir()
    events = file.read_bytes()
    assert b"| learning_rate | `0.5` |" in events
    assert b"_hparams_/session_start_info" in events


def test_a_checkpoint_takes_the_states_of_all_nodes_along(program):
    coordinator = program.coordinator(checkpoint_period_secs=0.0)
    for name, agent_steps in (("bundle-0", 10), ("bundle-1", 20)):
        state = node_state.NodeState(
            program.folder.state / f"{name}.json", period_secs=0.0
        )
        state.save_if_due(agent_steps)
    program.learn(30)
    coordinator.step()
    path = checkpoints.latest(program.folder.checkpoints)
    documents = checkpoints.load_documents(path)
    assert documents == {
        f"bundle-{index}.json": (
            program.folder.state / f"bundle-{index}.json"
        ).read_bytes()
        for index in range(2)
    }
    parts = checkpoints.read_manifest(path)["parts"]
    assert {name: part["version"] for name, part in parts.items()} == {
        "parameters_0.npz": {"epoch": 0, "updates": 1, "steps": 30},
        "bundle-0.json": {"life": 0, "agent_steps": 10},
        "bundle-1.json": {"life": 0, "agent_steps": 20},
    }


def test_as_many_checkpoints_are_kept_as_asked_for(program):
    coordinator = program.coordinator(
        checkpoint_period_secs=0.0, num_checkpoints_kept=3
    )
    for _ in range(5):
        program.learn(10)
        coordinator.step()
    assert [int(name[-2:]) for name in program.checkpoints()] == [30, 40, 50]


def test_nothing_is_saved_of_a_store_that_is_not_back_yet(program):
    program.learn(10)
    program.coordinator(checkpoint_period_secs=0.0).step()
    program.store = make_store()  # As one in new memory, before a worker restores it.
    coordinator = program.coordinator(checkpoint_period_secs=0.0)
    coordinator.step()
    coordinator.stop()
    assert program.checkpoints() == ["step_000000000010"]


# A coordinator that starts again.


def test_counts_go_on_where_a_coordinator_starts_again(program):
    coordinator = program.coordinator()
    coordinator.step()
    for _ in range(4):
        program.learn(10, secs=1.0)
        coordinator.step()
    program.report("bundle-0", episodes=3, episode_return=1.0, replay_items=7)
    program.evaluate(40, 2.5)
    coordinator.step()
    program.clock.secs += 1_000.0  # Nobody was there.
    coordinator = program.coordinator(secs_since=lambda time_secs: 6.0)
    coordinator.step()
    program.learn(10, secs=1.0)
    coordinator.step()
    columns = ("wall_secs", "agent_steps", "episodes", "train_return")
    assert program.last(*columns) == [4.0 + 6.0 + 1.0, 50, 3, 1.0]
    assert program.last("evaluation_return") == [2.5]
    assert program.summary().steps_per_sec == 50 / 11


def test_the_time_between_a_run_and_its_resumption_does_not_count(program):
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(40, secs=4.0)
    coordinator.step()
    coordinator = program.coordinator()
    for _ in range(5):  # Nodes start.
        program.clock.secs += 10.0
        coordinator.step()
    program.learn(10, secs=1.0)
    coordinator.step()
    assert program.last("wall_secs") == [5.0]
    assert program.summary().steps_per_sec == 10.0


def test_the_next_row_of_a_resumed_run_has_more_steps(program):
    program.learn(40)
    program.coordinator().step()
    program.learn(2)  # Saved, but for a row.
    coordinator = program.coordinator()
    for _ in range(3):  # Nodes start.
        coordinator.step()
    program.learn(10)
    coordinator.step()
    coordinator.step()
    assert [row["agent_steps"] for row in program.rows()] == [40, 52, 52]


def test_counts_of_workers_that_start_again_never_fall(program):
    coordinator = program.coordinator()
    seen = []
    for episodes, outliers in ((5, 1), (8, 2), (0, 0), (6, 2), (7, 2)):
        program.report("bundle-0", episodes=episodes, discarded_outlier=outliers)
        coordinator.step()
        seen.append(program.last("episodes", "discarded_outlier"))
    assert seen == [[5, 1], [8, 2], [8, 2], [14, 4], [15, 4]]
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(10)
    coordinator.step()
    assert program.last("episodes", "discarded_outlier") == [15, 4]


def test_counts_are_not_below_what_the_run_had_said(program):
    program.report("bundle-0", episodes=5)
    program.coordinator().step()
    # A resumed run, whose worker's last rows were cut.
    metrics.cut(program.folder.metrics / "bundle-0.csv", lambda row: False)
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(10)
    coordinator.step()
    assert program.last("episodes") == [5]


def test_what_workers_waited_for_before_is_not_what_they_wait_for_now(program):
    program.report("bundle-0", replay_items=7, waiting="waiting for replay")
    program.coordinator().step()
    coordinator = program.coordinator()
    coordinator.step()
    program.learn(10)
    coordinator.step()
    assert program.last("replay_items", "waiting") == [0, "workers are starting"]
    program.report("bundle-0", replay_items=8)
    coordinator.step()
    assert program.last("replay_items", "waiting") == [8, None]


def test_steps_in_the_rows_never_fall_while_a_store_comes_back(program):
    coordinator = program.coordinator(statistics=lambda: program.store.statistics())
    program.learn(40)
    coordinator.step()
    program.store = make_store()
    coordinator.step()
    assert program.last("waiting") == ["parameters are behind, at step 0"]
    for _ in range(3):
        program.learn(20)
        coordinator.step()
    assert [row["agent_steps"] for row in program.rows()] == [40, 40, 40, 40, 60]


def test_a_run_that_goes_on_to_a_larger_budget_waits_for_its_own_last_evaluation(
    program,
):
    program.learn(MAX_STEPS)
    program.evaluate(MAX_STEPS, 1.0, final=1)
    assert program.coordinator().step()
    coordinator = program.coordinator(max_steps=2 * MAX_STEPS)
    program.learn(MAX_STEPS)
    assert not coordinator.step()
    program.evaluate(2 * MAX_STEPS, 1.0, final=1)
    assert coordinator.step()


# A full disk.


def test_a_full_disk_is_said_once_and_the_run_goes_on(program, monkeypatch):
    said, before = [], pulse.current()
    pulse.use_in_this_process(pulse.Pulse(say=said.append))
    try:
        coordinator = program.coordinator(checkpoint_period_secs=0.0)
    finally:
        pulse.use_in_this_process(before)
    program.learn(10)
    coordinator.step()

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        for _ in range(3):
            program.learn(10)
            assert not coordinator.step()
    assert len(said) == 1
    assert "No space left on device. Training goes on" in said[0]
    assert program.checkpoints() == ["step_000000000010"]
    checkpoints.load(checkpoints.latest(program.folder.checkpoints))
    program.learn(10)
    coordinator.step()
    assert program.checkpoints() == ["step_000000000010", "step_000000000050"]
    assert program.summary().agent_steps == 50
    assert len(said) == 2


def test_a_stop_while_a_shard_is_away_is_an_end_like_any_other(program):
    away = [False]

    def statistics():
        if away[0]:
            raise core.StoreUnavailableError("shard 0 is away")
        return program.store.statistics()

    stop = fakes.StopAfter(1)
    coordinator = program.coordinator(statistics=statistics, wait_for_stop=stop)
    program.learn(40)
    coordinator.step()
    away[0] = True
    coordinator.run()
    assert (program.summary().reason, program.summary().agent_steps) == ("stopped", 40)


def test_a_shard_that_is_away_without_a_stop_is_an_error(program):
    def statistics():
        raise core.StoreUnavailableError("shard 0 is away")

    with pytest.raises(core.StoreUnavailableError):
        program.coordinator(statistics=statistics).run()
