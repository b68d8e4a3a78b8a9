"""What runs inside the workers and the evaluator of an asynchronous method."""

from collections.abc import Callable
from typing import Any

from agents import evaluation, run_nodes, saved_policy
from agents.asynchronous import stores
from agents.asynchronous.config import AsyncConfig
from rlcomponents import core, environment_batch, seeding, specs
from rlcomponents.environments import wrappers
from rlcomponents.learners import async_worker, rollouts
from rlcomponents.nodes import evaluator as evaluators
from rlcomponents.nodes import reporting, worker

StrategyMaker = Callable[[Any, specs.EnvironmentSpec, int, int], async_worker.Strategy]
"""Builds a worker's strategy from config, environment spec, the worker's index, and how
often it was started before."""


def make_worker(
    config: AsyncConfig,
    run_dir: str,
    index: int,
    place: stores.Place,
    make_strategy: StrategyMaker,
    wait_for_stop: core.WaitForStop,
) -> worker.SteppedWorker:
    """Builds worker `index`: environments, a copy of the network, rollouts."""
    files = run_nodes.open_worker_files(config, run_dir, f"worker-{index}")
    life = files.state.life
    make_environment = config.make_environment_factory()
    environments = [
        make_environment(
            seeding.derive(
                config.seed,
                "environment",
                index * config.envs_per_worker + number,
                life=life,
            )
        )
        for number in range(config.envs_per_worker)
    ]
    max_steps = config.max_training_episode_steps
    if max_steps is not None:
        # The first episodes end one after another: environments that all begin anew at
        # once would fill a rollout with one part of the episode.
        environments = [
            wrappers.StepLimit(
                each,
                max_steps,
                first_max_steps=-(-max_steps * number // len(environments)),
            )
            for number, each in enumerate(environments, start=1)
        ]
    strategy = make_strategy(
        config, specs.make_environment_spec(environments[0]), index, life
    )
    files.state.keep_generator("exploration", strategy.rng)
    collector = rollouts.RolloutCollector(
        environment_batch.EnvironmentBatch(environments, watch=files.watch),
        strategy,
        max_steps=config.max_rollout_steps,
        discount=config.discount,
        max_abs_reward=config.max_abs_reward,
        should_stop=lambda: wait_for_stop(0),
        reward_scale=config.reward_scale,
    )
    store = stores.open_store(
        config,
        run_dir,
        strategy.variables.layout,
        place,
        wait_for_stop,
        state=files.state,
    )
    actor_learner = async_worker.AsyncWorker(
        collector, strategy, store, watch=files.watch
    )
    turn = reporting.ReportingAsyncWorker(
        actor_learner,
        files.report,
        max_steps=config.max_steps,
    )

    def close() -> None:
        files.close()
        for environment in environments:
            environment.close()

    return worker.SteppedWorker(
        turn.step,
        count_steps=lambda: store.statistics().steps,
        max_steps=config.max_steps,
        wait_for_stop=wait_for_stop,
        close=close,
        state=files.state,
    )


def make_evaluator(
    config: AsyncConfig,
    run_dir: str,
    place: stores.Place,
    make_player: saved_policy.PlayerMaker,
    wait_for_stop: core.WaitForStop,
) -> evaluators.Evaluator:
    """Builds the evaluator."""
    return evaluation.make_evaluator(
        config,
        run_dir,
        make_player,
        lambda layout: stores.open_store(config, run_dir, layout, place, wait_for_stop),
        wait_for_stop,
    )
