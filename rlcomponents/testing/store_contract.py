"""What every parameter store must do. A store's test inherits it.

    class TestMyStore(store_contract.StoreContract):
        @pytest.fixture
        def make_store(self):
            return lambda settings: MyStore(settings.layout, settings.rule, ...)

`LocalStore` is what other stores are compared with, to the bit.
"""

# ruff: noqa: D102
# As under tests/, the name of a test is its sentence.

import dataclasses
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any

import numpy as np
import pytest

from rlcomponents import core, schedules
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, shard, update_rules

LAYOUT = layouts.ParameterLayout(["w", "b", "scale"], [[2, 3], [4], []])
"""Of most tests: 11 parameters in three variables."""

NUM_PARAMETERS = 11
"""Of `LAYOUT`."""

LARGE_LAYOUT = layouts.ParameterLayout(["w", "b"], [[300, 333], [7]])
"""Large enough that an update takes a while."""

ONES = np.ones(NUM_PARAMETERS, np.float32)
"""A gradient, or parameters, for `LAYOUT`."""

ZEROS = np.zeros(NUM_PARAMETERS, np.float32)
"""The same, of zeros."""

RULES = [
    pytest.param(rule, id=type(rule).__name__)
    for rule in (
        update_rules.SGD(),
        update_rules.MomentumSGD(0.9),
        update_rules.AdaGrad(),
        update_rules.RMSProp(),
        update_rules.Adam(),
    )
]
"""All update rules, as test parameters."""


@dataclasses.dataclass(frozen=True)
class StoreSettings:
    """What a store under test is built with; see `ParameterShard`.

    Attributes:
        layout: Of the vector.
        rule: Applied at the store.
        learning_rate: By agent steps of all actors.
        max_staleness_updates: Older gradients are discarded. None: never.
        target_period_updates: Between target copies. None: not in updates.
        target_period_steps: The same in agent steps.
        max_gradient_norm: Longer gradients are scaled to it. None: not.
    """

    layout: layouts.ParameterLayout = LAYOUT
    rule: update_rules.UpdateRule = dataclasses.field(default_factory=update_rules.SGD)
    learning_rate: Callable[[int], float] = lambda steps: 1.0
    max_staleness_updates: int | None = None
    target_period_updates: int | None = None
    target_period_steps: int | None = None
    max_gradient_norm: float | None = None

    def make_shard(self) -> shard.ParameterShard:
        """Returns one shard of such a store."""
        return shard.ParameterShard(
            self.rule,
            self.learning_rate,
            max_staleness_updates=self.max_staleness_updates,
            target_period_updates=self.target_period_updates,
            target_period_steps=self.target_period_steps,
        )

    def make_local_store(self) -> local_store.LocalStore:
        """Returns the store that others are compared with."""
        return local_store.LocalStore(
            self.layout,
            self.rule,
            self.learning_rate,
            max_staleness_updates=self.max_staleness_updates,
            target_period_updates=self.target_period_updates,
            target_period_steps=self.target_period_steps,
            max_gradient_norm=self.max_gradient_norm,
        )


MakeStore = Callable[[StoreSettings], core.ParameterStore]
"""Makes an empty store of the settings."""


class StoreContract:
    """Inherit, and give the fixture `make_store`.

    Attributes:
        shows_half_updates: Why a pull may show half an update, for the one store whose
            guarantee is that much weaker. Empty: it never does.
    """

    shows_half_updates = ""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        """Returns a function that makes an empty store."""
        raise NotImplementedError

    def test_the_first_offer_of_parameters_is_taken(
        self, make_store: MakeStore
    ) -> None:
        store = make_store(StoreSettings())
        assert store.initialise(ONES)
        assert not store.initialise(2 * ONES)
        np.testing.assert_array_equal(store.pull().vector, ONES)

    def test_each_shard_takes_one_of_many_offers_made_at_once(
        self, make_store: MakeStore
    ) -> None:
        store = make_store(StoreSettings())
        offers = [np.full(NUM_PARAMETERS, i, np.float32) for i in range(8)]
        taken = _all_at_once(
            [functools.partial(store.initialise, offer) for offer in offers]
        )
        snapshot = store.pull()
        winners = [int(part[0]) for part in _parts(snapshot, LAYOUT)]
        for part in _parts(snapshot, LAYOUT):
            assert set(part) == {part[0]}
        assert {i for i, took in enumerate(taken) if took} == set(winners)

    def test_calls_before_initialise(self, make_store: MakeStore) -> None:
        store = make_store(StoreSettings(target_period_updates=1))
        with pytest.raises(core.NotInitialisedError):
            store.pull()
        with pytest.raises(core.NotInitialisedError):
            store.pull(target=True)
        with pytest.raises(core.NotInitialisedError):
            store.get_variables([core.PARAMETERS])
        versions = _initialised(make_store).pull().versions
        with pytest.raises(core.NotInitialisedError):
            store.push(ONES, versions, 1)
        assert store.statistics() == core.StoreStatistics(0, 0, 0, 0.0)
        assert store.add_steps(3) == 3

    def test_a_push_changes_parameters_versions_and_steps(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store, learning_rate=schedules.Constant(0.5))
        before = store.pull()
        result = store.push(ONES, before.versions, steps=7)
        after = store.pull()
        assert result.applied
        assert before.updates == 0
        assert set(after.versions) == {core.Version(0, 1)}
        assert (before.steps, after.steps) == (0, 7)
        np.testing.assert_array_equal(after.vector, -0.5 * ONES)

    def test_a_snapshot_and_the_store_share_no_memory(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store, target_period_updates=1)
        snapshot, target = store.pull(), store.pull(target=True)
        store.push(ONES, snapshot.versions, 1)
        np.testing.assert_array_equal(store.pull().vector, -ONES)
        np.testing.assert_array_equal(snapshot.vector, ZEROS)
        np.testing.assert_array_equal(target.vector, ZEROS)
        for is_target in (False, True):
            store.pull(target=is_target).vector[:] = 9.0
            np.testing.assert_array_equal(store.pull(target=is_target).vector, -ONES)

    def test_what_was_offered_may_be_overwritten(self, make_store: MakeStore) -> None:
        store = make_store(StoreSettings(rule=update_rules.MomentumSGD(0.5)))
        vector, gradient = ZEROS.copy(), ONES.copy()
        store.initialise(vector)
        vector[:] = 9.0
        store.push(gradient, store.pull().versions, 1)
        gradient[:] = 9.0
        np.testing.assert_array_equal(store.pull().vector, -0.5 * ONES)

    @pytest.mark.parametrize("limit", [0, 2])
    def test_a_gradient_is_discarded_when_older_than_the_limit(
        self, make_store: MakeStore, limit: int
    ) -> None:
        store = _initialised(make_store, max_staleness_updates=limit)
        old = store.pull().versions
        for _ in range(limit):
            store.push(ONES, store.pull().versions, 1)
        at_limit = store.push(ONES, old, 1)
        assert at_limit.applied
        assert set(at_limit.staleness_updates) == {limit}
        above_limit = store.push(ONES, old, 1)
        assert set(above_limit.verdicts) == {core.Verdict.STALE}
        assert set(above_limit.staleness_updates) == {limit + 1}
        np.testing.assert_array_equal(store.pull().vector, -(limit + 1) * ONES)
        statistics = store.statistics()
        assert statistics.updates == limit + 1
        assert statistics.discarded_stale == 1

    def test_steps_of_a_discarded_gradient_count(self, make_store: MakeStore) -> None:
        store = _initialised(make_store, max_staleness_updates=0)
        old = store.pull().versions
        store.push(ONES, old, steps=10)
        assert not store.push(ONES, old, steps=5).applied
        assert store.statistics().steps == 15

    @pytest.mark.parametrize("updates", [0, 99])
    def test_a_gradient_of_another_epoch_is_discarded(
        self, make_store: MakeStore, updates: int
    ) -> None:
        store = _initialised(make_store)
        versions = [core.Version(v.epoch + 1, updates) for v in store.pull().versions]
        result = store.push(ONES, versions, 1)
        assert set(result.verdicts) == {core.Verdict.OTHER_EPOCH}
        assert set(result.staleness_updates) == {0}
        assert store.statistics().discarded_stale == 1
        np.testing.assert_array_equal(store.pull().vector, ZEROS)

    def test_the_mean_staleness_is_that_of_applied_gradients(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store, max_staleness_updates=1)
        old = store.pull().versions
        store.push(ONES, old, 1)  # Staleness 0.
        store.push(ONES, old, 1)  # 1.
        store.push(ONES, old, 1)  # 2: discarded.
        assert store.statistics() == core.StoreStatistics(
            steps=3, updates=2, discarded_stale=1, mean_staleness_updates=0.5
        )

    def test_a_version_from_the_future_is_refused(self, make_store: MakeStore) -> None:
        store = _initialised(make_store)
        versions = [core.Version(v.epoch, 1) for v in store.pull().versions]
        with pytest.raises(ValueError, match="claims update 1 of a shard at update 0"):
            store.push(ONES, versions, 1)

    def test_a_gradient_of_another_form_is_refused(self, make_store: MakeStore) -> None:
        store = _initialised(make_store)
        versions = store.pull().versions
        with pytest.raises(ValueError, match="float32 of shape"):
            store.push(ONES[1:], versions, 1)
        with pytest.raises(ValueError, match="float64"):
            store.push(ONES.astype(np.float64), versions, 1)
        with pytest.raises(ValueError, match="versions for"):
            store.push(ONES, [*versions, versions[0]], 1)
        with pytest.raises(ValueError, match="agent steps"):
            store.push(ONES, versions, -1)
        assert store.statistics().updates == 0

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_values_that_are_not_finite_are_refused_by_name(
        self, make_store: MakeStore, bad: float
    ) -> None:
        store = make_store(StoreSettings())
        vector = ZEROS.copy()
        vector[[7, 8]] = bad  # `w` has 6 parameters, then comes `b`.
        with pytest.raises(ValueError, match=r"2 of the 11 .* first in 'b'"):
            store.initialise(vector)
        store.initialise(ZEROS)
        with pytest.raises(ValueError, match=r"2 of the 11 .* first in 'b'"):
            store.push(vector, store.pull().versions, 1)
        assert store.statistics() == core.StoreStatistics(0, 0, 0, 0.0)

    def test_the_norm_of_the_whole_gradient_is_clipped(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store, max_gradient_norm=1.0)
        gradient = ZEROS.copy()
        gradient[0], gradient[-1] = 3.0, 4.0  # Norm 5, at both ends of the vector.
        store.push(gradient, store.pull().versions, 1)
        vector = store.pull().vector
        np.testing.assert_allclose(vector[[0, -1]], [-0.6, -0.8], rtol=1e-6)
        assert (gradient[0], gradient[-1]) == (3.0, 4.0)
        store.push(gradient / 10, store.pull().versions, 1)  # Norm 0.5: as it is.
        moved = store.pull().vector - vector
        np.testing.assert_allclose(moved[[0, -1]], [-0.3, -0.4], rtol=1e-6)

    def test_the_target_is_the_initial_parameters_at_first(
        self, make_store: MakeStore
    ) -> None:
        store = make_store(StoreSettings(target_period_updates=2))
        store.initialise(ONES)
        store.push(ONES, store.pull().versions, 1)
        target = store.pull(target=True)
        np.testing.assert_array_equal(target.vector, ONES)
        assert set(target.versions) == {core.Version(0, 0)}
        assert target.steps == 1

    def test_target_period_need_not_divide_the_training_period(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store, target_period_updates=7)
        copied = []
        for update in range(1, 23):
            store.push(ONES, store.pull().versions, steps=10)
            target = store.pull(target=True)
            np.testing.assert_array_equal(target.vector, -target.updates * ONES)
            if target.updates == update:
                copied.append(update)
        assert copied == [7, 14, 21]

    @pytest.mark.parametrize(
        "period", [{"target_period_updates": 3}, {"target_period_steps": 3}]
    )
    def test_a_pull_says_which_target_copy_there_is(
        self, make_store: MakeStore, period: dict[str, int]
    ) -> None:
        store = _initialised(make_store, **period)
        for _ in range(7):
            snapshot, target = store.pull(), store.pull(target=True)
            assert snapshot.target_versions == target.versions
            assert target.target_versions == target.versions
            store.push(ONES, snapshot.versions, steps=1)
        assert set(store.pull().target_versions) == {core.Version(0, 6)}

    def test_discarded_gradients_do_not_move_the_target_clock(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(
            make_store, target_period_updates=2, max_staleness_updates=0
        )
        old = store.pull().versions
        store.push(ONES, old, 1)
        assert not store.push(ONES, old, 1).applied
        assert store.pull(target=True).updates == 0
        store.push(ONES, store.pull().versions, 1)
        assert store.pull(target=True).updates == 2

    def test_a_target_period_in_steps_is_crossed_by_jumps(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store, target_period_steps=10)
        copied = []
        # 4 8 12 16 20 24 28 32 steps, then a jump over three multiples, then 62 66 70.
        for steps in (4, 4, 4, 4, 4, 4, 4, 4, 26, 4, 4, 4):
            before = store.pull(target=True).updates
            store.push(ONES, store.pull().versions, steps)
            target = store.pull(target=True)
            np.testing.assert_array_equal(target.vector, -target.updates * ONES)
            if target.updates != before:
                copied.append((target.steps, target.updates))
        # With the update that brought the steps in it.
        assert copied == [(12, 3), (20, 5), (32, 8), (58, 9), (62, 10), (70, 12)]

    def test_steps_without_an_applied_gradient_move_a_target_clock_in_steps(
        self, make_store: MakeStore
    ) -> None:
        store = make_store(
            StoreSettings(target_period_steps=10, max_staleness_updates=0)
        )
        store.add_steps(25)  # Before there is anything to copy.
        store.initialise(ZEROS)
        old = store.pull().versions
        store.push(ONES, old, steps=0)
        assert store.pull(target=True).updates == 0
        assert store.add_steps(5) == 30
        store.push(ONES, store.pull().versions, steps=0)
        assert store.pull(target=True).updates == 1  # As when the steps came.
        assert not store.push(ONES, old, steps=10).applied
        assert store.pull(target=True).updates == 2

    def test_a_store_without_a_target_copy_says_so(self, make_store: MakeStore) -> None:
        store = _initialised(make_store, target_period_updates=None)
        with pytest.raises(ValueError, match="target_period_updates"):
            store.pull(target=True)

    def test_the_learning_rate_follows_the_agent_steps_of_all(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store, learning_rate=schedules.Linear(1.0, 0.0, 10))
        store.push(ONES, store.pull().versions, steps=2)  # At step 0: rate 1.
        assert store.add_steps(3) == 5
        store.push(ONES, store.pull().versions, steps=5)  # At step 5: rate 0.5.
        store.push(ONES, store.pull().versions, steps=1)  # At step 10: rate 0.
        np.testing.assert_array_equal(store.pull().vector, -1.5 * ONES)

    def test_variables_come_shaped_and_in_the_order_of_the_names(
        self, make_store: MakeStore
    ) -> None:
        store = make_store(StoreSettings(target_period_updates=5))
        initial = np.arange(NUM_PARAMETERS, dtype=np.float32)
        store.initialise(initial)
        store.push(ONES, store.pull().versions, 1)
        target, parameters = store.get_variables(
            [core.TARGET_PARAMETERS, core.PARAMETERS]
        )
        assert [array.shape for array in parameters] == [(2, 3), (4,), ()]
        np.testing.assert_array_equal(LAYOUT.join(parameters), initial - 1)
        np.testing.assert_array_equal(LAYOUT.join(target), initial)
        assert store.get_variables([]) == []

    def test_an_unknown_name_of_variables_is_refused(
        self, make_store: MakeStore
    ) -> None:
        store = _initialised(make_store)
        with pytest.raises(ValueError, match=r"\['policy'\]: there are \['parameters'"):
            store.get_variables([core.PARAMETERS, "policy"])

    @pytest.mark.parametrize("rule", RULES)
    def test_parameters_are_those_of_a_local_store_to_the_bit(
        self, make_store: MakeStore, rule: update_rules.UpdateRule
    ) -> None:
        settings = StoreSettings(
            layout=LARGE_LAYOUT,
            rule=rule,
            learning_rate=schedules.Linear(0.1, 0.0, 100),
            max_staleness_updates=2,
            target_period_updates=3,
            max_gradient_norm=300.0,
        )
        rng = np.random.default_rng(0)
        size = LARGE_LAYOUT.num_parameters
        initial = rng.normal(size=size).astype(np.float32)
        stores = [make_store(settings), settings.make_local_store()]
        snapshots: list[list[core.Snapshot]] = [[], []]
        for store, history in zip(stores, snapshots, strict=True):
            store.initialise(initial)
            history.append(store.pull())
        discarded = 0
        for age in (0, 1, 2, 3, 0, 4, 1, 5, 0, 2):  # 3 and more are too old.
            gradient = rng.normal(size=size).astype(np.float32)
            for store, history in zip(stores, snapshots, strict=True):
                versions = history[max(0, len(history) - 1 - age)].versions
                result = store.push(gradient, versions, steps=3)
                history.append(store.pull())
            discarded += not result.applied
            ours, theirs = snapshots[0][-1], snapshots[1][-1]
            assert ours.vector.tobytes() == theirs.vector.tobytes()
        assert discarded >= 2
        ours, theirs = (store.pull(target=True) for store in stores)
        assert ours.vector.tobytes() == theirs.vector.tobytes()
        assert stores[0].statistics() == stores[1].statistics()

    def test_a_pull_never_shows_half_an_update(self, make_store: MakeStore) -> None:
        if self.shows_half_updates:
            pytest.skip(self.shows_half_updates)
        store = make_store(StoreSettings(layout=LARGE_LAYOUT, target_period_updates=5))
        ones = np.ones(LARGE_LAYOUT.num_parameters, np.float32)
        store.initialise(np.zeros_like(ones))
        pushed = threading.Event()

        def push_many() -> None:
            for _ in range(25):
                store.push(ones, store.pull().versions, steps=2)

        def pull_many() -> None:
            seen = 0
            while not pushed.is_set() or not seen:
                for target in (False, True):
                    snapshot = store.pull(target=target)
                    for part, version in zip(
                        _parts(snapshot, LARGE_LAYOUT), snapshot.versions, strict=True
                    ):
                        assert part.min() == part.max() == -version.updates
                        assert not target or version.updates % 5 == 0
                seen += 1

        with futures.ThreadPoolExecutor(4) as executor:
            pullers = [executor.submit(pull_many) for _ in range(2)]
            pushers = [executor.submit(push_many) for _ in range(2)]
            futures.wait(pushers)
            pushed.set()
            for future in pullers + pushers:
                future.result()

    def test_no_push_of_many_made_at_once_is_lost(self, make_store: MakeStore) -> None:
        store = _initialised(make_store)

        def push_many() -> bool:
            return all(
                store.push(ONES, store.pull().versions, steps=2).applied
                for _ in range(25)
            )

        assert _all_at_once([push_many] * 4) == [True] * 4
        snapshot = store.pull()
        assert set(snapshot.versions) == {core.Version(0, 100)}
        assert snapshot.steps == 200
        np.testing.assert_array_equal(snapshot.vector, -100 * ONES)


def _initialised(make_store: MakeStore, **settings: Any) -> core.ParameterStore:
    store = make_store(StoreSettings(**settings))
    store.initialise(ZEROS)
    return store


def _parts(
    snapshot: core.Snapshot, layout: layouts.ParameterLayout
) -> Sequence[np.ndarray]:
    slices = layout.shard_slices(len(snapshot.versions))
    return [snapshot.vector[part] for part in slices]


def _all_at_once(calls: Sequence[Callable[[], bool]]) -> list[bool]:
    """Runs each call in a thread; no thread starts its call before all are there."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], bool]) -> bool:
        barrier.wait()
        return call()

    with futures.ThreadPoolExecutor(len(calls)) as executor:
        return list(executor.map(run, calls))
