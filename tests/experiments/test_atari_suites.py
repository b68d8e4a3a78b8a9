"""Tests of the long runs on Atari."""

import pathlib

from experiments import atari_suites


def test_each_plays_its_game_once_with_many_environments_or_bundles(runner):
    atari_suites.main(["--max_steps=1000"])
    asked = [
        (run["environment"], run.get("envs_per_worker"), run.get("num_bundles"))
        for run in runner.commands
    ]
    assert asked == [
        ("atari:pong", "16", None),
        ("atari:breakout", "16", None),
        ("atari:pong", None, "2"),
    ]


def test_what_is_kept_lies_in_a_folder_of_each_suite(runner):
    atari_suites.main(["--suites=a3c_pong", "--max_steps=1000"])
    out = pathlib.Path("docs/results/atari_suites")
    assert (out / "a3c_pong/table.md").read_text().startswith("# a3c_pong on 1 game, ")
    assert (out / "a3c_pong/runs/atari_pong-0/summary.json").exists()
