import subprocess
import sys

from agents.dqn import config as dqn_config
from agents.dqn import program
from rlcomponents.launching import placement


def test_the_program_is_one_node():
    config = dqn_config.DQNConfig(environment="catch")
    built = program.build_program(config, "somewhere")
    assert {name: len(nodes) for name, nodes in built.groups.items()} == {"dqn": 1}
    [node] = built.get_all_nodes()
    assert config in node._args


def test_the_node_sees_the_gpu(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    config = dqn_config.DQNConfig(environment="catch")
    built = program.build_program(config, "somewhere")
    assert "CUDA_VISIBLE_DEVICES" not in placement.variables(built.groups)["dqn"]


def test_building_it_loads_no_tensorflow():
    code = (
        "import sys; from agents.dqn import config, program; "
        "program.build_program(config.DQNConfig(), 'somewhere'); "
        "print(sorted({'tensorflow', 'reverb', 'sonnet', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
