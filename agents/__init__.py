"""Agents, one folder a paper: its settings, nodes and program graph.

dqn         Mnih et al. 2015, in one process: the baseline
gorila_dqn  Nair et al. 2015: DQN with parallel actors, learners and parameter shards
"""
