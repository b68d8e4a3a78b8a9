"""What the page asks for once a second, as one JSON object with only what is new."""

import json
import math
import pathlib
import secrets
import threading
import types
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rlcomponents.dashboard import curves as run_curves
from rlcomponents.dashboard import runs
from rlcomponents.runs import curves, run_folder


class Question(NamedTuple):
    """What the page shows, and what it has of that.

    Attributes:
        run: Index of the run that is looked at.
        of: What is drawn: one of `rlcomponents.dashboard.curves.SOURCES`.
        over: Along the axis: one of `rlcomponents.runs.curves.AXES`.
        versions: Of the curves that it has, by the index of their run; those that are
            shown, but that it has not, are blank.
        log: Name of the log that is shown. None: none.
        offset_bytes: Where the last piece of that log ended. None: it has none.
    """

    run: int = 0
    of: str = "evaluation"
    over: str = "agent_steps"
    versions: Mapping[int, str] = types.MappingProxyType({})
    log: str | None = None
    offset_bytes: int | None = None


class Dashboard:
    """Reads several runs. Thread-safe."""

    def __init__(self, paths: Sequence[str | pathlib.Path]) -> None:
        """Checks that the folders hold runs.

        Args:
            paths: Folders of runs that have not begun, go on, or have ended. One that
                is given twice is shown once.

        Raises:
            ValueError: One of them holds no run.
        """
        for path in paths:
            run_folder.RunFolder(path).read_config()
        folders = list(dict.fromkeys(pathlib.Path(path).resolve() for path in paths))
        self._runs = [
            runs.WatchedRun(path, name)
            for path, name in zip(folders, _names(folders), strict=True)
        ]
        # So that a page that is left open notices that it asks somebody else now.
        self._session = secrets.token_hex(8)
        self._lock = threading.Lock()

    def answer(self, question: Question) -> bytes:
        """Returns the JSON object.

        Raises:
            ValueError: The question names no run or axis of ours.
        """
        if question.over not in curves.AXES:
            raise ValueError(f"There is no axis {question.over!r}.")
        if question.of not in run_curves.SOURCES:
            raise ValueError(f"There is no curve of {question.of!r}.")
        for index in (question.run, *question.versions):
            if not 0 <= index < len(self._runs):
                raise ValueError(f"There is no run {index}.")
        with self._lock:
            watched = self._runs[question.run]
            answer = {
                "session": self._session,
                "runs": [run.overview() for run in self._runs],
                "details": watched.details(),
                "curves": {
                    index: self._runs[index].curve(
                        question.of, question.over, version or None
                    )
                    for index, version in question.versions.items()
                },
                "log": question.log
                and watched.log(question.log, question.offset_bytes),
            }
        return json.dumps(_plain(answer), separators=(",", ":")).encode()


def _names(folders: Sequence[pathlib.Path]) -> list[str]:
    """Returns the folders' names, with as many of their parents' as tell them apart."""
    names = [folder.name for folder in folders]
    for depth in range(2, max(len(folder.parts) for folder in folders) + 1):
        if len(set(names)) == len(names):
            break
        names = [
            "/".join(folder.parts[-depth:]) if names.count(name) > 1 else name
            for folder, name in zip(folders, names, strict=True)
        ]
    return names


def _plain(value: Any) -> Any:
    """Returns a value as JSON has it: NaN and infinity become null, digits are few."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
