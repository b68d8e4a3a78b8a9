"""Builds the parts of DQN from its config. Gorila builds its parts with these, too.

Each function calls constructors and little else, inside the node that uses what it
makes. `nodes.py` puts the parts together.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import sonnet as snt

from agents import run_nodes, saved_policy
from agents.dqn.config import DQNConfig
from rlcomponents import core, environment_loop, finite, seeding, specs
from rlcomponents.actors import epsilon_greedy, q_values, store_sync
from rlcomponents.learners import actor_learner as actor_learners
from rlcomponents.learners import dqn as dqn_learners
from rlcomponents.losses import outliers
from rlcomponents.networks import q_network
from rlcomponents.nodes import evaluator as evaluators
from rlcomponents.nodes import reporting
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import tf_variables
from rlcomponents.replay import adders, batches, servers, tables, transitions
from rlcomponents.runs import node_state

StoreMaker = Callable[[layouts.ParameterLayout], core.ParameterStore]
"""Makes a worker's store once the worker knows its network."""

Spread = Callable[[float], float]
"""Maps the program's epsilon to that of one actor."""


def make_network(
    config: DQNConfig, environment_spec: specs.EnvironmentSpec
) -> snt.Module:
    """Builds the Q-network; equal in every node, since its seed is the run's."""
    return q_network.make_network(
        config.network_kind(environment_spec),
        environment_spec,
        dueling=config.dueling,
        seed=seeding.derive(config.seed, "network"),
    )


def make_environment_spec(config: DQNConfig) -> specs.EnvironmentSpec:
    """Builds an environment for what it says of itself, and closes it."""
    environment = config.make_environment_factory()(
        seeding.derive(config.seed, "environment spec")
    )
    try:
        return specs.make_environment_spec(environment)
    finally:
        environment.close()


def make_adder(
    config: DQNConfig,
    environment_spec: specs.EnvironmentSpec,
    address: str,
    *,
    should_stop: Callable[[], bool],
    name: str,
) -> adders.TransitionAdder:
    """Builds what turns an actor's steps into transitions in replay."""
    return adders.TransitionAdder(
        address,
        environment_spec,
        num_steps=config.n_step,
        discount=config.discount,
        max_abs_reward=config.max_abs_reward,
        should_stop=should_stop,
        actor=name,
    )


def make_learner(
    config: DQNConfig,
    environment_spec: specs.EnvironmentSpec,
    network: snt.Module,
    store: core.ParameterStore,
    source: transitions.BatchSource,
    outlier_rule: outliers.OutlierRule | None = None,
    *,
    watch: finite.Watch | None = None,
) -> dqn_learners.DQNLearner:
    """Builds the learner on `network`, with a target network of its own."""
    return dqn_learners.DQNLearner(
        network,
        make_network(config, environment_spec),
        store,
        source,
        double_q=config.double_q,
        max_abs_td_error=config.max_abs_td_error,
        outlier_rule=outlier_rule,
        watch=watch,
    )


class Bundle(NamedTuple):
    """Actor, replay and learner on one network, in one thread.

    Attributes:
        step: Takes one turn; returns the agent steps of all actors together.
        store: The store it pulls from and pushes to.
        state: What it goes on from when it is started again.
        close: Frees replay, environment and files.
    """

    step: Callable[[], int]
    store: core.ParameterStore
    state: node_state.NodeState
    close: Callable[[], None]


def make_bundle(
    config: DQNConfig,
    run_dir: str,
    make_store: StoreMaker,
    wait_for_stop: run_nodes.WaitForStop,
    *,
    name: str,
    index: int = 0,
    spread: Spread = lambda epsilon: epsilon,
    outlier_rule: outliers.OutlierRule | None = None,
) -> Bundle:
    """Builds a whole bundle: environment, actor, replay, learner, report.

    Args:
        config: Of the run.
        run_dir: Folder of the run, for its rows of numbers and its state.
        make_store: Makes the store from the layout of the network.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
        name: Of the node, `<group>-<index>`, for its files.
        index: Of the node among its like, for its seeds.
        spread: What this actor makes of the program's epsilon.
        outlier_rule: Says which gradients to discard. None: none.
    """
    limits = config.replay_limits()
    files = run_nodes.open_worker_files(config, run_dir, name)
    life = files.state.life
    environment = config.make_environment_factory()(
        seeding.derive(config.seed, "environment", index, life=life)
    )
    environment_spec = specs.make_environment_spec(environment)
    network = make_network(config, environment_spec)
    store = make_store(tf_variables.FlatVariables(network.trainable_variables).layout)
    replay = servers.LocalReplay(tables.make_tables(environment_spec, limits))
    source = batches.ReplayBatches(
        [replay.address],
        environment_spec,
        batch_size=config.batch_size,
    )
    if outlier_rule is not None:
        files.state.keep("outlier_rule", outlier_rule)
    learner = make_learner(
        config,
        environment_spec,
        network,
        store,
        source,
        outlier_rule,
        watch=files.watch,
    )
    schedule = config.epsilon_schedule()

    def epsilon() -> float:
        return spread(schedule(learner.snapshot.updates))

    adder = make_adder(
        config,
        environment_spec,
        replay.address,
        should_stop=lambda: wait_for_stop(0),
        name=name,
    )
    rng = np.random.default_rng(
        seeding.derive(config.seed, "exploration", index, life=life)
    )
    files.state.keep_generator("exploration", rng)
    actor = epsilon_greedy.EpsilonGreedyActor(
        q_values.make_q_values(network, environment_spec.observations),
        epsilon,
        rng,
        adder=adder,
    )
    actor_learner = actor_learners.ActorLearner(
        environment_loop.EnvironmentLoop(environment, actor, watch=files.watch),
        learner,
        store,
        # The first items are complete n_step - 1 steps after they began.
        first_update_steps=limits.min_items + config.n_step,
        steps_per_update=config.steps_per_update,
    )
    files.state.keep("actor_learner", actor_learner)
    turn = reporting.ReportingActorLearner(
        actor_learner,
        files.report,
        epsilon=epsilon,
        replay_items=lambda: replay.num_items,
        min_replay_items=limits.min_items,
        max_steps=config.max_steps,
    )

    def close() -> None:
        adder.close()
        source.close()
        replay.close()
        files.close()
        environment.close()

    return Bundle(turn.step, store, files.state, close)


def make_evaluator(
    config: DQNConfig,
    run_dir: str,
    make_store: StoreMaker,
    wait_for_stop: run_nodes.WaitForStop,
) -> evaluators.Evaluator:
    """Builds the evaluator, with a network and an environment of its own."""
    environment = run_nodes.make_evaluation_environment(config)
    player = make_player(config, specs.make_environment_spec(environment))
    sync = store_sync.StoreSync(
        make_store(player.variables.layout), player.variables, period_steps=1
    )
    return run_nodes.make_evaluator(
        config, run_dir, sync.pull, environment, player.actor, wait_for_stop
    )


def make_player(
    config: DQNConfig, environment_spec: specs.EnvironmentSpec
) -> saved_policy.Player:
    """Builds what plays with the evaluation's epsilon."""
    return saved_policy.make_epsilon_greedy_player(
        make_network(config, environment_spec),
        environment_spec,
        epsilon=config.evaluation_epsilon,
        run_seed=config.seed,
    )
