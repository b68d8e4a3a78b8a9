"""Asynchronous one-step Q, one-step Sarsa and n-step Q (Mnih et al. 2016).

config      settings and presets
strategies  what the three algorithms differ in
parts       builds strategies and players from the settings
program     the program graph
"""
