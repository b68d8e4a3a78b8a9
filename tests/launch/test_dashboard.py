"""Tests of the script that shows runs in the browser, and of its page in Chromium."""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.parse

import pytest

from launch import dashboard
from rlcomponents.runs import run_folder

CHROMIUM, CHROMEDRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
NEEDS_CHROMIUM = pytest.mark.skipif(
    not (shutil.which(CHROMIUM) and shutil.which(CHROMEDRIVER)),
    reason=f"There is no {CHROMIUM} or no {CHROMEDRIVER}: install Debian's packages "
    "chromium and chromium-driver.",
)


def make_run(path):
    folder = run_folder.RunFolder.create(path)
    folder.write_config({"agent": "dqn", "environment": "catch", "seed": 0})
    return folder


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["first", "--port=65536"], "--port is 65536: it must be a port, 1 to 65535"),
        (["first", "--port=http"], "--port is 'http': it must be a whole number"),
        (["first", "second"], "second holds no run (config.json: No such file"),
        ([], "The following arguments are required: RUN_DIR"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(empty_folder, refusal, argv, sentence):
    make_run("first")
    assert refusal(dashboard.main, *argv).startswith(sentence)


def test_a_port_in_use_is_refused_in_a_sentence(empty_folder, refusal):
    make_run("first")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refusal(dashboard.main, "first", f"--port={port}")
    assert sentence.startswith(
        f"Port {port} of 127.0.0.1 cannot be had (Address already in use): give "
    )


class Browser:
    """Headless Chromium, driven by ChromeDriver's own protocol (W3C WebDriver)."""

    def __init__(self, profile, *, width=1200, height=1000):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._driver = subprocess.Popen(
            [CHROMEDRIVER, f"--port={self._port}"], stdout=subprocess.DEVNULL
        )
        arguments = [
            "--headless",
            "--no-sandbox",  # Chromium's own cannot be had as root in a container.
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
        ]
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        try:
            self._wait_for_driver()
            self._session = ""
            answer = self._ask("", {"capabilities": {"alwaysMatch": capabilities}})
            self._session = f"/{answer['sessionId']}"
        except BaseException:
            self._driver.kill()
            raise

    def close(self):
        with contextlib.suppress(OSError):
            self._ask("", method="DELETE")
        self._driver.terminate()
        self._driver.wait(30)

    def open(self, address):
        self._ask("/url", {"url": address})

    def run(self, script, *arguments):
        """Returns what a script returns."""
        return self._ask("/execute/sync", {"script": script, "args": arguments})

    def wait_for(self, script, timeout_secs=60.0):
        """Returns what a script returns once that is true."""
        deadline = time.monotonic() + timeout_secs
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, f"Never true: {script}"
            time.sleep(0.2)
        return value

    def resize(self, width, height):
        self._ask("/window/rect", {"width": width, "height": height})

    def screenshot(self):
        """Returns a PNG in base64."""
        return self._ask("/screenshot", method="GET")

    def console(self):
        """Returns what the browser has noted on the console since the last call."""
        return [entry["message"] for entry in self._log("browser")]

    def hosts_asked(self):
        """Returns the hosts that pages of ours have asked since the last call."""
        messages = [
            json.loads(entry["message"])["message"]
            for entry in self._log("performance")
        ]
        urls = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        parts = [urllib.parse.urlsplit(url) for url in urls]
        # Chromium's own first page is made of `chrome://` and `data:`.
        return {x.hostname for x in parts if x.scheme not in ("chrome", "data")}

    def _log(self, kind):
        return self._ask("/se/log", {"type": kind})

    def _wait_for_driver(self):
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            assert self._driver.poll() is None, "ChromeDriver has ended."
            time.sleep(0.1)
        raise AssertionError("ChromeDriver does not listen.")

    def _ask(self, path, content=None, method="POST"):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        with contextlib.closing(connection):
            body = json.dumps(content) if method == "POST" else None
            connection.request(method, f"/session{self._session}{path}", body)
            value = json.load(connection.getresponse())["value"]
        assert not (isinstance(value, dict) and "error" in value), value
        return value


@pytest.fixture
def browser(tmp_path):
    with contextlib.closing(Browser(tmp_path / "profile")) as opened:
        yield opened


@pytest.fixture
def serve(start, empty_folder):
    """Starts the script; returns it and the page's address."""

    def started(*run_dirs):
        script = start("dashboard", empty_folder, *run_dirs)
        line = script.process.stdout.readline()
        return script, re.match(r"http://127\.0\.0\.1:\d+/", line)[0]

    return started


@pytest.mark.integration
def test_ctrl_c_ends_it_quietly(empty_folder, serve):
    make_run("first")
    script, _ = serve("first")
    script.interrupt()
    assert script.wait() == (130, "", "")


STEPS_OF_BUNDLE = """
const row = document.querySelector('#nodes [data-key="bundle/0"]');
return row && row.querySelector('td.number') ? row.innerText : '';
"""


@NEEDS_CHROMIUM
@pytest.mark.integration
def test_the_page_shows_the_live_numbers_of_a_running_program(
    empty_folder, start, serve, browser
):
    training = start(
        "gorila_dqn",
        empty_folder,
        "--environment=catch",
        "--run_dir=live",
        "--max_steps=1000000",
        "--num_bundles=1",
        "--evaluation_period_steps=500",
        "--quiet",
    )
    training.wait_until(pathlib.Path("live/nodes.json").exists)
    _, address = serve("live")
    browser.open(address)

    first = browser.wait_for(STEPS_OF_BUNDLE)
    browser.wait_for(
        f"const before = {json.dumps(first)};"
        f"const now = (() => {{ {STEPS_OF_BUNDLE} }})(); return now && now !== before"
    )
    taken = "return document.querySelector('#totals dd small')?.textContent"
    before = browser.wait_for(taken)
    assert re.fullmatch(r"[\d,]+ taken", before)
    browser.wait_for(f"{taken} !== {json.dumps(before)}")
    assert "running" in browser.run("return document.title")
    # The graph, with its arrows, and the learning curve.
    assert "bundle x 1, calls parameters" in browser.run(
        "return document.querySelector('#graph svg').getAttribute('aria-label')"
    )
    browser.wait_for("return document.querySelectorAll('#chart .point').length > 1")
    browser.wait_for("return document.querySelector('#log').textContent.length > 0")

    assert browser.console() == []
    assert browser.hosts_asked() == {"127.0.0.1"}


@NEEDS_CHROMIUM
@pytest.mark.integration
def test_words_of_a_run_stay_words(empty_folder, serve, browser):
    markup = "<img src=x onerror=document.title='caught'><script>alert(1)</script>"
    folder = make_run("<b>run")
    folder.write_config({"agent": markup, "environment": markup, "seed": markup})
    (folder.logs / "actor-0.log").write_text(f"{markup}\n")
    row = {"name": f"{markup}/0", "state": markup, "log_path": "logs/actor-0.log"}
    folder.nodes_json.write_text(json.dumps([row]))
    _, address = serve("<b>run")
    browser.open(address)

    browser.wait_for("return document.querySelector('#log').textContent.length > 0")
    shown = browser.run("return document.body.textContent")
    assert shown.count(markup) >= 5
    tags = "return document.querySelectorAll('main b:not(#legend b), img, main script')"
    assert browser.run(f"{tags}.length") == 0
    assert browser.run("return document.title") != "caught"
    assert browser.console() == []


@NEEDS_CHROMIUM
@pytest.mark.integration
def test_a_run_that_vanishes_is_said_in_the_page(empty_folder, serve, browser):
    make_run("first")
    _, address = serve("first")
    browser.open(address)
    browser.wait_for("return document.title === 'first: has not begun'")

    shutil.rmtree("first")

    browser.wait_for("return document.title === 'first: is gone'")
    assert "is gone: it was moved or deleted." in browser.run(
        "return document.querySelector('#problems').textContent"
    )
    assert browser.console() == []


@NEEDS_CHROMIUM
@pytest.mark.integration
def test_nothing_is_wider_than_a_narrow_screen(empty_folder, serve, browser):
    make_run("first")
    _, address = serve("first")
    browser.resize(500, 900)
    browser.open(address)
    browser.wait_for("return document.title === 'first: has not begun'")

    width = "document.documentElement"
    assert browser.run(f"return {width}.scrollWidth <= {width}.clientWidth")
