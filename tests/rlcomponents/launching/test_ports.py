import socket

import pytest

from rlcomponents.launching import ports


def test_programs_at_once_have_no_port_in_common():
    with ports.reserve(200) as one, ports.reserve(200) as other:
        assert len({*one, *other}) == 400


def test_ports_are_free_to_bind_and_apart_from_those_of_outgoing_connections():
    with ports.reserve(3) as reserved:
        for port in reserved:
            socket.create_server(("", port)).close()
            assert port < 32_768


def test_a_port_that_somebody_listens_on_is_not_free():
    with ports.reserve(2) as free, socket.create_server(("", free[0])):
        assert not ports._is_free(free[0])
        assert ports._is_free(free[1])


def test_a_port_is_given_back():
    with ports.reserve(1) as [port]:
        pass
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
        name.bind(f"\0rlcomponents.port.{port}")


def test_too_few_ports_are_an_error(monkeypatch):
    monkeypatch.setattr(ports, "_FIRST_PORT", 65_500)
    with (
        pytest.raises(RuntimeError, match="100 ports are needed, and only"),
        ports.reserve(100),
    ):
        pass
