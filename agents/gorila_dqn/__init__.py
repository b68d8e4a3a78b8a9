"""Gorila DQN (Nair et al. 2015): parallel actors, learners and parameter shards.

config   settings
program  the program graph, in the bundled and the central mode
nodes    what runs inside bundles, actors, replay servers, learners, evaluator
servers  what runs inside parameter shards and coordinator, without TensorFlow
"""
