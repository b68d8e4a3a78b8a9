"""Learners: what turns batches into gradients.

dqn            the DQN gradient, for any store
actor_learner  one loop that acts and learns in turn
"""
