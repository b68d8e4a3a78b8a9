"""Folders of runs of a suite, made by hand."""

import pytest

from rlcomponents.evaluation import suite_results
from rlcomponents.runs import metrics, run_folder, summary

CONFIG = {
    "environment": "minatar:breakout",
    "seed": 0,
    "max_steps": 1_000_000,
    "final_evaluation_episodes": 30,
    "max_evaluation_frames": 18_000,
    "sticky_action_probability": None,
    "evaluation_epsilon": 0.05,
}


@pytest.fixture
def make_run(tmp_path):
    """Makes a run with these returns of evaluations; without any, it has not begun."""

    def make(environment, seed, *returns, reason="max_steps", **settings):
        path = tmp_path / "runs" / f"{environment.replace(':', '_')}-{seed}"
        config = {**CONFIG, "environment": environment, "seed": seed, **settings}
        if returns:
            folder = run_folder.RunFolder.create(path)
            folder.write_config({"agent": "dqn", **config})
            writer = metrics.MetricsWriter(
                folder.evaluation_csv, metrics.EVALUATION_COLUMNS
            )
            for number, mean_return in enumerate(returns, start=1):
                writer.write({"agent_steps": number, "mean_return": mean_return})
            writer.close()
            summary.write(
                folder.summary_json,
                summary.Summary(
                    reason=reason,
                    environment=environment,
                    agent="dqn",
                    agent_steps=1000 + seed,
                    episodes=10 + seed,
                    wall_secs=100.0 + seed,
                ),
            )
        return suite_results.Run(config, path)

    return make
