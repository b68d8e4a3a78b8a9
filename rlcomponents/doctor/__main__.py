"""`python -m rlcomponents.doctor`: looks at everything, one line each.

Exit code 0 if nothing has to be fixed, else 1.
"""

import concurrent.futures
import ctypes.util
import glob
import os
import pathlib
import platform
import resource
import shutil
import sys
from collections.abc import Iterator

from rlcomponents.doctor import findings, machine, packages
from rlcomponents.launching import private_network

_ROMS = packages.Module(
    "ale_py.roms", "ale-py", "assert ale_py.roms.get_rom_path('pong').exists()"
)


def main() -> int:
    """Prints what is found; returns the exit code."""
    num_fixes = 0
    for finding in _look():
        print(finding, flush=True)
        num_fixes += finding.level == findings.FIX
    if num_fixes == 0:
        print("Nothing has to be fixed.")
        return 0
    print(f"{num_fixes} thing{'s have' if num_fixes > 1 else ' has'} to be fixed.")
    return 1


def _look() -> Iterator[findings.Finding]:
    yield packages.check_python(
        tuple(sys.version_info[:3]), platform.python_implementation()
    )
    yield from _look_at_machine()
    requirements = packages.own_requirements()
    yield from packages.check_versions(requirements, packages.installed_version)
    modules = [
        module
        for module in (*packages.MODULES, _ROMS)
        if any(map(packages.installed_version, packages.names_of(module.package)))
    ]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        outcomes = pool.map(packages.import_module, modules)
        for module, outcome in zip(modules, outcomes, strict=True):
            yield packages.check_import(module, outcome)


def _look_at_machine() -> Iterator[findings.Finding]:
    limits = machine.read_limits(pathlib.Path("/proc/self/cgroup").read_text())
    yield machine.check_cores(len(os.sched_getaffinity(0)), limits)
    yield machine.check_memory(*machine.memory_bytes(), limits)
    shared = pathlib.Path("/dev/shm")
    yield machine.check_shared_memory(
        shutil.disk_usage(shared).total if shared.is_dir() else None
    )
    yield machine.check_open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))
    runs = machine.existing_folder(pathlib.Path("runs"))
    yield machine.check_disk(
        runs, shutil.disk_usage(runs).free, os.access(runs, os.W_OK | os.X_OK)
    )
    yield machine.check_display(
        os.environ,
        has_control=packages.installed_version("dm-control") is not None,
        has_egl=ctypes.util.find_library("EGL") is not None,
    )
    yield machine.check_gpu(
        sorted(glob.glob("/dev/nvidia[0-9]*")),
        machine.gpu_names(),
        packages.installed_version("tensorflow"),
    )
    yield machine.check_network(
        private_network.why_unavailable(),
        machine.kernel_settings(machine.NAMESPACE_SETTINGS),
    )


if __name__ == "__main__":
    sys.exit(main())
