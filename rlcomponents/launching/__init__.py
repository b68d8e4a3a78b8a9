"""How a program runs: every node started, watched and ended from one place.

launcher           `launch(program, run_dir)`: the one entry
choices            what it can be asked for
ending_signals     the signals that end a program
endings            how a program can end: exit codes, and the last lines on the screen
supervision        waits for the nodes and ends them, knows no process and no thread
screen             what the user sees meanwhile
restarts           which nodes that died are started again
watchdog           who waits for whom, who is silent, who hangs
watched            one running node, as the supervision sees it
processes          nodes as child processes (`local_mp`)
node_process       the other side: what such a child process does
node_reports       what it tells the launcher
threads            nodes as threads of this process (`local_mt`)
launchpad_runtime  what `lp.stop()` and `lp.wait_for_stop()` find inside a node
node_rows          tells others how the nodes are, in the run folder
placement          which role has which compute threads and GPUs
ports              ports that two programs at once do not both take
private_network    a network that only the node processes of one program reach
graph              the names of a program's nodes, and who calls whom
describe           the graph of a program as text
"""
