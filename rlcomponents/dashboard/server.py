"""Serves the page, to browsers on this machine only.

Other pages in the same browser are strangers here. They can send requests, so nothing
but GET is answered, and GET changes nothing. They can give their own name the address
of this machine (DNS rebinding), so the name that was asked for has to be ours. No path
of a request is opened: it is looked up among the few that there are.
"""

import http
import http.server
import pathlib
import re
import socketserver
import sys
import urllib.parse
from typing import Any

from rlcomponents.dashboard import data

HOST = "127.0.0.1"
"""The only address that is listened at."""

_STATIC = pathlib.Path(__file__).parent / "static"
_PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_OUR_NAMES = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?", re.IGNORECASE)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_IDLE_SECS = 60.0


class DashboardServer(http.server.ThreadingHTTPServer):
    """Listens from its making on; `serve_forever` answers.

    Attributes:
        address: Of the page.
        dashboard: What answers are made of.
        pages: The files of the page, by path.
        daemon_threads: Answers that still go on do not hold up the end.
    """

    daemon_threads = True

    def __init__(self, dashboard: data.Dashboard, port: int = 0) -> None:
        """Takes a port.

        Args:
            dashboard: Answers what the page asks.
            port: 0: one that is free.

        Raises:
            ValueError: The port cannot be had.
        """
        self.dashboard = dashboard
        self.pages = {
            path: (_STATIC.joinpath(name).read_bytes(), kind)
            for path, (name, kind) in _PAGES.items()
        }
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise ValueError(
                f"Port {port} of {HOST} cannot be had ({error.strerror}): give "
                "another, or 0 for one that is free."
            ) from error
        self.address = f"http://{HOST}:{self.server_address[1]}/"

    def server_bind(self) -> None:
        """Binds, and asks no name server for the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Passes over browsers that go away in the middle of an answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: DashboardServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECS

    def do_GET(self) -> None:
        """Answers a request."""
        names = self.headers.get_all("Host", [])
        if len(names) != 1 or not _OUR_NAMES.fullmatch(names[0]):
            self.send_error(
                http.HTTPStatus.FORBIDDEN,
                f"This page is for {HOST} and localhost only.",
            )
            return
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/poll":
            try:
                answer = self.server.dashboard.answer(_question(url.query))
            except ValueError as error:
                self.send_error(http.HTTPStatus.BAD_REQUEST, str(error))
                return
            self._send(http.HTTPStatus.OK, answer, "application/json")
        elif url.path in self.server.pages:
            self._send(http.HTTPStatus.OK, *self.server.pages[url.path])
        else:
            self.send_error(http.HTTPStatus.NOT_FOUND, "There is no such page.")

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answers with a sentence; what else the client sent is not read."""
        if code == http.HTTPStatus.NOT_IMPLEMENTED:  # A method without a `do_...`.
            code, message = http.HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is answered."
        self.close_connection = True
        text = (message or http.HTTPStatus(code).phrase).encode()
        self._send(http.HTTPStatus(code), text, "text/plain; charset=utf-8")

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing: a page asks once a second."""

    def version_string(self) -> str:
        """Tells strangers no versions."""
        return "rlcomponents"

    def _send(self, status: http.HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if status == http.HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _question(query: str) -> data.Question:
    """Reads `run=0&of=evaluation&over=updates&curve=0:1.7&curve=2:&log=...&offset=9`.

    Raises:
        ValueError: It is none.
    """
    fields = urllib.parse.parse_qs(query, keep_blank_values=True, max_num_fields=500)
    given = {name: values[-1] for name, values in fields.items()}
    versions = {}
    for text in fields.get("curve", []):
        index, _, version = text.partition(":")
        versions[_count(index)] = version
    return data.Question(
        run=_count(given.get("run", "0")),
        of=given.get("of", data.Question().of),
        over=given.get("over", data.Question().over),
        versions=versions,
        log=given.get("log"),
        offset_bytes=_count(given["offset"]) if "offset" in given else None,
    )


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise ValueError(f"{text!r} is no count.")
    return int(text)
