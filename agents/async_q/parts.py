"""Builds strategies and players of the asynchronous value methods."""

import numpy as np
import sonnet as snt

from agents import saved_policy
from agents.async_q import strategies
from agents.async_q.config import AsyncQConfig
from rlcomponents import exploration, schedules, seeding, specs
from rlcomponents.networks import q_network


def make_network(
    config: AsyncQConfig, environment_spec: specs.EnvironmentSpec
) -> snt.Module:
    """Builds the Q-network; equal in every node, since its seed is the run's."""
    return q_network.make_network(
        config.network_kind(environment_spec),
        environment_spec,
        seed=seeding.derive(config.seed, "network"),
    )


def make_strategy(
    config: AsyncQConfig,
    environment_spec: specs.EnvironmentSpec,
    index: int,
    life: int = 0,
) -> strategies.QStrategy:
    """Builds the strategy of worker `index`, which draws its final epsilon.

    That one is for all its lives; `life` is how often it lived before.
    """
    rng = np.random.default_rng(seeding.derive(config.seed, "exploration", index))
    final_epsilon = config.final_epsilon
    if final_epsilon is None:
        final_epsilon = exploration.async_final_epsilon(rng)
    if life:
        seed = seeding.derive(config.seed, "exploration", index, life=life)
        rng = np.random.default_rng(seed)
    return strategies.QStrategy(
        make_network(config, environment_spec),
        make_network(config, environment_spec),
        strategies.RULES[config.algorithm](),
        epsilon=schedules.Linear(
            config.initial_epsilon, final_epsilon, config.epsilon_horizon_steps
        ),
        rng=rng,
    )


def make_player(
    config: AsyncQConfig, environment_spec: specs.EnvironmentSpec
) -> saved_policy.Player:
    """Builds what plays with the evaluation's epsilon."""
    return saved_policy.make_epsilon_greedy_player(
        make_network(config, environment_spec),
        environment_spec,
        epsilon=config.evaluation_epsilon,
        run_seed=config.seed,
    )
