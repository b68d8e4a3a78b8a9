"""Plays the policy that a run has saved, and prints its score.

python launch/evaluate.py --run_dir=runs/a3c-catch-20260101-120000 --greedy
"""

import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from agents import setting_checks
from launch import command_line, saved_runs
from rlcomponents import core, finite
from rlcomponents.evaluation import (
    normalisation,
    protocols,
    score_tables,
    start_points,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationFlags:
    """Flags of an evaluation.

    Attributes:
        run_dir: Folder of the run.
        checkpoint: `newest`, or `best`: the one of the best evaluation in training.
        protocol: `plain`: games as the environment begins them. `noop_starts`: 30
            games after 1 to 30 null-ops, cut after 18,000 frames. `human_starts`: from
            the points in `starts`, cut after 108,000 frames counted from the beginning
            of the recording. The last two explore with epsilon 0.05, where the agent
            has an epsilon.
        starts: File of start points, as launch/record_starts.py writes it.
        episodes: Whole games to play. None: as the protocol says; with `plain` 30.
        max_episode_frames: Frames after which a game is cut. None: as the protocol
            says; with `plain` as the run's settings say.
        epsilon: Chance of a random action. None: as the protocol says; with `plain` as
            the run's settings say.
        greedy: Whether to explore nothing.
        seed: Of the policy's random actions, and of the games but where they begin at
            points. None: the run's.
        video: File (.mp4) for a film of the first game. None: no film.
    """

    run_dir: str | None = None
    checkpoint: str = saved_runs.NEWEST
    protocol: str = protocols.PLAIN.name
    starts: str | None = None
    episodes: int | None = None
    max_episode_frames: int | None = None
    epsilon: float | None = None
    greedy: bool = False
    seed: int | None = None
    video: str | None = None


def main(argv: Sequence[str]) -> int:
    """Evaluates as the flags say; returns the exit code."""
    flags = command_line.parse(argv, __doc__, run_class=EvaluationFlags).run
    with command_line.bad_input_refused():
        _check(flags)
        environment = saved_runs.environment_name(flags.run_dir)
    with command_line.bad_input_refused(environment):
        plan = _plan(flags)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        from agents import saved_policy  # TensorFlow: after the flags, and quiet.

        policy = saved_policy.load(*plan.run, plan.make_environment)
        if flags.video is not None:  # With a policy of its own: the score stays.
            film = saved_policy.load(*plan.run, plan.make_environment)
            film.film(flags.video)
            print(f"Film of the first game: {flags.video}")
    try:
        results = policy.play(plan.num_episodes)
    except (finite.NonFiniteError, start_points.NotReproducedError) as error:
        command_line.refuse(error)
    config = plan.run.config
    print(
        f"{environment} after {policy.agent_steps:,} agent steps, {flags.protocol}, "
        f"{plan.num_episodes} episodes cut after {config.max_evaluation_frames:,} "
        f"frames, {config.evaluation_policy}"
        f"{'' if flags.seed is None else f', seed {flags.seed}'}:\n"
        f"mean {results.mean:.2f}, standard error {results.standard_error:.2f}"
    )
    if plan.player is not None:
        print(f"start points by {plan.player}")
    is_plain = flags.protocol == protocols.PLAIN.name
    normalised = normalisation.human_normalised(
        environment, results.mean, starts=None if is_plain else flags.protocol
    )
    if normalised is not None:
        table = "" if is_plain else f" by the published table of {flags.protocol}"
        print(f"human-normalised {normalised:.1f} %{table} (0: random, 100: human)")
    published = _published(protocols.PROTOCOLS[flags.protocol], plan)
    if published:
        print(published)
    return 0


class _Plan(NamedTuple):
    """What is to be played.

    Attributes:
        run: The policy, its settings as the protocol has them.
        make_environment: Makes what it is played in. None: the run's environment.
        num_episodes: Games.
        player: Who played up to the start points; None without such points.
    """

    run: saved_runs.SavedRun
    make_environment: core.EnvironmentFactory | None
    num_episodes: int
    player: str | None


def _published(protocol: protocols.Protocol, plan: _Plan) -> str:
    """Returns what papers print of a game that was played as they did, in a line."""
    config = plan.run.config
    suite, _, game = config.environment.partition(":")
    played = protocols.Protocol(
        protocol.name,
        plan.num_episodes,
        config.max_evaluation_frames,
        getattr(config, "evaluation_epsilon", protocol.epsilon),
    )
    if (
        suite != "atari"
        or protocol == protocols.PLAIN
        or played != protocol
        or config.sticky_action_probability
        or config == config.greedy()  # A3C has no epsilon that would tell.
    ):
        return ""
    points = "" if plan.player is None else ", from points of human play"
    of_agents = score_tables.published(protocol.name).agents.items()
    scores = [f"{agent} {of[game]:g}" for agent, of in of_agents if game in of]
    if not scores:
        return ""
    return f"published under {protocol.name}{points}: {', '.join(scores)}"


def _check(flags: EvaluationFlags) -> None:
    setting_checks.check(
        flags,
        {
            "checkpoint": setting_checks.one_of((saved_runs.NEWEST, saved_runs.BEST)),
            "protocol": setting_checks.one_of(protocols.PROTOCOLS),
            "episodes": setting_checks.AT_LEAST_ONE,
            "max_episode_frames": setting_checks.AT_LEAST_ONE,
            "epsilon": setting_checks.FRACTION,
            "seed": setting_checks.NOT_NEGATIVE,
        },
    )
    from_points = flags.protocol == protocols.HUMAN_STARTS.name
    if from_points and flags.starts is None:
        raise ValueError(
            "--protocol=human_starts begins games at recorded points: give a file of "
            "them as --starts; launch/record_starts.py makes one."
        )
    if flags.starts is not None and not from_points:
        raise ValueError(
            f"--starts has no effect with --protocol={flags.protocol}: leave it out, "
            "or choose human_starts."
        )
    if flags.greedy and flags.epsilon is not None:
        raise ValueError("--greedy explores nothing: leave out it or --epsilon.")


def _plan(flags: EvaluationFlags) -> _Plan:
    assert flags.run_dir is not None  # Its environment was asked for before.
    protocol = protocols.PROTOCOLS[flags.protocol]
    run = saved_runs.find(
        flags.run_dir, checkpoint=flags.checkpoint, greedy=flags.greedy
    )
    config = run.config
    epsilon = flags.epsilon
    if epsilon is None and config.explores_by_epsilon and not flags.greedy:
        epsilon = protocol.epsilon
    if epsilon is not None:
        config = config.with_epsilon(epsilon)
    frames = flags.max_episode_frames or protocol.max_episode_frames
    if frames is not None:
        config = dataclasses.replace(config, max_evaluation_frames=frames)
    if flags.seed is not None:
        config = dataclasses.replace(config, seed=flags.seed)
    run = run._replace(config=config)
    num_episodes = flags.episodes or protocol.num_episodes
    settings = config.environment_settings(evaluation=True)
    if protocol == protocols.NOOP_STARTS:
        make_environment = protocols.null_op_starts(config.environment, settings)
        return _Plan(run, make_environment, num_episodes, None)
    if protocol == protocols.PLAIN:
        if flags.max_episode_frames is None:
            return _Plan(run, None, num_episodes, None)
        # The cap that is asked for is the only one.
        make_environment = protocols.uncut(config.environment, settings)
        return _Plan(run, make_environment, num_episodes, None)

    assert flags.starts is not None
    starts = start_points.read(flags.starts)
    start_points.check_environment(
        starts,
        config.environment,
        protocols.recording_settings(config.environment, settings),
        flags.starts,
    )
    num_episodes = flags.episodes or len(starts.points)
    if num_episodes > len(starts.points):
        raise ValueError(
            f"episodes is {num_episodes}: {flags.starts} has {len(starts.points)} "
            "start points, and a game begins at each; ask for no more, or record more."
        )
    make_environment = protocols.point_starts(
        starts, max_game_frames=config.max_evaluation_frames
    )
    return _Plan(run, make_environment, num_episodes, starts.player)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
