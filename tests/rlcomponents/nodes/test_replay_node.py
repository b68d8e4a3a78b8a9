import subprocess
import sys
import threading

import cloudpickle
import launchpad as lp
import pytest

from rlcomponents.launching import launcher
from rlcomponents.nodes import replay_node, replay_saver

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def test_building_a_program_imports_neither_reverb_nor_tensorflow():
    code = (
        "import sys, launchpad as lp; from rlcomponents.nodes import replay_node; "
        "lp.Program('p').add_node(replay_node.ReplayNode(list), label='replay'); "
        "sys.exit(str({'tensorflow', 'reverb'} & set(sys.modules) or ''))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""


class FixedAddress(lp.AbstractAddressBuilder):
    def build(self):
        return "localhost:4711"


def test_the_handle_becomes_the_address():
    node = replay_node.ReplayNode(list)
    handle = node.create_handle()
    [address] = node.addresses
    address.bind(FixedAddress())
    assert handle.dereference() == "localhost:4711"


class BrokenSaver:
    def __init__(self, save, folder, *, period_secs):
        self.is_closed = False

    def check(self):
        raise MemoryError("no memory")

    def close(self):
        self.is_closed = True


class FakeReplay:
    def __init__(self, tables, port, **settings):
        self.is_closed = False
        made.append(self)

    def save(self):
        raise NotImplementedError

    def show_counts(self):
        pass

    def close(self):
        self.is_closed = True


made: list[FakeReplay] = []


def test_the_node_dies_of_what_its_saver_died_of(monkeypatch):
    from rlcomponents.replay import servers

    monkeypatch.setattr(servers, "LocalReplay", FakeReplay)
    monkeypatch.setattr(replay_saver, "ReplaySaver", BrokenSaver)
    monkeypatch.setattr(replay_node, "_STEP_SECS", 0.0)
    monkeypatch.setattr(lp, "stop_event", threading.Event)
    monkeypatch.setattr(lp, "get_port_from_address", lambda address: 4711)
    node = replay_node.ReplayNode(list, folder="state", save_period_secs=1.0)
    [address] = node.addresses
    address.bind(FixedAddress())
    with pytest.raises(MemoryError, match="no memory"):
        node.run()
    assert made.pop().is_closed


def _make_tables():
    import reverb

    return [reverb.Table.queue("queue", max_size=10)]


def _insert(address):
    import reverb

    client = reverb.Client(address)
    client.insert([1.0], {"queue": 1.0})
    print("items", client.server_info()["queue"].current_size)
    lp.stop()


@pytest.mark.integration
@pytest.mark.parametrize("launch_type", ["local_mp", "local_mt"])
def test_serves_tables_until_the_program_stops(tmp_path, launch_type):
    program = lp.Program("replay")
    replay = program.add_node(replay_node.ReplayNode(_make_tables), label="replay")
    program.add_node(lp.PyNode(_insert, replay), label="client")
    ending = launcher.launch(program, tmp_path, launch_type=launch_type)
    assert ending[:4] == (0, "stopped", "client/0", "")
    assert "items 1" in (tmp_path / "logs" / "client-0.log").read_text()


def _count(address):
    import reverb

    print("items", reverb.Client(address).server_info()["queue"].current_size)
    lp.stop()


@pytest.mark.integration
def test_goes_on_with_what_it_held_when_the_program_stopped(tmp_path):
    for run, client in enumerate([_insert, _count]):
        program = lp.Program("replay")
        node = replay_node.ReplayNode(
            _make_tables, folder=str(tmp_path / "replay-0"), save_period_secs=600.0
        )
        replay = program.add_node(node, label="replay")
        program.add_node(lp.PyNode(client, replay), label="client")
        run_dir = tmp_path / str(run)
        run_dir.mkdir()
        ending = launcher.launch(program, run_dir, launch_type="local_mp")
        assert ending.exit_code == 0
    assert "items 1" in (tmp_path / "1" / "logs" / "client-0.log").read_text()
