"""One compute thread per process, and a quiet TensorFlow, in every test.

Environment variables, since they reach the processes that tests start, and cost the
tests that need no TensorFlow nothing. They have to be set before it is imported.
"""

import os

for _name in (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
):
    os.environ[_name] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
