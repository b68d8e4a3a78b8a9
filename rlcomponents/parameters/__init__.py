"""The parameter store: where parameters live, and how gradients change them.

    layout                    Variables as one float32 vector, cut into shards.
    gradients                 What is checked and clipped before a gradient is cut.
    update_rules              SGD, momentum SGD, AdaGrad, RMSProp, Adam, in place.
    update_kernels            Their inner loops, compiled.
    shard_rules               What is too old, and when a target copy is due.
    shard                     One slice with its optimiser: a courier node.
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
