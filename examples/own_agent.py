"""A small agent of one's own: DQN in one loop, of components, without Launchpad.

python examples/own_agent.py
"""

import numpy as np

from rlcomponents import environment_loop, schedules, specs
from rlcomponents.actors import epsilon_greedy, q_values
from rlcomponents.environments import registry
from rlcomponents.learners import actor_learner, dqn
from rlcomponents.networks import q_network
from rlcomponents.parameters import local_store, tf_variables, update_rules
from rlcomponents.replay import adders, batches, limits, servers, tables


def main(num_steps: int = 3_000) -> float:
    """Trains on Catch; returns the mean score of the last 50 games."""
    environment = registry.make_factory("catch")(0)  # Or any dm_env.Environment.
    spec = specs.make_environment_spec(environment)

    # Two networks that share nothing, and the store that holds their parameters.
    network = q_network.make_network("mlp", spec, seed=1)
    target_network = q_network.make_network("mlp", spec, seed=1)
    store = local_store.LocalStore(
        tf_variables.FlatVariables(network.trainable_variables).layout,
        update_rules.Adam(),
        schedules.Constant(1e-3),
        max_staleness_updates=None,
        target_period_updates=100,
    )

    # Replay, in this process.
    replay_limits = limits.ReplayLimits(max_items=10_000, min_items=100, batch_size=32)
    replay = servers.LocalReplay(tables.make_tables(spec, replay_limits))
    source = batches.ReplayBatches([replay.address], spec, batch_size=32)
    adder = adders.TransitionAdder(replay.address, spec, num_steps=1, discount=0.99)

    learner = dqn.DQNLearner(network, target_network, store, source)
    epsilon = schedules.Linear(1.0, 0.05, 1_000)
    actor = epsilon_greedy.EpsilonGreedyActor(
        q_values.make_q_values(network, spec.observations, learner.variables),
        lambda: epsilon(learner.snapshot.updates),
        np.random.default_rng(0),
        adder=adder,
    )
    agent = actor_learner.ActorLearner(
        environment_loop.EnvironmentLoop(environment, actor),
        learner,
        store,
        first_update_steps=101,
        steps_per_update=1,
    )

    scores = []
    for _ in range(num_steps):
        episode = agent.step().episode
        if episode is not None:
            scores.append(episode.episode_return)
    adder.close()
    source.close()
    replay.close()
    return float(np.mean(scores[-50:]))


if __name__ == "__main__":
    print(f"Mean score of the last 50 games: {main():.2f} (random: -0.6)")
