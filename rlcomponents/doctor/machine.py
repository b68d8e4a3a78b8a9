"""What this machine, or the container around this process, gives to a program."""

import pathlib
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rlcomponents.doctor import findings

GIB = 1024**3
"""Bytes of a gibibyte."""

NAMESPACE_SETTINGS = {
    "user.max_user_namespaces": ("0", "15000"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
}
"""Settings of the kernel: with which value it forbids user namespaces, or allows."""

_MIN_MEMORY_GIB = 2.0  # Launcher, coordinator, shard, and two nodes with TensorFlow.
_GOOD_MEMORY_GIB = 4.0  # The default programs.
_MIN_FILES = 256
_GOOD_FILES = 1024
_MIN_DISK_GIB = 1.0
_GOOD_DISK_GIB = 5.0
_GOOD_SHARED_GIB = 0.0625  # What Docker gives.
_SMI_LIMIT_SECS = 15.0


class Limits(NamedTuple):
    """What the control groups of this process allow it; None: as much as there is.

    Attributes:
        cores: Of processor time.
        memory_bytes: Of memory.
    """

    cores: float | None
    memory_bytes: int | None


def check_cores(num_cores: int, limits: Limits) -> findings.Finding:
    """Looks at the processor."""
    text = f"{num_cores}"
    cores = float(num_cores)
    if limits.cores is not None and limits.cores < num_cores:
        cores = limits.cores
        text += f", of which the control group of this process gives {cores:.1f}"
    if cores >= 2:
        return findings.Finding(findings.OK, "cores", text)
    text += ": nodes take turns, so choose as few of them as the agent allows."
    return findings.Finding(findings.NOTE, "cores", text)


def check_memory(
    total_bytes: int, available_bytes: int, limits: Limits
) -> findings.Finding:
    """Looks at the memory.

    Args:
        total_bytes: Of the machine.
        available_bytes: Of the machine, now.
        limits: Of this process.
    """
    usable_bytes = available_bytes
    text = f"{available_bytes / GIB:.1f} GiB of {total_bytes / GIB:.1f} are free"
    if limits.memory_bytes is not None and limits.memory_bytes < total_bytes:
        usable_bytes = min(usable_bytes, limits.memory_bytes)
        limit_gib = limits.memory_bytes / GIB
        text += f"; the control group of this process gives {limit_gib:.1f}"
    if usable_bytes < _MIN_MEMORY_GIB * GIB:
        text += (
            f": less than {_MIN_MEMORY_GIB:.0f}, and each node with TensorFlow takes "
            "0.4 and replay what it holds. End other programs, or raise the limit."
        )
        return findings.Finding(findings.FIX, "memory", text)
    if usable_bytes < _GOOD_MEMORY_GIB * GIB:
        text += ": choose few nodes and a small replay."
        return findings.Finding(findings.NOTE, "memory", text)
    return findings.Finding(findings.OK, "memory", text)


def check_shared_memory(size_bytes: int | None) -> findings.Finding:
    """Looks at /dev/shm, which our programs do without.

    Args:
        size_bytes: None where there is none.
    """
    if size_bytes is not None and size_bytes >= _GOOD_SHARED_GIB * GIB:
        text = f"{size_bytes / GIB:.1f} GiB"
        return findings.Finding(findings.OK, "/dev/shm", text)
    size = "missing" if size_bytes is None else f"{size_bytes / 1024**2:.0f} MiB"
    text = (
        f"{size}: enough for our own nodes, but environments that use it may fail with "
        "a bus error. Docker takes --shm-size=1g."
    )
    return findings.Finding(findings.NOTE, "/dev/shm", text)


def check_open_files(soft_limit: int, hard_limit: int) -> findings.Finding:
    """Looks at how many files a process may have open; -1: as many as it likes."""
    if soft_limit == -1 or soft_limit >= _GOOD_FILES:
        text = "no limit" if soft_limit == -1 else f"{soft_limit}"
        return findings.Finding(findings.OK, "open files", text)
    level = findings.FIX if soft_limit < _MIN_FILES else findings.NOTE
    if hard_limit == -1 or hard_limit >= _GOOD_FILES:
        cure = f"ulimit -n {_GOOD_FILES}"
    else:
        cure = f"ask for more than the hard limit of {hard_limit}"
    text = f"{soft_limit}, too few for programs of many nodes: {cure}."
    return findings.Finding(level, "open files", text)


def check_disk(path: pathlib.Path, free_bytes: int, writable: bool) -> findings.Finding:
    """Looks at where run folders lie.

    Args:
        path: Of the nearest folder that exists.
        free_bytes: There.
        writable: Whether this user can make folders there.
    """
    if not writable:
        text = f"{path} cannot be written: give --run_dir=FOLDER, elsewhere."
        return findings.Finding(findings.FIX, "disk", text)
    text = f"{free_bytes / GIB:.1f} GiB are free in {path}"
    if free_bytes < _MIN_DISK_GIB * GIB:
        text += ": checkpoints may not fit. Make room, or give --run_dir=FOLDER."
        return findings.Finding(findings.FIX, "disk", text)
    if free_bytes < _GOOD_DISK_GIB * GIB:
        text += ": replay checkpoints of Atari runs take as much."
        return findings.Finding(findings.NOTE, "disk", text)
    return findings.Finding(findings.OK, "disk", text)


def check_display(
    environ: Mapping[str, str], has_control: bool, has_egl: bool
) -> findings.Finding:
    """Looks at what draws pictures: videos of the Control Suite alone need OpenGL.

    Args:
        environ: Environment variables.
        has_control: Whether dm-control is installed.
        has_egl: Whether OpenGL can do without a display.
    """
    display = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    text = f"{display}" if display else "none, and none is needed"
    backend = environ.get("MUJOCO_GL", "")
    if not has_control or backend == "osmesa":
        return findings.Finding(findings.OK, "display", text)
    if backend == "glfw" and not display:
        text = "none, and MUJOCO_GL=glfw needs one: unset it."
        return findings.Finding(findings.FIX, "display", text)
    if backend != "glfw" and not has_egl:
        text += (
            ", but videos of control:... need OpenGL: install libegl1 and "
            "libegl-mesa0, or set MUJOCO_GL to osmesa."
        )
        return findings.Finding(findings.NOTE, "display", text)
    return findings.Finding(findings.OK, "display", text)


def check_gpu(
    device_files: Sequence[str], names: Sequence[str], tensorflow: str | None
) -> findings.Finding:
    """Looks at GPUs, and whether TensorFlow is one that uses them.

    Args:
        device_files: `/dev/nvidia0` and so on.
        names: What the driver says there is.
        tensorflow: Version of the GPU build, None where the CPU build is installed.
    """
    if not device_files and not names:
        text = "none; the pinned TensorFlow computes on the CPU"
        return findings.Finding(findings.OK, "GPU", text)
    if not names:
        text = (
            f"{', '.join(device_files)}, but nvidia-smi names none: the driver does "
            "not answer. Nodes compute on the CPU."
        )
        return findings.Finding(findings.NOTE, "GPU", text)
    if not device_files:
        text = (
            f"{', '.join(names)}, but no /dev/nvidia*: give this container the devices "
            "(--gpus=all). Nodes compute on the CPU."
        )
        return findings.Finding(findings.NOTE, "GPU", text)
    if tensorflow is None:
        text = (
            f"{', '.join(names)}, which tensorflow-cpu does not use: install "
            "tensorflow==2.12.1 in its place, with CUDA 11.8 and cuDNN 8.6."
        )
        return findings.Finding(findings.NOTE, "GPU", text)
    text = f"{', '.join(names)}, for TensorFlow {tensorflow}"
    return findings.Finding(findings.OK, "GPU", text)


def check_network(reason: str | None, settings: Mapping[str, str]) -> findings.Finding:
    """Looks at whether the nodes of a program can have a network of their own.

    Args:
        reason: Why not; None where they can.
        settings: Of the kernel, by their names for sysctl.
    """
    subject = "private network"
    if reason is None:
        return findings.Finding(findings.OK, subject, "possible")
    text = (
        f"not possible ({reason}), so that who reaches this machine reaches the ports "
        "of programs: "
    )
    for name, (forbidding, allowing) in NAMESPACE_SETTINGS.items():
        if settings.get(name) == forbidding:
            cure = f"sudo sysctl -w {name}={allowing}, or see docs/security.md."
            return findings.Finding(findings.NOTE, subject, text + cure)
    cure = "a container may forbid it; docs/security.md says what to do."
    return findings.Finding(findings.NOTE, subject, text + cure)


def read_limits(
    own_groups: str, root: pathlib.Path = pathlib.Path("/sys/fs/cgroup")
) -> Limits:
    """Reads the limits of the control groups that this process is in.

    Args:
        own_groups: `/proc/self/cgroup`: `hierarchy:controllers:path` lines.
        root: Where they are mounted; in a container often without the path.
    """
    cores: list[float] = []
    memory: list[int] = []
    for line in own_groups.splitlines():
        _, controllers, path = line.split(":", 2)
        for folder in _folders(root / controllers, path):
            if quota := _read(folder / "cpu.max"):  # Version 2.
                _add_share(cores, *quota.split())
            if quota := _read(folder / "cpu.cfs_quota_us"):
                _add_share(cores, quota, _read(folder / "cpu.cfs_period_us"))
            for name in ("memory.max", "memory.limit_in_bytes"):
                if (limit := _read(folder / name)).isdigit():
                    memory.append(int(limit))
    return Limits(min(cores, default=None), min(memory, default=None))


def memory_bytes() -> tuple[int, int]:
    """Returns how much memory the machine has, and how much is free now."""
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    kib = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
    return 1024 * kib["MemTotal"], 1024 * kib["MemAvailable"]


def gpu_names() -> list[str]:
    """Returns what the driver says there is."""
    if shutil.which("nvidia-smi") is None:
        return []
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_SMI_LIMIT_SECS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def kernel_settings(names: Iterable[str]) -> dict[str, str]:
    """Returns those of the kernel's settings that there are."""
    root = pathlib.Path("/proc/sys")
    found = {name: _read(root / name.replace(".", "/")) for name in names}
    return {name: value for name, value in found.items() if value}


def existing_folder(path: pathlib.Path) -> pathlib.Path:
    """Returns the folder, or the nearest above it that exists."""
    path = path.absolute()
    while not path.is_dir():
        path = path.parent
    return path


def _folders(root: pathlib.Path, path: str) -> Iterable[pathlib.Path]:
    inner = root / path.lstrip("/")
    while inner != root:
        yield inner
        inner = inner.parent
    yield root


def _add_share(cores: list[float], quota: str, period: str) -> None:
    if quota.isdigit() and period.isdigit():  # Else "max", or -1.
        cores.append(int(quota) / int(period))


def _read(path: pathlib.Path) -> str:
    """Returns the text of a file of the kernel; empty where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
