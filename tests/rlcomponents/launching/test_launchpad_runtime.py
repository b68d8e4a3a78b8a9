import threading

import launchpad as lp
import pytest

from rlcomponents.launching import launchpad_runtime


@pytest.fixture
def switch():
    made = launchpad_runtime.StopSwitch()
    uninstall = launchpad_runtime.install(made, made.turn)
    yield made
    uninstall()


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_wait_for_stop_says_whether_the_program_ends(switch):
    assert lp.wait_for_stop(0) is False
    switch.turn()
    assert lp.wait_for_stop(0) is True
    assert lp.stop_event().is_set()


def test_every_thread_hears_of_the_stop(switch):
    assert in_thread(lambda: lp.wait_for_stop(0)) is False
    switch.turn()
    assert in_thread(lambda: lp.wait_for_stop(0)) is True


def test_every_thread_can_stop_the_program(switch):
    in_thread(lp.stop)
    assert lp.stop_event().is_set()


def test_a_thread_can_have_a_switch_of_its_own(switch):
    def own():
        launchpad_runtime.use_in_this_thread(launchpad_runtime.StopSwitch())
        return lp.wait_for_stop(0)

    switch.turn()
    assert in_thread(own) is False
    assert lp.wait_for_stop(0) is True


def test_stop_handlers_are_called_once_each(switch, capsys):
    called = []

    def fails():
        raise ValueError("of a handler")

    lp.register_stop_handler(fails)
    lp.register_stop_handler(lambda: called.append(1))
    switch.turn()
    switch.turn()
    assert called == [1]
    assert "ValueError: of a handler" in capsys.readouterr().err


def test_outside_of_a_program_nothing_is_installed():
    made = launchpad_runtime.StopSwitch()
    launchpad_runtime.install(made, made.turn)()
    with pytest.raises(RuntimeError):
        lp.stop_event()
    with pytest.raises(RuntimeError, match="inside a node of a running program"):
        launchpad_runtime.stop_program()
