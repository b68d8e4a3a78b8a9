"""What is kept of the runs of a study: the small files of each, in a folder of its own.

They are enough for every table and picture. So a checkout that holds them goes on with
the study: a run that was kept is complete, wherever it was made.
"""

import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterable

from experiments import costs
from launch import suite_plan
from rlcomponents.evaluation import suite_origins, suite_results

FILES = (
    "config.json",
    "evaluation.csv",
    "summary.json",
    costs.FILE,
    suite_origins.FILE,
)
"""Files of a run that are kept; the others are large, or of this machine."""


def keep(
    runs: Iterable[pathlib.Path], out: pathlib.Path, planned: Iterable[pathlib.Path]
) -> None:
    """Copies the small files of runs into a folder for each; drops what is not planned.

    Args:
        runs: Folders of runs.
        out: The folder of those folders.
        planned: Folders of all runs that there may be. Of others what was kept before
            is dropped; whatever else is in the folder stays.
    """
    names = {path.name for path in planned}
    for kept in out.glob("*"):
        if kept.name not in names and _is_kept(kept):
            shutil.rmtree(kept)
    for path in runs:
        (out / path.name).mkdir(parents=True, exist_ok=True)
        _copy(path, out / path.name)


def take_up(suite: suite_plan.Suite, out: pathlib.Path) -> None:
    """Copies what was kept back to the folders of runs that the suite has not begun.

    What was made with other settings than the suite's stays where it is, and is run
    anew; a sentence says so.

    Args:
        suite: Whose runs.
        out: The folder given to `keep`.
    """
    for run in suite.runs:
        kept = out / run.path.name
        if run.path.exists() or not (kept / "summary.json").exists():
            continue
        try:
            if not suite_results.is_complete(kept):
                continue
            different = suite_plan.differences(run, kept, str(suite.flags.agent))
        except ValueError:
            different = ["files that this version does not read"]
        if different:
            print(f"{kept} is run anew: it has {', '.join(different)}.", flush=True)
            continue
        with tempfile.TemporaryDirectory(dir=run.path.parent) as folder:
            copied = pathlib.Path(folder, "run")
            copied.mkdir()
            _copy(kept, copied)
            copied.rename(run.path)  # All of it, or nothing.


def _copy(path: pathlib.Path, to: pathlib.Path) -> None:
    for name in FILES:
        if (path / name).exists():
            shutil.copy(path / name, to / name)


def _is_kept(path: pathlib.Path) -> bool:
    """Whether a folder has the name and the files of a run that was kept, only."""
    if path.is_symlink() or not path.is_dir():
        return False
    if re.fullmatch(r"[A-Za-z0-9_.]+-\d+", path.name) is None:
        return False
    names = {each.name for each in path.iterdir()}
    return {"config.json", "summary.json"} <= names <= set(FILES)
