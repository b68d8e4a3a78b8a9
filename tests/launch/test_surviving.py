"""Whole programs to which harm is done in mid-training, and what they come to."""

import contextlib
import datetime
import pathlib
import re
import subprocess
import time
from typing import NamedTuple

import pytest

from rlcomponents.launching import private_network
from rlcomponents.runs import checkpoints, metrics, node_table, run_folder, summary
from rlcomponents.testing import faults

CATCH = ("--environment=catch", "--run_dir=run")
SAVED_REPLAY = ("--replay_checkpoint_period_secs=3",)
CENTRAL = ("--mode=central", "--num_actors=2", "--num_learners=2")
BACK_SECS = 120.0  # TensorFlow takes its time where many processes load it.


class Victim:
    """A run to which harm is done."""

    def __init__(self, script, path):
        self.script = script
        self.folder = run_folder.RunFolder(path)
        self.faults = faults.Faults(path)

    def row(self, node):
        rows = {row.name: row for row in node_table.read(self.folder.nodes_json)}
        return rows.get(node)

    def wait_for_steps(self, node, *, starts=0):
        """Waits until a node, started so often before, has completed a step."""

        def has_steps():
            row = self.row(node)
            return row is not None and row.starts >= starts and row.steps > 0

        self.script.wait_until(has_steps, BACK_SECS)

    def kill(self, node):
        """Kills a node in the middle of its work, and waits until it works again."""
        self.wait_for_steps(node)
        self.faults.kill(node)
        self.wait_for_steps(node, starts=1)

    def wait_for_updates(self, least):
        """Waits until the whole program has made so many."""

        def has_learned():
            row = metrics.read_last(self.folder.program_csv)
            return metrics.number(row, "updates") >= least

        self.script.wait_until(has_learned, BACK_SECS)

    def call_without_answer(self, node):
        """Returns which call a node waits in: parameters/0 has just been stopped."""
        stopped_secs = time.time()
        said = re.compile("parameters/0: no answer to ([a-z_]+) yet")
        calls = []

        def waits():
            written_secs = self.folder.nodes_json.stat().st_mtime
            row = self.row(node)
            # By then it has read what was answered before the stop.
            is_news = written_secs - row.silent_secs > stopped_secs + 2.0
            if is_news and row.waiting_for is not None:
                calls.extend(said.findall(row.waiting_for))
            return calls

        self.script.wait_until(waits, BACK_SECS)
        return calls[0]

    @contextlib.contextmanager
    def stopped_in_mid_gradient(self, learner):
        """Stops a learner inside the block, between a pull and the push after it.

        Where a process is cannot be seen from outside, but whom it waits for can. So a
        shard is stopped for a moment, until the learner waits for it. If in a pull, the
        learner is stopped, and the shard answers: the gradient will be that of now. If
        in a push, it is on its way: then they go on, and the next call may be a pull.
        """
        with contextlib.ExitStack() as stack:
            for _ in range(20):  # It calls the one as often as the other.
                with self.faults.stopped("parameters/0"):
                    if self.call_without_answer(learner) == "pull":
                        stack.enter_context(self.faults.stopped(learner))
                        break
                    steps = self.row(learner).steps
                self.script.wait_until(
                    lambda steps=steps: self.row(learner).steps > steps, BACK_SECS
                )
            else:
                pytest.fail(f"{learner} was never found in a pull.")
            yield


KILLS = {
    "gorila, bundled": (
        "gorila_dqn",
        (*SAVED_REPLAY, "--max_steps=12000", "--evaluation_period_steps=500"),
        ("bundle/1", "parameters/0", "evaluator/0", "coordinator/0"),
    ),
    "gorila, central": (
        "gorila_dqn",
        (
            *(*CENTRAL, *SAVED_REPLAY, "--max_steps=17000"),
            "--evaluation_period_steps=500",
        ),
        (
            *("actor/0", "learner/1", "replay/0", "parameters/1", "evaluator/0"),
            "coordinator/0",
        ),
    ),
    "a3c, in shared memory": (
        "a3c",
        ("--max_steps=40000", "--evaluation_period_steps=2000"),
        ("worker/0", "evaluator/0", "coordinator/0"),
    ),
    "a3c, on servers": (
        "a3c",
        (
            *("--parameter_store=server", "--max_steps=40000"),
            "--evaluation_period_steps=2000",
        ),
        ("parameters/0", "worker/1"),
    ),
}


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.parametrize("which", KILLS)
def test_a_run_whose_nodes_are_killed_learns_as_any_other(start, tmp_path, which):
    agent, flags, nodes = KILLS[which]
    victim = Victim(start(agent, tmp_path, *CATCH, *flags), tmp_path / "run")
    victim.wait_for_updates(100)
    for node in nodes:
        victim.kill(node)
    exit_code, output, errors = victim.script.wait()
    assert exit_code == 0, errors
    result = summary.read(victim.folder.summary_json)
    assert result.reason == "max_steps"
    assert result.agent_steps >= int(victim.folder.read_config()["max_steps"])
    assert [restart["node"] for restart in result.restarts] == list(nodes)
    times = [datetime.datetime.fromisoformat(each["time"]) for each in result.restarts]
    assert times == sorted(times)
    for restart, node in zip(result.restarts, nodes, strict=True):
        assert restart["cause"].startswith("was ended by signal SIGKILL")
        assert f"{node} was ended by signal SIGKILL" in errors
        assert f"{node} (1 x)" in output
    assert result.evaluation_return >= 0.8


STOPPED_SECS = 60.0


class Pace(NamedTuple):
    """How fast a learner was, and how much of the machine its program got.

    Attributes:
        updates_per_sec: Of the learner.
        core_share: Part of the time that threads had a core, of that in which they
            wanted one. 1.0 where the kernel does not count it.
    """

    updates_per_sec: float
    core_share: float


def core_secs(pids):
    """Returns how long each thread of some processes has had a core, and queued."""
    secs = {}
    for pid in pids:
        for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # Over.
                ran_ns, queued_ns, _ = map(int, file.read_text().split())
                secs[file] = ran_ns / 1e9, queued_ns / 1e9
    return secs


def pace_of(victim, learner, pids, secs):
    """Lets a learner work for so long, by its own rows from now on; how fast it is."""
    file = metrics.MetricsFile(victim.folder.metrics / f"{learner}.csv")
    file.read_new()
    rows = []

    def has_worked(secs):
        rows.extend(file.read_new())
        return rows and rows[-1]["time_secs"] >= rows[0]["time_secs"] + secs

    victim.script.wait_until(lambda: has_worked(0.0), BACK_SECS)
    before = core_secs(pids)
    victim.script.wait_until(lambda: has_worked(secs), secs + BACK_SECS)
    ran_secs = queued_secs = 0.0
    for thread, (ran, queued) in core_secs(pids).items():
        ran_before, queued_before = before.get(thread, (0.0, 0.0))
        ran_secs += ran - ran_before
        queued_secs += queued - queued_before
    updates = rows[-1]["updates"] - rows[0]["updates"]
    return Pace(
        updates / (rows[-1]["time_secs"] - rows[0]["time_secs"]),
        ran_secs / (ran_secs + queued_secs) if ran_secs else 1.0,
    )


@pytest.mark.integration
@pytest.mark.timeout(1200)
def test_a_stopped_learner_holds_up_nobody_and_its_late_gradient_is_discarded(
    start, tmp_path
):
    script = start(
        "gorila_dqn",
        tmp_path,
        *(*CATCH, *CENTRAL, "--max_steps=1000000"),
        # Else the pull in which it is stopped fails meanwhile, and is made again.
        "--parameter_timeout_secs=600",
    )
    victim = Victim(script, tmp_path / "run")
    for node in ("learner/0", "learner/1", "actor/0", "actor/1", "evaluator/0"):
        victim.wait_for_steps(node)
    victim.wait_for_updates(1000)
    rows = node_table.read(victim.folder.nodes_json)
    others = [row.pid for row in rows if row.name != "learner/0"]

    def discarded():
        row = metrics.read_last(victim.folder.program_csv)
        return metrics.number(row, "discarded_stale")

    before = pace_of(victim, "learner-1", others, STOPPED_SECS)
    with victim.stopped_in_mid_gradient("learner/0"):
        for _ in range(5):  # Minutes are alike where the machine gave as much in them.
            meanwhile = pace_of(victim, "learner-1", others, STOPPED_SECS)
            given = meanwhile.core_share / before.core_share
            if given >= 0.9:
                break
        num_before = discarded()
    script.wait_until(lambda: discarded() > num_before, BACK_SECS)
    if given < 0.9:
        pytest.skip("The machine was busier than before: whose fault is unknown.")
    assert meanwhile.updates_per_sec >= 0.8 * min(1.0, given) * before.updates_per_sec
    assert victim.row("learner/0").starts == 0
    script.interrupt()
    assert script.wait()[0] == 130


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_a_node_that_dies_again_and_again_ends_the_run_and_is_named(
    start, users_game, empty_folder
):
    deadly = users_game.replace(":make", ":make_deadly")
    flags = (f"--environment={deadly}", "--run_dir=run", "--num_bundles=1")
    exit_code, _, errors = start("gorila_dqn", empty_folder, *flags).wait()
    ended_secs = time.time()
    assert exit_code == 1
    deaths = (empty_folder / "deaths").read_text().split()
    assert ended_secs - float(deaths[-1]) <= 30.0
    result = summary.read(empty_folder / "run" / "summary.json")
    node = result.reason.removeprefix("node died: ")
    assert node in ("bundle/0", "evaluator/0")
    assert [each["node"] for each in result.restarts].count(node) == 2
    lines = errors.splitlines()
    said = f"{node} died 3 times in a row without completing a step; the last time it "
    assert sum(line.startswith(said) for line in lines) == 1
    assert lines[-1] == f"Log file of {node}: run/logs/{node.replace('/', '-')}.log"


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 MB in a namespace; what enters it, and where others see it."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = f"mount -t tmpfs -o size=64m tmpfs {path} && echo there && exec cat"
    try:
        holder = subprocess.Popen(
            ["unshare", "-Urm", "sh", "-c", mount],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("Needs util-linux.")
    with holder:
        try:
            if holder.stdout.readline() != "there\n":
                pytest.skip("Needs user namespaces in which a disk can be mounted.")
            target = f"--target={holder.pid}"
            enter = ("nsenter", target, "--user", "--mount", "--preserve-credentials")
            yield enter, path, pathlib.Path(f"/proc/{holder.pid}/root{path}")
        finally:
            holder.kill()


def lines_about_the_disk(errors):
    """Returns what the screen has shown of it, whoever of the program said it."""
    signs = ("CANNOT WRITE", "written again.")
    return [line for line in errors.splitlines() if any(sign in line for sign in signs)]


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_a_run_outlives_a_full_disk_and_a_link_that_is_cut(start, small_disk):
    if (reason := private_network.why_unavailable()) is not None:
        pytest.skip(f"Needs a private network: {reason}.")
    enter, inside, outside = small_disk
    flags = ("--environment=catch", f"--run_dir={inside}/run")
    script = start(
        "gorila_dqn",
        outside.parent,
        *flags,
        *SAVED_REPLAY,
        "--node_network=private",
        "--checkpoint_period_secs=1",
        "--max_steps=12000",
        under=enter,
    )
    victim = Victim(script, outside / "run")
    folder = victim.folder

    def newest():
        return checkpoints.latest(folder.checkpoints)

    script.wait_until(lambda: newest() is not None, BACK_SECS)
    with victim.faults.full_disk():
        before = newest()
        _, facts = checkpoints.load(before)
        updates = facts["updates"]
        with pytest.raises(subprocess.TimeoutExpired):
            script.process.wait(8.0)  # Nothing can be written of which to wait.
        checkpoints.load(newest())
    script.wait_until(lambda: newest() not in (before, None), BACK_SECS)
    assert checkpoints.load(newest())[1]["updates"] > updates

    with (
        victim.faults.cut_off("parameters/0"),
        pytest.raises(subprocess.TimeoutExpired),
    ):
        script.process.wait(5.0)
    exit_code, _, errors = script.wait()
    assert exit_code == 0, errors
    fails, works = lines_about_the_disk(errors)
    assert "No space left on device" in fails
    assert "can be written again" in works
    result = summary.read(folder.summary_json)
    assert (result.reason, result.restarts) == ("max_steps", [])
    assert result.evaluation_return >= 0.8


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_a_run_outlives_a_disk_that_becomes_read_only(start, small_disk):
    enter, inside, outside = small_disk
    script = start(
        "gorila_dqn",
        outside.parent,
        *("--environment=catch", f"--run_dir={inside}/run", *CENTRAL, *SAVED_REPLAY),
        "--checkpoint_period_secs=1",
        "--max_steps=12000",
        under=enter,
    )
    victim = Victim(script, outside / "run")
    folder = victim.folder

    def newest():
        return checkpoints.latest(folder.checkpoints)

    def updates_of(path):
        return checkpoints.load(path)[1]["updates"]

    script.wait_until(lambda: newest() is not None, BACK_SECS)
    with victim.faults.read_only_disk():
        with pytest.raises(OSError, match="Read-only file system"):
            (folder.path / "anything").touch()
        before = newest()
        rows = metrics.read_last(folder.program_csv)
        # The file was open before: it is written on, and so tells of training.
        victim.wait_for_updates(metrics.number(rows, "updates") + 500)
        with pytest.raises(subprocess.TimeoutExpired):
            script.process.wait(8.0)  # All that is written now and then is due.
        assert newest() == before
        updates = updates_of(before)
    script.wait_until(lambda: newest() not in (before, None), BACK_SECS)
    assert updates_of(newest()) > updates
    exit_code, _, errors = script.wait()
    assert exit_code == 0, errors
    fails, works = lines_about_the_disk(errors)
    assert "Read-only file system" in fails
    assert "can be written again" in works
    result = summary.read(folder.summary_json)
    assert (result.reason, result.restarts) == ("max_steps", [])
