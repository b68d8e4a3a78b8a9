"""Tests of what crosses the interfaces."""

import numpy as np
import pytest
from acme import core as acme_core

from rlcomponents import core

APPLIED, STALE = core.Verdict.APPLIED, core.Verdict.STALE


def test_global_updates_are_those_of_shard_0():
    versions = (core.Version(0, 7), core.Version(0, 9))
    assert core.Snapshot(np.zeros(2, np.float32), versions, steps=3).updates == 7


@pytest.mark.parametrize(
    ("verdicts", "applied"),
    [
        ((APPLIED, APPLIED), True),
        ((APPLIED, STALE), False),
        ((core.Verdict.OTHER_EPOCH, APPLIED), False),
    ],
)
def test_a_push_is_applied_only_if_every_shard_did(verdicts, applied):
    assert core.PushResult(verdicts, (0, 0)).applied is applied


def test_a_store_is_a_variable_source_for_acme():
    assert issubclass(core.ParameterStore, acme_core.VariableSource)


def test_a_store_must_have_every_call_of_the_contract():
    with pytest.raises(TypeError, match="add_steps"):
        core.ParameterStore()
