"""The replay of one bundle: in its own memory, or a Reverb server in its process."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from acme import adders as acme_adders

from agents.dqn.config import DQNConfig
from rlcomponents import array_files, core, pulse, seeding, specs
from rlcomponents.nodes import replay_saver
from rlcomponents.replay import (
    adders,
    batches,
    memory,
    saves,
    servers,
    tables,
    transitions,
)
from rlcomponents.runs import atomic_files, run_folder
from rlcomponents.runs import disk as disks

_OWN_REPLAY = "its own replay"


class BundleReplay(NamedTuple):
    """What a bundle needs of its replay, whichever it is.

    Attributes:
        adder: Takes the actor's steps.
        batches: Gives the learner its batches.
        num_items: Counts the transitions.
        num_added_steps: Counts the steps that it was given, in all lives of it: so much
            it has come to. None where nobody counts.
        save: Writes what it holds to the run's folder. Where that is done in a thread
            of its own, raises what the thread died of.
        close: Frees what it holds.
    """

    adder: acme_adders.Adder
    batches: transitions.BatchSource
    num_items: Callable[[], int]
    num_added_steps: Callable[[], int] | None
    save: Callable[[], None]
    close: Callable[[], None]


def make_replay(
    config: DQNConfig,
    run_dir: str,
    environment_spec: specs.EnvironmentSpec,
    wait_for_stop: core.WaitForStop,
    *,
    name: str,
    index: int,
    life: int,
) -> BundleReplay:
    """Builds the replay that `config.replay_kind` names.

    Args:
        config: Of the run.
        run_dir: Folder of the run; what was saved is taken from there.
        environment_spec: Of the environment.
        wait_for_stop: Waits so many seconds; returns whether a stop was asked.
        name: Of the node.
        index: Of the node among its like.
        life: How often the node was started before.
    """
    if config.replay_kind == "memory":
        seed = seeding.derive(config.seed, "replay", index, life=life)
        return _in_memory(
            config,
            run_dir,
            environment_spec,
            wait_for_stop,
            np.random.default_rng(seed),
            name,
        )
    return _on_reverb(config, run_dir, environment_spec, wait_for_stop, name)


def make_adder(
    config: DQNConfig,
    environment_spec: specs.EnvironmentSpec,
    address: str,
    *,
    should_stop: Callable[[], bool],
    replay: str,
) -> adders.TransitionAdder:
    """Builds what turns an actor's steps into transitions in a Reverb server."""
    return adders.TransitionAdder(
        address,
        environment_spec,
        num_steps=config.n_step,
        discount=config.discount,
        max_abs_reward=config.max_abs_reward,
        should_stop=should_stop,
        replay=replay,
    )


def _on_reverb(
    config: DQNConfig,
    run_dir: str,
    environment_spec: specs.EnvironmentSpec,
    wait_for_stop: core.WaitForStop,
    name: str,
) -> BundleReplay:
    folder = run_folder.RunFolder(run_dir).state / f"{name}-replay"
    server = servers.LocalReplay(
        tables.make_tables(environment_spec, config.replay_limits()),
        folder=folder,
        wait_for_stop=wait_for_stop,
    )
    saver = None
    if config.replay_checkpoint_period_secs is not None:
        saver = replay_saver.ReplaySaver(
            server.save,
            str(folder),
            period_secs=config.replay_checkpoint_period_secs,
        )
    source = batches.ReplayBatches(
        [server.address],
        environment_spec,
        batch_size=config.batch_size,
        names=[_OWN_REPLAY],
    )
    adder = make_adder(
        config,
        environment_spec,
        server.address,
        should_stop=lambda: wait_for_stop(0),
        replay=_OWN_REPLAY,
    )

    def close() -> None:
        adder.flush()
        adder.close()
        try:
            if saver is not None:
                saver.close()
        finally:
            source.close()
            server.close()

    def check_saver() -> None:
        if saver is not None:
            saver.check()

    return BundleReplay(
        adder, source, lambda: server.num_items, None, check_saver, close
    )


def _in_memory(
    config: DQNConfig,
    run_dir: str,
    environment_spec: specs.EnvironmentSpec,
    wait_for_stop: core.WaitForStop,
    rng: np.random.Generator,
    name: str,
) -> BundleReplay:
    replay = memory.MemoryReplay(
        environment_spec,
        config.replay_limits(),
        num_steps=config.n_step,
        discount=config.discount,
        max_abs_reward=config.max_abs_reward,
        rng=rng,
    )
    path = run_folder.RunFolder(run_dir).state / f"{name}-replay" / "replay.npz"
    disk = disks.Disk(print)

    def read() -> int:
        try:
            with path.open("rb") as file:
                return replay.read(file)
        except FileNotFoundError:
            return 0  # A fresh run.
        except ValueError as error:
            aside = saves.set_aside(path)
            pulse.current().say(
                f"{path} is skipped (kept as {aside.name}), and replay begins empty: "
                f"{error}"
            )
            return 0

    num_dropped = saves.read_patiently(read, path, wait_for_stop)
    if num_dropped:
        pulse.current().say(
            f"{num_dropped:,} transitions of {path} found no room in replay: the "
            "oldest ones."
        )

    def save() -> None:
        waiting = pulse.current().waiting(f"the disk: {path} is written")
        with disk.survived(str(path)), waiting:
            path.parent.mkdir(parents=True, exist_ok=True)
            with array_files.replacing(path) as aside:
                with aside.open("wb") as file:
                    replay.write(file)
                atomic_files.sync(aside)  # In no checkpoint: it outlives power cuts.
            atomic_files.sync(path.parent)

    return BundleReplay(
        adder=replay,
        batches=replay,
        num_items=lambda: replay.num_items,
        num_added_steps=lambda: replay.num_added_steps,
        save=save,
        close=replay.close,
    )
