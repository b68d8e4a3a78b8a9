"""Plays the policy that a run has saved; Gorila's runs are saved alike."""

import pathlib
from typing import NamedTuple

import dm_env
import numpy as np

from agents.dqn import parts
from agents.dqn.config import DQNConfig
from rlcomponents import seeding, specs
from rlcomponents.actors import epsilon_greedy
from rlcomponents.parameters import tf_variables
from rlcomponents.runs import checkpoints


class SavedPolicy(NamedTuple):
    """A policy, and the environment it is evaluated in.

    Attributes:
        environment: For whole games, with the suite's null-op starts.
        actor: Acts with the evaluation's epsilon.
        agent_steps: Agent steps of training when it was saved.
    """

    environment: dm_env.Environment
    actor: epsilon_greedy.EpsilonGreedyActor
    agent_steps: int


def load(config: DQNConfig, checkpoint: pathlib.Path) -> SavedPolicy:
    """Builds the policy of a checkpoint.

    Raises:
        ValueError: The checkpoint is damaged, or is of another network.
    """
    saved, facts = checkpoints.load(checkpoint)
    environment = config.make_environment_factory(evaluation=True)(
        seeding.derive(config.seed, "final evaluation")
    )
    environment_spec = specs.make_environment_spec(environment)
    network = parts.make_network(config, environment_spec)
    vector = np.concatenate(
        [
            saved[f"parameters_{index}"]["parameters"]
            for index in range(facts["num_parameter_shards"])
        ]
    )
    tf_variables.FlatVariables(network.trainable_variables).assign(vector)
    return SavedPolicy(
        environment,
        parts.make_evaluation_actor(config, environment_spec, network),
        facts["agent_steps"],
    )
