"""Tests of launch/harm.py."""

import signal
import subprocess
import sys

import pytest

from launch import harm
from rlcomponents.runs import node_table, run_folder


def test_kills_the_node_that_the_schedule_names(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    folder.write_config({"agent": "a3c"})
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as process:
        row = node_table.NodeRow(
            name="worker/0", state="running", pid=process.pid, log_path="worker-0.log"
        )
        node_table.write(folder.nodes_json, [row])

        code = harm.main([f"--run_dir={folder.path}", "--faults=kill:worker/0@0"])

        assert code == 0
        assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--faults=kill:worker/0@0"], "--run_dir is missing"),
        (["--run_dir=RUN"], "--faults is missing"),
        (["--run_dir=RUN", "--faults=burn:worker/0@0"], "is no fault"),
        (["--run_dir=RUN", "--faults=kill:worker/0@0"], "There is no node"),
        (["--run_dir=OTHER", "--faults=kill:worker/0@0"], "holds no run"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    tmp_path, monkeypatch, capsys, flags, message
):
    folder = run_folder.RunFolder.create(tmp_path / "RUN")
    folder.write_config({"agent": "a3c"})
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit) as ending:
        harm.main(flags)

    assert ending.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
