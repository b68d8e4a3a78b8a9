"""Networks as Sonnet modules, from observation to values and policies.

q_network: builds and initialises a whole Q-network for an environment.
actor_critic: the same for a policy and a value, over rollouts of observations.
kinds: the published networks, and what each fits; without TensorFlow.
policies: what an actor-critic network says about actions; without TensorFlow.
bodies: from rollouts to features, with LSTM cells or without.
torsos: from observation to features; a stack of convolutions, and an MLP.
heads: from features to the value of each action, plain or dueling.
in_numpy: forward passes of all these in NumPy, for acting.
initialisation: initial values that depend on a seed and on nothing else.
"""
