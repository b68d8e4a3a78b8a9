"""Learners: what turns batches into gradients.

dqn            the DQN gradient, for any store
actor_learner  one loop that acts and learns in turn
async_worker   rollout, gradient, push: the asynchronous methods
rollouts       what a worker collects between two pushes
target_copy    the target network, which follows the store's target copy
"""
