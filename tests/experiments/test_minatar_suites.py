"""Tests of the suites on MinAtar."""

from experiments import minatar_suites


def test_the_suites_are_those_of_all_six_agents(runner):
    minatar_suites.main(["--seeds=1", "--games=minatar:breakout", "--max_steps=1000"])
    asked = [
        (run.get("algorithm"), run.get("num_bundles"), run["evaluation_period_steps"])
        for run in runner.commands
    ]
    assert asked == [
        (None, None, "100"),
        ("n_step_q", None, "100"),
        ("one_step_q", None, "100"),
        ("one_step_sarsa", None, "100"),
        (None, None, "100"),
        (None, "2", "100"),
    ]
