import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest

import cloudpickle
import launchpad as lp
import pytest

from rlcomponents.launching import launcher

cloudpickle.register_pickle_by_value(sys.modules[__name__])

BOTH = pytest.mark.parametrize("launch_type", ["local_mp", "local_mt"])
BOTH_WITH_PROCESSES_SLOW = pytest.mark.parametrize(
    "launch_type",
    [pytest.param("local_mp", marks=pytest.mark.integration), "local_mt"],
)


def _launch(toy, run_dir, launch_type, *names, **settings):
    program = toy.build(run_dir.path, *names)
    return launcher.launch(program, run_dir.path, launch_type=launch_type, **settings)


# ---------------------------------------------------------------- endings by nodes


@BOTH_WITH_PROCESSES_SLOW
def test_a_program_whose_nodes_all_return_has_finished(toy, run_dir, launch_type):
    ending = _launch(toy, run_dir, launch_type, "returns")
    assert ending[:4] == (0, "finished", None, "")


@BOTH
def test_a_node_can_stop_the_program(toy, run_dir, launch_type):
    ending = _launch(toy, run_dir, launch_type, "stops", "waits")
    assert ending[:4] == (0, "stopped", "stops/0", "")
    assert "waits: told to stop" in run_dir.log("waits-0")


@BOTH_WITH_PROCESSES_SLOW
def test_a_thread_of_a_node_can_stop_the_program(toy, run_dir, launch_type):
    ending = _launch(toy, run_dir, launch_type, "stops_in_thread", "waits")
    assert ending[:2] == (0, "stopped")


@BOTH
def test_a_node_that_raises_ends_the_program_and_is_named(
    toy, run_dir, launch_type, capsys
):
    ending = _launch(toy, run_dir, launch_type, "waits", "raises", on_failure="stop")
    assert ending[:3] == (1, "node died", "raises/0")
    assert "waits: told to stop" in run_dir.log("waits-0")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("raises/0 failed")
    assert lines[0].endswith("ZeroDivisionError: of the tenth step")
    assert lines[-2] == "ZeroDivisionError: of the tenth step"
    assert lines[-3].endswith("in raises") or lines[-4].endswith("in raises")
    log_path = run_dir.path / "logs" / "raises-0.log"
    assert lines[-1] == f"Log file of raises/0: {log_path}"
    assert "Traceback" in log_path.read_text()


@pytest.mark.integration
def test_a_node_that_exits_ends_the_program_and_is_named(toy, run_dir, capsys):
    ending = _launch(
        toy, run_dir, "local_mp", "waits", "exits_with_3", on_failure="stop"
    )
    assert ending[:3] == (1, "node died", "exits_with_3/0")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "exits_with_3/0 ended with exit code 3"
    assert "exits_with_3: about to" in lines


@BOTH_WITH_PROCESSES_SLOW
def test_a_node_that_exits_as_if_all_were_well_ends_the_program_too(
    toy, run_dir, launch_type, capsys
):
    ending = _launch(
        toy, run_dir, launch_type, "waits", "exits_with_0", on_failure="stop"
    )
    assert ending[:3] == (1, "node died", "exits_with_0/0")
    assert "sys.exit() before the node was to stop" in capsys.readouterr().err


@pytest.mark.integration
def test_a_process_that_is_gone_without_a_word_ends_the_program(toy, run_dir, capsys):
    ending = _launch(
        toy, run_dir, "local_mp", "waits", "exits_with_0_at_once", on_failure="stop"
    )
    assert ending[:3] == (1, "node died", "exits_with_0_at_once/0")
    assert "exits_with_0_at_once/0 ended with exit code 0" in capsys.readouterr().err


def test_a_node_that_is_killed_ends_the_program_and_is_named(toy, run_dir, capsys):
    ending = _launch(toy, run_dir, "local_mp", "waits", "is_killed", on_failure="stop")
    assert ending[:3] == (1, "node died", "is_killed/0")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("is_killed/0 was ended by signal SIGKILL")
    assert "is_killed: about to" in lines


@pytest.mark.integration
def test_a_node_told_to_end_by_others_stops_in_order_and_is_named(toy, run_dir, capsys):
    thread = threading.Thread(
        target=lambda: os.kill(run_dir.wait_for(1)[0], signal.SIGTERM)
    )
    thread.start()
    ending = _launch(toy, run_dir, "local_mp", "waits", on_failure="stop")
    thread.join()
    assert ending[:3] == (1, "node died", "waits/0")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "waits/0 was ended by signal SIGTERM"
    assert "waits: told to stop" in run_dir.log("waits-0")


@BOTH_WITH_PROCESSES_SLOW
def test_a_failure_after_the_stop_does_not_change_the_ending(
    toy, run_dir, launch_type, capsys
):
    ending = _launch(toy, run_dir, launch_type, "raises_when_stopped", "stops")
    assert ending[:3] == (0, "stopped", "stops/0")
    assert "raises_when_stopped/0 failed" in capsys.readouterr().err


@pytest.mark.integration
def test_a_node_that_ignores_the_stop_is_interrupted(toy, run_dir):
    names = ("ignores_stop", "stops")
    ending = _launch(toy, run_dir, "local_mp", *names, termination_notice_secs=4.0)
    assert ending[:4] == (0, "stopped", "stops/0", "")
    assert "ignores_stop: interrupted" in run_dir.log("ignores_stop-0")


def test_a_node_that_ignores_everything_is_killed(toy, run_dir, capsys):
    def stop_once_it_is_deaf():
        run_dir.wait_for(1)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop_once_it_is_deaf)
    thread.start()
    names = ("is_deaf",)
    ending = _launch(toy, run_dir, "local_mp", *names, termination_notice_secs=1.0)
    thread.join()
    assert ending[:2] == (143, "terminated by SIGTERM")
    assert re.search("is_deaf/0 had not stopped .* was killed", capsys.readouterr().err)


@pytest.mark.integration
def test_a_thread_that_ignores_everything_is_named_and_left_behind(
    start_script, run_dir
):
    script = start_script(run_dir, "local_mt", "is_deaf", "stops", notice_secs=0.5)
    exit_code, output, errors = script.wait()
    assert (exit_code, output) == (0, "stopped stops/0\n")
    assert re.search("is_deaf/0 had not stopped .* was left behind", errors)


@pytest.mark.integration
def test_a_node_takes_along_the_processes_it_has_started(toy, run_dir, wait_until_gone):
    assert _launch(toy, run_dir, "local_mp", "has_child").exit_code == 0
    wait_until_gone([int(run_dir.log("has_child-0").split()[-1])])


@pytest.mark.integration
def test_a_node_that_has_returned_but_hangs_is_not_waited_for(toy, run_dir):
    names = ("hangs_after_return",)
    ending = _launch(toy, run_dir, "local_mp", *names, termination_notice_secs=0.5)
    assert ending[:4] == (0, "finished", None, "")


# ---------------------------------------------------------------- endings by signals


def test_ctrl_c_stops_all_nodes(start_script, run_dir, wait_until_gone):
    script = start_script(run_dir, "local_mp", "waits", "waits")
    pids = run_dir.wait_for(1)
    script.send(signal.SIGINT)
    assert script.wait() == (130, "interrupted None\n", "")
    wait_until_gone(pids)
    assert "waits: told to stop" in run_dir.log("waits-0")


@pytest.mark.integration
@BOTH
@pytest.mark.parametrize(
    ("number", "exit_code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)],
)
def test_a_signal_stops_all_nodes(
    start_script, run_dir, wait_until_gone, launch_type, number, exit_code
):
    script = start_script(run_dir, launch_type, "waits")
    pids = run_dir.wait_for(1)
    script.send(number)
    assert script.wait()[0] == exit_code
    wait_until_gone(pids)
    assert "waits: told to stop" in run_dir.log("waits-0")


@pytest.mark.integration
def test_a_signal_sent_to_nodes_and_launcher_alike_stops_all_nodes(
    start_script, run_dir, wait_until_gone
):
    script = start_script(run_dir, "local_mp", "waits", "waits")
    pids = run_dir.wait_for(2)
    for pid in (script.process.pid, *pids):
        os.kill(pid, signal.SIGTERM)
    assert script.wait() == (143, "terminated by SIGTERM None\n", "")
    wait_until_gone(pids)


@pytest.mark.integration
@BOTH
def test_a_second_ctrl_c_forces(start_script, run_dir, wait_until_gone, launch_type):
    script = start_script(run_dir, launch_type, "is_deaf", "waits")
    pids = run_dir.wait_for(2)
    script.send(signal.SIGINT)
    run_dir.wait_for(1)  # The one that listens has heard.
    script.send(signal.SIGINT)
    exit_code, _, errors = script.wait()
    assert exit_code == 130
    assert "is_deaf/0 had not stopped" in errors
    wait_until_gone(pids)


def test_a_launcher_that_is_killed_takes_its_nodes_with_it(
    start_script, run_dir, wait_until_gone
):
    script = start_script(run_dir, "local_mp", "is_deaf", "waits")
    pids = run_dir.wait_for(2)
    script.send(signal.SIGKILL)
    script.wait()
    wait_until_gone(pids)


def test_signal_handlers_are_put_back(toy, run_dir):
    def own(number, frame):
        """Is what the caller had installed."""

    previous = signal.signal(signal.SIGTERM, own)
    of_interrupts = signal.getsignal(signal.SIGINT)  # Ignored in background jobs.
    try:
        _launch(toy, run_dir, "local_mt", "returns")
        assert signal.getsignal(signal.SIGTERM) is own
        assert signal.getsignal(signal.SIGINT) is of_interrupts
    finally:
        signal.signal(signal.SIGTERM, previous)


@pytest.mark.integration
def test_launches_from_any_thread(toy, run_dir):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(_launch(toy, run_dir, "local_mp", "returns"))
    )
    thread.start()
    thread.join()
    assert [ending[:4] for ending in found] == [(0, "finished", None, "")]


# ---------------------------------------------------------------- what nodes find


@dataclasses.dataclass(frozen=True)
class _Config:
    seed: int
    num_actors: int


def _show_config(config):
    print("seed", config.seed, "actors", config.num_actors)


@BOTH
def test_settings_arrive(run_dir, launch_type):
    program = lp.Program("settings")
    program.add_node(lp.PyNode(_show_config, _Config(7, 3)), label="actor")
    launcher.launch(program, run_dir.path, launch_type=launch_type)
    assert "seed 7 actors 3" in run_dir.log("actor-0")


class _Counter:
    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0

    def add(self, number):
        with self._lock:
            self._count += number
            return self._count


class _Adder:
    def __init__(self, counter, until):
        self._counter = counter
        self._until = until

    def run(self):
        while not lp.wait_for_stop(0):
            if self._counter.add(1) >= self._until:
                lp.stop()


def _build_counting(num_adders):
    program = lp.Program("counting")
    with program.group("counter"):
        counter = program.add_node(lp.CourierNode(_Counter))
    with program.group("adder"):
        for _ in range(num_adders):
            program.add_node(lp.CourierNode(_Adder, counter, 20))
    return program


@BOTH
def test_a_server_outlives_the_nodes_that_call_it(run_dir, launch_type):
    program = _build_counting(num_adders=2)  # Their calls have no time limit.
    ending = launcher.launch(program, run_dir.path, launch_type=launch_type)
    assert (ending.exit_code, ending.reason, ending.detail) == (0, "stopped", "")


def test_a_program_runs_under_launchpads_test_type_too():
    program = _build_counting(num_adders=0)
    found = []
    done = threading.Event()

    def count(counter):
        found.append(counter.add(1))
        done.set()

    [counter_node] = program.groups["counter"]
    program.add_node(lp.PyNode(count, counter_node.create_handle()), label="count")
    test_case = unittest.TestCase()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGALRM)
    previous = {number: signal.getsignal(number) for number in signals}
    try:
        lp.launch(
            program,
            launch_type="test_mt",
            test_case=test_case,
            serialize_py_nodes=False,
        )
        done.wait()
        test_case.doCleanups()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    assert found == [1]


@pytest.mark.integration
def test_two_programs_at_once_do_not_meet(tmp_path):
    found = []

    def launch(name):
        found.append(launcher.launch(_build_counting(2), tmp_path / name))

    pair = [threading.Thread(target=launch, args=(name,)) for name in ("one", "two")]
    for thread in pair:
        thread.start()
    for thread in pair:
        thread.join()
    assert [(ending.exit_code, ending.reason) for ending in found] == [
        (0, "stopped"),
        (0, "stopped"),
    ]


def _show_process():
    heavy = {"tensorflow", "reverb", "jax"} & set(sys.modules)
    print("heavy", sorted(heavy), "bytecode", not sys.dont_write_bytecode)
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTEROP_THREADS", "ROLE"):
        print(name, os.environ.get(name))


def test_a_process_has_one_compute_thread_and_its_groups_variables(
    run_dir, monkeypatch
):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    program = lp.Program("variables")
    program.add_node(lp.PyNode(_show_process), label="actor")
    program.add_node(lp.PyNode(_show_process), label="learner")
    launcher.launch(
        program,
        run_dir.path,
        environment={"learner": {"ROLE": "learner", "TF_NUM_INTEROP_THREADS": "2"}},
    )
    actor = run_dir.log("actor-0")
    assert "heavy [] bytecode True" in actor
    assert "OMP_NUM_THREADS 1\nTF_NUM_INTEROP_THREADS 1\nROLE None" in actor
    learner = run_dir.log("learner-0")
    assert "OMP_NUM_THREADS 1\nTF_NUM_INTEROP_THREADS 2\nROLE learner" in learner


@BOTH
def test_what_nodes_print_goes_to_their_logs_and_not_on_the_screen(
    toy, run_dir, launch_type, capfd
):
    _launch(toy, run_dir, launch_type, "returns")
    assert capfd.readouterr() == ("", "")
    assert "returns: hello" in run_dir.log("returns-0")


def test_a_log_is_continued_by_the_next_launch(toy, run_dir):
    _launch(toy, run_dir, "local_mt", "returns")
    _launch(toy, run_dir, "local_mt", "returns")
    assert run_dir.log("returns-0").count("returns: hello") == 2


# ---------------------------------------------------------------- the live view


@BOTH_WITH_PROCESSES_SLOW
def test_on_tick_is_called_while_nodes_run(toy, run_dir, launch_type):
    ticks = []

    def on_tick():
        ticks.append(threading.current_thread())
        os.kill(os.getpid(), signal.SIGTERM)

    ending = _launch(toy, run_dir, launch_type, "waits", on_tick=on_tick)
    assert ending[:4] == (143, "terminated by SIGTERM", None, "")
    assert set(ticks) == {threading.main_thread()}


def test_an_error_of_on_tick_stops_the_nodes_and_reaches_the_caller(toy, run_dir):
    def on_tick():
        raise BrokenPipeError("the screen is gone")

    with pytest.raises(BrokenPipeError, match="the screen is gone"):
        _launch(toy, run_dir, "local_mt", "waits", on_tick=on_tick)
    assert "waits: told to stop" in run_dir.log("waits-0")


# ---------------------------------------------------------------- bad arguments


def test_nothing_is_made_where_a_choice_is_refused(toy, run_dir):
    for bad in (
        {"launch_type": "test_mt"},
        {"launch_type": "local_mt", "on_failure": "restart"},
        {"launch_type": "local_mp", "hang_timeout_secs": 2.0},
    ):
        with pytest.raises(ValueError, match=r"^--"):
            launcher.launch(toy.build(run_dir.path, "returns"), run_dir.path, **bad)
    assert not (run_dir.path / "logs").exists()


def test_an_unknown_group_in_environment_is_refused(toy, run_dir):
    with pytest.raises(ValueError, match=r"unknown groups \['actr'\]"):
        _launch(toy, run_dir, "local_mp", "returns", environment={"actr": {}})


def test_an_environment_for_threads_is_refused(toy, run_dir):
    with pytest.raises(ValueError, match="share one process"):
        _launch(toy, run_dir, "local_mt", "returns", environment={"returns": {}})


def test_a_negative_notice_is_refused(toy, run_dir):
    with pytest.raises(ValueError, match="termination_notice_secs is -1"):
        _launch(toy, run_dir, "local_mp", "returns", termination_notice_secs=-1)


def test_a_program_without_nodes_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'empty' has no nodes"):
        launcher.launch(lp.Program("empty"), tmp_path)


def test_a_node_that_cannot_be_sent_to_a_process_is_refused(tmp_path):
    program = lp.Program("unpicklable")
    program.add_node(lp.PyNode(print, threading.Lock()), label="holder")
    with pytest.raises(ValueError, match="holder/0 cannot be sent to a process"):
        launcher.launch(program, tmp_path)


def test_launchpads_colocation_is_refused(toy, run_dir):
    program = lp.Program("colocation")
    inner = lp.PyNode(toy.returns, run_dir.path)
    program.add_node(lp.MultiThreadingColocation([inner]), label="pair")
    with pytest.raises(ValueError, match="pair/0 is a MultiThreadingColocation"):
        launcher.launch(program, run_dir.path)


def test_the_launcher_imports_nothing_heavy():
    code = (
        "import sys; from rlcomponents.launching import launcher, describe; "
        "sys.exit(str({'tensorflow', 'reverb', 'jax'} & set(sys.modules) or ''))"
    )
    root = pathlib.Path(launcher.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True
    )
    assert done.stderr.strip() == ""
