import pathlib

import pytest

from rlcomponents.doctor import findings, machine

GIB = 1024**3
NO_LIMITS = machine.Limits(None, None)


def assert_finding(finding, level, *parts):
    assert finding.level == level
    for part in parts:
        assert part in finding.text


@pytest.mark.parametrize(
    ("num_cores", "limit", "level", "text"),
    [
        (2, None, findings.OK, "2"),
        (64, 2.0, findings.OK, "the control group of this process gives 2.0"),
        (2, 64.0, findings.OK, "2"),
        (1, None, findings.NOTE, "nodes take turns"),
        (64, 0.5, findings.NOTE, "gives 0.5: nodes take turns"),
    ],
)
def test_cores(num_cores, limit, level, text):
    finding = machine.check_cores(num_cores, machine.Limits(limit, None))
    assert_finding(finding, level, text)


@pytest.mark.parametrize(
    ("available_gib", "limit_gib", "level", "text"),
    [
        (8, None, findings.OK, "8.0 GiB of 16.0 are free"),
        (3, None, findings.NOTE, "choose few nodes"),
        (1, None, findings.FIX, "End other programs"),
        (8, 32, findings.OK, "8.0 GiB of 16.0 are free"),
        (8, 3, findings.NOTE, "the control group of this process gives 3.0"),
        (8, 1, findings.FIX, "raise the limit"),
        (1, 3, findings.FIX, "1.0 GiB of 16.0 are free"),
    ],
)
def test_memory(available_gib, limit_gib, level, text):
    limits = machine.Limits(None, limit_gib and limit_gib * GIB)
    finding = machine.check_memory(16 * GIB, available_gib * GIB, limits)
    assert_finding(finding, level, text)


def test_memory_is_read_from_the_kernel():
    total_bytes, available_bytes = machine.memory_bytes()
    assert total_bytes > available_bytes > 0


@pytest.mark.parametrize(
    ("size_bytes", "level", "text"),
    [
        (2 * GIB, findings.OK, "2.0 GiB"),
        (64 * 1024**2, findings.OK, "0.1 GiB"),
        (1024**2, findings.NOTE, "1 MiB: enough for our own nodes"),
        (None, findings.NOTE, "missing"),
    ],
)
def test_shared_memory(size_bytes, level, text):
    assert_finding(machine.check_shared_memory(size_bytes), level, text)


@pytest.mark.parametrize(
    ("soft_limit", "hard_limit", "level", "text"),
    [
        (-1, -1, findings.OK, "no limit"),
        (1024, 4096, findings.OK, "1024"),
        (512, 4096, findings.NOTE, "ulimit -n 1024"),
        (64, -1, findings.FIX, "ulimit -n 1024"),
        (64, 64, findings.FIX, "hard limit of 64"),
    ],
)
def test_open_files(soft_limit, hard_limit, level, text):
    assert_finding(machine.check_open_files(soft_limit, hard_limit), level, text)


@pytest.mark.parametrize(
    ("free_gib", "writable", "level", "text"),
    [
        (50, True, findings.OK, "50.0 GiB are free in /data"),
        (3, True, findings.NOTE, "replay checkpoints"),
        (0.5, True, findings.FIX, "Make room"),
        (50, False, findings.FIX, "/data cannot be written"),
    ],
)
def test_disk(free_gib, writable, level, text):
    path = pathlib.Path("/data")
    finding = machine.check_disk(path, int(free_gib * GIB), writable)
    assert_finding(finding, level, text)


def test_a_folder_that_is_missing_will_lie_in_one_that_is_not(tmp_path):
    assert machine.existing_folder(tmp_path / "runs" / "one") == tmp_path


@pytest.mark.parametrize(
    ("environ", "has_control", "has_egl", "level", "text"),
    [
        ({}, False, False, findings.OK, "none, and none is needed"),
        ({"DISPLAY": ":0"}, False, False, findings.OK, ":0"),
        ({}, True, True, findings.OK, "none, and none is needed"),
        ({}, True, False, findings.NOTE, "install libegl1"),
        ({"MUJOCO_GL": "osmesa"}, True, False, findings.OK, "none"),
        ({"MUJOCO_GL": "glfw"}, True, True, findings.FIX, "unset it"),
        ({"MUJOCO_GL": "glfw", "DISPLAY": ":0"}, True, False, findings.OK, ":0"),
    ],
)
def test_display(environ, has_control, has_egl, level, text):
    assert_finding(machine.check_display(environ, has_control, has_egl), level, text)


@pytest.mark.parametrize(
    ("files", "names", "tensorflow", "level", "text"),
    [
        ([], [], None, findings.OK, "none; the pinned TensorFlow computes on the CPU"),
        (["/dev/nvidia0"], [], None, findings.NOTE, "the driver does not answer"),
        ([], ["A"], "2.12.1", findings.NOTE, "give this container the devices"),
        (["/dev/nvidia0"], ["A"], None, findings.NOTE, "install tensorflow==2.12.1"),
        (["/dev/nvidia0"], ["A"], "2.12.1", findings.OK, "A, for TensorFlow 2.12.1"),
    ],
)
def test_gpu(files, names, tensorflow, level, text):
    assert_finding(machine.check_gpu(files, names, tensorflow), level, text)


def test_no_gpu_is_named_where_the_driver_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.gpu_names() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho NVIDIA-SMI has failed\nexit 9\n")
    tool.chmod(0o755)
    assert machine.gpu_names() == []
    tool.write_text("#!/bin/sh\necho NVIDIA X\necho NVIDIA Y\n")
    assert machine.gpu_names() == ["NVIDIA X", "NVIDIA Y"]


@pytest.mark.parametrize(
    ("settings", "cure"),
    [
        ({"user.max_user_namespaces": "0"}, "sysctl -w user.max_user_namespaces=15000"),
        (
            {"kernel.unprivileged_userns_clone": "0"},
            "sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        (
            {"kernel.apparmor_restrict_unprivileged_userns": "1"},
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ({"user.max_user_namespaces": "9000"}, "a container may forbid it"),
    ],
)
def test_a_network_that_cannot_be_private_is_explained(settings, cure):
    finding = machine.check_network("Operation not permitted", settings)
    assert_finding(finding, findings.NOTE, "(Operation not permitted)", cure)


def test_a_network_that_can_be_private_is_right():
    assert_finding(machine.check_network(None, {}), findings.OK, "possible")


def test_settings_that_the_kernel_lacks_are_left_out():
    found = machine.kernel_settings(["kernel.ostype", "kernel.no_such_setting"])
    assert found == {"kernel.ostype": "Linux"}


def write(folder, **texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_limits_of_version_2_are_the_tightest_above_the_process(tmp_path):
    write(tmp_path / "a" / "b", cpu__max="max 100000", memory__max="8000")
    write(tmp_path / "a", cpu__max="150000 100000", memory__max="max")
    assert machine.read_limits("0::/a/b", tmp_path) == (1.5, 8000)


def test_limits_of_version_1_are_found(tmp_path):
    write(tmp_path / "cpu", cpu__cfs_quota_us=50_000, cpu__cfs_period_us=100_000)
    write(tmp_path / "memory" / "job", memory__limit_in_bytes=7000)
    assert machine.read_limits("4:memory:/job\n1:cpu:/\n0::/", tmp_path) == (0.5, 7000)


def test_a_container_that_sees_its_own_limits_only_is_found(tmp_path):
    write(tmp_path, cpu__max="200000 100000", memory__max="5000")
    assert machine.read_limits("0::/docker/0123", tmp_path) == (2.0, 5000)


def test_no_limits_are_none(tmp_path):
    write(tmp_path / "cpu", cpu__cfs_quota_us=-1, cpu__cfs_period_us=100_000)
    assert machine.read_limits("1:cpu:/\n0::/", tmp_path) == NO_LIMITS
