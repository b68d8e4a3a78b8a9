"""Actors: what chooses actions, and keeps its parameters fresh.

epsilon_greedy  an actor over action values
q_values        action values of a Q-network, from and to NumPy
policy_actor    an actor that follows a policy, with or without a memory
forward_passes  chooses between TensorFlow and NumPy for these
store_sync      pulls parameters from a store, and counts the steps taken
"""
