"""A worker's own statistics before stores of each kind."""

import numpy as np
import pytest

from rlcomponents import schedules
from rlcomponents.parameters import private_statistics_store, update_rules
from rlcomponents.testing import store_contract

LAYOUT = store_contract.LAYOUT
ONES = store_contract.ONES


def make_private(store, rule, **settings):
    return private_statistics_store.PrivateStatisticsStore(
        store, LAYOUT, rule, **settings
    )


class TestPrivateStatisticsStore(store_contract.StoreContract):
    # Rounds differently: it multiplies by the learning rate last. Tested below.
    test_parameters_are_those_of_a_local_store_to_the_bit = None

    @pytest.fixture
    def make_store(self):
        def make(settings):
            inner = store_contract.StoreSettings(
                layout=settings.layout,
                learning_rate=settings.learning_rate,
                max_staleness_updates=settings.max_staleness_updates,
                target_period_updates=settings.target_period_updates,
                target_period_steps=settings.target_period_steps,
            )
            return private_statistics_store.PrivateStatisticsStore(
                inner.make_local_store(),
                settings.layout,
                settings.rule,
                max_gradient_norm=settings.max_gradient_norm,
            )

        return make


@pytest.mark.parametrize("rule", store_contract.RULES)
def test_one_worker_goes_the_way_of_a_store_with_the_rule(rule):
    learning_rate = schedules.Linear(0.1, 0.0, 40)
    shared = store_contract.StoreSettings(rule=rule, learning_rate=learning_rate)
    plain = store_contract.StoreSettings(learning_rate=learning_rate)
    stores = [
        shared.make_local_store(),
        make_private(plain.make_local_store(), rule),
    ]
    rng = np.random.default_rng(0)
    for store in stores:
        store.initialise(ONES)
    for _ in range(5):
        gradient = rng.normal(size=LAYOUT.num_parameters).astype(np.float32)
        for store in stores:
            store.push(gradient, store.pull().versions, steps=4)
    np.testing.assert_allclose(stores[0].pull().vector, stores[1].pull().vector, 1e-5)


def test_workers_do_not_see_the_statistics_of_others():
    plain = store_contract.StoreSettings().make_local_store()
    rule = update_rules.RMSProp(decay=0.99, epsilon=0.1)
    workers = [make_private(plain, rule) for _ in range(2)]
    plain.initialise(0 * ONES)
    for worker in workers:
        worker.push(ONES, worker.pull().versions, steps=1)
    # Each divides by sqrt(0.01 + 0.1): with shared ones, the second by more.
    np.testing.assert_allclose(plain.pull().vector, -2 * 3.0151 * ONES, rtol=1e-4)


def test_the_gradient_is_clipped_and_not_the_step():
    plain = store_contract.StoreSettings().make_local_store()
    worker = make_private(plain, update_rules.RMSProp(0.0, 1e-8), max_gradient_norm=1.0)
    plain.initialise(0 * ONES)
    worker.push(100 * ONES, worker.pull().versions, steps=1)
    # Whatever the length, such a step is 1 in each of the 11 directions.
    np.testing.assert_allclose(plain.pull().vector, -ONES, rtol=1e-3)


@pytest.mark.parametrize("rule", store_contract.RULES)
def test_statistics_that_were_saved_go_on_to_the_bit(rule):
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(6, LAYOUT.num_parameters)).astype(np.float32)
    plain = store_contract.StoreSettings().make_local_store()
    plain.initialise(ONES)
    unbroken = make_private(plain, rule)
    for gradient in gradients[:3]:
        unbroken.push(gradient, plain.pull().versions, steps=1)
    other = store_contract.StoreSettings().make_local_store()
    other.initialise(plain.pull().vector)
    resumed = make_private(other, rule)
    resumed.restore(unbroken.save())
    for gradient in gradients[3:]:
        for store in (unbroken, resumed):
            store.push(gradient, store.pull().versions, steps=1)
    np.testing.assert_array_equal(plain.pull().vector, other.pull().vector)
    assert unbroken.save().keys() == resumed.save().keys()
    for name, saved in unbroken.save().items():
        np.testing.assert_array_equal(saved, resumed.save()[name])


def test_statistics_that_were_saved_stay_as_they_were():
    plain = store_contract.StoreSettings().make_local_store()
    plain.initialise(ONES)
    worker = make_private(plain, update_rules.RMSProp(decay=0.5))
    saved = worker.save()
    restored = make_private(plain, update_rules.RMSProp(decay=0.5))
    restored.restore(saved)
    for store in (worker, restored):
        store.push(ONES, plain.pull().versions, steps=1)
    assert saved["slots/mean_square"].tolist() == [0.0] * LAYOUT.num_parameters
    assert restored.save()["slots/mean_square"].tolist() == (0.5 * ONES).tolist()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"slots/momentum": ONES}, "has no 'slots/mean_square'"),
        ({"slots/mean_square": ONES[1:]}, r"slots/mean_square has shape \(10,\)"),
    ],
)
def test_statistics_of_another_rule_or_layout_are_refused(state, message):
    plain = store_contract.StoreSettings().make_local_store()
    worker = make_private(plain, update_rules.RMSProp())
    with pytest.raises(ValueError, match=message):
        worker.restore(state)
    assert not worker.save()["slots/mean_square"].any()


def test_a_norm_that_is_not_positive_is_refused():
    plain = store_contract.StoreSettings().make_local_store()
    with pytest.raises(ValueError, match=r"max_gradient_norm is 0\.0: give"):
        make_private(plain, update_rules.SGD(), max_gradient_norm=0.0)
