"""Actors: what chooses actions, and keeps its parameters fresh.

epsilon_greedy  an actor over action values
store_sync      pulls parameters from a store, and counts the steps taken
"""
