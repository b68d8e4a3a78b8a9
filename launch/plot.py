"""Draws learning curves: runs that differ in their seed only become one line.

    python launch/plot.py runs/a3c-* runs/dqn-* --over=wall_secs --out=curves.svg

A panel for each environment; several runs as their mean with its 95 % interval.
"""

import dataclasses
import pathlib
import sys
from collections.abc import Sequence

from agents import setting_checks
from launch import command_line
from rlcomponents.runs import curves


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlotFlags:
    """Flags of the script.

    Attributes:
        out: The picture: a .png or an .svg.
        over: Along the axis: `agent_steps`, `environment_frames`, `updates`, or
            `wall_secs`.
    """

    out: str = "curves.png"
    over: str = "agent_steps"


def main(argv: Sequence[str]) -> int:
    """Draws as the flags say; returns the exit code."""
    flags, _, run_dirs = command_line.parse(
        argv, str(__doc__), run_class=PlotFlags, operands="RUN_DIR"
    )
    with command_line.bad_input_refused():
        setting_checks.check(flags, {"over": setting_checks.one_of(tuple(curves.AXES))})
        out = pathlib.Path(flags.out)
        with command_line.unwritable_refused(out):
            _check_out(out)
        bands = curves.bands([curves.read(path, flags.over) for path in run_dirs])
        with command_line.unwritable_refused(out):
            curves.draw(out, bands, flags.over)
    print(f"Curves of {len(run_dirs)} runs: {out}")
    return 0


def _check_out(out: pathlib.Path) -> None:
    if out.suffix not in curves.SUFFIXES:
        raise ValueError(
            f"--out is {str(out)!r}: it must end in {' or '.join(curves.SUFFIXES)}."
        )
    if out.is_dir():
        raise ValueError(
            f"--out is {str(out)!r}, a folder: give the file of a picture."
        )
    if not out.parent.is_dir():
        raise ValueError(
            f"--out is {str(out)!r}: there is no folder {out.parent}; make it."
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
