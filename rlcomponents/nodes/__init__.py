"""What runs inside the nodes of a program: loops, reports, and who ends it all.

worker               the loop of a worker: steps until its budget is spent
reporting            what a turn of each kind of worker is, and its rows
evaluator            plays episodes with the newest parameters
best_parameters      keeps those with the best evaluation so far
evaluation_videos    films the first game of some evaluations
coordinator          counts, logs, saves, and ends the program
program_checkpoints  saves every shard, and every node's own state
program_speed        rates and wall time of a run, over all its programs
worker_totals        what the rows of all workers come to
replay_node          a Reverb server as a node
replay_saver         saves a replay now and then, beside whatever else its process does
stopping             how a node learns that the program ends
lazy                 names a constructor without importing it
"""
