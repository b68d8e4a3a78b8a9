"""Tests of making a run's folder ready to go on, on real files and real stores."""

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

from agents import resuming
from agents.a3c.config import A3CConfig
from agents.async_q.config import AsyncQConfig
from agents.dqn.config import DQNConfig
from agents.gorila_dqn.config import GorilaConfig
from rlcomponents import array_files, schedules
from rlcomponents.nodes import best_parameters, program_checkpoints
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import (
    local_store,
    private_statistics_store,
    shared_memory,
    shared_memory_store,
    snapshots,
    update_rules,
)
from rlcomponents.runs import checkpoints, metrics, node_state, run_folder, summary

LAYOUT = layouts.ParameterLayout(["w", "b"], [[2, 3], [5]])
INITIAL = np.arange(LAYOUT.num_parameters, dtype=np.float32)
STEPS_EACH = 50

STORE_SETTINGS = {
    "rule": update_rules.Adam(),
    "learning_rate": schedules.Linear(0.1, 0.0, 1_000),
    "max_staleness_updates": None,
    "target_period_updates": None,
    "target_period_steps": 120,
}


class Node:
    """A part of a node: counts, as a `WorkerReport` has them."""

    def __init__(self, **counts):
        self.counts = counts

    def save(self):
        return self.counts

    def restore(self, state):
        pass


class Run:
    """A run folder, and a program of one store and one worker that writes into it."""

    def __init__(self, path, config, agent):
        self.config = config
        self.agent = agent
        self.folder = run_folder.RunFolder.create(path)
        self.folder.write_config({"agent": agent, **dataclasses.asdict(config)})
        self.store = local_store.LocalStore(LAYOUT, **STORE_SETTINGS)
        self.store.initialise(INITIAL)
        self.rng = np.random.default_rng(0)

    def learn(self, num_updates=1):
        """Takes steps, learns, and writes what the nodes of a program write."""
        for _ in range(num_updates):
            gradient = self.rng.normal(size=INITIAL.size).astype(np.float32)
            self.store.push(gradient, self.store.pull().versions, STEPS_EACH)
            steps, updates = self.store.statistics()[:2]
            self._row(
                self.folder.program_csv,
                metrics.PROGRAM_COLUMNS,
                agent_steps=steps,
                updates=updates,
            )
            self._row(
                self.folder.metrics / "worker-0.csv",
                metrics.WORKER_COLUMNS,
                agent_steps=steps,
                updates=updates,
            )
            self._row(
                self.folder.evaluation_csv,
                metrics.EVALUATION_COLUMNS,
                agent_steps=steps,
                mean_return=1.0,
            )

    def evaluate_at_the_end(self):
        """Writes the row of the last evaluation."""
        self._row(
            self.folder.evaluation_csv,
            metrics.EVALUATION_COLUMNS,
            agent_steps=self.store.statistics().steps,
            mean_return=1.0,
            final=1,
        )

    def end(self, reason):
        """Writes the summary."""
        summary.write(
            self.folder.summary_json,
            summary.Summary(
                reason=reason,
                environment="catch",
                agent=self.agent,
                agent_steps=self.store.statistics().steps,
            ),
        )

    def save_node(self, name="worker-0", *, ended=False):
        """Starts a node once more, which saves itself."""
        steps, updates = self.store.statistics()[:2]
        state = node_state.NodeState(
            self.folder.state / f"{name}.json", period_secs=1e9
        )
        state.keep("counts", Node(agent_steps=steps, episodes=0, updates=updates))
        state.agent_steps = steps
        state.save(ended=ended)

    def keep(self, arrays, name):
        """Starts a node once more, which goes on with its arrays."""
        state = node_state.NodeState(
            self.folder.state / f"{name}.json", period_secs=1e9
        )
        state.keep_arrays(arrays)
        return state

    def save(self, num_shards=1):
        """Saves a checkpoint, as one of so many parameter shards."""
        states = resuming.saved_states.recut([self.store.save()], num_shards)
        program_checkpoints.ProgramCheckpoints(
            self.folder,
            [Shard(state) for state in states],
            facts={"agent": self.agent},
            num_kept=5,
        ).save()

    def check(self, **overrides):
        return resuming.check(self.folder, self.agent, type(self.config), overrides)

    def resume(self, **overrides):
        plan = self.check(**overrides)
        resuming.prepare(plan)
        return plan

    def parameters(self, index=0):
        return array_files.read(self.folder.state / f"parameters-{index}.npz")

    def steps_in(self, path):
        return [row["agent_steps"] for row in metrics.MetricsFile(path).read_new()]

    def _row(self, path, columns, **row):
        writer = metrics.MetricsWriter(path, columns)
        writer.write(row)
        writer.close()


class Shard:
    def __init__(self, state):
        self._state = state

    def save(self):
        return self._state


@pytest.fixture
def run(tmp_path):
    config = A3CConfig(environment="catch", max_steps=10_000)
    return Run(tmp_path / "run", config, "a3c")


def contents(folder):
    """Returns what is in a folder, by path."""
    return {
        str(path.relative_to(folder.path)): path.read_bytes()
        for path in folder.path.rglob("*")
        if path.is_file()
    }


# What goes on.


def in_process(tmp_path):
    return local_store.LocalStore(LAYOUT, **STORE_SETTINGS)


def in_shared_memory(tmp_path):
    memory = shared_memory.SharedMemory.create()
    return shared_memory_store.SharedMemoryStore(
        LAYOUT, memory.open(), **STORE_SETTINGS
    )


@pytest.mark.parametrize("make_store", [in_process, in_shared_memory])
def test_a_resumed_store_learns_as_one_that_was_never_stopped(
    run, tmp_path, make_store
):
    run.learn(5)
    run.save()
    run.resume()
    resumed = make_store(tmp_path)
    assert snapshots.start_from(resumed, run.folder.state / "parameters-0.npz")
    assert resumed.statistics() == run.store.statistics()
    for _ in range(4):  # Through a target copy, and with another learning rate each.
        gradient = run.rng.normal(size=INITIAL.size).astype(np.float32)
        for store in (run.store, resumed):
            store.push(gradient, store.pull().versions, STEPS_EACH)
        for target in (False, True):
            np.testing.assert_array_equal(
                resumed.pull(target=target).vector,
                run.store.pull(target=target).vector,
            )
    assert resumed.statistics() == run.store.statistics()


@pytest.mark.parametrize(("num_before", "num_after"), [(1, 3), (3, 1), (2, 3)])
def test_parameters_are_cut_anew_for_another_number_of_shards(
    tmp_path, num_before, num_after
):
    config = GorilaConfig(
        environment="catch", max_steps=10_000, num_parameter_shards=num_before
    )
    run = Run(tmp_path / "run", config, "gorila_dqn")
    run.learn(3)
    run.save(num_before)
    for name in ("parameters-7.npz", ".parameters-0.npz.tmp"):
        (run.folder.state / name).touch()
    run.resume(num_parameter_shards=num_after)
    files = sorted(path.name for path in run.folder.state.iterdir())
    assert files == [f"parameters-{index}.npz" for index in range(num_after)]
    whole = run.store.save()
    vectors = [name for name, values in whole.items() if np.ndim(values)]
    assert len(vectors) == 4  # Parameters, target copy, and two statistics of Adam.
    for name in vectors:
        np.testing.assert_array_equal(
            np.concatenate([run.parameters(i)[name] for i in range(num_after)]),
            whole[name],
        )


def test_a_store_in_memory_goes_on_from_parameter_servers(run):
    run.learn(3)
    run.save(num_shards=2)
    run.resume(parameter_store="local")
    np.testing.assert_array_equal(
        run.parameters()["parameters"], run.store.pull().vector
    )


def test_nodes_go_on_from_what_they_were_at_the_checkpoint(run):
    run.learn(2)
    run.save_node()
    run.save()
    run.learn(2)
    state = node_state.NodeState(
        run.folder.state / "worker-0.json", period_secs=1e9
    )  # Started again; then the program died.
    assert state.life == 1
    run.resume()
    saved = node_state.read(run.folder.state / "worker-0.json")
    assert saved["parts"]["counts"]["agent_steps"] == 2 * STEPS_EACH
    # But no random numbers come twice.
    assert (saved["life"], saved["ended"]) == (1, False)


def test_a_node_that_had_ended_goes_on_from_its_end_once(run):
    run.learn()
    run.save_node(ended=True)
    run.save()
    run.resume()
    assert node_state.read(run.folder.state / "worker-0.json")["ended"]
    node_state.NodeState(run.folder.state / "worker-0.json", period_secs=1e9)
    run.resume()  # The resumed run died before a checkpoint.
    saved = node_state.read(run.folder.state / "worker-0.json")
    assert (saved["life"], saved["ended"]) == (1, False)


def test_a_node_that_came_after_the_checkpoint_starts_afresh_in_another_life(run):
    run.learn()
    run.save()
    run.save_node("worker-1")
    run.save_node("worker-1")
    run.resume()
    saved = node_state.read(run.folder.state / "worker-1.json")
    assert saved == {"life": 1, "ended": False, "agent_steps": 0, "parts": {}}


def test_rows_of_what_comes_again_are_dropped(run):
    run.learn(3)
    run.save_node()
    run.save()
    run.learn(2)
    run.resume()
    kept = [STEPS_EACH, 2 * STEPS_EACH, 3 * STEPS_EACH]
    assert run.steps_in(run.folder.program_csv) == kept
    assert run.steps_in(run.folder.evaluation_csv) == kept
    assert run.steps_in(run.folder.metrics / "worker-0.csv") == kept


def offer(run, mean_return):
    """Offers what was evaluated last as the best, as the evaluator does."""
    best_parameters.BestParameters(run.folder, facts={}).offer(
        run.store.pull(), mean_return
    )


def bests(run):
    return [steps for steps, _ in checkpoints.listed(run.folder.best_checkpoint)]


def test_the_best_of_what_is_cut_is_set_aside_and_the_one_before_is_the_best(run):
    run.learn()
    offer(run, 0.5)
    run.learn()
    offer(run, 0.7)
    run.save()
    run.learn()
    offer(run, 0.9)
    vector = run.store.pull().vector
    assert bests(run) == [100, 150]
    plan = run.resume()
    assert bests(run) == [100]
    target = run.folder.checkpoints / "best_of_step_000000000150"
    parts, facts = checkpoints.load(target)
    assert facts["mean_return"] == 0.9
    np.testing.assert_array_equal(parts["parameters_0"]["parameters"], vector)
    assert resuming.describe(plan).endswith(
        "; set aside, since the run has not come to this evaluation now: the best "
        f"parameters, as {target}."
    )
    assert checkpoints.latest(run.folder.checkpoints) == plan.checkpoint
    # What beats the evaluations that there are now is the best again.
    offer(run, 0.8)
    assert bests(run) == [100, 150]


def test_bests_that_were_set_aside_at_the_same_step_are_all_there(run):
    run.learn()
    run.save()
    run.learn()
    for mean_return in (0.9, 0.8):
        offer(run, mean_return)
        run.resume()
    returns = [
        checkpoints.load(path)[1]["mean_return"]
        for path in sorted(run.folder.checkpoints.glob("best_of_*"))
    ]
    assert returns == [0.9, 0.8]
    assert bests(run) == []


def test_the_best_of_an_evaluation_that_was_never_reported_is_set_aside(run):
    run.learn()
    run.folder.evaluation_csv.unlink()  # Killed between the two.
    offer(run, 0.9)
    run.save()
    run.resume()
    assert bests(run) == []
    assert (run.folder.checkpoints / "best_of_step_000000000050").is_dir()


def test_settings_that_can_change_do(run):
    run.learn()
    run.save()
    plan = run.resume(max_steps=20_000, learning_rate=0.5, num_workers=7)
    saved = run.folder.read_config()
    assert saved.pop("agent") == "a3c"
    assert A3CConfig(**saved) == plan.config
    assert plan.config == dataclasses.replace(
        run.config, max_steps=20_000, learning_rate=0.5, num_workers=7
    )
    assert resuming.describe(plan) == (
        f"Resuming from {plan.checkpoint}: 50 agent steps, 1 updates; max_steps is now "
        "20000 (was 10000); learning_rate is now 0.5 (was 0.0007); num_workers is now "
        "7 (was 2)."
    )


def test_replays_that_have_no_place_are_dropped_and_named(tmp_path):
    config = GorilaConfig(environment="catch", num_bundles=3)
    run = Run(tmp_path / "run", config, "gorila_dqn")
    run.learn()
    run.save()
    for index in range(3):
        (run.folder.state / f"bundle-{index}-replay").mkdir()
    plan = run.resume(num_bundles=1)
    assert [path.name for path in run.folder.state.glob("*-replay")] == [
        "bundle-0-replay"
    ]
    assert "bundle-1-replay, bundle-2-replay" in resuming.describe(plan)


def test_a_run_in_another_mode_begins_with_replay_of_another_kind(tmp_path):
    run = Run(tmp_path / "run", GorilaConfig(environment="catch"), "gorila_dqn")
    run.learn()
    run.save(num_shards=2)
    (run.folder.state / "bundle-0-replay").mkdir()
    plan = run.resume(mode="central")
    assert plan.config.replay_kind == "reverb"
    assert "no such replay now: bundle-0-replay" in resuming.describe(plan)
    assert not list(run.folder.state.glob("*-replay"))


def private(store):
    return private_statistics_store.PrivateStatisticsStore(
        store, LAYOUT, STORE_SETTINGS["rule"]
    )


def private_run(path, num_workers):
    """Returns a run whose workers have pushed 1, 2, ... gradients, and are saved."""
    config = A3CConfig(
        environment="catch",
        max_steps=10_000,
        optimiser_statistics="private",
        num_workers=num_workers,
    )
    run = Run(path, config, "a3c")
    run.learn()
    for index in range(num_workers):
        worker = private(run.store)
        for _ in range(index + 1):
            gradient = run.rng.normal(size=INITIAL.size).astype(np.float32)
            worker.push(gradient, run.store.pull().versions, STEPS_EACH)
        run.keep(worker, f"worker-{index}").save()
    return run


def test_a_resumed_worker_goes_on_with_its_own_statistics_to_the_bit(tmp_path):
    run = private_run(tmp_path / "run", num_workers=1)
    expected = array_files.read(run.folder.state / "worker-0.npz")
    assert expected["slots/second_moment"].any()
    run.save()
    worker = private(run.store)
    state = run.keep(worker, "worker-0")
    worker.push(INITIAL, run.store.pull().versions, STEPS_EACH)
    state.save()  # After the checkpoint.
    run.resume()
    resumed = private(run.store)
    run.keep(resumed, "worker-0")
    assert resumed.save().keys() == expected.keys()
    for name, saved in resumed.save().items():
        np.testing.assert_array_equal(saved, expected[name])


def test_workers_that_are_no_more_drop_their_statistics_and_new_ones_have_none(
    tmp_path,
):
    run = private_run(tmp_path / "run", num_workers=3)
    run.save()
    plan = run.resume(num_workers=1)
    assert [path.name for path in sorted(run.folder.state.glob("worker*.npz"))] == [
        "worker-0.npz"
    ]
    assert resuming.describe(plan).endswith(
        "dropped, since there is no such worker now: the optimiser statistics of 2 "
        "(worker-1, worker-2)."
    )
    run.save()
    plan = run.resume(num_workers=2)
    assert "dropped" not in resuming.describe(plan)
    assert not (run.folder.state / "worker-1.npz").exists()
    worker = array_files.read(run.folder.state / "worker-0.npz")
    assert worker["slots/count"] == 1.0


def test_a_checkpoint_without_statistics_of_workers_is_gone_on_from_without(tmp_path):
    run = private_run(tmp_path / "run", num_workers=1)
    (run.folder.state / "worker-0.npz").unlink()
    run.save()
    private_run(tmp_path / "other", 1)
    shutil.copy(tmp_path / "other" / "state" / "worker-0.npz", run.folder.state)
    run.resume()  # From the checkpoint, not from what came after it.
    assert not (run.folder.state / "worker-0.npz").exists()


def test_the_newest_intact_checkpoint_counts_and_damaged_ones_are_set_aside(
    run, capsys
):
    run.learn()
    run.save()
    run.learn()
    run.save()
    newest = checkpoints.latest(run.folder.checkpoints)
    file = newest / "parameters_0.npz"
    payload = bytearray(file.read_bytes())
    payload[len(payload) // 2] ^= 1
    file.write_bytes(payload)
    plan = run.resume()
    assert plan.agent_steps == STEPS_EACH
    assert f"Skipping the checkpoint {newest}" in capsys.readouterr().out
    assert checkpoints.latest(run.folder.checkpoints) == plan.checkpoint


def test_a_resume_that_is_killed_half_way_can_be_repeated(run, monkeypatch):
    run.learn(2)
    run.save_node(ended=True)
    run.save(num_shards=1)
    run.learn(2)
    (run.folder.state / "old-replay").mkdir()
    before = run.folder.path.with_name("before")
    shutil.copytree(run.folder.path, before)
    run.resume(max_steps=20_000)
    expected = contents(run.folder)

    class Killed(BaseException):
        pass

    def killed_at_the_end_of(lives, function):
        def killed_in_turn(*args):
            if next(lives, None) is None:
                raise Killed
            return function(*args)

        return killed_in_turn

    for num_renames in range(6):
        shutil.rmtree(run.folder.path)
        shutil.copytree(before, run.folder.path)
        lives = iter(range(num_renames))
        with monkeypatch.context() as patch:
            for name in ("rename", "replace"):
                function = killed_at_the_end_of(lives, getattr(os, name))
                patch.setattr(os, name, function)
            with pytest.raises(Killed):
                run.resume(max_steps=20_000)
        run.resume(max_steps=20_000)
        assert contents(run.folder) == expected


# What is refused, before anything is changed.


def refused(run, match, **overrides):
    before = contents(run.folder)
    with pytest.raises(ValueError, match=match):
        run.resume(**overrides)
    assert contents(run.folder) == before


def test_settings_that_are_in_what_was_saved_cannot_change(run):
    run.learn()
    run.save()
    refused(
        run,
        r"another network and optimiser \(network was 'auto' and is now 'mlp', "
        r"optimiser was 'rmsprop' and is now 'adam'\): leave the flags out",
        network="mlp",
        optimiser="adam",
        max_steps=20_000,
    )
    refused(run, "another lstm_size", lstm_size=7)
    run.resume(network="auto")  # As it was.


def test_replay_of_one_kind_does_not_go_on_as_the_other(tmp_path):
    run = Run(tmp_path / "run", GorilaConfig(environment="catch"), "gorila_dqn")
    run.learn()
    run.save(num_shards=2)
    refused(run, "replay was 'auto' and is now 'reverb'", replay="reverb")


def test_a_run_that_has_taken_all_its_steps_needs_more_of_them(run):
    run.learn()
    run.save()
    run.evaluate_at_the_end()
    run.end("max_steps")
    sentence = "has taken 50 of its 50 steps: give a larger --max_steps"
    refused(run, sentence, max_steps=50)
    run.resume(max_steps=51)


def test_a_run_that_is_complete_needs_more_steps_only_if_its_summary_says_so(tmp_path):
    config = A3CConfig(environment="catch", max_steps=STEPS_EACH)
    run = Run(tmp_path / "run", config, "a3c")
    run.learn()
    run.save()
    run.evaluate_at_the_end()
    assert run.check().agent_steps == STEPS_EACH  # Killed before there was one.
    for reason in ("running", "stopped", "interrupted"):
        run.end(reason)
        assert run.check().agent_steps == STEPS_EACH
    refused(run, "give a larger --max_steps", learning_rate=0.5)  # Not what it had.
    run.end("max_steps")
    refused(run, "has taken 50 of its 50 steps: give a larger --max_steps")


def test_a_run_that_was_stopped_in_its_last_evaluation_goes_on_with_that(run):
    run.learn()
    run.save()
    assert run.resume(max_steps=50).agent_steps == 50


def test_a_run_without_an_intact_checkpoint_cannot_go_on(run):
    run.learn()
    refused(run, "holds no intact checkpoint")


def test_a_run_of_another_agent_is_not_gone_on_with(run):
    run.learn()
    run.save()
    with pytest.raises(ValueError, match=r"run of a3c, not of dqn.*launch/a3c\.py"):
        resuming.check(run.folder, "dqn", DQNConfig, {})


def test_a_folder_without_a_run_is_named(tmp_path):
    folder = run_folder.RunFolder(tmp_path)
    with pytest.raises(ValueError, match="holds no run"):
        resuming.check(folder, "dqn", DQNConfig, {})


def test_settings_of_another_version_are_refused(run):
    settings = json.loads(run.folder.config_json.read_text())
    run.folder.config_json.write_text(json.dumps({**settings, "colour": 7}))
    refused(run, r"does not know \(colour\)")


@pytest.mark.parametrize("config_class", [A3CConfig, AsyncQConfig, DQNConfig])
def test_fixed_settings_are_settings(config_class):
    names = {field.name for field in dataclasses.fields(config_class)}
    assert set(config_class.FIXED_SETTINGS) <= names
    assert {"environment", "network", "optimiser"} <= set(config_class.FIXED_SETTINGS)
