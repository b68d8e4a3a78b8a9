"""Experience replay, on Reverb or in memory: the only package that imports Reverb.

transitions   what replay gives to learners, and the interface that gives it; pure
limits        capacity, minimum fill and sampling ratio, checked at once; pure
layout        which part of an observation is stored each step; pure
n_step        n-step returns of an episode as it unfolds; pure
steps         an actor's steps, checked and cut into items; pure
rows          rows of observations in memory; pure
memory        replay in the memory of one process, to the bit the same each time; pure
tables        Reverb tables of transitions
saves         saves of a server in a folder, the newest whole or not at all; pure
restoring     saves made to fit the tables of today
servers       Reverb servers: one in this process, one as a node, and what they hold
adders        an actor's steps into transitions in a table
batches       batches of transitions out of any number of servers
"""
