"""Each benchmark works: shortly, without a look at what it measures."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PEERS = ROOT / ".venv-peers/bin/python"
needs_peers = pytest.mark.skipif(
    not PEERS.exists(), reason="the peers are not installed: make bench-peers-env"
)


@pytest.mark.integration
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "bench",
    [
        pytest.param("a3c", marks=needs_peers),
        "breakdown",
        pytest.param("dqn", marks=needs_peers),
        pytest.param("environment", marks=needs_peers),
        "memory",
        "parameters",
        "replay",
        "startup",
        "updates",
    ],
)
def test_bench_writes_down_what_it_measured(tmp_path, bench):
    path = tmp_path / "results.json"
    script = f"benchmarks/bench_{bench}.py"
    subprocess.run(
        [sys.executable, script, "--quick", f"--json={path}"], cwd=ROOT, check=True
    )
    result = json.loads(path.read_text())["benches"][bench]
    assert result["quick"]
    assert result["ratios"]
    assert all(ratio["median"] > 0.0 for ratio in result["ratios"])
