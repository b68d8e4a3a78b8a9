"""Tests of which role has which compute threads and GPUs."""

import importlib.metadata
import os
import re
import subprocess
import sys

import pytest

from rlcomponents.launching import placement

ROLES = ("parameters", "actor", "learner", "evaluator")


@pytest.fixture(autouse=True)
def all_gpus_visible(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The distributions that are there: a TensorFlow for GPUs."""
    names = {"tensorflow"}

    def version(name):
        if name not in names:
            raise importlib.metadata.PackageNotFoundError(name)
        return "2.12.1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    return names


def gpus(found):
    """What each role sees; None: whatever the launcher does."""
    return {role: found[role].get("CUDA_VISIBLE_DEVICES") for role in found}


def test_gpus_belong_to_roles_that_learn():
    found = placement.variables([*ROLES, "bundle", "worker", "coordinator"])
    assert {role for role, seen in gpus(found).items() if seen is None} == {
        "learner",
        "bundle",
    }
    assert {seen for seen in gpus(found).values() if seen is not None} == {""}
    assert found["learner"]["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert "TF_FORCE_GPU_ALLOW_GROWTH" not in found["actor"]


def test_each_node_computes_on_one_thread():
    for variables in placement.variables(ROLES).values():
        assert variables["OMP_NUM_THREADS"] == "1"
        assert variables["TF_NUM_INTRAOP_THREADS"] == "1"
        assert variables["TF_NUM_INTEROP_THREADS"] == "1"


def test_processes_keep_the_memory_of_messages():
    """Messages of 7 MB, made and freed again and again, cost no new pages."""
    code = (
        "import resource\n"
        "def faults():\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "def make_message():\n"
        "    copies = [b'x' * 7_000_000 for _ in range(4)]\n"
        "make_message()\n"
        "before = faults()\n"
        "for _ in range(10):\n"
        "    make_message()\n"
        "print(faults() - before)"
    )

    def faults(variables):
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return int(result.stdout)

    kept = placement.variables(["learner"])["learner"]
    assert faults(kept) < 100
    assert faults(dict.fromkeys(kept, "")) > 10_000  # glibc's own way.


def test_threads_are_set_by_role():
    found = placement.variables(ROLES, compute_threads="learner:2, actor:3")
    assert found["learner"]["TF_NUM_INTRAOP_THREADS"] == "2"
    assert found["actor"]["OMP_NUM_THREADS"] == "3"
    assert found["evaluator"]["OMP_NUM_THREADS"] == "1"
    assert gpus(found)["learner"] is None


def test_gpus_are_set_by_role_and_the_others_see_none():
    found = placement.variables(ROLES, gpus="actor:1,evaluator:0,evaluator:2")
    assert gpus(found) == {
        "parameters": "",
        "actor": "1",
        "learner": "",
        "evaluator": "0,2",
    }
    assert found["actor"]["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"


def test_gpus_are_counted_among_those_that_the_program_was_given(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-5a")
    assert gpus(placement.variables(ROLES, gpus="learner:1"))["learner"] == "GPU-5a"
    with pytest.raises(ValueError, match=r"names GPU 2, and .*=4,GPU-5a leaves 2 to"):
        placement.variables(ROLES, gpus="learner:2")


def test_gpus_are_refused_where_tensorflow_uses_none(installed):
    installed.add("tensorflow-cpu")  # Whichever came last has overwritten the other.
    sentence = (
        "--gpus=learner:0 would do nothing: the TensorFlow that is installed "
        "(tensorflow-cpu) uses no GPU; leave it out, or install tensorflow==2.12.1 in "
        "its place as docs/how-to/machines.md says."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        placement.variables(ROLES, gpus="learner:0")
    assert gpus(placement.variables(ROLES))["learner"] is None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"gpus": "lerner:0"},
            "--gpus=lerner:0 names the role 'lerner': the program has parameters, "
            "actor, learner, evaluator.",
        ),
        (
            {"compute_threads": "learner:0"},
            "--compute_threads=learner:0 gives learner the number '0': give a whole "
            "number of at least 1, as in --compute_threads=learner:2.",
        ),
        (
            {"gpus": "learner"},
            "--gpus=learner gives learner the number '': give a whole number of at "
            "least 0, as in --gpus=learner:2.",
        ),
        (
            {"compute_threads": "actor:1,actor:2"},
            "--compute_threads gives actor 2 numbers: give it one.",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(settings, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        placement.variables(ROLES, **settings)
