"""What a replay does, wherever it keeps its items: on Reverb, and in memory."""

from typing import Any, NamedTuple

import dm_env
import numpy as np
import pytest
import tree
from dm_env import specs as dm_env_specs

from rlcomponents.replay import adders, batches, limits, memory

SCALAR = dm_env_specs.Array((), np.float32)
VECTOR = dm_env_specs.Array((2,), np.float32)
LONG_SECS = 30.0


class Replay(NamedTuple):
    """Either kind: an adder, and what gives batches."""

    adder: Any
    draw: Any
    contents: Any


@pytest.fixture(params=["reverb", "memory"])
def make(request, make_replay, resources):
    """Makes a replay of either kind."""

    def make_one(spec, *, max_items=1_000, min_items=1, batch_size=64, **settings):
        values = {"num_steps": 1, "discount": 0.5} | settings
        batch_size = min(batch_size, max_items)
        sizes = {
            "max_items": max_items,
            "min_items": min_items,
            "batch_size": batch_size,
        }
        if request.param == "memory":
            adder = source = memory.MemoryReplay(
                spec,
                limits.ReplayLimits(**sizes),
                rng=np.random.default_rng(0),
                **values,
            )
        else:
            server = make_replay(spec, **sizes)
            adder = adders.TransitionAdder(server.address, spec, **values)
            resources.callback(adder.close)
            source = None

        def draw(timeout_secs=LONG_SECS):
            nonlocal source
            if request.param == "reverb":  # The newest item may wait for another.
                adder.flush()
            if source is None:  # Draws ahead: so not before all is there.
                source = batches.ReplayBatches(
                    [server.address], spec, batch_size=batch_size
                )
                resources.callback(source.close)
            batch = source.next_batch(timeout_secs)
            return batch and tree.map_structure(np.asarray, batch)

        def contents():
            """All items, by drawing until none can be missing."""
            drawn = [draw() for _ in range(1280 // batch_size)]
            found = {}
            for batch in drawn:
                for index in range(batch_size):
                    item = tree.map_structure(lambda leaf, i=index: leaf[i], batch)
                    key = tuple(leaf.tobytes() for leaf in tree.flatten(item))
                    found[key] = item
            return list(found.values())

        return Replay(adder, draw, contents)

    return make_one


def _stack(frames):
    return np.stack([np.full((2, 2), frame, np.uint8) for frame in frames], axis=-1)


def _play(replay, observations, rewards, ending, actions=None):
    """Plays one episode; `ending` is the discount of its last step, None: no end."""
    replay.adder.add_first(dm_env.restart(observations[0]))
    for step, reward in enumerate(rewards):
        last = ending is not None and step == len(rewards) - 1
        replay.adder.add(
            np.int32(step if actions is None else actions[step]),
            dm_env.TimeStep(
                dm_env.StepType.LAST if last else dm_env.StepType.MID,
                np.float32(reward),
                np.float32(ending if last else 1.0),
                observations[step + 1],
            ),
        )


def _scalars(items):
    return sorted(tuple(float(leaf) for leaf in item) for item in items)


@pytest.mark.parametrize("num_steps", [1, 2, 3, 5])
def test_any_episodes_give_the_transitions_of_the_definition(
    make, make_spec, num_steps
):
    rng = np.random.default_rng(num_steps)
    replay = make(make_spec(), num_steps=num_steps)
    expected, frame = set(), 0
    for _ in range(8):
        length = int(rng.choice([1, 2, 3, 8]))
        # Of each second episode the first stack holds other frames than its newest.
        before = [frame] * 2 if rng.integers(2) else [frame + 1, frame + 2]
        frames = [*before, *range(frame + 3, frame + 4 + length)]
        frame = frames[-1] + 1
        stacks = [tuple(frames[step : step + 3]) for step in range(length + 1)]
        actions = rng.integers(4, size=length).tolist()
        rewards = rng.integers(-3, 4, size=length).tolist()
        ending = float(rng.integers(2))
        _play(replay, [_stack(stack) for stack in stacks], rewards, ending, actions)
        for start in range(length):
            stop = min(start + num_steps, length)
            reward, weight = 0.0, 1.0
            for step in range(start, stop):
                reward += weight * rewards[step]
                terminal = step == length - 1 and ending == 0.0
                weight *= 0.0 if terminal else 0.5
            expected.add((stacks[start], actions[start], reward, weight, stacks[stop]))
    found = {
        (
            tuple(item.observation[0, 0].tolist()),
            int(item.action),
            float(item.reward),
            float(item.discount),
            tuple(item.next_observation[0, 0].tolist()),
        )
        for item in replay.contents()
    }
    assert found == expected


def test_a_batch_has_the_shapes_and_types_of_the_specs(make, make_spec):
    replay = make(make_spec(), batch_size=5)
    _play(replay, [_stack([1, 1, 1]), _stack([1, 1, 2])], [1.0], ending=1.0)
    batch = replay.draw()
    for stacks in (batch.observation, batch.next_observation):
        assert (stacks.shape, stacks.dtype) == ((5, 2, 2, 3), np.uint8)
    assert [(leaf.shape, leaf.dtype) for leaf in batch[1:4]] == [
        ((5,), np.int32),
        ((5,), np.float32),
        ((5,), np.float32),
    ]


def test_truncation_is_not_termination(make, make_spec):
    replay = make(make_spec(SCALAR), discount=0.9)
    for ending in (1.0, 0.0):
        _play(replay, np.zeros(2, np.float32), [1.0], ending)
    discounts = [item[3] for item in _scalars(replay.contents())]
    np.testing.assert_allclose(discounts, [0.0, 0.9], rtol=1e-6)


def test_there_is_no_transition_between_episodes(make, make_spec):
    replay = make(make_spec(SCALAR))
    _play(replay, np.float32([0, 1, 2, 3]), [0] * 3, ending=0.0)
    _play(replay, np.float32([10, 11, 12]), [0] * 2, ending=1.0)
    pairs = [(item[0], item[-1]) for item in _scalars(replay.contents())]
    assert pairs == [(0, 1), (1, 2), (2, 3), (10, 11), (11, 12)]


def test_an_abandoned_episode_keeps_its_items_and_joins_no_other(make, make_spec):
    replay = make(make_spec(SCALAR), num_steps=2)
    _play(replay, np.float32([0, 1, 2, 3]), [0.0] * 3, ending=None)
    _play(replay, np.float32([20, 21]), [0.0], ending=None)  # Too short for an item.
    replay.adder.reset()
    _play(replay, np.float32([10, 11]), [0.0], ending=0.0)
    pairs = [(item[0], item[-1]) for item in _scalars(replay.contents())]
    assert pairs == [(0, 2), (1, 3), (10, 11)]


def test_the_next_life_begins_with_a_stack_of_its_own(make, make_spec):
    replay = make(make_spec(), num_steps=3)
    _play(replay, [_stack([1, 1, 1]), _stack([1, 1, 2])], [1.0], ending=0.0)
    _play(replay, [_stack([3, 3, 3]), _stack([3, 3, 4])], [1.0], ending=1.0)
    after, lost = sorted(replay.contents(), key=lambda item: -item.discount)
    assert lost.next_observation[0, 0].tolist() == [1, 1, 2]
    assert lost.discount == 0.0
    assert after.observation[0, 0].tolist() == [3, 3, 3]


def test_the_learner_sees_clipped_rewards(make, make_spec):
    replay = make(make_spec(SCALAR), max_abs_reward=1.0)
    _play(replay, np.arange(4, dtype=np.float32), [5.0, -3.0, 0.5], ending=0.0)
    assert [item[2] for item in _scalars(replay.contents())] == [1.0, -1.0, 0.5]


def test_observations_may_be_overwritten_afterwards(make, make_spec):
    replay = make(make_spec(VECTOR))
    shared = np.ones(2, np.float32)
    replay.adder.add_first(dm_env.restart(shared))
    shared[:] = 2
    replay.adder.add(np.int32(0), dm_env.termination(1.0, shared))
    shared[:] = 3
    [item] = replay.contents()
    np.testing.assert_array_equal(item.observation, [1, 1])
    np.testing.assert_array_equal(item.next_observation, [2, 2])


def test_mixed_precision_is_stored_as_the_spec_says(make, make_spec):
    replay = make(make_spec(VECTOR))
    replay.adder.add_first(dm_env.restart(np.array([0.1, 0.2])))
    replay.adder.add(2, dm_env.termination(7, np.array([0.3, 0.4])))
    [item] = replay.contents()
    assert item.observation.dtype == np.float32
    assert item.observation.tolist() == np.float32([0.1, 0.2]).tolist()
    assert (item.action, item.reward, item.discount) == (2, 7, 0)


def test_nested_observations_come_back_in_their_structure(make, make_spec):
    spec = make_spec({"camera": make_spec().observations, "speed": VECTOR})
    replay = make(spec, num_steps=2)
    observations = [
        {"camera": _stack([0, 0, 0]), "speed": np.float32([1, 2])},
        {"camera": _stack([0, 0, 1]), "speed": np.float32([3, 4])},
        {"camera": _stack([0, 1, 2]), "speed": np.float32([5, 6])},
    ]
    _play(replay, observations, [1.0, 1.0], ending=1.0)
    first, second = sorted(
        replay.contents(), key=lambda item: item.observation["speed"][0]
    )
    np.testing.assert_array_equal(first.observation["speed"], [1, 2])
    np.testing.assert_array_equal(second.observation["camera"], _stack([0, 0, 1]))
    for item in (first, second):
        np.testing.assert_array_equal(
            item.next_observation["camera"], _stack([0, 1, 2])
        )
        np.testing.assert_array_equal(item.next_observation["speed"], [5, 6])


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ({"reward": np.nan}, "reward is nan"),
        ({"discount": np.inf}, "discount is inf"),
        ({"observation": np.float32([0, np.nan])}, "observation is not finite"),
    ],
)
def test_nothing_with_a_nan_is_stored(make, make_spec, broken, field):
    replay = make(make_spec(VECTOR), num_steps=2)
    good = dm_env.transition(np.float32(1), np.zeros(2, np.float32))
    replay.adder.add_first(dm_env.restart(np.zeros(2, np.float32)))
    for step in range(6):
        replay.adder.add(0, good._replace(observation=np.float32([step, 0])))
    with pytest.raises(ValueError, match=f"Episode 1, step 7: {field}"):
        replay.adder.add(0, good._replace(**broken))
    items = replay.contents()
    assert len(items) == 5
    assert np.isfinite([leaf for item in items for leaf in item[1:4]]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.add(0, dm_env.transition(0.0, np.float32(0))), "before add_first"),
        (lambda a: a.add_first(dm_env.transition(0.0, np.float32(0))), "FIRST"),
    ],
)
def test_calls_out_of_order_are_refused(make, make_spec, call, message):
    replay = make(make_spec(SCALAR))
    with pytest.raises(ValueError, match=message):
        call(replay.adder)
    _play(replay, np.zeros(2, np.float32), [0.0], ending=1.0)
    with pytest.raises(ValueError, match=message):  # Nor after an end.
        call(replay.adder)


def test_fields_that_replay_does_not_know_are_refused(make, make_spec):
    replay = make(make_spec(SCALAR))
    replay.adder.add_first(dm_env.restart(np.float32(0)))
    with pytest.raises(ValueError, match="given as well: extras/logits"):
        replay.adder.add(0, dm_env.transition(0.0, np.float32(1)), {"logits": 1.0})


def test_actions_that_cannot_be_stored_are_refused(make, make_spec):
    spec = make_spec(SCALAR)._replace(actions=VECTOR)
    with pytest.raises(ValueError, match="takes one integer"):
        make(spec)


@pytest.mark.parametrize("num_steps", [1, 3])
def test_the_oldest_item_makes_room(make, make_spec, num_steps):
    replay = make(make_spec(), max_items=10, num_steps=num_steps)
    for episode in range(8):  # Of 5 steps.
        frames = [20 * episode] * 3 + [20 * episode + step for step in range(1, 6)]
        stacks = [_stack(frames[step : step + 3]) for step in range(6)]
        _play(replay, stacks, [0.0] * 5, ending=0.0)
    starts = sorted(int(item.observation[0, 0, -1]) for item in replay.contents())
    assert starts == [120, 121, 122, 123, 124, 140, 141, 142, 143, 144]


def test_there_is_no_batch_below_the_minimum(make, make_spec):
    replay = make(make_spec(SCALAR), min_items=3)
    _play(replay, np.arange(3, dtype=np.float32), [0.0] * 2, ending=0.0)
    assert replay.draw(0.3) is None
    _play(replay, np.arange(2, dtype=np.float32), [0.0], ending=0.0)
    assert replay.draw() is not None


def test_all_items_are_drawn_equally_often(make, make_spec):
    replay = make(make_spec(SCALAR), batch_size=100)
    _play(replay, np.arange(11, dtype=np.float32), [0.0] * 10, ending=0.0)
    drawn = np.concatenate([replay.draw().observation for _ in range(50)])
    _, counts = np.unique(drawn, return_counts=True)
    # Binomial, 5,000 draws of 10 items: 500 each, deviation 21.
    assert counts.shape == (10,)
    np.testing.assert_allclose(counts, 500, atol=5 * 21)


def test_a_batch_is_its_owners(make, make_spec):
    """Later items do not change it, where the memory of old ones is used again."""
    replay = make(make_spec(SCALAR), max_items=3)
    _play(replay, np.float32([1, 2]), [5.0], ending=0.0)
    batch = replay.draw()
    copies = tree.map_structure(np.copy, batch)
    for _ in range(5):
        _play(replay, np.float32([7, 8]), [9.0], ending=1.0)
    tree.map_structure(np.testing.assert_array_equal, batch, copies)
