"""The parameter store: where parameters live, and how gradients change them.

    layout                    Variables as one float32 vector, cut into shards.
    gradients                 What is checked and clipped before a gradient is cut.
    update_rules              SGD, momentum SGD, AdaGrad, RMSProp, Adam, in place.
    update_kernels            Their inner loops, compiled.
    shard_rules               What is too old, and when a target copy is due.
    wire                      What crosses between a store and its shards.
    shard                     One slice with its optimiser.
    saved_states              What a shard saves, read, and cut for other shards.
    snapshots                 A shard that goes on from its last state: a courier node.
    shard_calls               Calls to shards that may die and come back.
    sharded_store             What every store made of shards does for its callers.
    local_store               A store of one shard, in this process.
    sharded_client            A store of many shards, over courier.
    shared_memory             Memory without a name, for the processes of one host.
    shared_parameters         How a store lies in it; reads without the network.
    shared_memory_store       A store in it, lock-free (Hogwild!).
    private_statistics_store  Before any store: statistics that a worker keeps.
    tf_variables              TensorFlow variables filled from the vector, and back.

Only `tf_variables` imports TensorFlow: a shard's process lives without.
"""
