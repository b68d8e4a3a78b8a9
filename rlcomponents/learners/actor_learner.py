"""One loop, in one thread, that acts and learns in turn.

A Gorila bundle is this (Nair et al. 2015, Algorithm 1), and so is plain DQN. Two
threads would fight over the interpreter, and blur how many steps go to an update.
"""

from typing import Any, NamedTuple

from rlcomponents import core, environment_loop
from rlcomponents.learners import dqn


class ActorLearnerStep(NamedTuple):
    """What came of one agent step.

    Attributes:
        episode: The game that ended with it, if one did.
        learner: What the learner did, where it was due and replay gave a batch.
    """

    episode: environment_loop.EpisodeEnd | None
    learner: dqn.LearnerStep | None


class ActorLearner:
    """Takes `steps_per_update` agent steps, then one learner step. Not thread-safe.

    Every agent step is counted at the store once: with a push, or in between.

    Attributes:
        global_steps: Agent steps of all actors together, when last heard of.
    """

    def __init__(
        self,
        loop: environment_loop.EnvironmentLoop,
        learner: dqn.DQNLearner,
        store: core.ParameterStore,
        *,
        first_update_steps: int,
        steps_per_update: int,
        count_period_steps: int = 100,
        act_on_newest: bool = False,
    ) -> None:
        """Stores its parts.

        Args:
            loop: Acts, with the learner's own network.
            learner: Learns.
            store: Where the learner pushes; agent steps are counted there.
            first_update_steps: Own agent steps, from now on, before the first learner
                step.
            steps_per_update: Agent steps from one learner step to the next.
            count_period_steps: Agent steps after which they are counted at the store
                where no push has carried them.
            act_on_newest: Whether to pull right after each gradient as well. Algorithm
                1 does not: its next action is of the parameters before. Where nobody
                else pushes, what the network holds is then always what the store does.

        Raises:
            ValueError: `steps_per_update` is below 1.
        """
        if steps_per_update < 1:
            raise ValueError(f"steps_per_update is {steps_per_update}: give 1 or more.")
        self._loop = loop
        self._learner = learner
        self._store = store
        self._first_update_steps = first_update_steps
        self._steps_per_update = steps_per_update
        self._count_period_steps = count_period_steps
        self._act_on_newest = act_on_newest
        self._steps = 0
        self._steps_before = 0
        self._uncounted_steps = 0
        self.global_steps = learner.snapshot.steps

    def step(self) -> ActorLearnerStep:
        """Takes one agent step, and a learner step where one is due."""
        episode = self._loop.step()
        self._steps += 1
        self._uncounted_steps += 1
        learner_step = None
        is_due = (
            self._steps >= self._first_update_steps
            and (self._steps_before + self._steps) % self._steps_per_update == 0
        )
        if is_due:
            learner_step = self._learner.step(self._uncounted_steps)
        if learner_step is not None:
            self.global_steps = self._learner.snapshot.steps + self._uncounted_steps
            self._uncounted_steps = 0
        elif self._uncounted_steps >= self._count_period_steps:
            self.global_steps = self._store.add_steps(self._uncounted_steps)
            self._uncounted_steps = 0
        # Algorithm 1 takes fresh parameters at the start of every episode.
        if episode is not None or (self._act_on_newest and learner_step is not None):
            self._learner.pull()
        return ActorLearnerStep(episode, learner_step)

    def save(self) -> dict[str, Any]:
        """Returns its counts of agent steps."""
        return {
            "steps": self._steps_before + self._steps,
            "uncounted_steps": self._uncounted_steps,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what `save` returned, before the first step."""
        self._steps_before = int(state["steps"])
        self._uncounted_steps = int(state["uncounted_steps"])
