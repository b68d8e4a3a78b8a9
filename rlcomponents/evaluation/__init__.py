"""Measuring a policy: whole games, raw scores, and how far they are from random.

- `episodes`: plays whole games with an actor.
- `normalisation`: published scores of random play and of a human on Atari.
- `score_tables`: published scores of agents, and their means and medians.
- `random_policy`: the actor that every agent should beat.
- `video`: a game as an mp4 file.
"""
