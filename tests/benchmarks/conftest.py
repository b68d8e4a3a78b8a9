"""Benchmarks are scripts beside each other, in no package: they are found by path."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "benchmarks"))
