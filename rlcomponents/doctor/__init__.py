"""Says whether this machine can run our programs, and what to do where it cannot.

`python -m rlcomponents.doctor` prints one line for each thing it looks at: ok, note (it
works, but know this) or fix (it does not). What is looked at and what is said of it are
apart: every check takes plain facts, so that a test can show it a bad machine.

findings   the lines
packages   the pinned versions, and whether the extension modules load
machine    cores, memory, files, disk, display, GPU, network namespaces
"""
