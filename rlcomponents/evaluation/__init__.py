"""Measuring a policy: whole games, raw scores, and how far they are from random.

- `episodes`: plays whole games with an actor.
- `protocols`: the papers' ways to evaluate.
- `starts`: environments whose games begin after null-ops, or at recorded points.
- `start_points`: those points, and files of them.
- `normalisation`: published scores of random play and of a human on Atari.
- `score_tables`: published scores of agents, and their means and medians.
- `suite_results`, `suite_tables`: what several games and seeds came to, as a table.
- `suite_origins`: what each of these runs was made with.
- `published_columns`: published scores that belong beside such a table.
- `random_policy`: the actor that every agent should beat.
- `video`: a game as an mp4 file.
- `screens`: checks what is to be filmed.
- `gifs`: the beginning of a game as a small animated picture.
"""
