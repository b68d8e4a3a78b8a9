"""The parameter store: where parameters live, and how gradients change them.

    layout          Variables as one float32 vector, cut into shards.
    gradients       What is checked and clipped before a gradient is cut.
    update_rules    SGD, momentum SGD, AdaGrad, RMSProp, Adam, in place.
    update_kernels  Their inner loops, compiled.
    shard           One slice of the vector with its optimiser: a courier node.
    sharded_store   What every store made of shards does for its callers.
    local_store     A store of one shard, in this process.
    sharded_client  A store of many shards, over courier.
    tf_variables    TensorFlow variables filled from, and flattened to, the vector.

Only `tf_variables` imports TensorFlow: a shard's process lives without.
"""
