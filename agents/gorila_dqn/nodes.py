"""What runs inside each node of Gorila DQN.

Each function builds one node's object, inside the node's own process, from the config
and the clients of the nodes it talks to. Nodes that need no TensorFlow (parameter
shards, coordinator) are in `servers.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents import evaluation, parameter_shards, run_nodes
from agents.dqn import parts, replays
from agents.gorila_dqn.config import GorilaConfig
from rlcomponents import core, environment_loop, exploration, seeding, specs
from rlcomponents.actors import epsilon_greedy, q_values, store_sync
from rlcomponents.losses import outliers
from rlcomponents.nodes import evaluator as evaluators
from rlcomponents.nodes import reporting, worker
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import sharded_client, tf_variables
from rlcomponents.replay import batches, tables


def make_bundle(
    config: GorilaConfig,
    run_dir: str,
    index: int,
    shards: Sequence[Any],
    wait_for_stop: core.WaitForStop,
) -> worker.SteppedWorker:
    """Builds bundle `index`: Algorithm 1, on the parameters of the shards."""
    bundle = parts.make_bundle(
        config,
        run_dir,
        _store_maker(config, shards, wait_for_stop),
        wait_for_stop,
        name=f"bundle-{index}",
        index=index,
        spread=_spread(config, index, config.num_bundles),
        outlier_rule=_make_outlier_rule(config),
    )
    return worker.SteppedWorker(
        bundle.step,
        count_steps=lambda: bundle.store.statistics().steps,
        max_steps=config.max_steps,
        wait_for_stop=wait_for_stop,
        close=bundle.close,
        state=bundle.state,
    )


def make_replay_tables(config: GorilaConfig) -> list:
    """Builds the tables of one replay server."""
    return tables.make_tables(
        parts.make_environment_spec(config), config.replay_limits()
    )


def make_actor(
    config: GorilaConfig,
    run_dir: str,
    index: int,
    replay_address: str,
    shards: Sequence[Any],
    wait_for_stop: core.WaitForStop,
) -> worker.SteppedWorker:
    """Builds actor `index`, which inserts into one of the replay servers."""
    files = run_nodes.open_worker_files(config, run_dir, f"actor-{index}")
    life = files.state.life
    environment = config.make_environment_factory()(
        seeding.derive(config.seed, "environment", index, life=life)
    )
    environment_spec = specs.make_environment_spec(environment)
    network = parts.make_network(config, environment_spec)
    variables = tf_variables.FlatVariables(network.trainable_variables)
    store = _store_maker(config, shards, wait_for_stop)(variables.layout)
    sync = store_sync.StoreSync(
        store, variables, period_steps=config.actor_sync_period_steps
    )
    schedule = config.epsilon_schedule()
    spread = _spread(config, index, config.num_actors)

    def epsilon() -> float:
        return spread(schedule(sync.snapshot.updates))

    adder = replays.make_adder(
        config,
        environment_spec,
        replay_address,
        should_stop=lambda: wait_for_stop(0),
        replay=f"replay/{index % config.num_replay_shards}",
    )
    rng = np.random.default_rng(
        seeding.derive(config.seed, "exploration", index, life=life)
    )
    files.state.keep_generator("exploration", rng)
    actor = epsilon_greedy.EpsilonGreedyActor(
        q_values.make_q_values(network, environment_spec.observations, variables),
        epsilon,
        rng,
        adder=adder,
    )
    turn = reporting.ReportingActor(
        environment_loop.EnvironmentLoop(environment, actor, watch=files.watch),
        sync,
        files.report,
        epsilon=epsilon,
        max_steps=config.max_steps,
    )

    def close() -> None:
        adder.close()
        files.close()
        environment.close()

    return worker.SteppedWorker(
        turn.step,
        count_steps=lambda: store.statistics().steps,
        max_steps=config.max_steps,
        wait_for_stop=wait_for_stop,
        close=close,
        state=files.state,
    )


def make_learner(
    config: GorilaConfig,
    run_dir: str,
    index: int,
    replay_addresses: Sequence[str],
    shards: Sequence[Any],
    wait_for_stop: core.WaitForStop,
) -> worker.SteppedWorker:
    """Builds learner `index`, which draws from all replay servers."""
    files = run_nodes.open_worker_files(config, run_dir, f"learner-{index}")
    environment_spec = parts.make_environment_spec(config)
    network = parts.make_network(config, environment_spec)
    layout = tf_variables.FlatVariables(network.trainable_variables).layout
    store = _store_maker(config, shards, wait_for_stop)(layout)
    source = batches.ReplayBatches(
        replay_addresses,
        environment_spec,
        batch_size=config.batch_size,
    )
    outlier_rule = _make_outlier_rule(config)
    if outlier_rule is not None:
        files.state.keep("outlier_rule", outlier_rule)
    learner = parts.make_learner(
        config,
        environment_spec,
        network,
        store,
        source,
        outlier_rule,
        watch=files.watch,
    )
    turn = reporting.ReportingLearner(
        learner,
        files.report,
        # Asks no server: a dead one must not take the learner with it.
        replay_items=(lambda: source.num_items) if index == 0 else None,
        min_replay_items=config.replay_limits().min_items,
        max_steps=config.max_steps,
    )

    def close() -> None:
        source.close()
        files.close()

    return worker.SteppedWorker(
        turn.step,
        count_steps=lambda: store.statistics().steps,
        max_steps=config.max_steps,
        wait_for_stop=wait_for_stop,
        close=close,
        state=files.state,
    )


def make_evaluator(
    config: GorilaConfig,
    run_dir: str,
    shards: Sequence[Any],
    wait_for_stop: core.WaitForStop,
) -> evaluators.Evaluator:
    """Builds the evaluator."""
    return evaluation.make_evaluator(
        config,
        run_dir,
        parts.make_player,
        _store_maker(config, shards, wait_for_stop),
        wait_for_stop,
    )


def _store_maker(
    config: GorilaConfig, shards: Sequence[Any], wait_for_stop: core.WaitForStop
) -> run_nodes.StoreMaker:
    def make(layout: layouts.ParameterLayout) -> sharded_client.ShardedClient:
        return parameter_shards.open_store(
            config,
            layout,
            shards,
            wait_for_stop,
            max_gradient_norm=config.max_gradient_norm,
        )

    return make


def _make_outlier_rule(config: GorilaConfig) -> outliers.OutlierRule | None:
    if config.outlier_deviations is None:
        return None
    return outliers.OutlierRule(
        config.outlier_deviations,
        warmup_batches=config.outlier_warmup_batches,
        always_accept_below=config.outlier_min_loss,
    )


def _spread(config: GorilaConfig, index: int, num_actors: int) -> parts.Spread:
    """Returns what an actor makes of the program's epsilon."""
    if config.exploration == "same":
        return lambda epsilon: epsilon
    return lambda epsilon: exploration.spread_epsilon(epsilon, index, num_actors)
