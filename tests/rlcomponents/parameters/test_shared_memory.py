"""Memory without a name: who can open it, who locks it, and when it is gone."""

import contextlib
import gc
import mmap
import os
import pathlib
import pickle
import subprocess
import sys
import threading

import pytest

from rlcomponents.parameters import shared_memory

SIZE_BYTES = 4096


@contextlib.contextmanager
def python(code, *args):
    """Runs code in another process; kills it at the end."""
    command = [sys.executable, "-c", code, *args]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


OPEN = """
import pickle, sys
from rlcomponents.parameters import shared_memory
memory = pickle.loads(bytes.fromhex(sys.argv[1])).open()
"""


def pickled(handle):
    return pickle.dumps(handle).hex()


def num_open():
    """Counts the shared memory that this process has open or mapped."""
    gc.collect()
    links = 0
    for fd in pathlib.Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # That of iterdir itself.
            links += "memfd:rlcomponents" in os.readlink(fd)
    return links + pathlib.Path("/proc/self/maps").read_text().count("memfd:rlcomp")


def test_another_process_opens_what_a_handle_names():
    handle = shared_memory.SharedMemory.create()
    memory = handle.open()
    memory.grow(SIZE_BYTES)
    mapped = memory.map(0, SIZE_BYTES)
    mapped[10] = 7
    code = OPEN + "mapped = memory.map(0, 4096); mapped[11] = mapped[10] + 1"
    with python(code, pickled(handle)) as process:
        assert process.wait() == 0
    assert mapped[11] == 8


def test_a_copy_in_the_same_process_opens_the_same_memory():
    handle = shared_memory.SharedMemory.create()
    memory = handle.open()
    memory.grow(SIZE_BYTES)
    memory.map(0, SIZE_BYTES)[0] = 5
    copy = pickle.loads(pickle.dumps(handle))
    assert copy.open().map(0, SIZE_BYTES)[0] == 5


def test_memory_is_empty_at_first_and_grows_without_losing_anything():
    memory = shared_memory.SharedMemory.create().open()
    assert memory.size_bytes == 0
    memory.grow(SIZE_BYTES)
    first = memory.map(0, SIZE_BYTES)
    first[0] = 3
    memory.grow(4 * mmap.ALLOCATIONGRANULARITY)
    memory.grow(SIZE_BYTES)  # Never shrinks.
    assert memory.size_bytes == 4 * mmap.ALLOCATIONGRANULARITY
    assert memory.map(0, 1)[0] == 3
    assert memory.map(mmap.ALLOCATIONGRANULARITY, 1)[0] == 0


def test_memory_is_freed_at_the_last_close():
    before = num_open()
    handle = shared_memory.SharedMemory.create()
    memory = handle.open()
    memory.grow(SIZE_BYTES)
    mapped = memory.map(0, SIZE_BYTES)
    assert num_open() > before
    handle.close()
    del memory
    mapped[0] = 1  # Still there.
    del mapped
    assert num_open() == before


def test_a_handle_that_is_let_go_lets_go_of_the_memory():
    before = num_open()
    handle = shared_memory.SharedMemory.create()
    assert num_open() == before + 1
    del handle
    assert num_open() == before


def test_memory_has_no_name_in_any_file_system():
    before = set(os.listdir("/dev/shm"))
    memory = shared_memory.SharedMemory.create().open()
    memory.grow(SIZE_BYTES)
    assert set(os.listdir("/dev/shm")) <= before


def test_closed_memory_is_refused_in_one_sentence():
    handle = shared_memory.SharedMemory.create()
    handle.close()
    with pytest.raises(FileNotFoundError, match=rf"of process {os.getpid()} is gone"):
        handle.open()


def test_a_file_that_got_the_number_later_is_not_taken_for_the_memory():
    handle = shared_memory.SharedMemory.create()
    copy = pickle.loads(pickle.dumps(handle))
    handle.close()
    others = [shared_memory.SharedMemory.create() for _ in range(3)]
    with pytest.raises(FileNotFoundError, match="is gone"):
        copy.open()
    del others


def test_only_the_creator_closes():
    handle = shared_memory.SharedMemory.create()
    with pytest.raises(ValueError, match="close the one that create returned"):
        pickle.loads(pickle.dumps(handle)).close()


def test_who_opened_the_memory_keeps_it_when_the_creator_is_killed():
    before = num_open()
    code = """
import pickle
from rlcomponents.parameters import shared_memory
handle = shared_memory.SharedMemory.create()
handle.open().grow(4096)
print(pickle.dumps(handle).hex(), flush=True)
input()
"""
    with python(code) as creator:
        handle = pickle.loads(bytes.fromhex(creator.stdout.readline()))
        memory = handle.open()
        creator.kill()
        creator.wait()
        with pytest.raises(FileNotFoundError, match=f"{creator.pid} is gone"):
            handle.open()
    mapped = memory.map(0, SIZE_BYTES)
    mapped[0] = 1
    del memory, mapped
    assert num_open() == before


def test_who_has_inherited_the_memory_opens_it_without_the_creator():
    handle = shared_memory.SharedMemory.create()
    handle.open().grow(SIZE_BYTES)
    out_of_reach = shared_memory.SharedMemory(0, handle._fd, handle._inode)
    command = [sys.executable, "-c", OPEN + "print(memory.size_bytes)"]
    found = subprocess.check_output(
        [*command, pickled(out_of_reach)], pass_fds=shared_memory.kept_open(), text=True
    )
    assert found == f"{SIZE_BYTES}\n"


def test_memory_is_for_children_as_long_as_it_is_kept_open():
    before = set(shared_memory.kept_open())
    handle = shared_memory.SharedMemory.create()
    dropped = shared_memory.SharedMemory.create()
    assert len(set(shared_memory.kept_open()) - before) == 2
    handle.close()
    del dropped
    assert set(shared_memory.kept_open()) == before


def test_a_lock_is_held_against_other_openings():
    handle = shared_memory.SharedMemory.create()
    first, second = handle.open(), handle.open()
    assert first.try_lock(3)
    assert not second.try_lock(3)
    assert second.try_lock(4)
    del first
    gc.collect()
    assert second.try_lock(3)


@pytest.mark.parametrize("openings", [1, 2])
def test_one_thread_at_a_time_holds_a_lock(openings):
    handle = shared_memory.SharedMemory.create()
    memories = [handle.open() for _ in range(openings)]
    inside, most = 0, 0
    barrier = threading.Barrier(4)

    def enter(memory):
        nonlocal inside, most
        barrier.wait()
        for _ in range(100):
            with memory.locked(0):
                inside += 1
                most = max(most, inside)
                os.sched_yield()
                inside -= 1

    threads = [
        threading.Thread(target=enter, args=(memories[i % openings],)) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_the_locks_of_a_killed_process_are_free():
    handle = shared_memory.SharedMemory.create()
    memory = handle.open()
    code = OPEN + "print(memory.try_lock(3), flush=True); input()"
    with python(code, pickled(handle)) as process:
        assert process.stdout.readline() == "True\n"
        assert not memory.try_lock(3)
        process.kill()
        process.wait()
        assert memory.try_lock(3)
