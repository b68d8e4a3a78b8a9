"""Builds the parts of DQN from its config. Gorila builds its parts with these, too.

Each function calls constructors and little else, inside the node that uses what it
makes. `nodes.py` puts the parts together.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import sonnet as snt

from agents import run_nodes, saved_policy
from agents.dqn import replays
from agents.dqn.config import DQNConfig
from rlcomponents import core, environment_loop, finite, seeding, specs, states
from rlcomponents.actors import epsilon_greedy, q_values
from rlcomponents.learners import actor_learner as actor_learners
from rlcomponents.learners import dqn as dqn_learners
from rlcomponents.losses import outliers
from rlcomponents.networks import q_network
from rlcomponents.nodes import reporting
from rlcomponents.parameters import tf_variables
from rlcomponents.replay import transitions
from rlcomponents.runs import node_state

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
        close: Saves what replay holds; frees replay, environment and files.
    """

    step: Callable[[], int]
    store: core.ParameterStore
    state: node_state.NodeState
    close: Callable[[], None]


def make_bundle(
    config: DQNConfig,
    run_dir: str,
    make_store: run_nodes.StoreMaker,
    wait_for_stop: core.WaitForStop,
    *,
    name: str,
    index: int = 0,
    spread: Spread = lambda epsilon: epsilon,
    outlier_rule: outliers.OutlierRule | None = None,
    act_on_newest: bool = False,
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
        act_on_newest: See `ActorLearner`; for a store that is this bundle's alone.
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
    replay = replays.make_replay(
        config,
        run_dir,
        environment_spec,
        wait_for_stop,
        name=name,
        index=index,
        life=life,
    )
    if outlier_rule is not None:
        files.state.keep("outlier_rule", outlier_rule)
    learner = make_learner(
        config,
        environment_spec,
        network,
        store,
        replay.batches,
        outlier_rule,
        watch=files.watch,
    )
    schedule = config.epsilon_schedule()

    def epsilon() -> float:
        return spread(schedule(learner.snapshot.updates))

    rng = np.random.default_rng(
        seeding.derive(config.seed, "exploration", index, life=life)
    )
    files.state.keep_generator("exploration", rng)
    actor = epsilon_greedy.EpsilonGreedyActor(
        q_values.make_q_values(
            network, environment_spec.observations, learner.variables
        ),
        epsilon,
        rng,
        adder=replay.adder,
    )
    loop = environment_loop.EnvironmentLoop(environment, actor, watch=files.watch)
    first_update_steps = config.first_update_steps
    if replay.num_added_steps is None:
        first_update_steps -= replay.num_items()
    else:
        first_update_steps -= replay.num_added_steps()
        files.state.keep(
            "game", _Game(loop, replay.num_added_steps), only_if_ended=True
        )
    actor_learner = actor_learners.ActorLearner(
        loop,
        learner,
        store,
        first_update_steps=first_update_steps,
        steps_per_update=config.steps_per_update,
        act_on_newest=act_on_newest,
    )
    # After a death, steps that it had not counted may have been counted since.
    files.state.keep("actor_learner", actor_learner, only_if_ended=True)
    turn = reporting.ReportingActorLearner(
        actor_learner,
        files.report,
        epsilon=epsilon,
        replay_items=replay.num_items,
        min_replay_items=limits.min_items,
        max_steps=config.max_steps,
    )

    period_secs = config.replay_checkpoint_period_secs
    save_secs = time.monotonic()

    def step() -> int:
        nonlocal save_secs
        global_steps = turn.step()
        if period_secs is not None and time.monotonic() >= save_secs + period_secs:
            replay.save()
            save_secs = time.monotonic()
        return global_steps

    def close() -> None:
        if period_secs is not None:
            replay.save()
        replay.close()
        files.close()
        environment.close()

    return Bundle(step, store, files.state, close)


class _Game:
    """Where in the game a bundle is, for its state."""

    def __init__(
        self,
        loop: environment_loop.EnvironmentLoop,
        num_added_steps: Callable[[], int],
    ) -> None:
        self._loop = loop
        self._num_added_steps = num_added_steps

    def save(self) -> states.State:
        return {"loop": self._loop.save(), "num_added_steps": self._num_added_steps()}

    def restore(self, state: states.State) -> None:
        # Else replay was saved at another moment, and has another step before the next.
        if state["num_added_steps"] == self._num_added_steps():
            self._loop.restore(state["loop"])


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
