"""What is measured and published under docs/results: one script each.

Experiments are suites of `launch/suite.py`, side by side, and what they come to.
"""
