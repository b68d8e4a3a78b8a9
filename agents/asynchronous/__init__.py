"""What the asynchronous methods (Mnih et al. 2016) share: all but the algorithm.

config   settings of workers and of their parameter store
stores   opens the store that the settings ask for
nodes    what runs inside workers, evaluator, coordinator, parameter shards
program  the program graph
"""
