"""Programs of a few tiny nodes, each of which ends in its own way.

Tests load this file and launch a program in their own process, or run it as a script
and send signals to it: `toy_program.py LAUNCH_TYPE RUN_DIR NODE...`. TOY_NOTICE_SECS is
the notice, TOY_HANG_TIMEOUT_SECS the time after which a node hangs.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading

import launchpad as lp

from rlcomponents import pulse
from rlcomponents.launching import launcher

STARTED = (
    "started"  # A named pipe in the run folder, to which nodes announce themselves.
)


def announce(run_dir, what):
    descriptor = os.open(pathlib.Path(run_dir) / STARTED, os.O_WRONLY)
    os.write(descriptor, f"{what} {os.getpid()}\n".encode())
    os.close(descriptor)


def returns(run_dir):
    print("returns: hello")


def waits(run_dir):
    announce(run_dir, "waits")
    lp.stop_event().wait()
    print("waits: told to stop")
    announce(run_dir, "waits-told")


def stops(run_dir):
    lp.stop()


def stops_in_thread(run_dir):
    thread = threading.Thread(target=lp.stop)
    thread.start()
    thread.join()


def raises(run_dir):
    print("raises: about to")
    raise ZeroDivisionError("of the tenth step")


def raises_when_stopped(run_dir):
    lp.stop_event().wait()
    raise ZeroDivisionError("of the last step")


def exits_with_3(run_dir):
    print("exits_with_3: about to")
    os._exit(3)


def exits_with_0(run_dir):
    sys.exit()


def exits_with_0_at_once(run_dir):
    os._exit(0)


def is_killed(run_dir):
    print("is_killed: about to")
    os.kill(os.getpid(), signal.SIGKILL)


def ignores_stop(run_dir):
    announce(run_dir, "ignores_stop")
    try:
        threading.Event().wait()
    finally:
        print("ignores_stop: interrupted")


def is_deaf(run_dir):
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    announce(run_dir, "is_deaf")
    threading.Event().wait()


def has_child(run_dir):
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    print(f"has_child: {child.pid}")


def hangs_after_return(run_dir):
    threading.Thread(target=threading.Event().wait).start()


def dies_twice(run_dir):
    starts = pulse.current().starts
    print(f"dies_twice: start {starts}")
    if starts < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    lp.stop()


def dies_after_its_first_step(run_dir):
    announce(run_dir, f"start-{pulse.current().starts}")
    pulse.current().completed_step()
    threading.Event().wait(1.0)
    raise ZeroDivisionError("of the second step")


def dies_and_waits(run_dir):
    announce(run_dir, "dies_and_waits")
    if not pulse.current().starts:
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


def raises_fatal(run_dir):
    pulse.current().completed_step()
    raise pulse.FatalError("a thousand rewards in a row were NaN")


def works(run_dir):
    """Completes steps until it is told to stop; ends the program if it is a restart."""
    life = pulse.current()
    with life.stepping():
        while not lp.stop_event().wait(0.05):
            life.completed_step()
            if life.steps == 2:
                announce(run_dir, "works")
                if life.starts:
                    lp.stop()


def stops_itself(run_dir):
    if not pulse.current().starts:
        pulse.current().completed_step()
        threading.Event().wait(1.5)  # Until its step is heard of.
        os.kill(os.getpid(), signal.SIGSTOP)
    lp.stop()


def hangs_in_a_step(run_dir):
    life = pulse.current()
    if life.starts:
        lp.stop()
    with life.stepping():
        life.completed_step()
        threading.Event().wait()


def waits_for_another(run_dir):
    with pulse.current().waiting("replay/0: 120 of 1000 items"):
        lp.stop_event().wait()


def says(run_dir):
    for _ in range(3):
        pulse.current().say("the disk is full")
    lp.stop()


def build(run_dir, *names):
    program = lp.Program("toy")
    for name in names:
        program.add_node(lp.PyNode(globals()[name], str(run_dir)), label=name)
    return program


def main():
    launch_type, run_dir, *names = sys.argv[1:]
    program = build(run_dir, *names)
    ending = launcher.launch(
        program,
        run_dir,
        launch_type=launch_type,
        termination_notice_secs=float(os.environ.get("TOY_NOTICE_SECS", "10")),
        hang_timeout_secs=float(os.environ.get("TOY_HANG_TIMEOUT_SECS", "inf")),
    )
    print(f"{ending.reason} {ending.node}")
    launcher.exit_process(ending.exit_code)


if __name__ == "__main__":
    main()
