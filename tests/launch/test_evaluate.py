import json

import numpy as np
import pytest

from agents.a3c import config as a3c_config
from agents.dqn import config as dqn_config
from agents.gorila_dqn import config as gorila_config
from launch import evaluate
from rlcomponents import specs
from rlcomponents.evaluation import episodes
from rlcomponents.runs import checkpoints, run_folder

HUMAN = "--protocol=human_starts"
NOOP = "--protocol=noop_starts"


def make_run(path, environment, *, agent="dqn", num_shards=2, **settings):
    """Makes the folder of a run that saved its parameters before the first update."""
    from agents.dqn import parts  # TensorFlow: only where it is needed.
    from rlcomponents.parameters import tf_variables

    classes = {"dqn": dqn_config.DQNConfig, "gorila_dqn": gorila_config.GorilaConfig}
    config = classes[agent](environment=environment, **settings)
    network = parts.make_network(config, parts.make_environment_spec(config))
    vector = tf_variables.FlatVariables(network.trainable_variables).vector()
    return save_run(path, agent, config, vector, num_shards=num_shards)


def save_run(path, agent, config, vector, *, num_shards):
    folder = run_folder.RunFolder.create(path)
    folder.write_config({"agent": agent, **vars(config)})
    checkpoints.save(
        folder.checkpoints,
        agent_steps=1_500,
        parts={
            f"parameters_{index}": {"parameters": part}
            for index, part in enumerate(np.array_split(vector, num_shards))
        },
        facts={"agent_steps": 1_500, "num_parameter_shards": num_shards},
    )
    return folder


# ------------------------------------------------------------------------------ scores


@pytest.mark.parametrize("agent", ["dqn", "gorila_dqn"])
def test_mean_and_standard_error_are_printed(empty_folder, capsys, agent):
    make_run("run", "catch", agent=agent, evaluation_epsilon=0.5)
    assert evaluate.main(["--run_dir=run", "--episodes=7"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == (
        "catch after 1,500 agent steps, plain, 7 episodes cut after 18,000 frames, "
        "epsilon 0.5:"
    )
    words = second.replace(",", "").split()
    assert words[:1] + words[2:4] == ["mean", "standard", "error"]
    # Seven games, each won or lost by 1: mean m has standard error sqrt((1 - m^2) / 6).
    mean, error = float(words[1]), float(words[4])
    assert round((mean + 1) / 2 * 7, 1) % 1 < 0.1
    assert error == pytest.approx(np.sqrt((1 - mean**2) / 6), abs=0.01)


@pytest.mark.atari
def test_atari_scores_are_normalised_by_a_humans(empty_folder, capsys):
    make_run("run", "atari:pong", max_evaluation_frames=40)
    evaluate.main(["--run_dir=run", "--episodes=1"])
    *_, mean, normalised = capsys.readouterr().out.splitlines()
    # Ten steps of Pong score nothing; random play -20.7, a human 14.6.
    assert mean.startswith("mean 0.00")
    assert normalised == "human-normalised 58.6 % (0: random, 100: human)"


# ---------------------------------------------------------------------------- protocols


def test_null_op_starts_are_as_published(empty_folder, capsys):
    make_run("run", "minatar:breakout", evaluation_epsilon=0.5)
    evaluate.main(["--run_dir=run", NOOP])
    assert capsys.readouterr().out.splitlines()[0] == (
        "minatar:breakout after 1,500 agent steps, noop_starts, 30 episodes cut after "
        "18,000 frames, epsilon 0.05:"
    )


def test_flags_override_a_protocol(empty_folder, capsys):
    make_run("run", "catch", evaluation_epsilon=0.5)
    flags = ["--episodes=3", "--max_episode_frames=5", "--epsilon=0.25"]
    evaluate.main(["--run_dir=run", NOOP, *flags])
    assert capsys.readouterr().out.splitlines()[0] == (
        "catch after 1,500 agent steps, noop_starts, 3 episodes cut after 5 frames, "
        "epsilon 0.25:"
    )
    evaluate.main(["--run_dir=run", NOOP, "--episodes=1", "--greedy"])
    assert "epsilon 0.0:" in capsys.readouterr().out


@pytest.mark.atari
def test_scores_are_normalised_by_the_table_of_the_protocol(empty_folder, capsys):
    make_run("run", "atari:breakout")
    evaluate.main(["--run_dir=run", NOOP, "--episodes=1", "--max_episode_frames=4"])
    *_, mean, normalised = capsys.readouterr().out.splitlines()
    # One step scores nothing; random play 1.7, a human 31.8: 100 * -1.7 / 30.1.
    assert mean.startswith("mean 0.00")
    assert normalised == (
        "human-normalised -5.6 % by the published table of noop_starts (0: random, "
        "100: human)"
    )


@pytest.mark.atari
def test_what_papers_print_of_the_game_is_beside_a_score_made_as_theirs(
    empty_folder, capsys, monkeypatch
):
    from agents import saved_policy  # TensorFlow: only where it is needed.

    make_run("run", "atari:pong")
    results = episodes.EpisodeResults((21.0, 17.0), (900, 1_000))
    monkeypatch.setattr(saved_policy.SavedPolicy, "play", lambda *_: results)
    published = "published under noop_starts: dqn 18.9, gorila 18.3"
    evaluate.main(["--run_dir=run", NOOP, "--seed=3"])
    assert capsys.readouterr().out.splitlines()[-1] == published
    evaluate.main(["--run_dir=run", NOOP, "--epsilon=0.05", "--episodes=30"])
    assert capsys.readouterr().out.splitlines()[-1] == published
    altered = ("--episodes=29", "--epsilon=0.1", "--greedy", "--max_episode_frames=9")
    for flag in altered:
        evaluate.main(["--run_dir=run", NOOP, flag])
        assert "published under" not in capsys.readouterr().out
    make_run("sticky", "atari:pong", sticky_action_probability=0.25)
    evaluate.main(["--run_dir=sticky", NOOP])
    assert "published under" not in capsys.readouterr().out
    evaluate.main(["--run_dir=run"])
    assert "published under" not in capsys.readouterr().out


@pytest.mark.atari
def test_what_papers_print_is_not_beside_the_likeliest_actions_of_a3c(
    empty_folder, capsys, monkeypatch
):
    from agents import saved_policy
    from agents.a3c import strategy

    config = a3c_config.A3CConfig(environment="atari:pong")
    spec = specs.make_environment_spec(config.make_environment_factory()(0))
    player = strategy.make_player(config, spec)
    save_run("run", "a3c", config, player.variables.vector(), num_shards=1)
    results = episodes.EpisodeResults((21.0, 17.0), (900, 1_000))
    monkeypatch.setattr(saved_policy.SavedPolicy, "play", lambda *_: results)
    evaluate.main(["--run_dir=run", NOOP])
    assert "published under noop_starts: dqn 18.9" in capsys.readouterr().out
    evaluate.main(["--run_dir=run", NOOP, "--greedy"])
    assert "published under" not in capsys.readouterr().out


def test_another_seed_gives_other_games(empty_folder, capsys):
    make_run("run", "catch", evaluation_epsilon=1.0, seed=5)
    said = []
    for seed in ("--seed=5", "--seed=5", "--seed=6"):
        evaluate.main(["--run_dir=run", seed])
        said.append(capsys.readouterr().out)
    assert "30 episodes cut after 18,000 frames, epsilon 1.0, seed 5:" in said[0]
    assert said[0] == said[1]
    evaluate.main(["--run_dir=run"])
    of_the_run = capsys.readouterr().out
    assert of_the_run == said[0].replace(", seed 5:", ":")
    assert said[2] != said[0].replace("seed 5", "seed 6")


def test_null_op_starts_where_nothing_does_nothing_are_refused(
    users_game, refusal, empty_folder
):
    make_run("run", users_game)
    sentence = refusal(evaluate.main, "--run_dir=run", NOOP)
    assert sentence.startswith("This environment has no action that does nothing")


def test_a_protocols_epsilon_is_not_for_an_agent_that_draws_its_actions(
    empty_folder, capsys, refusal
):
    from agents.a3c import strategy

    config = a3c_config.A3CConfig(environment="catch")
    spec = specs.make_environment_spec(config.make_environment_factory()(0))
    player = strategy.make_player(config, spec)
    save_run("run", "a3c", config, player.variables.vector(), num_shards=1)
    evaluate.main(["--run_dir=run", NOOP])
    assert "18,000 frames, drawn actions:" in capsys.readouterr().out
    sentence = refusal(evaluate.main, "--run_dir=run", NOOP, "--epsilon=0.1")
    assert sentence.startswith("epsilon is 0.1: A3CConfig has a policy of its own")


# -------------------------------------------------------------------------------- films


def test_a_film_shows_the_first_game_and_leaves_the_score_as_it_is(
    users_game, empty_folder, capsys
):
    make_run("run", users_game, evaluation_epsilon=1.0)
    evaluate.main(["--run_dir=run", "--episodes=3"])
    without = capsys.readouterr().out
    evaluate.main(["--run_dir=run", "--episodes=3", "--video=game.mp4"])
    assert capsys.readouterr().out == "Film of the first game: game.mp4\n" + without
    assert (empty_folder / "game.mp4").stat().st_size > 1_000


def test_a_users_own_environment_can_be_evaluated(users_game, capsys):
    make_run("run", users_game)
    evaluate.main(["--run_dir=run", "--episodes=3"])
    assert capsys.readouterr().out.startswith(f"{users_game} after 1,500 agent steps")


def test_the_best_checkpoint_is_played_where_that_is_asked_for(empty_folder, capsys):
    folder = make_run("run", "catch", num_shards=1)
    parts, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    checkpoints.save(
        folder.best_checkpoint,
        agent_steps=900,
        parts=parts,
        facts={**facts, "agent_steps": 900, "mean_return": 0.5},
    )
    for which, agent_steps in (("newest", "1,500"), ("best", "900")):
        evaluate.main(["--run_dir=run", "--episodes=1", f"--checkpoint={which}"])
        assert capsys.readouterr().out.startswith(f"catch after {agent_steps} agent")


def test_a_checkpoint_with_a_changed_byte_is_passed_over(empty_folder, capsys):
    folder = make_run("run", "catch")
    parts, facts = checkpoints.load(checkpoints.latest(folder.checkpoints))
    newest = checkpoints.save(
        folder.checkpoints, agent_steps=2_000, parts=parts, facts=facts
    )
    file = newest / "parameters_0.npz"
    payload = bytearray(file.read_bytes())
    payload[len(payload) // 2] ^= 1
    file.write_bytes(payload)
    evaluate.main(["--run_dir=run", "--episodes=1"])
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first.startswith(f"Skipping the checkpoint {newest}")
    assert second.startswith("catch after 1,500 agent steps")


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ([], "--run_dir is missing: give the folder of a run."),
        (["--run_dir=nowhere"], "nowhere holds no run"),
        (["--run_dir=run", "--episodes=0"], "episodes is 0: it must be at least 1."),
        (["--run_dir=run", "--checkpoint=last"], "must be one of newest, best."),
        (
            ["--run_dir=run", "--checkpoint=best"],
            "run holds no best checkpoint that",
        ),
        (["--run_dir=run", "--seed=-1"], "seed is -1: it must be 0 or more."),
        (["--run_dir=run", "--episodes=x"], "--episodes is 'x': it must be a whole"),
        (["--run_dir=run", "--video=a.gif"], "A video is written as .mp4"),
        (["--run_dir=run", "--epsilon=2"], "epsilon is 2.0: it must be between 0"),
        (["--run_dir=run", "--greedy", "--epsilon=0.1"], "--greedy explores nothing"),
        (["--run_dir=run", "--max_episode_frames=0"], "it must be at least 1."),
        (["--run_dir=run", "--protocol=best"], "must be one of plain, noop_starts, hu"),
        (["--run_dir=run", "--starts=s.npz"], "no effect with --protocol=plain: leave"),
        (["--run_dir=run", HUMAN], "give a file of them as --starts; launch/record_"),
        (["--run_dir=run", HUMAN, "--starts=s.npz"], "s.npz cannot be read (No such"),
        (["--run_dir=run", "--noop"], "There is no flag --noop"),
    ],
)
def test_bad_flags_are_refused(empty_folder, refusal, argv, sentence):
    make_run("run", "catch")
    assert sentence in refusal(evaluate.main, *argv)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"agent": "ddpg"}, "agent 'ddpg': it must be one of a3c, async_q, dqn, goril"),
        ({"colour": "red"}, "has settings that DQNConfig does not know (colour)"),
        ({"batch_size": "many"}, "batch_size is 'many': it must be a whole number."),
        ({"dueling": True}, "is no longer what it was in training"),
        ({"environment": "atari:pongg"}, "Unknown atari game 'pongg'"),
        ({"environment": "module:gone:make"}, "no module 'gone'"),
    ],
)
def test_a_run_whose_settings_were_changed_is_refused(
    empty_folder, refusal, changes, sentence
):
    folder = make_run("run", "catch")
    config = json.loads(folder.config_json.read_text())
    folder.config_json.write_text(json.dumps({**config, **changes}))
    assert sentence in refusal(evaluate.main, "--run_dir=run")


def test_a_run_that_has_saved_nothing_yet_is_refused(empty_folder, refusal):
    folder = run_folder.RunFolder.create("run")
    config = dqn_config.DQNConfig(environment="catch", checkpoint_period_secs=9.5)
    folder.write_config({"agent": "dqn", **vars(config)})
    assert refusal(evaluate.main, "--run_dir=run") == (
        "run holds no checkpoint that is whole: the first is saved 9.5 s after "
        "training starts, or as training ends."
    )


def test_a_run_that_never_started_is_refused(empty_folder, refusal):
    run_folder.RunFolder.create("run")
    assert "never started" in refusal(evaluate.main, "--run_dir=run")


def test_an_environment_that_is_no_more_finite_is_refused(
    users_game, capsys, empty_folder
):
    make_run("run", users_game)
    config = json.loads((empty_folder / "run" / "config.json").read_text())
    config["environment"] = "module:guessing:Breaking"  # After 30 games.
    (empty_folder / "run" / "config.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit) as ending:
        evaluate.main(["--run_dir=run", "--episodes=40"])
    assert ending.value.code == 2
    [sentence] = capsys.readouterr().err.splitlines()
    assert ": episode 40, step 1: reward is nan, the last of 10 in a row" in sentence


def test_a_users_environment_that_went_wrong_is_refused(
    users_game, refusal, empty_folder
):
    make_run("run", users_game)
    config = json.loads((empty_folder / "run" / "config.json").read_text())
    config["environment"] = "module:guessing:Raising"
    (empty_folder / "run" / "config.json").write_text(json.dumps(config))
    sentence = refusal(evaluate.main, "--run_dir=run")
    assert sentence.startswith("module:guessing:Raising raised ZeroDivisionError")
