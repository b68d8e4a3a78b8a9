"""Tests of rlcomponents.nodes.evaluator."""

import numpy as np
import pytest

from rlcomponents import core, finite
from rlcomponents.actors import epsilon_greedy
from rlcomponents.nodes import evaluation_videos
from rlcomponents.nodes import evaluator as evaluators
from rlcomponents.runs import metrics, run_folder
from rlcomponents.testing import fakes

MAX_STEPS = 1_000


class Training:
    """What evaluators ask: set `steps` to let training go on."""

    def __init__(self):
        self.steps = 0
        self.num_pulls = 0

    def pull(self):
        self.num_pulls += 1
        version = core.Version(epoch=0, updates=self.steps // 10)
        return core.Snapshot(np.zeros(1, np.float32), (version,), self.steps)

    def count_steps(self):
        return self.steps


def make_actor(epsilon=0.0):
    return epsilon_greedy.EpsilonGreedyActor(
        lambda observation: np.array([0.0, 1.0], np.float32),
        lambda: epsilon,
        np.random.default_rng(0),
    )


@pytest.fixture
def training():
    return Training()


@pytest.fixture
def reporter():
    return fakes.RecordingReporter()


def never(timeout_secs):
    return False


@pytest.fixture
def make_evaluator(training, reporter):
    def make(game=None, actor=None, **settings):
        return evaluators.Evaluator(
            training.pull,
            training.count_steps,
            game or fakes.ScriptedGame([[1.0, 2.0]]),
            actor or make_actor(),
            reporter,
            **{
                "period_steps": 100,
                "num_episodes": 2,
                "final_num_episodes": 3,
                "max_steps": MAX_STEPS,
                "max_episode_steps": 50,
                "wait_for_stop": never,
                "wall_secs": fakes.ManualClock(),
                **settings,
            },
        )

    return make


def evaluated(reporter):
    return [(row["agent_steps"], row["final"]) for row in reporter.rows]


def test_evaluates_once_a_period(make_evaluator, training, reporter):
    evaluator = make_evaluator()
    did = []
    for training.steps in (0, 99, 100, 150, 199, 230, 320, 330):
        did.append(evaluator.step())
    assert did == [False, False, True, False, False, True, False, True]
    assert evaluated(reporter) == [(100, 0), (230, 0), (330, 0)]
    assert not evaluator.finished


def test_parameters_are_pulled_only_where_an_evaluation_is_due(
    make_evaluator, training
):
    evaluator = make_evaluator()
    pulls = []
    for training.steps in (0, 50, 99, 100, 150, 199, 200, MAX_STEPS):
        evaluator.step()
        pulls.append(training.num_pulls)
    assert pulls == [0, 0, 0, 1, 1, 1, 2, 3]


def test_an_evaluation_is_of_the_step_of_the_parameters_that_played(
    make_evaluator, training, reporter
):
    pull = training.pull

    def pull_later():
        training.steps += 30  # Training goes on between the look and the pull.
        return pull()

    training.pull = pull_later
    evaluator = make_evaluator()
    training.steps = 100
    evaluator.step()
    training.steps = MAX_STEPS - 10
    evaluator.step()
    assert evaluated(reporter) == [(130, 0), (MAX_STEPS + 20, 1)]


def test_a_store_that_loses_steps_before_the_pull_is_not_evaluated_yet(
    make_evaluator, training, reporter
):
    training.count_steps = lambda: 100
    training.steps = 90
    assert not make_evaluator().step()
    assert reporter.rows == []


def test_a_row_says_what_was_played_and_how_far_training_was(
    make_evaluator, training, reporter
):
    evaluator = make_evaluator(wall_secs=fakes.ManualClock(40.0))
    training.steps = 120
    evaluator.step()
    [row] = reporter.rows
    assert row == {
        "time_secs": row["time_secs"],
        "wall_secs": 40.0,
        "agent_steps": 120,
        "updates": 12,
        "episodes": 2,
        "mean_return": 3.0,
        "standard_error": 0.0,
        "final": 0,
    }
    assert row.keys() == set(metrics.EVALUATION_COLUMNS)


def test_the_wall_time_of_a_score_is_without_the_games_that_were_played_for_it(
    make_evaluator, training, reporter
):
    clock = fakes.ManualClock(40.0)
    actor = make_actor()
    select_action = actor.select_action

    def take_time(observation):
        clock.secs += 10.0
        return select_action(observation)

    actor.select_action = take_time
    evaluator = make_evaluator(actor=actor, wall_secs=clock)
    for training.steps in (120, 240):
        evaluator.step()
    assert [row["wall_secs"] for row in reporter.rows] == [40.0, 80.0]


def test_the_last_evaluation_comes_when_the_budget_is_spent(
    make_evaluator, training, reporter
):
    evaluator = make_evaluator()
    for training.steps in (MAX_STEPS - 10, MAX_STEPS + 5):
        evaluator.step()
    assert evaluated(reporter) == [(MAX_STEPS - 10, 0), (MAX_STEPS + 5, 1)]
    assert [row["episodes"] for row in reporter.rows] == [2, 3]
    assert evaluator.finished


def test_a_budget_spent_before_the_first_evaluation_gives_the_last_one_only(
    make_evaluator, training, reporter
):
    evaluator = make_evaluator(period_steps=10 * MAX_STEPS)
    training.steps = MAX_STEPS
    assert evaluator.step()
    assert evaluated(reporter) == [(MAX_STEPS, 1)]


def test_nothing_comes_after_the_last_evaluation(make_evaluator, training, reporter):
    evaluator = make_evaluator()
    for training.steps in (MAX_STEPS, 2 * MAX_STEPS):
        evaluator.step()
    assert len(reporter.rows) == 1
    assert training.num_pulls == 1


@pytest.mark.parametrize("steps", [100, MAX_STEPS], ids=["in-training", "last"])
@pytest.mark.parametrize("num_calls", [0, 3], ids=["first-game", "second-game"])
def test_an_evaluation_cut_short_by_a_stop_is_not_reported(
    make_evaluator, training, reporter, steps, num_calls
):
    # A game has two steps, each with a look at the stop.
    evaluator = make_evaluator(wait_for_stop=fakes.StopAfter(num_calls))
    training.steps = steps
    assert not evaluator.step()
    assert reporter.rows == []
    assert not evaluator.finished


def test_scores_are_raw_and_of_whole_games(make_evaluator, training, reporter):
    game = fakes.ScriptedGame([[5.0, -3.0], [0.5]])  # Two lives.
    evaluator = make_evaluator(game)
    training.steps = 100
    evaluator.step()
    assert reporter.rows[0]["mean_return"] == 2.5
    assert reporter.rows[0]["episodes"] == 2


def test_the_error_of_a_single_game_is_blank(make_evaluator, training, reporter):
    evaluator = make_evaluator(num_episodes=1)
    training.steps = 100
    evaluator.step()
    assert reporter.rows[0]["standard_error"] is None


def test_long_games_are_cut(make_evaluator, training, reporter):
    game = fakes.ScriptedGame([[1.0] * 1_000])
    evaluator = make_evaluator(game, max_episode_steps=7)
    training.steps = 100
    evaluator.step()
    assert reporter.rows[0]["mean_return"] == 7.0


def test_evaluates_with_an_epsilon_of_its_own(make_evaluator, training):
    # Training explores all the time; action 1 is the best one.
    game, greedy = fakes.ScriptedGame([[0.0] * 50]), make_actor(epsilon=0.0)
    exploring = make_actor(epsilon=1.0)
    evaluator = make_evaluator(game, greedy)
    training.steps = 100
    exploring.select_action(game.reset().observation)
    evaluator.step()
    assert set(game.actions) == {1}


def test_runs_until_the_last_evaluation(make_evaluator, training, reporter):
    waits_secs = []

    def wait_for_stop(timeout_secs):
        if timeout_secs:  # A wait between two looks, in which training goes on.
            waits_secs.append(timeout_secs)
            training.steps += 250
        return False

    make_evaluator(wait_for_stop=wait_for_stop, poll_secs=0.5).run()
    assert evaluated(reporter) == [(250, 0), (500, 0), (750, 0), (1_000, 1)]
    assert waits_secs == [0.5] * len(waits_secs)


def test_a_stop_ends_the_run(make_evaluator, reporter):
    wait_for_stop = fakes.StopAfter(5)
    make_evaluator(wait_for_stop=wait_for_stop).run()
    assert reporter.rows == []
    assert len(wait_for_stop.waits_secs) <= 7


def test_a_stop_within_an_evaluation_ends_the_run(make_evaluator, training, reporter):
    training.steps = 100
    make_evaluator(wait_for_stop=fakes.StopAfter(4)).run()
    assert reporter.rows == []


def test_environment_and_report_are_closed_at_the_end(
    make_evaluator, training, reporter, monkeypatch
):
    game, closed = fakes.ScriptedGame([[1.0]]), []
    monkeypatch.setattr(game, "close", lambda: closed.append(True))
    training.steps = MAX_STEPS
    make_evaluator(game).run()
    assert closed == [True]
    assert reporter.closed


def test_the_environment_is_closed_also_where_it_fails(
    make_evaluator, training, monkeypatch
):
    game, closed = fakes.ScriptedGame([[1.0]]), []
    monkeypatch.setattr(game, "close", lambda: closed.append(True))
    monkeypatch.setattr(game, "step", None)
    training.steps = MAX_STEPS
    with pytest.raises(TypeError):
        make_evaluator(game).run()
    assert closed == [True]


def test_a_game_that_is_not_finite_is_replaced_and_not_averaged_in(
    make_evaluator, training, reporter, capsys
):
    game = fakes.FaultyGame([[1.0, 2.0]], {(1, 0, 2): {"reward": np.nan}})
    watch = finite.Watch()
    evaluator = make_evaluator(game, watch=watch)
    training.steps = 100
    assert evaluator.step()
    [row] = reporter.rows
    assert (row["episodes"], row["mean_return"]) == (2, 3.0)
    assert watch.count == 1
    sentence = "evaluation, episode 2, step 2: reward is nan"
    assert capsys.readouterr().out.startswith(sentence)


def test_games_in_a_row_that_are_not_finite_end_the_evaluator(make_evaluator, training):
    # Whole are only the two games of the first evaluation.
    faults = {(game, 0, 1): {"reward": np.nan} for game in range(2, 20)}
    evaluator = make_evaluator(
        fakes.FaultyGame([[1.0]], faults),
        watch=finite.Watch(max_in_a_row=3),
    )
    training.steps = 100
    assert evaluator.step()
    training.steps = 200
    with pytest.raises(finite.NonFiniteError, match=r"^evaluation, episode 3, step 1"):
        evaluator.step()


def test_an_evaluation_is_filmed_before_its_row_tells_of_it(
    make_evaluator, training, reporter, tmp_path
):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    game = fakes.ScriptedGame([[1.0, 2.0]])
    game.screen = lambda: np.zeros((4, 4, 3), np.uint8)
    were_there = []
    write = reporter.write

    def look(row):
        were_there.append(folder.video_gif(row["agent_steps"]).exists())
        return write(row)

    reporter.write = look
    videos = evaluation_videos.EvaluationVideos(
        folder,
        game,
        num_videos=2,
        max_video_steps=10,
        frames_per_sec=10,
        max_steps=MAX_STEPS,
    )
    evaluator = make_evaluator(game, videos=videos)
    for training.steps in (100, 200, MAX_STEPS):
        evaluator.step()
    assert evaluated(reporter) == [(100, 0), (200, 0), (MAX_STEPS, 1)]
    assert were_there == [True, False, True]


# One that starts again.


def test_no_evaluation_is_repeated_after_a_restart(make_evaluator, training, reporter):
    last = {"agent_steps": 230.0, "final": 0.0}
    evaluator = make_evaluator(last=last)
    for training.steps in (230, 329, 330):
        evaluator.step()
    assert evaluated(reporter) == [(330, 0)]


def test_after_the_last_evaluation_there_is_nothing_left_to_do(
    make_evaluator, training, reporter
):
    last = {"agent_steps": float(MAX_STEPS), "final": 1.0}
    evaluator = make_evaluator(last=last)
    training.steps = MAX_STEPS
    assert evaluator.finished
    evaluator.run()
    assert reporter.rows == []


def test_the_last_evaluation_of_a_smaller_budget_is_not_the_last(
    make_evaluator, training, reporter
):
    last = {"agent_steps": 400.0, "final": 1.0}
    evaluator = make_evaluator(last=last)
    training.steps = MAX_STEPS
    evaluator.step()
    assert evaluated(reporter) == [(MAX_STEPS, 1)]


@pytest.mark.parametrize("num_calls", [1, 9], ids=["at a stop", "before one"])
def test_a_store_that_is_away_is_a_failure_unless_a_stop_is_asked_for(
    make_evaluator, training, reporter, num_calls
):
    def wait_in_vain():
        raise core.StoreUnavailableError("parameters/1 is away")

    training.count_steps = wait_in_vain
    evaluator = make_evaluator(wait_for_stop=fakes.StopAfter(num_calls))
    if num_calls == 1:
        evaluator.run()
    else:
        with pytest.raises(core.StoreUnavailableError):
            evaluator.run()
    assert reporter.closed


class FullDisk(fakes.RecordingReporter):
    """Takes no row while it is full."""

    def __init__(self):
        super().__init__()
        self.is_full = True

    def write(self, row):
        return not self.is_full and super().write(row)


def test_the_last_evaluation_is_reported_when_there_is_room_again(training):
    disk = FullDisk()
    game = fakes.ScriptedGame([[1.0, 2.0]])
    evaluator = evaluators.Evaluator(
        training.pull,
        training.count_steps,
        game,
        make_actor(),
        disk,
        period_steps=100,
        num_episodes=2,
        final_num_episodes=3,
        max_steps=MAX_STEPS,
        max_episode_steps=50,
        wait_for_stop=never,
        wall_secs=fakes.ManualClock(),
    )
    training.steps = MAX_STEPS
    assert evaluator.step()
    assert not evaluator.step()
    assert not evaluator.finished  # The program ends by this row: it may not be lost.
    disk.is_full = False
    assert not evaluator.step()  # Nothing is played again.
    assert evaluator.finished
    assert evaluated(disk) == [(MAX_STEPS, 1)]
    assert training.num_pulls == 1
