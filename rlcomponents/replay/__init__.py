"""Experience replay on Reverb: the only package that imports it.

transitions   what replay gives to learners, and the interface that gives it; pure
limits        capacity, minimum fill and sampling ratio, checked at once; pure
layout        which part of an observation is stored each step; pure
n_step        n-step returns of an episode as it unfolds; pure
steps         an actor's steps, checked and cut into items; pure
tables        Reverb tables of transitions
servers       Reverb servers: one in this process, one as a node, and what they hold
adders        an actor's steps into transitions in a table
batches       batches of transitions out of any number of servers
"""
