"""Where each file of a run lies, and how a new run claims its folder."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from rlcomponents.runs import atomic_files, checkpoints


def default_path(agent: str, environment_name: str) -> pathlib.Path:
    """Returns `runs/<agent>-<environment>-<YYYYmmdd-HHMMSS>`, in local time.

    Characters that are awkward in file names become `_`. A second run of the same
    second gets the suffix `-2`.
    """
    words = (
        re.sub(r"[^A-Za-z0-9_.]+", "_", word) for word in (agent, environment_name)
    )
    name = "-".join([*words, time.strftime("%Y%m%d-%H%M%S")])
    path = pathlib.Path("runs", name)
    number = 1
    while path.exists():
        number += 1
        path = path.with_name(f"{name}-{number}")
    return path


class RunFolder:
    """Paths of one run. Making this object touches no file.

    Attributes:
        path: The folder.
    """

    def __init__(self, path: str | pathlib.Path) -> None:
        """Names the folder of a run that exists or will be created."""
        self.path = pathlib.Path(path)

    @classmethod
    def create(cls, path: str | pathlib.Path) -> "RunFolder":
        """Claims `path` for a new run and makes its subfolders.

        The claim is an empty config.json, made so that of two runs that ask for one
        folder only one gets it. It also proves that the folder can be written, which
        permission bits do not (the superuser, read-only file systems).

        Raises:
            ValueError: `path` is a file, cannot be written, or holds a run already.
        """
        folder = cls(path)
        try:
            if folder.path.exists() and not folder.path.is_dir():
                raise ValueError(
                    f"The run folder {path} is a file: give a folder, new or empty."
                )
            folder.path.mkdir(parents=True, exist_ok=True)
            try:
                folder.config_json.open("x").close()
            except FileExistsError:
                raise ValueError(
                    f"The run folder {path} already holds a run: give another folder."
                ) from None
            for subfolder in (
                folder.logs,
                folder.metrics,
                folder.tensorboard,
                folder.checkpoints,
                folder.state,
            ):
                subfolder.mkdir(exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The run folder {path} is not writable ({error.strerror}): give a "
                "folder in which you can make files."
            ) from error
        return folder

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the folder for the calling process: one at a time goes on with a run.

        However that process ends, the folder is free again.

        Raises:
            ValueError: Another process holds it, or the folder cannot be written.
        """
        path = self.path / ".lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise ValueError(
                f"The run folder {self.path} is not writable ({error.strerror}): give "
                "a folder in which you can make files."
            ) from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, 32).decode(errors="replace").strip()
                raise ValueError(
                    f"The run in {self.path} is still going on (process {holder}): "
                    "wait for its end, or stop it."
                ) from None
            with contextlib.suppress(OSError):  # A full disk: the lock is what counts.
                os.truncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
            yield
        finally:
            os.close(descriptor)

    @property
    def config_json(self) -> pathlib.Path:
        """Settings of the run."""
        return self.path / "config.json"

    @property
    def logs(self) -> pathlib.Path:
        """Folder of `<node>.log`."""
        return self.path / "logs"

    @property
    def metrics(self) -> pathlib.Path:
        """Folder of `<node>.csv`; `program.csv` is the whole program's."""
        return self.path / "metrics"

    @property
    def program_csv(self) -> pathlib.Path:
        """The whole program's metrics, which the live view and the curve read."""
        return self.metrics / "program.csv"

    @property
    def tensorboard(self) -> pathlib.Path:
        """Folder of TensorBoard event files."""
        return self.path / "tensorboard"

    @property
    def checkpoints(self) -> pathlib.Path:
        """Folder of `step_<agent steps>/`, and of `best/` with some of that kind."""
        return self.path / "checkpoints"

    @property
    def best_checkpoint(self) -> pathlib.Path:
        """Folder of the checkpoint with the best evaluation so far, its newest."""
        return self.checkpoints / checkpoints.BEST

    @property
    def state(self) -> pathlib.Path:
        """Folder of what each node goes on from after a restart, or in a resumed run.

        `<node>.json` of workers, `parameters-<k>.npz` of shards, `replay-<k>/` and
        `bundle-<k>-replay/` of replays. Empty in a fresh run.
        """
        return self.path / "state"

    @property
    def nodes_json(self) -> pathlib.Path:
        """How each node of the running program is."""
        return self.path / "nodes.json"

    @property
    def evaluation_csv(self) -> pathlib.Path:
        """One row an evaluation."""
        return self.path / "evaluation.csv"

    def video_gif(self, agent_steps: int) -> pathlib.Path:
        """Beginning of the first game of the evaluation at this step, if filmed."""
        return self.path / "videos" / f"step_{agent_steps:012d}.gif"

    @property
    def curve_png(self) -> pathlib.Path:
        """Picture of the returns."""
        return self.path / "curve.png"

    @property
    def summary_json(self) -> pathlib.Path:
        """What the run came to."""
        return self.path / "summary.json"

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Replaces config.json; its `agent` and `environment` title the curve."""
        atomic_files.write_json(self.config_json, dict(config))

    def read_config(self) -> dict[str, Any]:
        """Returns the settings that `write_config` was given.

        Raises:
            ValueError: The folder holds no run, or one that never started.
        """
        try:
            text = self.config_json.read_text()
        except OSError as error:
            raise ValueError(
                f"{self.path} holds no run (config.json: {error.strerror}): give the "
                "folder of a run."
            ) from error
        try:
            config = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{self.config_json} is not readable as JSON ({error}): the run in "
                "that folder never started, or the file was edited."
            ) from error
        return dict(config)
