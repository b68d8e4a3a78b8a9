"""What of the machine each role's processes use: compute threads, GPUs, memory.

Nodes are how a program uses several cores, so each computes on one thread. A GPU pays
for large batches: it belongs to the roles that learn. Others that saw it would each
take a share of its memory for nothing.

Parameters and gradients are some megabytes, of which each message makes copies. glibc
gives freed memory of that size back to the kernel, which clears it page by page when
it is asked for again: more work than the copies. So processes keep it.
"""

import importlib.metadata
import os
from collections.abc import Iterable, Sequence

LEARNING_ROLES = ("learner", "bundle", "dqn")
"""Groups of nodes that see the machine's GPUs where nothing else is said.

They learn from replay. Workers of the asynchronous methods are not among them: they are
many, each with small batches.
"""

_VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"
_COMPUTE_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)

_KEPT_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**25),  # The most that glibc takes.
    "MALLOC_TRIM_THRESHOLD_": str(2**26),
}


def variables(
    roles: Iterable[str], *, compute_threads: str | None = None, gpus: str | None = None
) -> dict[str, dict[str, str]]:
    """Returns the environment variables of each role's processes.

    Args:
        roles: Groups of the program.
        compute_threads: How many each node has, where it is not one, by role:
            "learner:2,actor:1".
        gpus: Which each role sees: "learner:0", or "learner:0,learner:1" for both.
            Roles that are not named see none. None: `LEARNING_ROLES` see whatever
            this process does.

    Raises:
        ValueError: No such role, no such number; or GPUs for a TensorFlow that uses
            none.
    """
    roles = list(roles)
    num_threads = {
        role: _one_number(role, numbers)
        for role, numbers in _parse("compute_threads", compute_threads, roles, 1)
    }
    devices = dict(_parse("gpus", gpus, roles, 0))
    if gpus is not None and has_cpu_build():
        raise ValueError(
            f"--gpus={gpus} would do nothing: the TensorFlow that is installed "
            "(tensorflow-cpu) uses no GPU; leave it out, or install "
            "tensorflow==2.12.1 in its place as docs/how-to/machines.md says."
        )
    found = {}
    for role in roles:
        found[role] = dict.fromkeys(_COMPUTE_THREADS, str(num_threads.get(role, 1)))
        found[role]["TF_NUM_INTEROP_THREADS"] = "1"
        found[role] |= _KEPT_MEMORY
        if gpus is not None and role in devices:
            found[role][_VISIBLE_GPUS] = ",".join(map(_name_of_gpu, devices[role]))
        elif gpus is not None or role not in LEARNING_ROLES:
            found[role][_VISIBLE_GPUS] = ""
        if found[role].get(_VISIBLE_GPUS) != "":
            found[role]["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # Nodes share a GPU.
    return found


def has_cpu_build() -> bool:
    """Returns whether a TensorFlow is installed that uses no GPU; imports none."""
    try:
        importlib.metadata.version("tensorflow-cpu")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _parse(
    flag: str, text: str | None, roles: Sequence[str], lowest: int
) -> list[tuple[str, list[int]]]:
    """Returns each role that `text` names, with its numbers."""
    found: dict[str, list[int]] = {}
    for pair in text.split(",") if text is not None else ():
        role, _, number = pair.strip().partition(":")
        if role not in roles:
            raise ValueError(
                f"--{flag}={text} names the role {role!r}: the program has "
                f"{', '.join(roles)}."
            )
        if not (number.isascii() and number.isdigit()) or int(number) < lowest:
            raise ValueError(
                f"--{flag}={text} gives {role} the number {number!r}: give a whole "
                f"number of at least {lowest}, as in --{flag}={role}:{max(lowest, 2)}."
            )
        found.setdefault(role, []).append(int(number))
    return list(found.items())


def _one_number(role: str, numbers: Sequence[int]) -> int:
    if len(numbers) > 1:
        raise ValueError(
            f"--compute_threads gives {role} {len(numbers)} numbers: give it one."
        )
    return numbers[0]


def _name_of_gpu(number: int) -> str:
    """Returns the GPU's name among those that this process sees."""
    visible = os.environ.get(_VISIBLE_GPUS)
    if visible is None:
        return str(number)
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if number >= len(names):
        raise ValueError(
            f"--gpus names GPU {number}, and {_VISIBLE_GPUS}={visible} leaves "
            f"{len(names)} to this program, counted from 0."
        )
    return names[number]
