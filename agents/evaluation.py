"""Builds the evaluator of any agent, from what plays and what holds the parameters."""

from agents import run_nodes, saved_policy
from agents.run_config import RunConfig
from rlcomponents import core, seeding, specs
from rlcomponents.actors import store_sync
from rlcomponents.nodes import best_parameters, evaluation_videos, wall_time
from rlcomponents.nodes import evaluator as evaluators
from rlcomponents.runs import disk as disks
from rlcomponents.runs import metrics, run_folder


def make_evaluator(
    config: RunConfig,
    run_dir: str,
    make_player: saved_policy.PlayerMaker,
    make_store: run_nodes.StoreMaker,
    wait_for_stop: core.WaitForStop,
) -> evaluators.Evaluator:
    """Builds the evaluator, with a network and an environment of its own.

    Args:
        config: Of the run.
        run_dir: Folder of the run.
        make_player: Builds the network and what plays with it.
        make_store: Opens the store for that network.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
    """
    environment = config.make_environment_factory(evaluation=True)(
        seeding.derive(config.seed, "evaluation environment")
    )
    player = make_player(config, specs.make_environment_spec(environment))
    store = make_store(player.variables.layout)
    sync = store_sync.StoreSync(store, player.variables, period_steps=1)
    folder = run_folder.RunFolder(run_dir)
    disk = disks.Disk(print)
    last = metrics.read_last(folder.evaluation_csv)
    return evaluators.Evaluator(
        sync.pull,
        lambda: store.statistics().steps,
        environment,
        player.actor,
        metrics.MetricsWriter(
            folder.evaluation_csv, metrics.EVALUATION_COLUMNS, disk=disk
        ),
        period_steps=config.evaluation_period_steps,
        num_episodes=config.evaluation_episodes,
        final_num_episodes=config.final_evaluation_episodes,
        max_steps=config.max_steps,
        max_episode_steps=config.max_evaluation_steps,
        wait_for_stop=wait_for_stop,
        wall_secs=wall_time.WallTime(
            folder.program_csv, secs_since=run_nodes.secs_since
        ),
        watch=config.make_watch(),
        best=best_parameters.BestParameters(
            folder, facts={"environment": config.environment}, disk=disk
        ),
        videos=evaluation_videos.EvaluationVideos(
            folder,
            environment,
            num_videos=config.num_evaluation_videos,
            max_video_steps=config.max_evaluation_video_steps,
            frames_per_sec=saved_policy.film_frames_per_sec(config),
            max_steps=config.max_steps,
            last_steps=int(metrics.number(last, "agent_steps")),
            disk=disk,
        ),
        last=last,
    )
