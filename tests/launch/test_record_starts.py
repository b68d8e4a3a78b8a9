"""Tests of recording start points, and of an evaluation from them."""

import dataclasses

import numpy as np
import pytest

from agents.dqn import config as dqn_config
from launch import evaluate, record_starts
from rlcomponents import array_files
from rlcomponents.evaluation import start_points
from rlcomponents.runs import checkpoints, run_folder

EVALUATE = ("--run_dir=run", "--protocol=human_starts", "--starts=starts.npz")
RECORD = ("--run_dir=run", "--out=starts.npz")


def make_run(path, environment, **settings):
    """Makes the folder of a run that has learned nothing."""
    from agents.dqn import parts  # TensorFlow: only where it is needed.
    from rlcomponents.parameters import tf_variables

    config = dqn_config.DQNConfig(environment=environment, **settings)
    network = parts.make_network(config, parts.make_environment_spec(config))
    vector = tf_variables.FlatVariables(network.trainable_variables).vector()
    folder = run_folder.RunFolder.create(path)
    folder.write_config({"agent": "dqn", **dataclasses.asdict(config)})
    checkpoints.save(
        folder.checkpoints,
        agent_steps=1_500,
        parts={"parameters_0": {"parameters": vector}},
        facts={"agent_steps": 1_500, "num_parameter_shards": 1},
    )


def test_points_are_recorded_and_games_begin_at_them(empty_folder, capsys):
    make_run("run", "minatar:breakout")
    flags = ("--num_starts=12", "--episodes=20", "--epsilon=1", "--seed=3")
    assert record_starts.main([*RECORD, *flags]) == 0
    starts = start_points.read("starts.npz")
    num_steps = sum(len(game.actions) for game in starts.games)
    player = (
        "dqn of the run run after 1,500 agent steps, epsilon 1.0: a program, not a "
        "human"
    )
    assert capsys.readouterr().out.splitlines() == [
        f"starts.npz: 12 start points from 20 games of {num_steps:,} agent steps in "
        "minatar:breakout,",
        f"played by {player}",
    ]
    assert evaluate.main([*EVALUATE]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == (
        "minatar:breakout after 1,500 agent steps, human_starts, 12 episodes cut after "
        "108,000 frames, epsilon 0.05:"
    )
    assert second.startswith("mean ")
    assert third == f"start points by {player}"


@pytest.mark.atari
def test_points_of_an_atari_game_are_reached_again(empty_folder, capsys):
    make_run("run", "atari:breakout")
    record_starts.main([*RECORD, "--num_starts=3", "--episodes=1", "--epsilon=1"])
    flags = ["--episodes=2", "--max_episode_frames=20000", "--epsilon=1"]
    evaluate.main([*EVALUATE, *flags])
    output = capsys.readouterr().out
    assert "human_starts, 2 episodes cut after 20,000 frames, epsilon 1.0:" in output
    assert "by the published table of human_starts" in output


def test_the_same_seed_records_the_same_points_and_another_seed_others(empty_folder):
    make_run("run", "catch")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        record_starts.main(
            ["--run_dir=run", f"--out={name}", f"--seed={seed}", "--num_starts=50"]
        )
    first, second, third = ((empty_folder / name).read_bytes() for name in "abc")
    assert first == second != third


def test_an_evaluation_plays_as_many_games_as_there_are_points(empty_folder, capsys):
    make_run("run", "catch")
    record_starts.main([*RECORD, "--num_starts=7"])
    evaluate.main([*EVALUATE, "--episodes=5"])
    assert "5 episodes" in capsys.readouterr().out


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--run_dir=run"], "--out is missing: give the file to write"),
        (["--out=s.npz"], "--run_dir is missing: give the folder of a run."),
        (["--run_dir=run", "--out=no/s.npz"], "must be a file in a folder that exists"),
        (["--run_dir=run", "--out=run"], "must be a file in a folder that exists."),
        (
            ["--run_dir=run", f"--out={'a' * 300}.npz"],
            "cannot be written (File name too long): choose another.",
        ),
        ([*RECORD, "--episodes=0"], "episodes is 0: it must be at least 1."),
        ([*RECORD, "--num_starts=91"], "the recorded play has 90 moments"),
        ([*RECORD, "--epsilon=-1"], "epsilon is -1.0: it must be between 0 and 1."),
        ([*RECORD, "--seed=-1"], "seed is -1: it must be 0 or more."),
        ([*RECORD, "--checkpoint=best"], "holds no best checkpoint that is whole"),
    ],
)
def test_bad_flags_are_refused(empty_folder, refusal, argv, sentence):
    make_run("run", "catch")
    assert sentence in refusal(record_starts.main, *argv)
    assert not (empty_folder / "starts.npz").exists()


def test_a_game_that_does_not_do_the_same_with_the_same_seed_is_refused(
    users_game, empty_folder, refusal
):
    game = (empty_folder / "guessing.py").read_text()
    (empty_folder / "guessing.py").write_text(
        game.replace("default_rng(seed)", "default_rng()")
    )
    make_run("run", users_game)
    sentence = refusal(record_starts.main, *RECORD, "--num_starts=50")
    assert "the environment does not do the same with the same seed" in sentence
    assert not (empty_folder / "starts.npz").exists()


@pytest.fixture
def recorded(empty_folder, capsys):
    """A run in Catch, and points of it."""
    make_run("run", "catch")
    record_starts.main([*RECORD, "--num_starts=50"])
    capsys.readouterr()
    return empty_folder / "starts.npz"


def test_more_games_than_points_are_refused(recorded, refusal):
    sentence = refusal(evaluate.main, *EVALUATE, "--episodes=51")
    assert sentence.startswith("episodes is 51: starts.npz has 50 start points")


def test_points_of_another_environment_are_refused(recorded, refusal):
    make_run("other", "catch:blind")
    sentence = refusal(evaluate.main, *EVALUATE[1:], "--run_dir=other")
    assert sentence.startswith("starts.npz has start points in catch, and the run is")


def test_points_of_other_settings_are_refused(empty_folder, refusal, capsys):
    make_run("run", "minatar:breakout", sticky_action_probability=0.5)
    record_starts.main([*RECORD, "--num_starts=2"])
    capsys.readouterr()
    make_run("other", "minatar:breakout")
    sentence = refusal(evaluate.main, *EVALUATE[1:], "--run_dir=other")
    assert "(sticky_action_probability 0.5 instead of 0.1)" in sentence


def test_a_file_that_leads_elsewhere_is_refused(recorded, refusal):
    arrays = array_files.read(recorded)
    arrays["game_seeds"] = arrays["game_seeds"] + 1
    array_files.write(recorded, arrays)
    assert "could not be reached" in refusal(evaluate.main, *EVALUATE)


def test_a_file_of_something_else_is_refused(recorded, refusal):
    array_files.write(recorded, {"actions": np.zeros(3)})
    assert "is no file of start points" in refusal(evaluate.main, *EVALUATE)


def test_a_cap_that_leaves_nothing_to_play_is_refused(recorded, refusal):
    sentence = refusal(evaluate.main, *EVALUATE, "--max_episode_frames=5")
    assert "and the game is cut after 5: nothing is left to play" in sentence
