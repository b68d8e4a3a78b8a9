"""Fixtures around the toy programs."""

import importlib.util
import os
import pathlib
import select
import subprocess
import sys

import cloudpickle
import psutil
import pytest

_TOY_PATH = pathlib.Path(__file__).with_name("toy_program.py")


@pytest.fixture(scope="session")
def toy_path():
    return _TOY_PATH


@pytest.fixture(scope="session")
def toy():
    """The module of toy programs; node processes cannot import it."""
    spec = importlib.util.spec_from_file_location("toy_program", _TOY_PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_program"] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)
    yield module
    cloudpickle.unregister_pickle_by_value(module)
    del sys.modules["toy_program"]


class RunDir:
    """A run folder with the pipe to which toy nodes announce themselves."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        os.mkfifo(path / "started")
        self._pipe = os.fdopen(os.open(path / "started", os.O_RDWR), "r")

    def wait_for(self, num_nodes):
        """Returns the process ids of so many nodes, once they run."""
        return [int(self._pipe.readline().split()[1]) for _ in range(num_nodes)]

    def log(self, name):
        return (self.path / "logs" / f"{name}.log").read_text()

    def close(self):
        self._pipe.close()


@pytest.fixture
def run_dir(tmp_path):
    made = RunDir(tmp_path / "run")
    yield made
    made.close()


class Script:
    """A launcher in a process of its own."""

    def __init__(
        self,
        toy_path,
        run_dir,
        launch_type,
        *names,
        notice_secs=10.0,
        hang_timeout_secs=None,
    ):
        self.process = subprocess.Popen(
            [sys.executable, toy_path, launch_type, run_dir.path, *names],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "TOY_NOTICE_SECS": str(notice_secs),
                "TOY_HANG_TIMEOUT_SECS": str(hang_timeout_secs or "inf"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, number):
        self.process.send_signal(number)

    def wait(self):
        output, errors = self.process.communicate()
        return self.process.returncode, output, errors


@pytest.fixture
def start_script(toy_path):
    """Starts a program of toy nodes with a launcher in a process of its own."""

    def start(run_dir, launch_type, *names, **settings):
        return Script(toy_path, run_dir, launch_type, *names, **settings)

    return start


@pytest.fixture(autouse=True)
def no_process_left():
    """Holds for whatever way a program ends."""
    yield
    assert psutil.Process().children(recursive=True) == []


@pytest.fixture(scope="session")
def wait_until_gone():
    """Returns once all these processes have ended, whoever their parents are."""

    def wait(pids, timeout_secs=20.0):
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            ready, _, _ = select.select([descriptor], [], [], timeout_secs)
            os.close(descriptor)
            assert ready, f"process {pid} is still there"

    return wait
