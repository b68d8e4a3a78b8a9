"""DQN (Mnih et al. 2015) in one process.

config        settings and presets
parts         builds network, bundle, evaluator from the settings
optimisation  builds update rule and learning rate, without TensorFlow
nodes         the one node
program       the program graph
saved_policy  plays what a run has saved
"""
