"""What runs inside the nodes of a program: loops, reports, and who ends it all.

worker         the loop of a worker: steps until the budget is spent or a stop is asked
reporting      what a turn of each kind of worker is, with its row of numbers a second
evaluator      plays episodes with the newest parameters
coordinator    counts, logs, saves, and ends the program
replay_node    a Reverb server as a node
stopping       how a node learns that the program ends
lazy           names a constructor without importing it
"""
