"""A local page that shows runs while they go on, and after: graph, nodes, curves, logs.

Everything is read from the run folders, so nothing of a run waits for the page. No
dependency, no build step, nothing from outside; see `launch/dashboard.py`.

runs       what the page shows of one run
curves     its learning curve, thinned
logs       the ends of its nodes' logs
data       what the page asks for, as one JSON object a second
server     serves it, to this machine only
static     the page: plain HTML, CSS and JavaScript
"""
