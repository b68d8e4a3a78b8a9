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
from ale_py import env

GAME = "pong"
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


def make_game(
    game: str = GAME, *, noop_max: int = 30, channel: bool = False
) -> gymnasium.Env:
    """Makes a game as the DQN papers have it, without the stack of frames.

    Without the checks that `gymnasium.make` wraps around it, and rendering grey rather
    than RGB by default: both make it faster.
    """
    environment = env.AtariEnv(
        game,
        frameskip=1,
        repeat_action_probability=0.0,
        obs_type="grayscale",
        max_num_frames_per_episode=108_000,
    )
    return gymnasium.wrappers.AtariPreprocessing(
        environment, noop_max=noop_max, grayscale_newaxis=channel
    )


def make_stacked_game(game: str = GAME, *, noop_max: int = 30) -> gymnasium.Env:
    """Makes a game with stacks of four frames, `[4, 84, 84]`."""
    return gymnasium.wrappers.FrameStackObservation(
        make_game(game, noop_max=noop_max), 4
    )


def make_clipped_game() -> gymnasium.Env:
    """Makes what Stable-Baselines3 stacks by itself: `[84, 84, 1]`, rewards clipped."""
    return gymnasium.wrappers.TransformReward(make_game(channel=True), np.sign)


class OldGame:
    """A game as PFRL knows environments: `step` returns four values."""

    def __init__(self, seed: int) -> None:
        """Makes the game."""
        self._environment = make_stacked_game()
        self._seed: int | None = seed
        self.action_space = self._environment.action_space

    def reset(self) -> np.ndarray:
        """Starts an episode."""
        observation, _ = self._environment.reset(seed=self._seed)
        self._seed = None
        return observation

    def step(self, action: int) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        """Takes a step."""
        observation, reward, ended, cut, info = self._environment.step(action)
        return observation, np.sign(reward), ended, {**info, "needs_reset": cut}

    def close(self) -> None:
        """Closes the game."""
        self._environment.close()


def run_pfrl_a3c(arguments: argparse.Namespace) -> None:
    """PFRL's A3C on two processes, as its Atari example sets it up."""
    os.environ["OMP_NUM_THREADS"] = "1"  # As the example: else the forks hang.
    import pfrl
    from pfrl import agents, experiments
    from pfrl.policies import SoftmaxCategoricalHead
    from torch import nn

    num_actions = OldGame(0).action_space.n
    model = nn.Sequential(
        nn.Conv2d(4, 16, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2592, 256),
        nn.ReLU(),
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
        lambda index, test: OldGame(index),
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
            self.layers = nn.Sequential(
                nn.Conv2d(4, 16, 8, stride=4),
                nn.ReLU(),
                nn.Conv2d(16, 32, 4, stride=2),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(2592, 256),
                nn.ReLU(),
            )

        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            return self.layers(observations)

    vectorisations: dict[str, Callable[[list], Any]] = {
        "dummy": vec_env.DummyVecEnv,
        "subproc": vec_env.SubprocVecEnv,
    }
    environments = vectorisations[arguments.vectorisation]([make_clipped_game] * 16)
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

    environments = vec_env.DummyVecEnv([make_clipped_game])
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
    environment = make_stacked_game()
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
    environment = _make_vector(num_envs=16, num_threads=1)
    actions = _random_actions(environment.single_action_space.n).reshape(-1, 16)
    environment.reset(seed=0)
    rows = Rows(arguments.rows)
    for steps, action in enumerate(_endlessly(actions), start=1):
        environment.step(action)
        rows.write_if_due(16 * steps, 0)


def dump_frames(arguments: argparse.Namespace) -> None:
    """Plays given actions without null actions; keeps all observations.

    Reads `actions.npy`, writes `gymnasium.npz` and `ale_vector.npz`: observations
    `[T + 1, 4, 84, 84]`, rewards `[T]`, whether the game ended `[T]`. The step after
    the end of a game begins the next one, and its action has no effect.
    """
    folder = pathlib.Path(arguments.rows)
    actions = np.load(folder / "actions.npy")
    single = make_stacked_game(arguments.game, noop_max=0)
    _dump(
        folder / "gymnasium.npz",
        actions,
        lambda: single.reset(seed=0)[0],
        single.step,
    )
    vector = _make_vector(
        arguments.game,
        num_envs=1,
        num_threads=1,
        noop_max=0,
        use_fire_reset=False,
        reward_clipping=False,
    )
    _dump(
        folder / "ale_vector.npz",
        actions,
        lambda: vector.reset(seed=0)[0][0],
        lambda action: tuple(part[0] for part in vector.step(np.array([action]))[:4]),
        resets_itself=True,
    )


def _dump(
    path: pathlib.Path,
    actions: np.ndarray,
    reset: Callable[[], np.ndarray],
    step: Callable[[int], tuple],
    *,
    resets_itself: bool = False,
) -> None:
    observations, rewards, ends = [np.array(reset())], [], []
    over = False
    for action in actions:
        if over and not resets_itself:
            observation, reward, over = reset(), 0.0, False
        else:
            observation, reward, ended, cut = step(int(action))[:4]
            over = bool(ended or cut)
        observations.append(np.array(observation))
        rewards.append(reward)
        ends.append(over)
    np.savez(path, observations=observations, rewards=rewards, ends=ends)


def _make_vector(game: str = GAME, **settings: Any) -> Any:
    from ale_py import vector_env

    return vector_env.AtariVectorEnv(game, **settings)


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
    "frames": dump_frames,
}


def main() -> None:
    """Runs what the command line asks for, until it is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=_COMMANDS)
    parser.add_argument("--rows", required=True, help="folder of the CSV files")
    parser.add_argument("--vectorisation", default="dummy")
    parser.add_argument("--threads", help="of PyTorch; default: its own choice")
    parser.add_argument("--replay_items", type=int, default=10_000)
    parser.add_argument("--game", default=GAME)
    arguments = parser.parse_args()
    if arguments.threads is not None:
        os.environ["OMP_NUM_THREADS"] = arguments.threads  # Before PyTorch is loaded.
    _COMMANDS[arguments.what](arguments)


if __name__ == "__main__":
    main()
