"""The run folder: everything that one run leaves behind, and what reads it back.

Nodes share a run through its folder and nothing else. No TensorFlow in here.

- `run_folder`: which file is where; makes a new run's folder or refuses to.
- `atomic_files`: files and folders that appear whole or not at all.
- `append_file`: files that grow by whole records.
- `disk`: what to do when the disk takes no more.
- `node_state`: what one node goes on from when it is started again.
- `node_table`: how each node of a running program is, as JSON.
- `metrics`: CSV rows that nodes append, and an incremental reader of them.
- `rates`: how fast counts grow.
- `events`: the same numbers as TensorBoard event files.
- `checkpoints`: saved states that survive a crash at any moment.
- `summary`: what a run came to, as JSON.
- `progress`: the live view of the launcher.
- `live_view`: its lines: progress, a table of the nodes, the last evaluation.
- `terminal_block`: lines on a terminal that are replaced in place.
- `readable`: numbers as people read them.
- `curve`: the picture of returns over agent steps.
"""
