"""Components for distributed reinforcement-learning agents.

Actors, learners, parameter stores and replay tables that Launchpad programs wire
into agents. Import modules, not names: `from rlcomponents.losses import
value_learning`. Nothing heavy is imported here, so that losses, schedules and
wrappers work where launchpad, reverb and ale_py are not installed.
"""
