"""Networks as Sonnet modules, from observation to values.

q_network: builds and initialises a whole Q-network for an environment.
kinds: the published networks, and what each fits; without TensorFlow.
torsos: from observation to features; a stack of convolutions, and an MLP.
heads: from features to the value of each action, plain or dueling.
initialisation: initial values that depend on a seed and on nothing else.
"""
