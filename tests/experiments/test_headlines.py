"""Tests of the answers to the papers' questions, from runs that were left by hand."""

import csv
import pathlib

import pytest

from experiments import costs, headlines

BREAKOUT, ASTERIX = "minatar:breakout", "minatar:asterix"


@pytest.fixture
def leave(leave_run, monkeypatch, tmp_path):
    """Leaves a run of a suite on a game; its evaluations are (steps, secs, mean)."""
    monkeypatch.chdir(tmp_path)

    def leave(suite, game, seed, *evaluations):
        name = f"{game.replace(':', '_')}-{seed}"
        path = pathlib.Path("docs/results/minatar_suites", suite, "runs", name)
        config = {"agent": suite, "environment": game, "seed": seed}
        leave_run(path, config, evaluations)
        return path

    return leave


def page():
    assert headlines.main([]) == 0
    return pathlib.Path("docs/results/headlines/table.md").read_text()


def test_agents_are_compared_as_far_as_all_runs_have_come(leave):
    ours = [leave("a3c", BREAKOUT, 0, (100, 1.0, 0.0), (300, 3.0, 4.0))]
    theirs = [leave("dqn", BREAKOUT, 0, (100, 1.0, 1.0), (200, 8.0, 2.0))]
    at_steps = headlines.compare(ours, theirs, "agent_steps")
    # Our return is 0 after 100 steps and 4 after 300: 2 after 200.
    assert (at_steps["at"], at_steps["agent_mean"], at_steps["is_above"]) == (
        200.0,
        2.0,
        False,
    )
    at_secs = headlines.compare(ours, theirs, "wall_secs")
    # Theirs is 1 after a second and 2 after 8: 1 + 2 / 7 after 3.
    assert at_secs["at"] == 3.0
    assert at_secs["baseline_mean"] == pytest.approx(1 + 2 / 7)
    assert at_secs["is_above"]


def test_a_run_that_was_not_evaluated_so_early_has_its_first_evaluation(leave):
    ours = [leave("a3c", BREAKOUT, 0, (100, 1.0, 4.0))]
    theirs = [leave("dqn", BREAKOUT, 0, (100, 5.0, 3.0), (200, 8.0, 9.0))]
    found = headlines.compare(ours, theirs, "wall_secs")
    assert (found["at"], found["baseline_mean"]) == (1.0, 3.0)


def test_the_page_counts_the_games_that_both_have(leave):
    for seed in range(2):
        for game in (BREAKOUT, ASTERIX):
            leave("dqn", game, seed, (100, 1.0, 1.0))
        leave("gorila_dqn", BREAKOUT, seed, (100, 1.0, 5.0))
        leave("gorila_dqn", ASTERIX, seed, (100, 1.0, 2.0 * seed - 0.1))
    text = page()
    # Asterix: -0.1 and 1.9, of mean 0.9, below 1; its interval has 1 in it.
    assert (
        "gorila_dqn is above dqn on 1 of 2 games at equal steps; on 1 of 2 the "
        "intervals do not overlap." in text
    )
    assert "5.00 (5.00 to 5.00), 2 runs | 1.00 (1.00 to 1.00), 2 runs | yes |" in text
    assert "0.90 (-0.10 to 1.90), 2 runs" in text
    assert "gorila_dqn is above dqn on 1 of 2 games at equal wall time" in text
    with open("docs/results/headlines/table.csv") as file:
        assert len(list(csv.DictReader(file))) == 4


def test_what_is_missing_is_named_and_left_out(leave):
    leave("dqn", BREAKOUT, 0, (100, 1.0, 1.0))
    leave("a3c", BREAKOUT, 0, (100, 1.0, 1.0))
    text = page()
    assert "gorila_dqn is" not in text
    assert (
        "Without complete runs, and left out: n_step_q, one_step_q, one_step_sarsa, "
        "gorila_dqn." in text
    )
    assert "Memory and CPU were not measured" in text


def test_the_published_counts_are_those_of_the_papers_tables():
    assert headlines.published_wins("human_starts") == (41, 49)
    assert headlines.published_wins("noop_starts") == (31, 49)


def test_costs_are_means_over_runs_by_agent_step(leave):
    for seed, cpu_secs in enumerate((1.0, 3.0)):
        path = leave("dqn", BREAKOUT, seed, (1_000, 1.0, 1.0))
        (path / costs.FILE).write_text(
            f"wall_secs,cpu_secs,peak_memory_bytes\n1.0,{cpu_secs},2000000\n"
        )
    leave("a3c", BREAKOUT, 0, (100, 1.0, 1.0))
    text = page()
    # 1 and 3 seconds for 1,000 steps; 50 steps a second is what the runs say.
    assert "| dqn | 2 | 2 | 2.00 | 50 |" in text
    assert "Not measured: a3c." in text


def test_runs_that_were_over_too_soon_are_in_no_mean_of_memory(leave):
    for suite, peaks in (("dqn", (4_000_000, "")), ("a3c", ("", 0))):
        for seed, peak in enumerate(peaks):
            path = leave(suite, BREAKOUT, seed, (1_000, 1.0, 1.0))
            (path / costs.FILE).write_text(
                f"wall_secs,cpu_secs,peak_memory_bytes\n1.0,1.0,{peak}\n"
            )
    text = page()
    assert "| dqn | 2 | 4 | 1.00 | 50 |" in text
    assert "| a3c | 2 |  | 1.00 | 50 |" in text


def test_without_any_suite_it_says_what_to_run(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        headlines.main([])
    assert "run experiments/minatar_suites.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "contents", "expected"),
    [
        ("evaluation.csv", "", "is a complete run without an evaluation in"),
        ("summary.json", '{"reason": "max', "is not the summary of a run"),
        ("summary.json", b"\xff\xfe".decode("latin-1"), "is not the summary of a run"),
    ],
)
def test_a_damaged_run_is_one_sentence(leave, capsys, name, contents, expected):
    path = leave("dqn", BREAKOUT, 0, (100, 1.0, 1.0))
    (path / name).write_text(contents, encoding="latin-1")
    with pytest.raises(SystemExit) as ending:
        headlines.main([])
    assert ending.value.code == 2
    error = capsys.readouterr().err
    assert f"{path}" in error
    assert expected in error


def test_a_page_that_cannot_be_written_is_refused(leave, capsys):
    leave("dqn", BREAKOUT, 0, (100, 1.0, 1.0))
    pathlib.Path("out/table.md").mkdir(parents=True)
    with pytest.raises(SystemExit, match="2"):
        headlines.main(["--out=out"])
    error = capsys.readouterr().err
    assert "--out is 'out', which cannot be written (Is a directory" in error
    assert error.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_refused(leave, capsys):
    leave("dqn", BREAKOUT, 0, (100, 1.0, 1.0))
    pathlib.Path("file").touch()
    with pytest.raises(SystemExit):
        headlines.main(["--out=file"])
    assert "The folder file is not writable (File exists)" in capsys.readouterr().err
