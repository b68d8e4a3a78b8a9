"""Environments, as `dm_env.Environment`, and what helps with a user's own.

registry: one string to a factory; where everybody else gets environments from.
atari: Atari 2600 games on ALE, with the published preprocessing.
minatar: the five MinAtar games.
control: continuous control, the DeepMind Control Suite on MuJoCo.
catch: the smallest game worth learning; for tests and first runs.
flat_observations: nested observations as one vector.
wrappers: fit a user's environment to what agents expect.
saving: goes on in the middle of an episode, in another process.
checker: says in one sentence what is wrong with an environment.
time_steps: single-precision time steps and specs shared by the environments here.
"""
