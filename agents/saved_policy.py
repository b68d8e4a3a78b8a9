"""Plays the policy that a run has saved, whatever the agent."""

import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import dm_env
import numpy as np
import sonnet as snt
from acme import core as acme_core

from agents.run_config import RunConfig
from rlcomponents import core, seeding, specs
from rlcomponents.actors import epsilon_greedy, q_values
from rlcomponents.evaluation import episodes, video
from rlcomponents.parameters import tf_variables
from rlcomponents.runs import checkpoints

_EMULATED_FILM_FRAMES_PER_SEC = 15  # 60 emulator frames, 4 of them a step: real time.
_FILM_FRAMES_PER_SEC = 10


class Player(NamedTuple):
    """What plays, and where its parameters go.

    Attributes:
        variables: Of its network.
        actor: Acts as evaluation asks for, and keeps no experience.
    """

    variables: tf_variables.FlatVariables
    actor: acme_core.Actor


def make_epsilon_greedy_player(
    network: snt.Module,
    environment_spec: specs.EnvironmentSpec,
    *,
    epsilon: float,
    run_seed: int,
) -> Player:
    """Builds what plays by action values.

    Args:
        network: A Q-network.
        environment_spec: Of the environment it is for.
        epsilon: Chance of a random action.
        run_seed: Seed of the run, from which that of the random actions derives.
    """
    variables = tf_variables.FlatVariables(network.trainable_variables)
    actor = epsilon_greedy.EpsilonGreedyActor(
        q_values.make_q_values(network, environment_spec.observations, variables),
        lambda: epsilon,
        np.random.default_rng(seeding.derive(run_seed, "evaluation exploration")),
    )
    return Player(variables, actor)


PlayerMaker = Callable[[Any, specs.EnvironmentSpec], Player]
"""Builds an agent's player from its config, for an environment."""


class SavedPolicy(NamedTuple):
    """A policy, and the environment that it is evaluated in.

    Attributes:
        config: Of the run.
        environment: For whole games.
        actor: Acts as evaluation asks for.
        agent_steps: Agent steps of training when it was saved.
    """

    config: RunConfig
    environment: dm_env.Environment
    actor: acme_core.Actor
    agent_steps: int

    def play(self, num_episodes: int) -> episodes.EpisodeResults:
        """Plays whole games."""
        return episodes.play_episodes(
            self.environment,
            self.actor,
            num_episodes,
            max_episode_steps=self.config.max_evaluation_steps,
        )

    def film(self, path: str) -> None:
        """Plays one game and writes it to an .mp4 file.

        Raises:
            ValueError: Another ending of the name, or an environment without screen.
            ImportError: imageio-ffmpeg is not installed.
        """
        video.record(
            self.environment,
            self.actor,
            path,
            frames_per_sec=film_frames_per_sec(self.config),
            max_frames=self.config.max_evaluation_steps + 1,
        )


def film_frames_per_sec(config: RunConfig) -> int:
    """Returns the speed of a film that has one picture an agent step."""
    is_emulated = config.frames_per_step > 1
    return _EMULATED_FILM_FRAMES_PER_SEC if is_emulated else _FILM_FRAMES_PER_SEC


def load(
    config: RunConfig,
    checkpoint: pathlib.Path,
    make_player: PlayerMaker,
    make_environment: core.EnvironmentFactory | None = None,
) -> SavedPolicy:
    """Builds the policy of a checkpoint. Each time it plays the same games.

    Args:
        config: Of the run.
        checkpoint: Folder of the checkpoint.
        make_player: Builds the network and what plays with it.
        make_environment: Makes the environment to play in. None: the run's.

    Raises:
        ValueError: The checkpoint is damaged, or is of another network.
    """
    saved, facts = checkpoints.load(checkpoint)
    if make_environment is None:
        make_environment = config.make_environment_factory(evaluation=True)
    environment = make_environment(seeding.derive(config.seed, "final evaluation"))
    environment_spec = specs.make_environment_spec(environment)
    variables, actor = make_player(config, environment_spec)
    vector = np.concatenate(
        [
            saved[f"parameters_{index}"]["parameters"]
            for index in range(facts["num_parameter_shards"])
        ]
    )
    if vector.size != variables.layout.num_parameters:
        raise ValueError(
            f"The checkpoint {checkpoint} has {vector.size} parameters and the network "
            f"{variables.layout.num_parameters}: the environment or the run's "
            "config.json is no longer what it was in training."
        )
    variables.assign(vector)
    return SavedPolicy(
        config,
        environment,
        actor,
        facts["agent_steps"],
    )
