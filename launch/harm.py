"""Does harm to the nodes of a run that is going on, to see what becomes of it.

    python launch/gorila_dqn.py --run_dir=runs/me &
    python launch/harm.py --run_dir=runs/me --faults=kill:bundle/1@30,stop:bundle/0@9+5

kills bundle/1 30 s from now, and stops bundle/0 after 9 s for 5 s. Also
slow:bundle/0@60+30x0.2 (for 30 s it runs a fifth of the time), cut:parameters/0@90+10
(nobody reaches it for 10 s), fill_disk@120+15 (no room for the run folder) and
read_only_disk@150+15 (nothing in it can be made or replaced).
"""

import dataclasses
import sys
from collections.abc import Sequence

from launch import command_line
from rlcomponents.runs import run_folder
from rlcomponents.testing import faults


@dataclasses.dataclass(frozen=True, kw_only=True)
class HarmFlags:
    """Flags of the script.

    Attributes:
        run_dir: Folder of a run whose program is going on.
        faults: What to do and when, separated by commas.
    """

    run_dir: str | None = None
    faults: str | None = None


def main(argv: Sequence[str]) -> int:
    """Does what the schedule says; returns the exit code."""
    flags = command_line.parse(argv, str(__doc__), run_class=HarmFlags).run
    with command_line.bad_input_refused():
        for name in ("run_dir", "faults"):
            if getattr(flags, name) is None:
                raise ValueError(f"--{name} is missing: --help shows an example.")
        run_folder.RunFolder(flags.run_dir).read_config()
        schedule = [faults.parse(text) for text in flags.faults.split(",")]
        faults.run_schedule(faults.Faults(flags.run_dir), schedule)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
