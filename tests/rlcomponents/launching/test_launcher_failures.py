"""Programs whose nodes die, hang or fall silent, and go on."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading

import cloudpickle
import launchpad as lp
import pytest

from rlcomponents import pulse
from rlcomponents.launching import launcher, watchdog

cloudpickle.register_pickle_by_value(sys.modules[__name__])

BOTH = pytest.mark.parametrize("launch_type", ["local_mp", "local_mt"])


def _launch(toy, run_dir, launch_type, *names, **settings):
    program = toy.build(run_dir.path, *names)
    return launcher.launch(program, run_dir.path, launch_type=launch_type, **settings)


# ---------------------------------------------------------------- starting again


@pytest.mark.integration
def test_a_node_that_is_killed_comes_back_and_knows_it(toy, run_dir, capsys):
    ending = _launch(toy, run_dir, "local_mp", "dies_twice", "waits")
    assert ending[:4] == (0, "stopped", "dies_twice/0", "")
    assert [(each.node, each.starts) for each in ending.restarts] == [
        ("dies_twice/0", 1),
        ("dies_twice/0", 2),
    ]
    assert ending.restarts[0].cause.startswith("was ended by signal SIGKILL")
    log = run_dir.log("dies_twice-0")
    assert re.findall("dies_twice: start ([0-9])", log) == ["0", "1", "2"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("dies_twice/0 was ended by signal SIGKILL")
    assert "it starts again in 1 s (start 3); log: " in lines[1]
    assert "waits: told to stop" in run_dir.log("waits-0")


@pytest.mark.integration
def test_a_node_that_dies_again_and_again_ends_the_program(toy, run_dir, capsys):
    ending = _launch(toy, run_dir, "local_mp", "waits", "raises")
    assert ending[:3] == (1, "node died", "raises/0")
    assert len(ending.restarts) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[2].startswith(
        "raises/0 died 3 times in a row without completing a step; the last time it "
        "failed with exit code 1: ZeroDivisionError"
    )
    assert lines[-2] == "ZeroDivisionError: of the tenth step"
    assert lines[-1].startswith("Log file of raises/0: ")


@pytest.mark.integration
def test_a_node_that_says_that_no_start_would_help_ends_the_program(
    toy, run_dir, capsys
):
    ending = _launch(toy, run_dir, "local_mp", "waits", "raises_fatal")
    assert ending[:3] == (1, "node died", "raises_fatal/0")
    assert ending.restarts == ()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("raises_fatal/0 failed with exit code 1: FatalError: a ")


@pytest.mark.integration
def test_a_completed_step_is_heard_of_before_the_node_dies(toy, run_dir):
    def end_at_the_fourth():
        run_dir.wait_for(4)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=end_at_the_fourth)
    thread.start()
    ending = _launch(toy, run_dir, "local_mp", "dies_after_its_first_step")
    thread.join()
    assert ending[:2] == (143, "terminated by SIGTERM")
    assert [each.pause_secs for each in ending.restarts] == [0.5, 1.0, 2.0]


class _Echo:
    def echo(self, number):
        if number == 2 and pulse.current().starts == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return number + 100 * pulse.current().starts


def _call_echo(echo):
    for number in range(4):
        try:
            answer = echo.echo(number)
        except Exception as error:
            answer = type(error).__name__
            while not lp.stop_event().wait(0.2):  # Until it is back.
                with contextlib.suppress(Exception):
                    echo.echo(0)
                    break
        print("answer", answer)
    lp.stop()


@pytest.mark.integration
def test_a_server_comes_back_at_the_same_address(run_dir):
    program = lp.Program("echo")
    echo = lp.CourierNode(_Echo, courier_client_kwargs={"call_timeout": 2})
    handle = program.add_node(echo, label="echo")
    program.add_node(lp.PyNode(_call_echo, handle), label="caller")
    ending = launcher.launch(program, run_dir.path)
    assert ending[:3] == (0, "stopped", "caller/0")
    assert [each.node for each in ending.restarts] == ["echo/0"]
    answers = re.findall("answer (.*)", run_dir.log("caller-0"))
    assert answers[:2] == ["0", "1"]
    assert answers[3] == "103"


@pytest.mark.integration
def test_two_nodes_that_are_killed_at_once_both_come_back(toy, run_dir):
    def kill_both():
        for pid in run_dir.wait_for(2):
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill_both)
    thread.start()
    ending = _launch(toy, run_dir, "local_mp", "works", "works")
    thread.join()
    assert ending[:2] == (0, "stopped")
    assert {each.node for each in ending.restarts} == {"works/0", "works/1"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("number", "exit_code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
)
def test_a_signal_between_death_and_restart_ends_the_program(
    start_script, run_dir, wait_until_gone, number, exit_code
):
    script = start_script(run_dir, "local_mp", "waits", "waits")
    pids = run_dir.wait_for(2)
    os.kill(pids[0], signal.SIGKILL)
    assert "starts again in 0.5 s" in script.process.stderr.readline()
    script.send(number)
    assert script.wait()[0] == exit_code
    wait_until_gone(pids)
    logs = run_dir.log("waits-0") + run_dir.log("waits-1")
    assert logs.count("starts as process") == 2
    assert logs.count("waits: told to stop") == 1


@pytest.mark.integration
def test_a_launcher_killed_after_a_restart_takes_all_nodes_with_it(
    start_script, run_dir, wait_until_gone
):
    script = start_script(run_dir, "local_mp", "is_deaf", "dies_and_waits")
    pids = run_dir.wait_for(3)  # One of them is gone already.
    script.send(signal.SIGKILL)
    script.wait()
    wait_until_gone(pids)


def test_a_process_that_cannot_be_made_ends_the_program_and_is_named(
    toy, run_dir, capsys, monkeypatch
):
    popen = subprocess.Popen

    def refuse(command, **settings):
        if "rlcomponents.launching.node_process" in command:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return popen(command, **settings)

    monkeypatch.setattr(subprocess, "Popen", refuse)
    num_descriptors = len(os.listdir("/proc/self/fd"))
    names = ("waits", "waits")
    ending = _launch(toy, run_dir, "local_mp", *names, on_failure="stop")
    assert ending[:3] == (1, "node died", "waits/0")
    lines = capsys.readouterr().err.splitlines()
    assert lines[-3] == (
        "waits/0 could not be started: [Errno 11] Resource temporarily unavailable"
    )
    assert lines[-1].startswith("Log file of waits/0: ")
    assert len(os.listdir("/proc/self/fd")) == num_descriptors


@BOTH
def test_a_log_that_cannot_be_opened_ends_the_program_and_is_named(
    toy, run_dir, capsys, launch_type
):
    (run_dir.path / "logs" / "waits-0.log").mkdir(parents=True)
    ending = _launch(toy, run_dir, launch_type, "waits", "waits", on_failure="stop")
    assert ending[:3] == (1, "node died", "waits/0")
    assert "Is a directory" in capsys.readouterr().err


# ---------------------------------------------------------------- signs of life


@pytest.mark.integration
def test_a_stopped_node_is_named_on_the_screen(toy, run_dir, monkeypatch):
    monkeypatch.setattr(watchdog, "_PATIENCE_SECS", 1.0)
    said = []

    def on_message(line):
        said.append(line)
        os.kill(os.getpid(), signal.SIGTERM)

    ending = _launch(
        *(toy, run_dir, "local_mp", "stops_itself"),
        on_message=on_message,
        termination_notice_secs=0.5,
    )
    assert ending.exit_code == 143
    assert said[0].startswith("stops_itself/0 has shown no sign of life for ")


@pytest.mark.integration
@BOTH
def test_who_waits_is_named_on_the_screen(toy, run_dir, monkeypatch, launch_type):
    monkeypatch.setattr(watchdog, "_PATIENCE_SECS", 1.0)
    said = []

    def on_message(line):
        said.append(line)
        os.kill(os.getpid(), signal.SIGTERM)

    _launch(toy, run_dir, launch_type, "waits_for_another", on_message=on_message)
    [line] = said
    assert re.fullmatch(
        "waits_for_another/0 has waited [0-9]+ s for replay/0: 120 of 1000 items", line
    )


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("stops_itself", "was silent for [0-9]+ s and was killed"),
        (
            "hangs_in_a_step",
            "has completed no step for [0-9]+ s, waiting for nobody, and wa",
        ),
    ],
)
def test_a_node_that_hangs_is_killed_and_comes_back(toy, run_dir, name, cause):
    ending = _launch(toy, run_dir, "local_mp", name, hang_timeout_secs=5.0)
    assert ending[:4] == (0, "stopped", f"{name}/0", "")
    [restart] = ending.restarts
    assert re.match(cause, restart.cause)


@pytest.mark.integration
def test_a_thread_that_hangs_ends_the_program(start_script, run_dir):
    script = start_script(
        *(run_dir, "local_mt", "hangs_in_a_step"), hang_timeout_secs=5.0
    )
    exit_code, output, errors = script.wait()
    assert (exit_code, output) == (1, "node died hangs_in_a_step/0\n")
    assert "waiting for nobody, and was left behind" in errors


@BOTH
def test_what_a_node_says_is_on_the_screen_once_and_in_its_log(
    toy, run_dir, launch_type, capsys
):
    _launch(toy, run_dir, launch_type, "says")
    assert capsys.readouterr().err == "says/0: the disk is full\n"
    assert run_dir.log("says-0").count("the disk is full\n") == 3


def _print_much():
    for number in range(1000):
        print("line", number)
    lp.stop()


@pytest.mark.parametrize("launch_type", ["local_mp", "local_mt"])
def test_a_log_on_a_full_disk_does_not_end_its_node(run_dir, capsys, launch_type):
    (run_dir.path / "logs").mkdir()
    (run_dir.path / "logs" / "printer-0.log").symlink_to("/dev/full")
    program = lp.Program("full")
    program.add_node(lp.PyNode(_print_much), label="printer")
    ending = launcher.launch(
        program,
        run_dir.path,
        launch_type=launch_type,
        on_failure="stop",
    )
    assert ending[:4] == (0, "stopped", "printer/0", "")
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("printer/0: CANNOT WRITE the log: No space left on device.")
