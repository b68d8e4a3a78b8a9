"""Tests of runs whose environment gives rewards that are not numbers."""

import pytest

from rlcomponents.runs import metrics, run_folder, summary

BUNDLED = pytest.param("gorila_dqn", ("--num_bundles=1",), "bundle/0", id="bundled")
CENTRAL = pytest.param(
    "gorila_dqn",
    ("--mode=central", "--num_actors=1", "--num_learners=1"),
    "actor/0",
    id="central",
)
A3C = pytest.param(
    "a3c",
    ("--num_workers=1", "--envs_per_worker=1", "--recurrent"),
    "worker/0",
    id="a3c",
)
COMMON = ("--run_dir=run", "--evaluation_episodes=1", "--final_evaluation_episodes=1")


@pytest.mark.integration
@pytest.mark.parametrize(("script", "flags", "node"), [BUNDLED, CENTRAL, A3C])
def test_an_environment_that_is_no_more_finite_ends_the_run_with_one_sentence(
    start, users_game, empty_folder, script, flags, node
):
    exit_code, _, errors = start(
        script,
        empty_folder,
        "--environment=module:guessing:Breaking",
        "--max_steps=100000",
        "--max_nonfinite_in_a_row=5",
        *COMMON,
        *flags,
    ).wait()
    assert exit_code == 1
    # On a slow machine the watchdog may have something to say, too.
    first, second, *_ = [line for line in errors.splitlines() if "is nan" in line]
    assert first.startswith(f"{node}: episode ")
    assert first.endswith("reward is nan; discarded (1 so far).")
    failed = f"{node} failed with exit code 1: NonFiniteError: episode "
    assert second.startswith(failed)
    assert second.endswith(
        "reward is nan, the last of 5 in a row that were not finite "
        "(max_nonfinite_in_a_row): mend the environment."
    )
    result = summary.read(run_folder.RunFolder(empty_folder / "run").summary_json)
    assert result.restarts == []


@pytest.mark.integration
@pytest.mark.parametrize(("script", "flags", "node"), [CENTRAL, A3C])
def test_a_run_survives_a_few_steps_that_are_not_finite_and_counts_them(
    start, users_game, empty_folder, script, flags, node
):
    exit_code, _, errors = start(
        script,
        empty_folder,
        "--environment=module:guessing:Hiccuping",
        "--max_steps=600",
        *COMMON,
        *flags,
    ).wait()
    assert exit_code == 0
    assert f"{node}: episode 31, step 1: reward is nan; discarded (1 so far)." in errors
    folder = run_folder.RunFolder(empty_folder / "run")
    assert summary.read(folder.summary_json).discarded_nonfinite == 3
    [*_, last] = metrics.MetricsFile(folder.program_csv).read_new()
    assert last["discarded_nonfinite"] == 3
    assert last["agent_steps"] >= 600
