"""Scripts, one an agent, and what they share.

gorila_dqn    trains Gorila DQN
dqn           trains DQN in one process
evaluate      plays the policy that a run has saved
demo          trains for four minutes and shows what was learned
dashboard     shows runs in the browser while they go on, and after
harm          does harm to the nodes of a run that is going on
training      what the training scripts do: flags, run folder, live view, last words
saved_runs    finds what a run has saved
command_line  flags from the settings of an agent
"""
