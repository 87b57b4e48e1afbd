"""A request as Django's WSGI handler takes it (PEP 3333), and what it answers, whole."""

import io
import logging
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIApplication

from django.http import HttpResponse

log = logging.getLogger("tacitus.serve")

BODY_CAME_LATE = "tacitus.body_came_late"  # in an environ: the rest of the body was not waited for
IN_MEMORY = 65_536  # bytes of an answer; a longer one waits for its reader on the disk


class OpenFile:
    """What Django hands on, where PEP 3333 lets it, instead of a file's pieces."""

    def __init__(self, file: IO[bytes], _block_size: int = 0) -> None:
        self.file = file

    def close(self) -> None:
        self.file.close()


THE_SAME = {
    "SCRIPT_NAME": "",
    "wsgi.version": (1, 0),
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
    "wsgi.file_wrapper": OpenFile,
}
# Django takes the square of the length to read what these say, and has Python look up any charset
# that they name, which keeps each name for ever, and decodes the address by it. So of all that may
# stand beside a type, the weight of one that is accepted is left.
LONGEST_OF_TYPES = 1_000
BESIDE_A_TYPE = re.compile(r";(?!\s*q=[0-9.]+\s*(?:[,;]|$))[^,;]*", re.IGNORECASE)
# Of a quoted cookie some releases of Python take the square too (CVE-2024-7592).
MOST_OF_COOKIES, LONGEST_COOKIE, MOST_OF_SHORT_ONES = 4_000, 1_000, 8_000
ONCE = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


@dataclass(frozen=True, slots=True)
class Answer:
    """Who sends it reads the body from its beginning, and closes it."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: IO[bytes]

    @classmethod
    def of(cls, response: HttpResponse) -> "Answer":
        return cls(response.status_code, _encoded(response.items()), io.BytesIO(response.content))


def environ_of(scope: dict[str, Any]) -> dict[str, Any]:
    """Of an ASGI scope, without the body.

    A header whose name has an underscore is left out: in an environ it would pass for the one with
    a hyphen, which the proxy in front sets.
    """
    server, port = scope["server"]
    request = {
        **THE_SAME,
        "REQUEST_METHOD": scope["method"],
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server,
        "SERVER_PORT": str(port),
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.url_scheme": scope["scheme"],
    }
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        text = value.decode("latin-1")
        if key := ONCE.get(name):
            request.setdefault(key, _cut(name, text))
            continue
        key = f"HTTP_{name.decode().upper().replace('-', '_')}"
        if key in request:
            text = f"{request[key]}{';' if name == b'cookie' else ','}{text}"
        request[key] = _cut(name, text)
    if len(cookies := request.get("HTTP_COOKIE", "")) > MOST_OF_COOKIES:
        request["HTTP_COOKIE"] = _without_long_ones(cookies)
    return request


def _cut(name: bytes, text: str) -> str:
    if name == b"content-length":
        return text.lstrip("0") or "0"  # of thousands of digits Python makes no number
    if name == b"content-type":
        return text[:LONGEST_OF_TYPES].partition(";")[0]
    if name == b"accept":
        return BESIDE_A_TYPE.sub("", text[:LONGEST_OF_TYPES])
    return text


def _without_long_ones(cookies: str) -> str:
    """Ours are short, and stay: those of other services of the same domain come here, too."""
    found, kept, size = cookies.split(";"), set[int](), 0
    for length, place in sorted((len(each), place) for place, each in enumerate(found)):
        size += length + 1
        if length > LONGEST_COOKIE or size > MOST_OF_SHORT_ONES:
            break
        kept.add(place)
    return ";".join(each for place, each in enumerate(found) if place in kept)


def answered(
    application: WSGIApplication, request: dict[str, Any], body: bytes | bytearray
) -> Answer:
    """In a thread. What comes in pieces is gathered, on the disk if it is long, so that no thread
    waits for a reader, and who reads knows its length. A file is read when it is sent.
    """
    request["wsgi.input"] = io.BytesIO(bytes(body))  # which is read whole without another copy
    status, headers = 0, list[tuple[str, str]]()

    def start(line: str, named: list[tuple[str, str]], _fault: object = None) -> Any:
        nonlocal status, headers
        status, headers = int(line[:3]), named

    pieces: Any = application(request, start)
    bodiless = status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
    bodiless |= request["REQUEST_METHOD"] == "HEAD"
    if isinstance(pieces, OpenFile) and not bodiless:
        return Answer(status, _encoded(headers), pieces.file)
    try:
        if bodiless:
            return Answer(status, _encoded(headers), io.BytesIO())
        gathered = _gathered(pieces)
    finally:
        if close := getattr(pieces, "close", None):
            close()
    if not any(name.lower() == "content-length" for name, _ in headers):
        headers = [*headers, ("Content-Length", str(gathered.tell()))]
    gathered.seek(0)
    return Answer(status, _encoded(headers), gathered)


def _gathered(pieces: Iterable[bytes]) -> IO[bytes]:
    gathered: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  (the sender closes it)
    try:
        for piece in pieces:
            gathered.write(piece)
    except BaseException:
        gathered.close()
        raise
    return gathered


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
