"""Tests of rlcomponents.dashboard.server, over HTTP."""

import contextlib
import http.client
import json
import re
import socket
import threading

import pytest

from rlcomponents.dashboard import curves as run_curves
from rlcomponents.dashboard import data, server
from rlcomponents.runs import curves, run_folder


@pytest.fixture
def folder(tmp_path):
    folder = run_folder.RunFolder.create(tmp_path / "run")
    folder.write_config({"agent": "dqn", "environment": "catch"})
    (folder.logs / "actor-0.log").write_text("one\n")
    return folder


@pytest.fixture
def serving(folder):
    with server.DashboardServer(data.Dashboard([folder.path])) as opened:
        thread = threading.Thread(target=opened.serve_forever, args=(0.01,))
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


@pytest.fixture
def ask(serving):
    """Returns the status, the headers and the body of an answer."""

    def asked(path, method="GET", headers=None, body=None):
        connection = http.client.HTTPConnection(*serving.server_address, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    return asked


@pytest.mark.parametrize(
    ("path", "kind", "content"),
    [
        ("/", "text/html; charset=utf-8", "<!doctype html>"),
        ("/app.js", "text/javascript; charset=utf-8", '"use strict"'),
        ("/style.css", "text/css; charset=utf-8", "prefers-color-scheme: dark"),
        ("/icon.svg", "image/svg+xml", "<svg"),
    ],
)
def test_the_page_is_served_with_its_parts(ask, path, kind, content):
    status, headers, body = ask(path)
    assert status == 200
    assert headers["Content-Type"] == kind
    assert content in body


def test_the_question_of_the_page_is_answered(ask):
    status, headers, body = ask("/poll?run=0&over=updates&curve=0:&log=actor-0")
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    answer = json.loads(body)
    assert answer["curves"]["0"]["problem"] == "no evaluation yet"
    assert answer["log"]["text"] == "one\n"


@pytest.mark.parametrize("path", ["/", "/app.js", "/poll", "/nothing"])
def test_every_answer_forbids_code_from_elsewhere_and_keeping(ask, path):
    _, headers, _ = ask(path)
    assert headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"


def test_the_page_has_no_code_or_style_in_line_and_asks_nobody_else(ask):
    page, code, style = (ask(path)[2] for path in ("/", "/app.js", "/style.css"))
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script>|<script(?! src=)", page)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == {
        "app.js",
        "style.css",
        "icon.svg",
    }
    assert re.findall(r"https?://[^\"' ]*", page + code + style) == [
        "http://www.w3.org/2000/svg"  # A name, which nobody asks.
    ]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write", code)


def test_the_page_offers_every_axis_and_curve(ask):
    options = set(re.findall(r'<option value="(\w+)"', ask("/")[2]))
    assert options == {*curves.AXES, *run_curves.SOURCES}


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "", "[::1]"]
)
def test_another_name_for_this_machine_is_refused(ask, name):
    for path in ("/", "/poll"):
        status, _, body = ask(path, headers={"Host": name})
        assert status == 403
        assert "actor" not in body


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST:9"])
def test_this_machine_by_its_own_names_is_answered(ask, name):
    assert ask("/poll", headers={"Host": name})[0] == 200


def test_two_names_or_none_are_refused(serving):
    for names in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
        with socket.create_connection(serving.server_address, 30) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n" + names + b"\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_nothing_but_get_is_answered(ask, method):
    status, headers, _ = ask("/", method, body=b"x")
    assert status == 405
    assert headers["Allow"] == "GET"
    assert headers["Connection"] == "close"


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/static/app.js",
        "/%2e%2e/%2e%2e/config.json",
        "/logs/actor-0.log",
        "http://127.0.0.1/nothing",
    ],
)
def test_no_path_of_a_request_is_opened(ask, path):
    assert ask(path)[0] == 404


def test_a_log_outside_the_run_is_not_found(ask):
    log = json.loads(ask("/poll?log=../config")[2])["log"]
    assert log == {"problem": "There is no log '../config' in this run."}


@pytest.mark.parametrize(
    "query", ["run=1", "run=-1", "run=x", "over=x", "of=x", "curve=x:1", "offset=1e3"]
)
def test_what_is_no_question_is_a_sentence(ask, query):
    status, headers, body = ask(f"/poll?{query}")
    assert status == 400
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert body.endswith(".")


def test_one_connection_carries_many_questions(serving):
    connection = http.client.HTTPConnection(*serving.server_address, timeout=30)
    with contextlib.closing(connection):
        for _ in range(3):
            connection.request("GET", "/poll")
            opened = connection.sock
            assert connection.getresponse().read()
            assert connection.sock is opened


def test_only_this_machine_is_listened_to(serving):
    assert serving.server_address[0] == "127.0.0.1"
    assert serving.address == f"http://127.0.0.1:{serving.server_port}/"


def test_a_port_that_is_taken_is_refused(serving, folder):
    with pytest.raises(ValueError, match="Address already in use"):
        server.DashboardServer(data.Dashboard([folder.path]), serving.server_port)
