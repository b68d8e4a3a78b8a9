"""DQN (Mnih et al. 2015) in one process.

config             settings and presets
setting_checks     types and limits of settings
environment_check  looks at the environment before a program is built
parts              builds network, bundle, evaluator from the settings
optimisation       builds update rule and learning rate, without TensorFlow
replays            the replay of one bundle, on Reverb or in memory
nodes              the one node
program            the program graph
saved_policy       plays what a run has saved
"""
