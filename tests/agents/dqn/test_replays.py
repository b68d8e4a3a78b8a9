import errno
import os
import threading

import dm_env
import numpy as np
import pytest

from agents import optimisation
from agents.dqn import config as dqn_config
from agents.dqn import parts, replays
from agents.gorila_dqn import config as gorila_config
from rlcomponents import specs
from rlcomponents.environments import registry
from rlcomponents.nodes import replay_saver
from rlcomponents.parameters import local_store
from rlcomponents.replay import memory, saves
from rlcomponents.runs import atomic_files

CATCH = specs.make_environment_spec(registry.make_factory("catch")(0))
BOARD = np.zeros((10, 5), np.float32)
KINDS = ("memory", "reverb")


def make_config(config_class=dqn_config.DQNConfig, **settings):
    return config_class(
        **{
            "environment": "catch",
            "max_steps": 1_000,
            "batch_size": 4,
            "min_replay_items": 2,
            "max_replay_items": 100,
            **settings,
        }
    )


@pytest.fixture
def make_replay(tmp_path):
    made = []

    def make(config, life=0):
        replay = replays.make_replay(
            config,
            str(tmp_path),
            CATCH,
            threading.Event().wait,
            name="bundle-0",
            index=0,
            life=life,
        )
        made.append(replay)
        return replay

    yield make
    for replay in made:
        replay.close()  # Also a second time.


def _play(replay, num_steps):
    replay.adder.add_first(dm_env.restart(BOARD))
    for _ in range(num_steps):
        replay.adder.add(1, dm_env.transition(1.0, BOARD))


@pytest.mark.parametrize("kind", KINDS)
def test_either_replay_gives_the_learner_what_the_actor_did(make_replay, kind):
    replay = make_replay(make_config(replay=kind, n_step=2, discount=0.5))
    _play(replay, 5)
    batch = replay.batches.next_batch(30.0)
    np.testing.assert_array_equal(batch.reward, [1.5] * 4)
    np.testing.assert_array_equal(batch.discount, [0.25] * 4)


def test_a_replay_in_memory_goes_on_with_what_it_saved(make_replay):
    replay = make_replay(make_config())
    _play(replay, 5)
    replay.save()
    again = make_replay(make_config(), life=1)
    assert (again.num_items(), again.num_added_steps()) == (5, 5)


def test_a_replay_on_reverb_goes_on_with_what_it_held_when_it_was_closed(make_replay):
    replay = make_replay(make_config(replay="reverb"))
    _play(replay, 5)
    replay.close()
    assert make_replay(make_config(replay="reverb"), life=1).num_items() == 5


def test_a_replay_that_is_never_to_be_saved_is_not(make_replay, tmp_path):
    config = make_config(replay="reverb", replay_checkpoint_period_secs=None)
    replay = make_replay(config)
    _play(replay, 5)
    replay.close()
    assert not (tmp_path / "state" / "bundle-0-replay").exists()


def test_a_bundle_dies_of_what_the_saver_of_its_reverb_server_died_of(
    make_replay, monkeypatch
):
    class BrokenSaver:
        def __init__(self, save, folder, *, period_secs):
            pass

        def check(self):
            raise MemoryError("no memory")

        def close(self):
            pass

    monkeypatch.setattr(replay_saver, "ReplaySaver", BrokenSaver)
    replay = make_replay(make_config(replay="reverb"))
    with pytest.raises(MemoryError, match="no memory"):
        replay.save()  # What a bundle's step calls once a period.


def test_items_that_find_no_room_are_counted_on_the_screen(make_replay, capsys):
    replay = make_replay(make_config())
    _play(replay, 9)
    replay.save()
    assert make_replay(make_config(max_replay_items=6)).num_items() == 6
    assert "3 transitions of" in capsys.readouterr().out


def test_a_replay_that_is_torn_is_skipped_with_a_sentence(
    make_replay, tmp_path, capsys
):
    make_replay(make_config()).save()
    path = tmp_path / "state" / "bundle-0-replay" / "replay.npz"
    path.write_bytes(path.read_bytes()[:50])
    again = make_replay(make_config())
    assert again.num_items() == 0
    line = f"{path} is skipped (kept as skipped-0.npz), and replay begins empty"
    assert line in capsys.readouterr().out
    again.save()
    assert path.with_name("skipped-0.npz").stat().st_size == 50


@pytest.mark.parametrize("lasts", [False, True])
def test_a_disk_that_fails_at_the_start_makes_no_replay_a_bad_one(
    make_replay, tmp_path, capsys, monkeypatch, lasts
):
    replay = make_replay(make_config())
    _play(replay, 5)
    replay.save()
    read, failures = memory.MemoryReplay.read, [errno.ESTALE] * (99 if lasts else 2)

    def read_from_a_failing_disk(replay, file):
        if failures:
            raise OSError(failures.pop(), "Stale file handle")
        return read(replay, file)

    monkeypatch.setattr(memory.MemoryReplay, "read", read_from_a_failing_disk)
    monkeypatch.setattr(saves, "_PAUSES_SECS", (0.0, 0.0))
    if lasts:
        with pytest.raises(OSError, match="Stale file handle"):
            make_replay(make_config())
    else:
        assert make_replay(make_config()).num_items() == 5
    assert "skipped" not in capsys.readouterr().out
    folder = tmp_path / "state" / "bundle-0-replay"
    assert [path.name for path in folder.iterdir()] == ["replay.npz"]


def test_a_replay_in_memory_is_on_the_disk_before_it_has_its_name(
    make_replay, monkeypatch
):
    calls = []
    sync, replace = atomic_files.sync, os.replace
    monkeypatch.setattr(
        atomic_files, "sync", lambda path: (calls.append(path.name), sync(path))
    )
    monkeypatch.setattr(
        os, "replace", lambda old, new: (calls.append(new.name), replace(old, new))
    )
    make_replay(make_config()).save()
    assert calls == [".replay.npz.tmp", "replay.npz", "bundle-0-replay"]


@pytest.mark.parametrize(
    ("config_class", "settings", "kind"),
    [
        (dqn_config.DQNConfig, {}, "memory"),
        (gorila_config.GorilaConfig, {"mode": "bundled"}, "memory"),
        (gorila_config.GorilaConfig, {"mode": "central"}, "reverb"),
    ],
)
def test_replay_is_in_memory_where_one_process_acts_and_learns(
    config_class, settings, kind
):
    assert make_config(config_class, **settings).replay_kind == kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_has_the_replay_that_was_chosen(kind):
    config = make_config(gorila_config.GorilaConfig, mode="bundled", replay=kind)
    assert config.replay_kind == kind


def test_a_replay_in_memory_is_refused_where_actors_are_elsewhere():
    with pytest.raises(ValueError, match="replay is memory, and mode is central"):
        make_config(gorila_config.GorilaConfig, mode="central", replay="memory")


def test_an_unknown_replay_is_refused():
    with pytest.raises(ValueError, match="replay is 'disk'"):
        make_config(replay="disk")


@pytest.mark.usefixtures("patient_learners")
def test_a_bundle_saves_its_replay_once_a_period_and_when_it_ends(tmp_path):
    def make(**settings):
        config = make_config(**settings)
        return parts.make_bundle(
            config,
            str(tmp_path),
            lambda layout: _make_store(config, layout),
            threading.Event().wait,
            name="bundle-0",
        )

    path = tmp_path / "state" / "bundle-0-replay" / "replay.npz"
    bundle = make()
    bundle.step()
    assert not path.exists()
    bundle.close()
    assert path.exists()
    path.unlink()
    bundle = make(replay_checkpoint_period_secs=1e-9)
    bundle.step()
    assert path.exists()
    bundle.close()


def _make_store(config, layout):
    return local_store.LocalStore(
        layout,
        optimisation.make_update_rule(config),
        optimisation.make_learning_rate(config),
        max_staleness_updates=None,
        target_period_updates=config.target_period_updates,
    )
