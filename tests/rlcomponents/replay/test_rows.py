import io

import numpy as np
import pytest
from dm_env import specs as dm_env_specs

from rlcomponents import specs
from rlcomponents.replay import layout, rows

SPECS = {
    "camera": specs.FrameStack((256, 256, 2), np.uint8, 0, 255),  # 16 rows to a block.
    "speed": dm_env_specs.Array((2,), np.float32),
}


@pytest.fixture
def store():
    """Rows 0 to 99, whose values are their numbers."""
    store = rows.RowStore(layout.ObservationLayout(SPECS))
    for number in range(100):
        store.append(_row(number))
    return store


def _row(number):
    return np.full((256, 256), number, np.uint8), np.full(2, number, np.float32)


def _numbers(store, *pairs):
    """Numbers of the frames of observations, and of their other column."""
    camera, speed = store.observations(*np.array(pairs).T)
    return [
        (*frames[3, 4].tolist(), x[1]) for frames, x in zip(camera, speed, strict=True)
    ]


def test_a_stack_is_of_the_rows_before_but_not_of_those_before_the_episode(store):
    assert _numbers(store, (50, 40), (40, 40), (16, 3), (41, 40)) == [
        (49, 50, 50),
        (40, 40, 40),
        (15, 16, 16),  # Of two blocks.
        (40, 41, 41),
    ]


def test_rows_that_are_dropped_make_room_for_later_ones(store):
    num_blocks = len(store._blocks)
    for number in range(100, 400):
        store.drop_before(number - 99)
        store.append(_row(number % 256))
        assert len(store._blocks) <= num_blocks + 1
    assert (store.begin, store.end) == (300, 400)
    assert _numbers(store, (301, 300)) == [(300 - 256, 301 - 256, 301 - 256)]


def test_the_numbers_of_the_newest_rows_can_be_given_once_more(store):
    store.drop_from(90)
    assert store.append(_row(7)) == 90
    assert _numbers(store, (90, 0)) == [(89, 7, 7)]


def _write(store):
    files = []
    for column in range(2):
        files.append(io.BytesIO())
        store.write(column, files[-1])
        files[-1].seek(0)
    return files


def test_numpy_reads_what_is_written(store):
    store.drop_before(37)
    _, speed = _write(store)
    assert np.load(speed)[:, 0].tolist() == list(range(37, 100))


@pytest.mark.parametrize("keep_from", [37, 64, 99])
def test_rows_come_back_under_their_numbers(store, keep_from):
    store.drop_before(37)
    restored = rows.RowStore(layout.ObservationLayout(SPECS))
    restored.read(_write(store), 37, keep_from)
    assert (restored.begin, restored.end) == (keep_from, 100)
    assert _numbers(restored, (99, 99), (keep_from, keep_from)) == [
        (99, 99, 99),
        (keep_from, keep_from, keep_from),
    ]
    assert restored.append(_row(8)) == 100


def test_columns_of_another_kind_or_length_are_refused(store):
    def read(files):
        rows.RowStore(layout.ObservationLayout(SPECS)).read(files, 0, 0)

    camera, speed = _write(store)
    with pytest.raises(ValueError, match="observation/camera was saved as float32"):
        read([speed, camera])
    camera, _ = _write(store)
    store.drop_from(90)
    with pytest.raises(ValueError, match="of different lengths"):
        read([camera, _write(store)[1]])
    short = io.BytesIO(_write(store)[1].getvalue()[:-1])
    with pytest.raises(ValueError, match="too short"):
        read([_write(store)[0], short])
