"""One shard on its own: settings, saved states, epochs."""

import subprocess
import sys

import numpy as np
import pytest

from rlcomponents import core, schedules
from rlcomponents.parameters import saved_states, shard, update_rules, wire

ONES = np.ones(4, np.float32)


def make_shard(rule=None, **settings):
    settings = {
        "learning_rate": schedules.Constant(1.0),
        "max_staleness_updates": 5,
        "target_period_updates": 2,
        **settings,
    }
    return shard.ParameterShard(rule or update_rules.AdaGrad(), **settings)


def pushed(updates, **settings):
    """Returns a shard after some updates of 3 agent steps."""
    made = make_shard(**settings)
    made.initialise(ONES.tobytes())
    for update in range(updates):
        made.push(ONES.tobytes(), 0, update, 3)
    return made


def pull(made, **kwargs):
    """Returns the values, and the epoch, the updates and the steps with them."""
    vector, *clocks = wire.read_reply(made.pull(**kwargs))
    return np.frombuffer(vector, np.float32), *clocks[:3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.1}, r"learning_rate is 0\.1: give a schedule"),
        ({"max_staleness_updates": -1}, "max_staleness_updates is -1: give 0 or more"),
        ({"target_period_updates": 0}, "target_period_updates is 0: give 1 or more"),
        ({"epoch": -1}, "epoch is -1: give 0 or more"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_shard(**settings)


def test_errors_cross_the_wire_as_codes():
    made = make_shard()
    for reply in (made.pull(), made.push(ONES.tobytes(), 0, 0, 1)):
        with pytest.raises(core.NotInitialisedError):
            wire.read_reply(reply)
    with pytest.raises(ValueError, match="5 bytes are no whole number"):
        wire.read_reply(made.initialise(b"12345"))
    with pytest.raises(ValueError, match="are empty"):
        wire.read_reply(made.initialise(b""))


def test_answers_are_plain_values():
    made = pushed(3)
    replies = (made.pull(), made.pull(True), made.statistics(), made.add_steps(1))
    for reply in (*replies, made.push(ONES.tobytes(), 0, 3, 0)):
        for value in (reply, *reply):
            assert type(value) in (tuple, int, bytes)


def test_stale_and_other_epoch_are_counted_apart():
    made = pushed(7)
    made.push(ONES.tobytes(), 0, 0, 1)
    made.push(ONES.tobytes(), 3, 0, 1)
    made.push(ONES.tobytes(), 3, 0, 1)
    counts = saved_states.ShardStatistics(*wire.read_reply(made.statistics()))
    assert counts.discarded_stale == 1
    assert counts.discarded_other_epoch == 2


def test_a_restored_shard_goes_on_in_an_epoch_of_its_own():
    saved = pushed(5).save()
    made = make_shard()
    made.restore(saved)
    _, epoch, updates, steps = pull(made)
    assert (epoch, updates, steps) == (1, 5, 15)
    # A gradient from before the restart, and one from after it.
    assert wire.read_reply(made.push(ONES.tobytes(), 0, 5, 1)) == ("other_epoch", 0)
    assert wire.read_reply(made.push(ONES.tobytes(), 1, 5, 1)) == ("applied", 0)


def test_two_starts_from_one_saved_state_have_different_epochs():
    saved = pushed(5).save()
    epochs = set()
    for start in (1, 2):  # The first start of the program was 0.
        made = make_shard(epoch=start)
        made.restore(saved)
        epochs.add(pull(made)[1])
    assert len(epochs | {saved["epoch"]}) == 3


def test_restored_counts_go_on():
    first = pushed(7)
    first.push(ONES.tobytes(), 0, 6, 2)  # Staleness 1.
    first.push(ONES.tobytes(), 0, 0, 2)  # Stale.
    for _ in range(3):
        first.push(ONES.tobytes(), 9, 0, 2)  # Another epoch.
    made = make_shard()
    made.restore(first.save())
    made.push(ONES.tobytes(), 1, 0, 2)  # Stale again.
    counts = saved_states.ShardStatistics(*wire.read_reply(made.statistics()))
    assert counts == saved_states.ShardStatistics(
        steps=7 * 3 + 6 * 2,
        updates=8,
        discarded_stale=2,
        discarded_other_epoch=3,
        staleness_sum_updates=1,
    )


def test_a_restored_target_copy_keeps_its_version_and_its_phase():
    first = pushed(5)  # Target copies after 2 and 4.
    made = make_shard()
    made.restore(first.save())
    target, epoch, updates, _ = pull(made, target=True)
    np.testing.assert_array_equal(target, pull(first, target=True)[0])
    assert (epoch, updates) == (0, 4)
    made.push(ONES.tobytes(), 1, 5, 1)
    assert pull(made, target=True)[1:3] == (1, 6)


def test_a_restored_target_copy_keeps_its_phase_in_steps():
    period = {"target_period_updates": None, "target_period_steps": 7}
    first = pushed(5, **period)  # Steps 3 6 9 12 15: copies after updates 3 and 5.
    made = make_shard(**period)
    made.restore(first.save())
    assert pull(made, target=True)[1:] == (0, 5, 15)
    made.push(ONES.tobytes(), 1, 5, 5)
    assert pull(made, target=True)[1:] == (0, 5, 20)
    made.add_steps(1)
    assert pull(made, target=True)[1:] == (1, 6, 21)


def test_a_saved_state_shares_no_memory_with_the_shard():
    made = pushed(1)
    saved = made.save()
    before = {name: np.copy(value) for name, value in saved.items()}
    made.push(ONES.tobytes(), 0, 1, 1)
    restored = make_shard()
    restored.restore(saved)
    restored.push(ONES.tobytes(), 1, 1, 1)
    for name, value in saved.items():
        np.testing.assert_array_equal(value, before[name])


def test_an_empty_shard_is_saved_and_restored_with_its_counts():
    first = make_shard()
    first.add_steps(8)
    made = make_shard()
    made.restore(first.save())
    assert wire.read_reply(made.add_steps(0)) == 8
    with pytest.raises(core.NotInitialisedError):
        pull(made)


@pytest.mark.parametrize(
    ("saved_settings", "missing"),
    [
        ({"rule": update_rules.RMSProp()}, "slots/accumulator"),
        ({"target_period_updates": None}, "target_parameters"),
    ],
)
def test_a_state_saved_under_other_settings_is_refused(saved_settings, missing):
    made = pushed(1)
    before = made.save()
    with pytest.raises(ValueError, match=f"has no '{missing}'"):
        made.restore(pushed(2, **saved_settings).save())
    after = made.save()
    assert after.keys() == before.keys()
    for name, value in after.items():
        np.testing.assert_array_equal(value, before[name])


def test_a_saved_slot_of_another_size_is_refused():
    saved = pushed(1).save()
    saved["slots/accumulator"] = np.ones(3, np.float32)
    with pytest.raises(ValueError, match=r"slots/accumulator has shape \(3,\)"):
        make_shard().restore(saved)


def test_pulls_between_two_updates_copy_once():
    made = pushed(1)
    first, second = made.pull()[1][0], made.pull()[1][0]
    assert first is second
    made.push(ONES.tobytes(), 0, 1, 1)
    assert made.pull()[1][0] != first


def test_a_shard_needs_no_tensorflow():
    code = (
        "import sys; from rlcomponents.parameters import shard; "
        "print(sorted({'tensorflow', 'reverb', 'jax', 'sonnet'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
