"""One loop, in one thread, that acts and learns in turn.

A Gorila bundle is this (Nair et al. 2015, Algorithm 1), and so is plain DQN. Two
threads would fight over the interpreter, and blur how many steps go to an update.
"""

from typing import NamedTuple

from rlcomponents import core
from rlcomponents import environment_loop as loops
from rlcomponents.learners import dqn


class ActorLearnerStep(NamedTuple):
    """What came of one agent step.

    Attributes:
        episode: The game that ended with it, if one did.
        learner_was_due: Whether it was the learner's turn.
        learner: What the learner did; None also where replay gave no batch.
    """

    episode: loops.EpisodeEnd | None
    learner_was_due: bool
    learner: dqn.LearnerStep | None


class ActorLearner:
    """Takes `steps_per_update` agent steps, then one learner step. Not thread-safe."""

    def __init__(
        self,
        loop: loops.EnvironmentLoop,
        learner: dqn.DQNLearner,
        store: core.ParameterStore,
        *,
        first_update_steps: int,
        steps_per_update: int,
        count_period_steps: int = 100,
    ) -> None:
        """Stores its parts.

        Args:
            loop: Acts, with the learner's own network.
            learner: Learns.
            store: Where the learner pushes; agent steps are counted there.
            first_update_steps: Own agent steps before the first learner step.
            steps_per_update: Agent steps from one learner step to the next.
            count_period_steps: Agent steps after which they are counted at the store
                where no push has carried them.
        """
        self._loop = loop
        self._learner = learner
        self._store = store
        self._first_update_steps = first_update_steps
        self._steps_per_update = steps_per_update
        self._count_period_steps = count_period_steps
        self._steps = 0
        self._uncounted_steps = 0
        self.global_steps = learner.snapshot.steps
        """Agent steps of all actors together, as of the last pull or count."""

    def step(self) -> ActorLearnerStep:
        """Takes one agent step, and a learner step where one is due."""
        episode = self._loop.step()
        self._steps += 1
        self._uncounted_steps += 1
        learner_step = None
        is_due = (
            self._steps >= self._first_update_steps
            and self._steps % self._steps_per_update == 0
        )
        if is_due:
            learner_step = self._learner.step(self._uncounted_steps)
        if learner_step is not None:
            self._uncounted_steps = 0
            self.global_steps = self._learner.snapshot.steps
        elif self._uncounted_steps >= self._count_period_steps:
            self.global_steps = self._store.add_steps(self._uncounted_steps)
            self._uncounted_steps = 0
        if episode is not None:
            # Algorithm 1 takes fresh parameters at the start of every episode.
            self._learner.pull()
        return ActorLearnerStep(episode, is_due, learner_step)
