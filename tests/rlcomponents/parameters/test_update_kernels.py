"""How kernels are compiled; what they compute is in test_update_rules."""

import subprocess
import sys

import numpy as np
import pytest

from rlcomponents.parameters import update_kernels, update_rules


def test_a_kernel_is_compiled_for_one_signature_only():
    parameters, state = np.zeros(3, np.float32), {}
    for gradient in (np.ones(3, np.float32), np.frombuffer(bytes(12), np.float32)):
        for rate in (1, 0.5, np.float64(0.5)):
            update_rules.SGD().apply(parameters, gradient, state, rate)
    assert len(update_kernels.sgd.signatures) == 1


@pytest.mark.integration
def test_processes_that_compile_at_once_share_one_cache(tmp_path):
    code = (
        "import numpy as np\n"
        "from rlcomponents.parameters import update_kernels, update_rules\n"
        "for rule in (update_rules.SGD(), update_rules.AdaGrad()):\n"
        "    p = np.zeros(9, np.float32)\n"
        "    rule.apply(p, np.ones(9, np.float32), rule.make_state(9), 0.5)\n"
        "    print(p.tobytes().hex())\n"
        "print(sum(update_kernels.adagrad.stats.cache_hits.values()))\n"
    )

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        )

    first = [process.communicate()[0].split() for process in [start(), start()]]
    later = start().communicate()[0].split()
    assert first[0][:2] == first[1][:2] == later[:2]
    assert len(later) == 3
    assert later[2] == "1"  # Not compiled again.
