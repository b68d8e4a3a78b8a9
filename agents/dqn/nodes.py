"""The one node of DQN: everything in one process, in one thread."""

import time
from collections.abc import Callable

from acme import core as acme_core

from agents import evaluation, optimisation, parameter_shards, run_nodes
from agents.dqn import parts
from agents.dqn.config import DQNConfig
from rlcomponents import array_files, core, pulse
from rlcomponents.nodes import coordinator as coordinators
from rlcomponents.nodes import evaluator as evaluators
from rlcomponents.parameters import layout as layouts
from rlcomponents.parameters import local_store, snapshots
from rlcomponents.runs import disk as disks


class Agent(acme_core.Worker):
    """Takes turns: one bundle step, and the evaluator's and coordinator's when due."""

    def __init__(
        self,
        bundle: parts.Bundle,
        evaluator: evaluators.Evaluator,
        coordinator: coordinators.Coordinator,
        *,
        max_steps: int,
        is_spent: bool,
        save: Callable[[bool], None],
        save_period_secs: float,
        stop_program: Callable[[], None],
        wait_for_stop: core.WaitForStop,
        period_secs: float = 1.0,
    ) -> None:
        """Stores its parts.

        Args:
            bundle: Acts and learns.
            evaluator: Looks once a period whether an evaluation is due.
            coordinator: Does one round a period.
            max_steps: Agent steps after which the bundle stands still.
            is_spent: Whether it had taken them when the run was saved.
            save: Saves what the node goes on from when it starts again; is told whether
                the work is over.
            save_period_secs: Seconds from one save to the next.
            stop_program: Ends the program.
            wait_for_stop: Waits so many seconds; returns whether a stop was asked.
            period_secs: Seconds between rounds of evaluator and coordinator.
        """
        self._bundle = bundle
        self._evaluator = evaluator
        self._coordinator = coordinator
        self._max_steps = max_steps
        self._stop_program = stop_program
        self._wait_for_stop = wait_for_stop
        self._period_secs = period_secs
        self._save = save
        self._save_period_secs = save_period_secs
        self._next_save_secs = time.monotonic() + save_period_secs
        self._next_round_secs = 0.0
        self._is_spent = is_spent

    def step(self) -> bool:
        """Takes one agent step, and what else is due.

        Returns:
            Whether the run is at its end.
        """
        if not self._is_spent:
            with pulse.current().stepping():
                self._is_spent = self._bundle.step() >= self._max_steps
        if self._is_spent:
            self._save(True)  # Before the coordinator takes it along.
        elif time.monotonic() >= self._next_save_secs:
            self._save(False)
            self._next_save_secs = time.monotonic() + self._save_period_secs
        if not self._is_spent and time.monotonic() < self._next_round_secs:
            return False
        self._evaluator.step()
        at_end = self._coordinator.step()
        self._next_round_secs = time.monotonic() + self._period_secs
        return at_end

    def run(self) -> None:
        """Steps until the end, or until a stop is asked for; saves either way."""
        try:
            while not self._wait_for_stop(self._period_secs if self._is_spent else 0):
                if self.step():
                    self._stop_program()
                    return
            self._save(True)
            self._coordinator.stop()
        finally:
            self.close()

    def close(self) -> None:
        """Frees replay, environments and files."""
        self._bundle.close()
        self._evaluator.close()
        self._coordinator.close()


def make_agent(
    config: DQNConfig,
    run_dir: str,
    stop_program: Callable[[], None],
    wait_for_stop: core.WaitForStop,
) -> Agent:
    """Builds the whole agent around one `LocalStore`."""
    snapshot_path = parameter_shards.snapshot_path(run_dir)

    def make_store(layout: layouts.ParameterLayout) -> local_store.LocalStore:
        store = local_store.LocalStore(
            layout,
            optimisation.make_update_rule(config),
            optimisation.make_learning_rate(config),
            max_staleness_updates=None,
            target_period_updates=config.target_period_updates,
            max_gradient_norm=config.max_gradient_norm,
        )
        snapshots.start_from(store, snapshot_path)
        return store

    bundle = parts.make_bundle(
        config, run_dir, make_store, wait_for_stop, name="dqn-0", act_on_newest=True
    )
    evaluator = evaluation.make_evaluator(
        config, run_dir, parts.make_player, lambda layout: bundle.store, wait_for_stop
    )
    coordinator = run_nodes.make_coordinator(
        config,
        run_dir,
        "dqn",
        bundle.store.statistics,
        [bundle.store],
        stop_program,
        wait_for_stop,
    )
    disk = disks.Disk(print)

    def save(ended: bool) -> None:
        with disk.survived(str(snapshot_path)):
            array_files.replace(snapshot_path, bundle.store.save())
        bundle.state.agent_steps = bundle.store.statistics().steps
        bundle.state.save(ended=ended)

    return Agent(
        bundle,
        evaluator,
        coordinator,
        max_steps=config.max_steps,
        is_spent=bundle.store.statistics().steps >= config.max_steps,
        save=save,
        save_period_secs=config.checkpoint_period_secs,
        stop_program=stop_program,
        wait_for_stop=wait_for_stop,
    )
