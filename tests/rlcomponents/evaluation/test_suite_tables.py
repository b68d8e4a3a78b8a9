"""Tests of the table of a suite: whole texts, from folders of runs."""

from rlcomponents.evaluation import suite_origins, suite_tables

PROVENANCE = suite_tables.Provenance(
    agent="dqn",
    command="python launch/suite.py --agent=dqn",
)
ORIGIN = suite_origins.Origin(
    "Python 3.10.1, rlcomponents 0.1.0", "2 cores of Some CPU", "2026-11-30"
)


def write(folder, runs):
    suite_tables.write(folder, runs, PROVENANCE)
    return (folder / "table.md").read_text(), (folder / "table.csv").read_text()


def test_games_and_seeds_beside_the_published_columns(make_run, tmp_path):
    runs = [
        make_run("minatar:breakout", 0, 1.0, 9.0, 4.0),
        make_run("minatar:breakout", 1, 5.0, 8.0),
        make_run("minatar:freeway", 0, 25.1),
        make_run("minatar:freeway", 1, 50.2),
    ]
    for run in runs:
        suite_origins.write(run.path, ORIGIN)
    markdown, table = write(tmp_path, runs)
    # Normalised: 40 and 80, mean 60; 50 and 100, mean 75. Middle half: 50 and 80.
    assert markdown.splitlines()[:12] == [
        "# dqn on 2 games, 2 seeds",
        "",
        "    python launch/suite.py --agent=dqn",
        "",
        "Python 3.10.1, rlcomponents 0.1.0, on 2 cores of Some CPU.",
        "",
        "| game | seeds | last evaluation | best evaluation | normalised, % | episodes "
        "| agent steps | wall time, s | DQN, 1M / 4.9M | DQN_no_replay, 1M / 4.9M "
        "| AC(0.8), 1M / 4.9M | AC(0), 1M / 4.9M |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| minatar:breakout | 2 | 6.00 ± 2.00 | 8.50 ± 0.50 | 60.0 | 10 | 1,000 | 100 "
        "| 9.1 / 10 | 3.8 / 4.2 | 9.9 / 17.4 | 7.4 / 15.3 |",
        "| minatar:freeway | 2 | 37.65 ± 12.55 | 37.65 ± 12.55 | 75.0 | 10 | 1,000 "
        "| 100 | 47.8 / 50.2 | - / 8.4 | - / 47.5 | 0.2 / 46.8 |",
        "| mean of 2 games |  |  |  | 67.5 |  |  |  | 93.1 % / 100.0 % | - / 29.4 % "
        "| - / 134.3 % | 37.2 % / 123.1 % |",
        "| median of 2 games |  |  |  | 67.5 |  |  |  | 93.1 % / 100.0 % | - / 29.4 % "
        "| - / 134.3 % | 37.2 % / 123.1 % |",
    ]
    iqm, *_, notes = markdown.partition("| interquartile mean (95 % interval) ")[1:]
    assert iqm
    assert notes.startswith("|  |  |  | 65.0 (")
    assert "Seeds 0, 1." in notes
    assert "the last one of each run is 30 games" in notes
    assert "Not complete" not in notes
    header, breakout, freeway, mean, _, iqm = table.splitlines()
    assert header.startswith(
        "game,seeds,seeds_complete,final_return,final_standard_error,best_return,"
        "best_standard_error,normalised_percent,normalised_low,normalised_high,"
        "episodes,agent_steps,wall_secs,published_DQN_1M,published_DQN_4.9M,"
    )
    assert breakout.startswith(
        "minatar:breakout,2,2,6,2,8.5,0.5,60,,,10.5,1000.5,100.5,9.1,10,"
    )
    assert freeway.endswith(",47.8,50.2,,8.4,,47.5,0.2,46.8")
    assert mean.startswith("mean,,,,,,,67.5,,,,,,93.1")
    assert iqm.startswith("iqm,,,,,,,65,")


def test_a_suite_of_which_not_all_is_complete(make_run, tmp_path):
    runs = [
        make_run("atari:pong", 0, -20.7, 9.3),
        make_run("atari:pong", 1, 1.0, reason="node died: actor/0"),
        make_run("catch", 0),
        make_run("catch", 1),
    ]
    suite_origins.write(runs[1].path, ORIGIN)
    markdown, table = write(tmp_path, runs)
    assert markdown.splitlines()[4:] == [
        "1 run: no record of what made it.",
        "",
        "| game | seeds | last evaluation | best evaluation | normalised, % | episodes "
        "| agent steps | wall time, s | dqn, null-op starts | gorila, null-op starts "
        "| a3c_ff_1day, human starts | a3c_ff, human starts | a3c_lstm, human starts |",
        f"|{' --- |' * 13}",
        "| atari:pong | 1 of 2 | 9.30 | 9.30 | 100.0 | 10 | 1,000 | 100 | 18.9 "
        "| 18.3 | 11.4 | 5.6 | 10.7 |",
        "| catch | 0 of 2 |  |  |  |  |  |  | - | - | - | - | - |",
        "",
        "Seeds 0, 1. Evaluations: means over seeds, ± their standard error; the last "
        "one of each run is 30 games, and the best is the highest of all, so that it "
        "promises a little more than it holds. Episodes, agent steps and seconds are "
        "those of training, a run.",
        "",
        "Normalised, on Atari: 0 is random play, 100 a human. Published under null-op "
        "starts: 30 games, 18,000 frames at most; there is no such column where these "
        "runs are evaluated otherwise. Published under human starts: from 100 points "
        "of human play, 108,000 frames at most with that play; these runs begin their "
        "games elsewhere, so compare no further than that.",
        "",
        "Not complete: atari:pong with seed 1, catch with seed 0, catch with seed 1.",
    ]
    assert table.splitlines() == [
        "game,seeds,seeds_complete,final_return,final_standard_error,best_return,"
        "best_standard_error,normalised_percent,normalised_low,normalised_high,"
        "episodes,agent_steps,wall_secs,published_dqn_noop_starts,"
        "published_gorila_noop_starts,published_a3c_ff_1day_human_starts,"
        "published_a3c_ff_human_starts,published_a3c_lstm_human_starts",
        "atari:pong,2,1,9.3,,9.3,,100,,,10,1000,100,18.9,18.3,11.4,5.6,10.7",
        "catch,2,0,,,,,,,,,,,,,,,",
    ]
