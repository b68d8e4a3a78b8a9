"""The run folder serves launcher, coordinator and shards: no TensorFlow there."""

import subprocess
import sys


def test_no_module_here_loads_tensorflow_or_a_plotting_library():
    code = (
        "import sys\n"
        "from rlcomponents.runs import atomic_files, checkpoints, curve, events\n"
        "from rlcomponents.runs import metrics, progress, run_folder, summary\n"
        "from rlcomponents.evaluation import episodes, normalisation\n"
        "from rlcomponents.evaluation import random_policy, video\n"
        "heavy = {'tensorflow', 'reverb', 'jax', 'launchpad', 'matplotlib', "
        "'imageio_ffmpeg'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert loaded == "[]\n"
