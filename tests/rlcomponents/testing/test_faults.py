"""Tests of rlcomponents.testing.faults."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import cloudpickle
import launchpad as lp
import pytest

from rlcomponents import pulse
from rlcomponents.launching import launcher
from rlcomponents.nodes import stopping
from rlcomponents.runs import node_table, run_folder
from rlcomponents.testing import faults


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as child:
        yield child
        child.kill()


@pytest.fixture
def run(
    tmp_path: pathlib.Path, process: "subprocess.Popen[bytes]"
) -> run_folder.RunFolder:
    folder = run_folder.RunFolder(tmp_path)
    row = node_table.NodeRow(
        name="worker/0", state="running", pid=process.pid, log_path="worker-0.log"
    )
    gone = node_table.NodeRow(name="worker/1", state="ended", log_path="worker-1.log")
    node_table.write(folder.nodes_json, [row, gone])
    return folder


def _state(pid: int) -> str:
    """Returns the state letter that the kernel gives a process."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_killed_node_dies_of_sigkill(
    run: run_folder.RunFolder, process: "subprocess.Popen[bytes]"
) -> None:
    assert faults.Faults(run.path).kill("worker/0") == process.pid

    assert process.wait() == -signal.SIGKILL


def test_a_stopped_node_does_nothing_and_goes_on_afterwards(
    run: run_folder.RunFolder, process: "subprocess.Popen[bytes]"
) -> None:
    with faults.Faults(run.path).stopped("worker/0"):
        assert os.waitpid(process.pid, os.WUNTRACED)[1] & 0xFF == 0x7F
        assert _state(process.pid) == "T"

    assert os.waitpid(process.pid, os.WCONTINUED)[0] == process.pid
    assert _state(process.pid) != "T"


def test_a_slowed_node_is_left_running(
    run: run_folder.RunFolder, process: "subprocess.Popen[bytes]"
) -> None:
    faults.Faults(run.path).slow("worker/0", running_fraction=0.5, secs=0.15)

    os.waitpid(process.pid, os.WCONTINUED)
    assert _state(process.pid) != "T"


def test_a_node_without_a_process_is_not_hit(run: run_folder.RunFolder) -> None:
    with pytest.raises(ValueError, match="worker/1 has no process of its own now"):
        faults.Faults(run.path).kill("worker/1")


def test_nodes_that_share_an_address_cannot_be_cut_off(
    run: run_folder.RunFolder,
) -> None:
    cut = faults.Faults(run.path).cut_off("worker/0")
    with pytest.raises(ValueError, match="no address of its own"), cut:
        pass


def test_an_unknown_node_is_answered_with_those_there_are(
    run: run_folder.RunFolder,
) -> None:
    with pytest.raises(ValueError, match="the nodes are worker/0, worker/1"):
        faults.Faults(run.path).kill("learner/0")


def test_a_disk_with_much_room_is_not_filled(
    run: run_folder.RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_MAX_FILL_BYTES", 1)
    full = faults.Faults(run.path).full_disk()

    with pytest.raises(ValueError, match="only those with less than"), full:
        pass


def test_the_machines_own_disk_is_not_made_read_only(run: run_folder.RunFolder) -> None:
    read_only = faults.Faults(run.path).read_only_disk()

    with pytest.raises(ValueError, match="start it with mounts of its own"), read_only:
        pass
    (run.path / "anything").touch()


def test_a_disk_is_made_read_only_for_a_running_program_only(
    run: run_folder.RunFolder,
) -> None:
    node_table.write(run.nodes_json, [])

    read_only = faults.Faults(run.path).read_only_disk()
    with pytest.raises(ValueError, match="No program runs"), read_only:
        pass


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kill:bundle/1@30", faults.Fault("kill", "bundle/1", 30.0, 0.0, 1.0)),
        ("stop:learner/0@5+60", faults.Fault("stop", "learner/0", 5.0, 60.0, 1.0)),
        ("slow:actor/0@1+2x0.2", faults.Fault("slow", "actor/0", 1.0, 2.0, 0.2)),
        ("cut:parameters/0@1.5+2", faults.Fault("cut", "parameters/0", 1.5, 2.0, 1.0)),
        ("fill_disk@1+2", faults.Fault("fill_disk", "", 1.0, 2.0, 1.0)),
        (
            "read_only_disk@1+2",
            faults.Fault("read_only_disk", "", 1.0, 2.0, 1.0),
        ),
    ],
)
def test_a_schedule_is_read_as_written(text: str, expected: faults.Fault) -> None:
    assert faults.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["kill:bundle/1", "kill@3", "stop:a/0@3", "slow:a/0@3+1", "burn:a/0@3"]
)
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no fault"):
        faults.parse(text)


def test_a_schedule_hits_and_raises_what_failed(
    run: run_folder.RunFolder, process: "subprocess.Popen[bytes]"
) -> None:
    schedule = [faults.parse("kill:worker/1@0"), faults.parse("kill:worker/0@0")]

    with pytest.raises(ValueError, match="worker/1"):
        faults.run_schedule(faults.Faults(run.path), schedule)

    assert process.wait() == -signal.SIGKILL


class _Counter:
    def __init__(self) -> None:
        self._count = 0

    def add(self) -> int:
        self._count += 1
        return self._count


def _ask_for_ever(counter: Any) -> None:
    while not stopping.wait_for_stop(0.02):
        call = counter.futures.add()
        futures.wait([call], timeout=0.5)
        if call.done() and call.exception() is None:
            pulse.current().completed_step()


@pytest.fixture
def running(tmp_path: pathlib.Path) -> Iterator[run_folder.RunFolder]:
    """A program of a server and a client, which runs while the test does."""
    program = lp.Program("asking")
    with program.group("counter"):
        counter = program.add_node(lp.CourierNode(_Counter))
    with program.group("client"):
        program.add_node(lp.PyNode(_ask_for_ever, counter))
    over = threading.Event()

    def end() -> None:
        if over.is_set():
            raise StopIteration

    def run() -> None:
        with contextlib.suppress(StopIteration):
            launcher.launch(program, tmp_path, on_tick=end, network="private")

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    thread = threading.Thread(target=run)
    thread.start()
    yield run_folder.RunFolder(tmp_path)
    over.set()
    thread.join()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def _wait_for_row(
    run: run_folder.RunFolder, is_wanted: Callable[[node_table.NodeRow], bool]
) -> node_table.NodeRow:
    """Returns the client's row once it is as wanted."""
    for _ in range(600):
        for row in node_table.read(run.nodes_json):
            if row.name == "client/0" and is_wanted(row):
                return row
        time.sleep(0.1)
    raise TimeoutError("The client's row has not become what it should.")


@pytest.mark.integration
def test_a_node_that_is_cut_off_answers_nobody_until_the_link_is_back(
    running: run_folder.RunFolder,
) -> None:
    harm = faults.Faults(running.path)
    _wait_for_row(running, lambda row: row.steps > 0)

    with harm.cut_off("counter/0"):
        _wait_for_row(running, lambda row: row.steps_per_sec == 0.0)
    steps = _wait_for_row(running, lambda row: row.steps > 0).steps

    _wait_for_row(running, lambda row: row.steps > steps + 5)


@pytest.mark.integration
def test_a_killed_node_is_found_again_with_another_process(
    running: run_folder.RunFolder,
) -> None:
    harm = faults.Faults(running.path)
    _wait_for_row(running, lambda row: row.steps > 0)

    pid = harm.kill("client/0")

    assert harm.wait_for_process("client/0", other_than=pid) != pid
    assert _wait_for_row(running, lambda row: row.steps > 0 and row.starts == 1)
