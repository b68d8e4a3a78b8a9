"""Whole programs, measured in turns: each runs only while it is its turn.

Starting a program costs ten times what a round does. So each is started once, warmed
up and stopped; a round lets it go on for some seconds. See `programs.Contender`.
"""

import pathlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence

import programs

PEERS_PYTHON = programs.ROOT / ".venv-peers/bin/python"
PEERS = str(pathlib.Path(__file__).with_name("peers.py"))


class Arena:
    """The contenders of one benchmark. A context manager, which ends them."""

    def __init__(self, *, secs: float) -> None:
        """Makes a folder for what they write.

        Args:
            secs: Of each round of each contender.
        """
        self._secs = secs
        self._contenders: dict[str, programs.Contender] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="rlcomponents-bench-")

    def __enter__(self) -> "Arena":
        """Returns itself."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return self

    def __exit__(self, *exception: object) -> None:
        """Ends all contenders."""
        for contender in self._contenders.values():
            contender.end()
        self._folder.cleanup()

    def add_ours(
        self,
        name: str,
        script: str,
        flags: Mapping[str, object],
        *,
        workers: str,
        num_workers: int,
        min_updates: int = 1,
    ) -> programs.Contender:
        """Starts a launch script as users do, without its live view.

        Args:
            name: Of the contender.
            script: Such as `launch/a3c.py`.
            flags: Of the script.
            workers: Group of the nodes that act.
            num_workers: How many they are.
            min_updates: Of each of them, before the first round.

        Returns:
            The contender, whose folder has the run's in `run`.
        """
        command = launch_command(script, self._path(name) / "run", flags)
        rows = f"run/metrics/{workers}-*.csv"
        return self._start(name, command, rows, num_workers, min_updates)

    def add_program(
        self,
        name: str,
        command: Sequence[str],
        *,
        num_workers: int = 1,
        min_updates: int = 0,
    ) -> None:
        """Starts a command that takes `--rows=FOLDER`; see `peers.py`."""
        rows = self._path(name) / "rows"
        self._start(
            name, [*command, f"--rows={rows}"], "rows/*.csv", num_workers, min_updates
        )

    def round(self) -> Iterator[tuple[str, programs.Rates]]:
        """Measures each contender once."""
        for name, contender in self._contenders.items():
            yield name, contender.measure(self._secs)

    def rounds(self, number: int) -> dict[str, list[programs.Rates]]:
        """Measures each contender once a round; returns the rounds of each."""
        results: dict[str, list[programs.Rates]] = {
            name: [] for name in self._contenders
        }
        for _ in range(number):
            for name, rates in self.round():
                results[name].append(rates)
        return results

    def _path(self, name: str) -> pathlib.Path:
        return pathlib.Path(self._folder.name) / name.replace(" ", "_")

    def _start(
        self,
        name: str,
        command: Sequence[str],
        rows: str,
        num_workers: int,
        min_updates: int,
    ) -> programs.Contender:
        contender = programs.Contender(
            name, command, self._path(name), rows, min_updates=min_updates
        )
        self._contenders[name] = contender
        start = time.monotonic()
        contender.start(num_workers)
        print(f"  ({name} is warm after {time.monotonic() - start:.0f} s)", flush=True)
        return contender


def launch_command(
    script: str, run_dir: pathlib.Path, flags: Mapping[str, object]
) -> list[str]:
    """Returns the command that starts a launch script, without its live view.

    Args:
        script: Such as `launch/a3c.py`.
        run_dir: Folder of the run.
        flags: Of the script.
    """
    command = [sys.executable, script, f"--run_dir={run_dir}", "--quiet"]
    return command + [f"--{flag}={value}" for flag, value in flags.items()]


def peer(what: str, *flags: str) -> list[str]:
    """Returns the command that starts a peer, in its own environment.

    Raises:
        SystemExit: That environment is not there.
    """
    if not PEERS_PYTHON.exists():
        raise SystemExit("The peers are not installed: run 'make bench-peers-env'.")
    return [str(PEERS_PYTHON), PEERS, what, *flags]
