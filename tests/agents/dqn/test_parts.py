import threading

import numpy as np
import pytest
import tensorflow as tf

from agents import optimisation
from agents.dqn import config as dqn_config
from agents.dqn import parts
from rlcomponents import specs
from rlcomponents.environments import registry
from rlcomponents.parameters import local_store, tf_variables
from rlcomponents.testing import fakes

pytestmark = pytest.mark.usefixtures("patient_learners")

CATCH = specs.make_environment_spec(registry.make_factory("catch")(0))


def make_config(**settings):
    return dqn_config.DQNConfig(
        **{
            "environment": "catch",
            "max_steps": 1_000,
            "batch_size": 4,
            "steps_per_update": 1,
            "min_replay_items": 8,
            "max_replay_items": 100,
            "target_period_updates": 3,
            "epsilon_horizon_updates": 10,
            **settings,
        }
    )


class TapedStore(fakes.RecordingStore):
    """Writes down what is done at it."""

    def __init__(self, config, layout, tape):
        super().__init__(
            local_store.LocalStore(
                layout,
                optimisation.make_update_rule(config),
                optimisation.make_learning_rate(config),
                max_staleness_updates=None,
                target_period_updates=config.target_period_updates,
            )
        )
        self.tape = tape

    def pull(self, *, target=False):
        snapshot = super().pull(target=target)
        self.tape.append(("pull target" if target else "pull", snapshot))
        return snapshot

    def push(self, gradient, versions, steps):
        self.tape.append(("push", (versions, steps)))
        return super().push(gradient, versions, steps)


@pytest.fixture
def tape():
    """What the bundle does, in order: words, each with what was passed."""
    return []


@pytest.fixture
def make_bundle(tape, tmp_path, monkeypatch):
    """Makes bundles whose environment and store write on the tape."""
    made = []

    def taped_factory(config, *, evaluation=False):
        def make(seed):
            environment = registry.make_factory(config.environment)(seed)
            step, close = environment.step, environment.close

            def taped_step(action):
                tape.append(("act", (seed, int(action))))
                return step(action)

            def taped_close():
                tape.append(("close", seed))
                close()

            environment.step, environment.close = taped_step, taped_close
            return environment

        return make

    monkeypatch.setattr(dqn_config.DQNConfig, "make_environment_factory", taped_factory)

    def make(config, *, keep=True, run_dir=tmp_path, **settings):
        bundle = parts.make_bundle(
            config,
            str(run_dir),
            lambda layout: TapedStore(config, layout, tape),
            threading.Event().wait,
            **{"name": "bundle-0", **settings},
        )
        if keep:
            made.append(bundle)
        return bundle

    yield make
    for bundle in made:
        bundle.close()


def words(tape):
    return [word for word, _ in tape]


def step_until_first_update(bundle, tape):
    while "push" not in words(tape):
        bundle.step()
    tape.clear()


# ------------------------------------------------------------------------- the bundle


def test_each_step_acts_then_takes_fresh_parameters_then_sends_a_gradient(
    make_bundle, tape
):
    bundle = make_bundle(make_config(target_period_updates=1_000))
    step_until_first_update(bundle, tape)
    for _ in range(7):  # A game of Catch takes 9 steps.
        bundle.step()
        if words(tape)[-1] == "pull":  # Once more where an episode has ended.
            tape.pop()
    assert words(tape) == ["act", "pull", "push"] * 7


def test_a_gradient_is_of_the_parameters_just_pulled_and_carries_its_step(
    make_bundle, tape
):
    bundle = make_bundle(make_config())
    step_until_first_update(bundle, tape)
    for _ in range(5):
        bundle.step()
    pulled = None
    for word, passed in tape:
        if word == "pull":
            pulled = passed
        if word == "push":
            versions, steps = passed
            assert versions == pulled.versions
            assert steps == 1


def test_an_episode_starts_with_fresh_parameters(make_bundle, tape):
    bundle = make_bundle(make_config(min_replay_items=100))  # No gradient yet.
    tape.clear()
    for _ in range(18):
        bundle.step()
    assert words(tape) == (["act"] * 9 + ["pull"]) * 2


def test_the_target_is_the_stores_copy_of_every_so_many_updates(make_bundle, tape):
    bundle = make_bundle(make_config(target_period_updates=3))
    while words(tape).count("push") < 10:
        bundle.step()
    updates, online = 0, {}
    targets = []
    for word, passed in tape:
        if word == "push":
            updates += 1
        elif word == "pull":
            online[updates] = passed.vector
        elif word == "pull target":
            targets.append(updates)
            assert passed.updates == updates
            np.testing.assert_array_equal(passed.vector, online[updates])
    assert targets == [0, 3, 6, 9]


def test_steps_per_update_spaces_the_gradients_out(make_bundle, tape):
    bundle = make_bundle(make_config(steps_per_update=4))
    step_until_first_update(bundle, tape)
    for _ in range(12):
        bundle.step()
    done = [word for word in words(tape) if word in ("act", "push")]
    assert done == (["act"] * 4 + ["push"]) * 3


def test_nothing_is_learned_before_the_minimum_fill(make_bundle, tape):
    bundle = make_bundle(make_config(min_replay_items=20, n_step=3))
    while "push" not in words(tape):
        bundle.step()
    assert words(tape).count("act") == 20 + 3


def test_closing_a_bundle_closes_its_environment(make_bundle, tape):
    make_bundle(make_config(), keep=False).close()
    assert words(tape)[-1] == "close"


def test_seeds_differ_between_actors_and_lives_and_not_between_launches(
    make_bundle, tape, tmp_path
):
    def play(index, run="first"):
        """Returns the seed of the environment, and random actions."""
        config = make_config(seed=7, min_replay_items=100)
        bundle = make_bundle(
            config, run_dir=tmp_path / run, name=f"bundle-{index}", index=index
        )
        tape.clear()
        for _ in range(20):
            bundle.step()
        seeds, actions = zip(
            *(passed for word, passed in tape if word == "act"), strict=True
        )
        return seeds[0], actions

    first = {index: play(index) for index in (3, 0, 1)}
    assert len({seed for seed, _ in first.values()}) == 3
    assert len({actions for _, actions in first.values()}) == 3
    second = {index: play(index, "second") for index in (1, 3)}
    assert second == {1: first[1], 3: first[3]}
    for seen, seen_by_next_life in zip(first[1], play(1), strict=True):
        assert seen_by_next_life != seen


def test_an_actor_may_explore_less_than_the_program(make_bundle, tmp_path):
    bundle = make_bundle(make_config(), spread=lambda epsilon: epsilon / 4)
    bundle.step()
    header, row = (tmp_path / "metrics" / "bundle-0.csv").read_text().splitlines()
    assert (
        dict(zip(header.split(","), row.split(","), strict=True))["epsilon"] == "0.25"
    )


# ------------------------------------------------------------------------- other parts


def variables_of(config):
    network = parts.make_network(config, CATCH)
    return tf_variables.FlatVariables(network.trainable_variables).vector()


def test_every_node_builds_the_same_network():
    np.testing.assert_array_equal(
        variables_of(make_config(seed=3)), variables_of(make_config(seed=3))
    )


def test_the_network_depends_on_the_seed():
    assert np.any(
        variables_of(make_config(seed=3)) != variables_of(make_config(seed=4))
    )


def test_a_dueling_network_has_more_parameters():
    plain, dueling = (
        variables_of(make_config()),
        variables_of(make_config(dueling=True)),
    )
    assert dueling.size > plain.size


class NoBatches:
    def next_batch(self, timeout_secs):
        return None

    def close(self):
        pass


def test_target_and_online_network_share_nothing_and_start_equal(tape):
    config = make_config()
    network = parts.make_network(config, CATCH)
    layout = tf_variables.FlatVariables(network.trainable_variables).layout
    store = TapedStore(config, layout, tape)
    learner = parts.make_learner(config, CATCH, network, store, NoBatches())
    target = learner._target_network
    assert not {id(v) for v in network.variables} & {id(v) for v in target.variables}
    for online, copy in zip(network.variables, target.variables, strict=True):
        np.testing.assert_array_equal(online, copy)
    network.variables[0].assign_add(tf.ones_like(network.variables[0]))
    assert np.any(network.variables[0] != target.variables[0])


def test_the_evaluator_explores_as_evaluation_says(tmp_path):
    config = make_config(
        environment="minatar:breakout", initial_epsilon=1.0, evaluation_epsilon=0.0
    )
    environment_spec = parts.make_environment_spec(config)
    actor = parts.make_player(config, environment_spec).actor
    network = parts.make_network(config, environment_spec)  # Equal: the same seed.
    observation = np.ones([10, 10, 4], bool)
    greedy = int(tf.argmax(network(observation[None])[0]))
    assert {int(actor.select_action(observation)) for _ in range(50)} == {greedy}


def test_an_environment_is_closed_once_its_spec_is_known(make_bundle, tape):
    spec = parts.make_environment_spec(make_config())
    assert spec.actions.num_values == 3
    assert words(tape) == ["close"]
