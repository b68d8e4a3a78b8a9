"""Tests of rlcomponents.replay.saves, on folders without Reverb."""

import subprocess
import sys

import pytest

from rlcomponents.replay import saves


@pytest.fixture
def write(tmp_path):
    """Publishes a save whose one file holds some bytes."""

    def make(content, num_items):
        written = saves.saving(tmp_path) / "2026"
        written.mkdir(parents=True)
        (written / "items").write_bytes(content)
        return saves.publish(written, tmp_path, num_items)

    return make


def test_the_newest_save_is_the_only_one_left(tmp_path, write):
    for number in range(12):  # Beyond 9: the order is that of numbers, not of words.
        save = write(b"%d" % number, num_items=number)
    assert saves.newest(tmp_path) == save
    assert saves.saved_items(tmp_path) == 11
    assert [path.name for path in tmp_path.glob("saved-*")] == ["saved-11"]
    saves.check(save)


def test_there_is_no_save_in_a_folder_without_one(tmp_path):
    assert saves.newest(tmp_path / "nowhere") is None
    assert saves.saved_items(tmp_path) is None


def test_a_save_that_was_cut_off_does_not_count(tmp_path, write):
    save = write(b"whole", num_items=3)
    (saves.saving(tmp_path) / "2027").mkdir(parents=True)
    (tmp_path / "saved-7").mkdir()  # Without its facts.
    assert saves.newest(tmp_path) == save
    saves.tidy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["saved-0"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(lambda file: file.write_bytes(b"whol"), "damaged", id="torn"),
        pytest.param(lambda file: file.write_bytes(b"whose"), "damaged", id="changed"),
        pytest.param(lambda file: file.unlink(), "cannot be read", id="missing"),
    ],
)
def test_damage_is_noticed(tmp_path, write, damage, message):
    save = write(b"whole", num_items=3)
    damage(save.path / "items")
    with pytest.raises(ValueError, match=message):
        saves.check(save)


def test_saves_are_looked_at_without_reverb_or_tensorflow():
    code = (
        "import sys; from rlcomponents.replay import saves;"
        "assert not {'reverb', 'tensorflow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
