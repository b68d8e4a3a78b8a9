"""Fixtures of the tests that build whole nodes."""

import pytest

from rlcomponents.learners import dqn


@pytest.fixture
def patient_learners(monkeypatch):
    """Lets learners wait for a batch as long as it takes on a loaded machine.

    For tests that count gradients: a learner skips one whose batch comes too late.
    """
    defaults = dqn.DQNLearner.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "batch_timeout_secs", 60.0)
