"""A real server between a checker and the pages, which answers some of them otherwise."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import requests

from tests.chaos.evidence import Scene
from tests.quiet_server import QuietServer, serving


@contextmanager
def answered_otherwise(
    scene: Scene, which: str, status: int, content: Callable[[str], str] = lambda _: ""
) -> Iterator[Scene]:
    """The scene with this server as its site: pages whose path fits `which` have another status,
    and what `content` makes of theirs.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name: value for name, value in self.headers.items() if name != "Host"}
            true = requests.get(f"{scene.site}{self.path}", headers=headers, timeout=30)
            is_otherwise = re.search(which, self.path) is not None
            text = content(true.text) if is_otherwise else true.text
            self.send_response(status if is_otherwise else true.status_code)
            self.send_header("Content-Type", true.headers["Content-Type"])
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """It has nothing to say to whoever runs the tests."""

    with serving(QuietServer(("127.0.0.1", 0), Handler)) as port:
        yield replace(scene, site=f"http://127.0.0.1:{port}")
