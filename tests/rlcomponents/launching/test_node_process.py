"""Tests of rlcomponents.launching.node_process."""

import fcntl
import os
import resource
import subprocess
import sys

import pytest

from rlcomponents.launching import node_process


def test_a_process_whose_launcher_is_gone_ends_at_once():
    control, control_writer = os.pipe()
    status_reader, status = os.pipe()
    not_the_parent = os.getpid() + 1
    done = subprocess.run(
        [
            *(sys.executable, "-m", "rlcomponents.launching.node_process", "a/0"),
            *(str(control), str(status), str(not_the_parent), "0"),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        pass_fds=(control, status),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    for descriptor in (control, control_writer, status_reader, status):
        os.close(descriptor)


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2_048,
    reason="This process may not have such numbers.",
)
def test_a_node_hears_its_launcher_under_a_high_descriptor_number():
    reader, writer = os.pipe()
    high = fcntl.fcntl(reader, fcntl.F_DUPFD, 1_024)  # Of a launcher with many nodes.
    assert not node_process._poll([high], timeout_secs=0.0)
    os.close(writer)
    assert node_process._poll([high])
    os.close(reader)
    os.close(high)
