"""A3C (Mnih et al. 2016): asynchronous advantage actor-critic.

config    settings and presets
strategy  acts by the policy, and computes the actor-critic gradient
program   the program graph
"""
