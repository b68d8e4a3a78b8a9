"""The libraries that ours is compared with; runs in their environment, .venv-peers.

    .venv-peers/bin/python benchmarks/peers.py sb3-a2c --rows=FOLDER

Each is set up as its own examples do it, with the network, the preprocessing and the
settings of ours, and says how far it is in CSV files; see `contenders.py`.
"""

import argparse
import os
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import peer_games

FOR_EVER_STEPS = 10**9
T_MAX_STEPS = 5
ROW_PERIOD_SECS = 0.2


class Rows:
    """Says how far a worker is, now and then."""

    def __init__(self, folder: str, worker: int = 0) -> None:
        """Opens the file."""
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        path = pathlib.Path(folder, f"worker-{worker}.csv")
        self._file = path.open("w", buffering=1)
        self._file.write("time_secs,agent_steps,updates\n")
        self._next_secs = 0.0

    def write_if_due(self, agent_steps: int, updates: int) -> None:
        """Writes a row where the last one is old enough."""
        now_secs = time.time()
        if now_secs >= self._next_secs:
            self._file.write(f"{now_secs:.6f},{agent_steps},{updates}\n")
            self._next_secs = now_secs + ROW_PERIOD_SECS


def _nips_layers() -> list[Any]:
    """The network of 2013, up to the last hidden layer, of 256."""
    from torch import nn

    return [
        nn.Conv2d(4, 16, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2592, 256),
        nn.ReLU(),
    ]


def run_pfrl_a3c(arguments: argparse.Namespace) -> None:
    """PFRL's A3C on two processes, as its Atari example sets it up."""
    os.environ["OMP_NUM_THREADS"] = "1"  # As the example: else the forks hang.
    import pfrl
    from pfrl import agents, experiments
    from pfrl.policies import SoftmaxCategoricalHead
    from torch import nn

    num_actions = peer_games.OldGame(0).action_space.n
    model = nn.Sequential(
        *_nips_layers(),
        pfrl.nn.Branched(
            nn.Sequential(nn.Linear(256, num_actions), SoftmaxCategoricalHead()),
            nn.Linear(256, 1),
        ),
    )
    optimiser = pfrl.optimizers.SharedRMSpropEpsInsideSqrt(
        model.parameters(), lr=7e-4, eps=1e-1, alpha=0.99
    )
    agent = agents.A3C(
        model,
        optimiser,
        t_max=T_MAX_STEPS,
        gamma=0.99,
        beta=1e-2,
        phi=lambda observation: np.asarray(observation, dtype=np.float32) / 255,
        max_grad_norm=40.0,
    )
    rows: list[Rows] = []  # Of this process; filled after the fork.
    steps = 0

    def count(environment: Any, agent: Any, global_steps: int) -> None:
        nonlocal steps
        if not rows:
            rows.append(Rows(arguments.rows, agent.process_idx))
        steps += 1
        rows[0].write_if_due(steps, steps // T_MAX_STEPS)

    experiments.train_agent_async(
        tempfile.mkdtemp(),
        2,
        lambda index, test: peer_games.OldGame(index),
        steps=FOR_EVER_STEPS,
        eval_interval=None,
        random_seeds=[0, 1],  # Its own default is of a type that Python 3.11 refuses.
        agent=agent,
        global_step_hooks=[count],
    )


def run_sb3_a2c(arguments: argparse.Namespace) -> None:
    """Stable-Baselines3's A2C on 16 environments, with the same network."""
    import stable_baselines3
    import torch
    from stable_baselines3.common import torch_layers, vec_env
    from torch import nn

    class NIPSFeatures(torch_layers.BaseFeaturesExtractor):
        """The network of 2013, up to the last hidden layer."""

        def __init__(self, observation_space: gymnasium.Space) -> None:
            super().__init__(observation_space, 256)
            self.layers = nn.Sequential(*_nips_layers())

        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            return self.layers(observations)

    vectorisations: dict[str, Callable[[list], Any]] = {
        "dummy": vec_env.DummyVecEnv,
        "subproc": vec_env.SubprocVecEnv,
    }
    environments = vectorisations[arguments.vectorisation](
        [peer_games.make_clipped_game] * 16
    )
    model = stable_baselines3.A2C(
        "CnnPolicy",
        vec_env.VecFrameStack(environments, 4),
        n_steps=T_MAX_STEPS,
        ent_coef=0.01,
        vf_coef=0.5,
        max_grad_norm=40.0,
        policy_kwargs={"features_extractor_class": NIPSFeatures, "net_arch": []},
        device="cpu",
    )
    _learn(model, arguments.rows)


def run_sb3_dqn(arguments: argparse.Namespace) -> None:
    """Stable-Baselines3's DQN with its default network, Nature's."""
    import stable_baselines3
    from stable_baselines3.common import vec_env

    environments = vec_env.DummyVecEnv([peer_games.make_clipped_game])
    model = stable_baselines3.DQN(
        "CnnPolicy",
        vec_env.VecFrameStack(environments, 4),
        buffer_size=arguments.replay_items,
        learning_starts=1_000,
        batch_size=32,
        train_freq=4,
        gradient_steps=1,
        target_update_interval=10_000,
        exploration_initial_eps=0.1,
        exploration_final_eps=0.1,
        device="cpu",
    )
    _learn(model, arguments.rows)


def run_gymnasium(arguments: argparse.Namespace) -> None:
    """Steps gymnasium's preprocessing and stack with random actions."""
    environment = peer_games.make_stacked_game()
    actions = _random_actions(environment.action_space.n)
    environment.reset(seed=0)
    rows = Rows(arguments.rows)
    for steps, action in enumerate(_endlessly(actions), start=1):
        _, _, ended, cut, _ = environment.step(action)
        if ended or cut:
            environment.reset()
        rows.write_if_due(steps, 0)


def run_ale_vector(arguments: argparse.Namespace) -> None:
    """Steps ale_py's vector environment: 16 games on one thread of C++."""
    environment = peer_games.make_vector(num_envs=16, num_threads=1)
    actions = _random_actions(environment.single_action_space.n).reshape(-1, 16)
    environment.reset(seed=0)
    rows = Rows(arguments.rows)
    for steps, action in enumerate(_endlessly(actions), start=1):
        environment.step(action)
        rows.write_if_due(16 * steps, 0)


def _learn(model: Any, folder: str) -> None:
    """Lets a model of Stable-Baselines3 learn for ever."""
    from stable_baselines3.common import callbacks

    rows = Rows(folder)

    class Count(callbacks.BaseCallback):
        """Says how far it is after each step of the environments."""

        def _on_step(self) -> bool:
            rows.write_if_due(self.num_timesteps, self.model._n_updates)
            return True

    model.learn(FOR_EVER_STEPS, callback=Count(), log_interval=FOR_EVER_STEPS)


def _random_actions(num_actions: int) -> np.ndarray:
    return np.random.default_rng(0).integers(num_actions, size=16_000)


def _endlessly(items: np.ndarray) -> Any:
    while True:
        yield from items


_COMMANDS = {
    "pfrl-a3c": run_pfrl_a3c,
    "sb3-a2c": run_sb3_a2c,
    "sb3-dqn": run_sb3_dqn,
    "gymnasium": run_gymnasium,
    "ale-vector": run_ale_vector,
    "frames": peer_games.dump_frames,
}


def main() -> None:
    """Runs what the command line asks for, until it is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=_COMMANDS)
    parser.add_argument("--rows", required=True, help="folder of the CSV files")
    parser.add_argument("--vectorisation", default="dummy")
    parser.add_argument("--threads", help="of PyTorch; default: its own choice")
    parser.add_argument("--replay_items", type=int, default=10_000)
    parser.add_argument("--game", default=peer_games.GAME)
    arguments = parser.parse_args()
    if arguments.threads is not None:
        os.environ["OMP_NUM_THREADS"] = arguments.threads  # Before PyTorch is loaded.
    _COMMANDS[arguments.what](arguments)


if __name__ == "__main__":
    main()
