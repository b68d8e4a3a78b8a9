"""Learning rules as pure functions, and the rule that discards outliers.

actor_critic: advantage actor-critic on a rollout, discrete and continuous.
value_learning: Q-learning and double Q-learning on a batch of transitions.
outliers: Gorila's safeguard against gradients of unusually large loss.
"""
