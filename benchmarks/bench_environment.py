"""Measures our Atari environment against gymnasium's wrappers and ale_py's vector.

First shows that all three give the same pixels: the same actions, without null actions,
on several games, through ends of games. Then frames of each in a second of CPU time:

    ours         rlcomponents.environments.atari, one game
    gymnasium    AtariPreprocessing and FrameStackObservation, one game
    vector       ale_py's AtariVectorEnv: 16 games, one thread of C++

    python benchmarks/bench_environment.py         (about a minute)
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import contenders
import measuring
import numpy as np

from rlcomponents.environments import registry

GAMES = ("pong", "breakout", "seaquest", "space_invaders")
NUM_STEPS = 1_000
FRAMES_PER_STEP = 4
RUN_OURS = "--run_ours"
ROW_PERIOD_SECS = 0.2


def main() -> None:
    """Prints where pixels differ, frames a second, and their ratios."""
    options = measuring.parse_options(__doc__, rounds=7)
    report = measuring.Report("environment", options)
    print(f"Atari pixels, {NUM_STEPS} steps of each game")
    for game in GAMES[:2] if options.quick else GAMES:
        _compare_pixels(report, game)
    print("Atari speed on one core, Pong")
    with contenders.Arena(secs=2.0 if options.quick else 4.0) as arena:
        ours = [sys.executable, __file__, RUN_OURS]
        arena.add_program("ours", ours)
        arena.add_program("gymnasium", contenders.peer("gymnasium"))
        arena.add_program("vector", contenders.peer("ale-vector"))
        rounds = arena.rounds(options.rounds)
    frames = {
        name: [FRAMES_PER_STEP * rates.steps_per_cpu_sec for rates in each]
        for name, each in rounds.items()
    }
    for name, each in frames.items():
        report.number(name, each, "frames/CPU s")
    report.ratio(
        "ours / gymnasium",
        measuring.ratios(frames["ours"], frames["gymnasium"]),
        at_least=1.3,
    )
    report.ratio("ours / vector", measuring.ratios(frames["ours"], frames["vector"]))
    report.write()


def run_ours(rows: pathlib.Path) -> None:
    """Steps ours with random actions, until it is killed."""
    environment = registry.make_factory("atari:pong")(0)
    num_actions = environment.action_spec().num_values
    actions = np.random.default_rng(0).integers(num_actions, size=16_000)
    environment.reset()
    rows.mkdir(parents=True)
    steps, next_secs = 0, 0.0
    with (rows / "worker-0.csv").open("w", buffering=1) as file:
        file.write("time_secs,agent_steps,updates\n")
        while True:
            for action in actions:
                environment.step(action)
                steps += 1
                if time.time() >= next_secs:
                    next_secs = time.time() + ROW_PERIOD_SECS
                    file.write(f"{time.time():.6f},{steps},0\n")


def _compare_pixels(report: measuring.Report, game: str) -> None:
    """Plays the same actions in all three, and says which observations differ."""
    environment = registry.make_factory(f"atari:{game}", max_null_ops_frames=0)(0)
    num_actions = environment.action_spec().num_values
    actions = np.random.default_rng(0).integers(num_actions, size=NUM_STEPS)
    timesteps = [environment.reset(), *map(environment.step, actions)]
    ours = np.stack([np.moveaxis(t.observation, -1, 0) for t in timesteps])
    is_last = np.array([t.last() for t in timesteps])
    reward = np.array([0.0 if t.first() else t.reward for t in timesteps[1:]])
    with tempfile.TemporaryDirectory() as folder:
        np.save(pathlib.Path(folder, "actions.npy"), actions)
        command = contenders.peer("frames", f"--rows={folder}", f"--game={game}")
        subprocess.run(command, check=True, capture_output=True)
        for peer in ("gymnasium", "ale_vector"):
            theirs = np.load(pathlib.Path(folder, f"{peer}.npz"))
            same_game = np.array_equal(reward, theirs["rewards"]) and np.array_equal(
                is_last[1:], theirs["ends"]
            )
            differ = (ours != theirs["observations"]).any(axis=(2, 3))  # [T, 4]
            newest = differ[:, -1]
            elsewhere = newest & ~is_last
            report.ratio(
                f"{game}: share of frames equal to {peer}'s, but for games' last",
                float(1.0 - elsewhere.mean()),
                at_least=1.0,
            )
            report.note(
                f"{game}, {peer}: rewards and ends of {is_last.sum()} games "
                f"{'equal' if same_game else 'DIFFERENT'}; of {len(newest)} frames "
                f"{newest.sum()} differ, {(newest & is_last).sum()} of them a game's "
                "last (ours is what is on the screen then, theirs is older); "
                f"{(differ.any(axis=1) & ~newest).sum()} stacks differ in older frames "
                "(ours begins a game with four times its first frame)."
            )
    environment.close()


if __name__ == "__main__":
    if RUN_OURS in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument(RUN_OURS, action="store_true")
        parser.add_argument("--rows", type=pathlib.Path, required=True)
        run_ours(parser.parse_args().rows)
    else:
        main()
