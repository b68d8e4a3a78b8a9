"""Tests of rlcomponents.replay.memory; see test_replay_contract for the rest."""

import errno
import io
import json
import subprocess
import sys
import zipfile

import dm_env
import numpy as np
import pytest
import tree
from dm_env import specs as dm_env_specs

from rlcomponents import pulse, specs
from rlcomponents.replay import limits, memory

SCALAR = dm_env_specs.Array((), np.float32)


@pytest.fixture
def make(make_spec):
    def make_one(observations=None, *, seed=0, max_items=100, min_items=1, **settings):
        return memory.MemoryReplay(
            make_spec(observations),
            limits.ReplayLimits(
                max_items=max_items, min_items=min_items, batch_size=min(32, max_items)
            ),
            rng=np.random.default_rng(seed),
            **{"num_steps": 3, "discount": 0.5} | settings,
        )

    return make_one


class Player:
    """Plays episodes of random length with numbered frames, always the same."""

    def __init__(self, seed=0):
        self._rng = np.random.default_rng(seed)
        self._frames = None
        self._count = 0

    def step(self, replay):
        self._count += 1
        frame = np.full((2, 2), self._count % 256, np.uint8)
        if self._frames is None:
            self._frames = [frame] * 3
            replay.add_first(dm_env.restart(np.stack(self._frames, axis=-1)))
            return
        self._frames = [*self._frames[1:], frame]
        last = self._rng.random() < 0.15
        replay.add(
            int(self._rng.integers(4)),
            dm_env.TimeStep(
                dm_env.StepType.LAST if last else dm_env.StepType.MID,
                np.float32(self._rng.normal()),
                np.float32(self._rng.random() < 0.5 if last else 1.0),
                np.stack(self._frames, axis=-1),
            ),
        )
        if last:
            self._frames = None


def _play(replay, num_steps, player=None):
    player = player or Player()
    for _ in range(num_steps):
        player.step(replay)
    return player


def _saved(replay):
    file = io.BytesIO()
    replay.write(file)
    return file.getvalue()


def _assert_same(one, other):
    tree.map_structure(np.testing.assert_array_equal, one, other)


def test_one_seed_gives_one_sequence_of_batches(make):
    first, second, third = make(seed=1), make(seed=1), make(seed=2)
    for replay in (first, second, third):
        _play(replay, 60)
    for _ in range(5):
        one, other = first.next_batch(0), second.next_batch(0)
        _assert_same(one, other)
        assert all(leaf.flags.c_contiguous for leaf in one)  # TensorFlow copies none.
        assert (one.reward != third.next_batch(0).reward).any()


def test_whoever_watches_sees_what_it_holds_and_what_goes_in_and_out(
    make_spec, monkeypatch
):
    life = pulse.Pulse()
    monkeypatch.setattr(pulse, "current", lambda: life)
    replay = memory.MemoryReplay(
        make_spec(SCALAR),
        limits.ReplayLimits(max_items=3, min_items=1, batch_size=2),
        rng=np.random.default_rng(0),
        num_steps=1,
        discount=0.5,
    )
    replay.add_first(dm_env.restart(np.float32(0)))
    for _ in range(5):
        replay.add(0, dm_env.transition(0.0, np.float32(0)))
    replay.next_batch(0)
    assert life.numbers == {
        "replay_items": 3,
        "replay_capacity_items": 3,
        "inserted_items": 5,
        "sampled_items": 2,
    }


@pytest.mark.parametrize("num_steps_before", [0, 1, 3, 7, 40, 250, 251, 252, 253])
def test_a_restored_replay_goes_on_in_the_middle_of_an_episode(make, num_steps_before):
    unbroken, restored = make(seed=1), make(seed=2)
    player = _play(unbroken, num_steps_before)
    other_player = _play(make(), num_steps_before)
    unbroken.next_batch(0)
    _play(restored, 10, Player(5))  # What it holds is forgotten.
    assert restored.read(io.BytesIO(_saved(unbroken))) == 0
    assert restored.num_items == unbroken.num_items
    assert restored.num_added_steps == unbroken.num_added_steps
    for _ in range(150):
        player.step(unbroken)
        other_player.step(restored)
        if unbroken.num_items:
            _assert_same(unbroken.next_batch(0), restored.next_batch(0))
    assert _saved(unbroken) == _saved(restored)


def test_messages_go_on_counting_episodes_and_steps(make):
    saved, restored = make(SCALAR), make(SCALAR)
    for _ in range(2):
        saved.add_first(dm_env.restart(np.float32(0)))
        saved.add(0, dm_env.transition(0.0, np.float32(1)))
    restored.read(io.BytesIO(_saved(saved)))
    with pytest.raises(ValueError, match="Episode 2, step 2: reward is nan"):
        restored.add(0, dm_env.transition(np.nan, np.float32(2)))


@pytest.mark.parametrize("capacity", [33, 60, 100, 400])
def test_with_another_capacity_the_newest_items_that_fit_are_kept(make, capacity):
    saved, restored = make(max_items=100), make(max_items=capacity)
    player = _play(saved, 300)
    assert restored.read(io.BytesIO(_saved(saved))) == max(0, 100 - capacity)
    assert restored.num_items == min(100, capacity)
    np.testing.assert_array_equal(
        _all_items(restored), _all_items(saved)[-restored.num_items :]
    )
    _play(restored, 600, player)
    assert restored.num_items == capacity


def _all_items(replay):
    """Items from the oldest to the newest, as arrays."""

    class InTurn:
        def integers(self, num_items, size):
            return np.arange(num_items)

    rng, replay._rng = replay._rng, InTurn()
    try:
        batch = replay.next_batch(0)
    finally:
        replay._rng = rng
    return np.concatenate(
        [
            batch.observation.reshape(replay.num_items, -1),
            batch.next_observation.reshape(replay.num_items, -1),
            np.stack([batch.action, batch.reward, batch.discount], axis=-1),
        ],
        axis=-1,
    )


def test_with_other_n_step_returns_the_unfinished_episode_is_forgotten(make):
    saved, restored = make(num_steps=3), make(num_steps=2)
    _play(saved, 4)
    assert saved.in_episode
    restored.read(io.BytesIO(_saved(saved)))
    assert not restored.in_episode
    assert restored.num_items == saved.num_items
    with pytest.raises(ValueError, match="before add_first"):
        restored.add(0, dm_env.transition(0.0, np.zeros((2, 2, 3), np.uint8)))
    _play(restored, 100, Player(7))


def test_screens_that_hardly_change_take_little_room_in_a_file(make):
    replay = make(specs.FrameStack((84, 84, 4), np.uint8, 0, 255), max_items=1_000)
    screen = np.zeros((84, 84, 4), np.uint8)
    replay.add_first(dm_env.restart(screen))
    for _ in range(200):
        replay.add(0, dm_env.transition(0.0, screen))
    assert len(_saved(replay)) < replay.num_items * 84 * 84 / 50


def test_a_torn_file_is_refused_and_changes_nothing(make):
    saved, restored = make(), make(seed=3)
    _play(saved, 50)
    _play(restored, 30)
    before, payload = _saved(restored), _saved(saved)
    for length in (0, 10, len(payload) // 2, len(payload) - 1):
        with pytest.raises(ValueError, match="no replay of this environment"):
            restored.read(io.BytesIO(payload[:length]))
    turned = bytearray(payload)
    turned[len(payload) // 2] ^= 1  # One bit of what is compressed.
    with pytest.raises(ValueError, match="no replay of this environment"):
        restored.read(io.BytesIO(turned))
    assert _saved(restored) == before


@pytest.mark.parametrize("num_reads", [0, 1, 3, 8])
def test_a_disk_that_fails_is_no_torn_file_and_changes_nothing(make, num_reads):
    class FailingDisk(io.BytesIO):
        reads_left = num_reads

        def read(self, *args):
            self.reads_left -= 1
            if self.reads_left < 0:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(*args)

    saved, restored = make(), make(seed=3)
    _play(saved, 50)
    _play(restored, 30)
    before = _saved(restored)
    with pytest.raises(OSError, match="Input/output error"):
        restored.read(FailingDisk(_saved(saved)))
    assert _saved(restored) == before


def test_a_replay_of_another_environment_is_refused(make):
    saved = make(SCALAR)
    restored = make()
    with pytest.raises(ValueError, match="no replay of this environment"):
        restored.read(io.BytesIO(_saved(saved)))
    with pytest.raises(ValueError, match="observation was saved as uint8"):
        make(specs.FrameStack((3, 2, 3), np.uint8, 0, 255)).read(
            io.BytesIO(_saved(restored))
        )


def test_the_file_is_one_of_numpys_own_and_needs_no_pickle(make, tmp_path):
    replay = make()
    _play(replay, 50)
    path = tmp_path / "replay.npz"
    path.write_bytes(_saved(replay))
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["items"].shape == (replay.num_items,)
        assert arrays["column_0"].shape[1:] == (2, 2)
    with zipfile.ZipFile(path) as archive:
        assert (
            json.loads(archive.read("state.json"))["format"] == "rlcomponents replay 1"
        )


def test_no_more_than_a_frame_is_kept_of_a_step(make):
    """As many frames as steps, and one for the first of an episode."""
    replay = make(max_items=1_000)
    _play(replay, 500)
    assert replay._rows.end - replay._rows.begin == 500


def test_frames_of_items_that_made_room_are_dropped_and_their_memory_used_again(make):
    big = specs.FrameStack((128, 128, 2), np.uint8, 0, 255)  # 64 rows to a block.
    replay = make(big, max_items=100)
    stack = np.zeros((128, 128, 2), np.uint8)
    replay.add_first(dm_env.restart(stack))
    blocks = {}  # Kept, so that no two have one id.
    for _ in range(2_000):
        replay.add(0, dm_env.transition(0.0, stack))
        blocks |= {id(block): block for block in replay._rows._blocks.values()}
        assert len(replay._rows._blocks) <= 100 // 64 + 2
    assert replay._rows.end - replay._rows.begin == 100 + 3 + 1  # n, and the stack.
    assert len(blocks) <= 100 // 64 + 3


def test_episodes_that_give_no_item_leave_nothing_behind(make):
    replay = make()
    _play(replay, 30)
    replay.reset()
    rows = replay._rows.end
    for _ in range(1_000):
        replay.add_first(dm_env.restart(np.zeros((2, 2, 3), np.uint8)))
        replay.add(0, dm_env.transition(0.0, np.zeros((2, 2, 3), np.uint8)))
        replay.reset()
    assert replay._rows.end == rows


def test_a_ratio_that_would_have_to_hold_somebody_up_is_refused(make_spec):
    with pytest.raises(ValueError, match="samples_per_insert is 8"):
        memory.MemoryReplay(
            make_spec(),
            limits.ReplayLimits(
                max_items=100, min_items=10, batch_size=4, samples_per_insert=8.0
            ),
            num_steps=1,
            discount=0.9,
            rng=np.random.default_rng(0),
        )


def test_it_needs_neither_reverb_nor_tensorflow():
    code = (
        "import sys; from rlcomponents.replay import memory;"
        "print({'reverb', 'tensorflow'} & set(sys.modules))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "set()"
