"""Components for distributed reinforcement-learning agents.

Actors, learners, parameter stores and replay tables that Launchpad programs wire
into agents. Import modules, not names: `from rlcomponents.losses import
value_learning`. Nothing heavy is imported here, so that losses, schedules and
wrappers work where launchpad, reverb and ale_py are not installed.
"""

import os

# TensorFlow's remarks at start-up, once a process, say nothing one could act on. It
# reads this when it is loaded, which courier does as well. Set it to 0 to see them.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
