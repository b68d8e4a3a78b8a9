"""Tests of claiming a run folder, and of the names in it."""

import errno
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

from rlcomponents.runs import run_folder


def test_create_makes_the_folders(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path / "deep" / "run")
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "checkpoints",
        "config.json",
        "logs",
        "metrics",
        "state",
        "tensorboard",
    ]


def test_names_are_those_that_other_programs_look_for():
    folder = run_folder.RunFolder("r")
    assert [
        str(path)
        for path in (
            folder.config_json,
            folder.logs,
            folder.metrics,
            folder.program_csv,
            folder.tensorboard,
            folder.checkpoints,
            folder.state,
            folder.evaluation_csv,
            folder.curve_png,
            folder.summary_json,
        )
    ] == [
        "r/config.json",
        "r/logs",
        "r/metrics",
        "r/metrics/program.csv",
        "r/tensorboard",
        "r/checkpoints",
        "r/state",
        "r/evaluation.csv",
        "r/curve.png",
        "r/summary.json",
    ]


def test_a_folder_that_holds_a_run_is_refused_and_left_alone(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path)
    folder.write_config({"seed": 7})
    with pytest.raises(ValueError, match="already holds a run: give another"):
        run_folder.RunFolder.create(tmp_path)
    assert folder.read_config() == {"seed": 7}


def test_an_existing_empty_folder_is_accepted(tmp_path):
    assert run_folder.RunFolder.create(tmp_path).logs.is_dir()


def test_a_file_is_refused(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(ValueError, match="is a file"):
        run_folder.RunFolder.create(path)


def test_a_folder_inside_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"not writable \(Not a directory\)"):
        run_folder.RunFolder.create(tmp_path / "file" / "run")


@pytest.mark.parametrize("path", ["/proc/run", "/proc/sys"])
def test_a_place_that_permission_bits_call_writable_is_refused(path):
    with pytest.raises(ValueError, match="is not writable"):
        run_folder.RunFolder.create(path)


def test_a_read_only_file_system_is_refused_in_one_sentence(tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(pathlib.Path, "open", refuse)
    with pytest.raises(ValueError, match="not writable") as error:
        run_folder.RunFolder.create(tmp_path)
    assert str(error.value) == (
        f"The run folder {tmp_path} is not writable (Read-only file system): give a "
        "folder in which you can make files."
    )


def test_default_path_names_agent_environment_and_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = run_folder.default_path("gorila_dqn", "atari:pong")
    assert re.fullmatch(r"runs/gorila_dqn-atari_pong-\d{8}-\d{6}", str(path))


def test_default_path_of_a_second_run_in_one_second_is_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda pattern: "20300102-030405")
    run_folder.RunFolder.create(run_folder.default_path("dqn", "catch"))
    path = run_folder.default_path("dqn", "catch")
    assert str(path) == "runs/dqn-catch-20300102-030405-2"


def test_config_survives_the_round_trip(tmp_path):
    folder = run_folder.RunFolder(tmp_path)
    config = {"agent": "dqn", "rate": 0.1, "sizes": [1, 2], "name": None}
    folder.write_config(config)
    assert folder.read_config() == config


def test_reading_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(ValueError, match="holds no run"):
        run_folder.RunFolder(tmp_path).read_config()


def test_reading_a_run_that_never_started_says_so(tmp_path):
    with pytest.raises(ValueError, match="never started"):
        run_folder.RunFolder.create(tmp_path).read_config()


def test_a_folder_is_held_by_one_process_at_a_time(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path)
    with (
        folder.held(),
        pytest.raises(ValueError, match=rf"still going on \(process {os.getpid()}\)"),
        run_folder.RunFolder(tmp_path).held(),
    ):
        pass
    with folder.held():
        pass


def test_a_process_that_is_killed_holds_nothing(tmp_path):
    code = (
        "import signal, sys\n"
        "from rlcomponents.runs import run_folder\n"
        "with run_folder.RunFolder(sys.argv[1]).held():\n"
        "    print('held', flush=True)\n"
        "    signal.pause()\n"
    )
    folder = run_folder.RunFolder.create(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        with (
            pytest.raises(ValueError, match=f"process {process.pid}"),
            folder.held(),
        ):
            pass
        process.kill()
    with folder.held():
        pass
