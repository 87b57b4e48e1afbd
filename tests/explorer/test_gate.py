"""What reaches Django, and what is answered where Django cannot."""

import asyncio
import encodings
import io
import json
import math
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.handlers.wsgi import WSGIRequest

from explorer.answers_of_the_gate import broken, busy, cut_short
from explorer.gate import HELD_BYTES, WAITING, Gate
from explorer.unread_answers import LARGE, MOST
from explorer.wsgi_call import Answer, answered, environ_of

pytestmark = pytest.mark.no_database
SCOPE = {
    "method": "GET",
    "raw_path": b"/a%2Fb/%ff",
    "query_string": b"q=%20",
    "http_version": "1.1",
    "server": ("127.0.0.1", "8000"),
    "client": ("192.0.2.1", 4711),
    "scheme": "http",
    "headers": [],
}
Start = Callable[..., Any]


def _run(asked: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: a browser's test has a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, asked).result()


def _environ(*headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return environ_of(SCOPE | {"headers": headers})


def test_who_asks_for_what() -> None:
    environ = _environ((b"host", b"a.example"), (b"content-type", b"text/plain"))
    told = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/a/b/\xff",
        "QUERY_STRING": "q=%20",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "REMOTE_ADDR": "192.0.2.1",
        "SCRIPT_NAME": "",
        "HTTP_HOST": "a.example",
        "CONTENT_TYPE": "text/plain",
        "wsgi.url_scheme": "http",
    }
    assert {name: environ[name] for name in told} == told
    assert {name for name in environ if name.startswith(("HTTP_", "CONTENT_"))} == {
        "HTTP_HOST",
        "CONTENT_TYPE",
    }


def test_what_is_said_twice_is_joined_and_no_underscore_passes_for_a_hyphen() -> None:
    environ = _environ(
        (b"x_forwarded_for", b"198.51.100.1"),
        (b"x-forwarded-for", b"\xff, 192.0.2.7"),
        (b"x-forwarded-for", b"192.0.2.8"),
        (b"x_forwarded_proto", b"https"),
        (b"content_length", b"5"),
        (b"cookie", b"a=1"),
        (b"cookie", b"b=2"),
        (b"cookie", b"c=\xc3\xa9"),
        (b"api-key", b"\xff"),
    )
    assert environ["HTTP_X_FORWARDED_FOR"] == "\xff, 192.0.2.7,192.0.2.8"
    assert environ["HTTP_COOKIE"] == "a=1;b=2;c=\xc3\xa9"
    assert environ["HTTP_API_KEY"] == "\xff"
    assert "HTTP_X_FORWARDED_PROTO" not in environ
    assert "CONTENT_LENGTH" not in environ


def test_what_takes_the_square_of_its_length_to_read_is_cut() -> None:
    """Quoted semicolons: 32 kB of them kept Django busy for a second, on any page."""
    hostile = b'a/b;x="' + 32_000 * b";"
    environ = _environ((b"content-type", hostile), (b"accept", hostile), (b"accept", b"text/html"))
    assert (environ["CONTENT_TYPE"], environ["HTTP_ACCEPT"]) == ("a/b", "a/b,text/html")
    assert len(_environ((b"accept", 32_000 * b"a"))["HTTP_ACCEPT"]) == 1_000
    assert _environ((b"accept", b"a/b"), (b"accept", b"c/d"))["HTTP_ACCEPT"] == "a/b,c/d"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (b"text/html, */*;q=0.8", "text/html, */*;q=0.8"),
        (b"a/b;v=b3;q=0.9,c/d; Q=1 ;x", "a/b;q=0.9,c/d; Q=1 "),
        (b"a/b;q*=made-up''1;x* =made-up%27%27a;q=1'", "a/b"),
        (b"a/b;;;=;q=", "a/b"),
    ],
)
def test_of_types_that_are_accepted_their_weight_is_read(said: bytes, read: str) -> None:
    assert _environ((b"accept", said))["HTTP_ACCEPT"] == read


def test_no_charset_that_a_client_makes_up_is_looked_up() -> None:
    """Python keeps the name of each for ever, and Django decodes the address by one."""
    kept: dict[str, Any] = vars(encodings)["_cache"]
    asked = "never-heard-of-{}-{}"
    for place, said in enumerate(
        [
            "a/b;charset={}",
            "a/b;x*={}''a",
            "a/b;x* ={}%27%27a",
            'a/b;x="{}"',
            "a/b;charset*0*={}''a",
        ]
    ):
        value = said.format(asked.format(place, "in-a-type")).encode()
        request = WSGIRequest(
            _environ((b"content-type", value), (b"accept", value)) | {"wsgi.input": io.BytesIO()}
        )
        assert not request.content_params
        assert request.get_preferred_type(["text/html", "a/b"]) == "a/b"
    assert not [name for name in kept if "never_heard_of" in name]


def test_of_many_cookies_those_that_are_long_are_left_out() -> None:
    """Nobody is signed out by those of other services of the same domain."""
    long = b'other="' + 3_900 * b"\\" + b'"'
    assert _environ((b"cookie", long))["HTTP_COOKIE"] == long.decode()
    told = _environ((b"cookie", long), (b"cookie", b"session=x; " + long), (b"cookie", b"visit=y"))
    assert told["HTTP_COOKIE"] == "session=x;visit=y"
    for cookies in (
        [b'a="' + 30_000 * b"\\" + b'"'],
        [b'a="' + 990 * b"\\" + b'"' for _ in range(32)],
        [30_000 * b";"],
        [300 * b";" for _ in range(100)],
        [8_000 * b"a=b;"],
    ):
        environ = _environ(*[(b"cookie", each) for each in cookies])
        assert len(environ["HTTP_COOKIE"]) <= 8_000
        begin = time.process_time()
        WSGIRequest(environ | {"wsgi.input": io.BytesIO()}).COOKIES  # noqa: B018  (it is read)
        assert time.process_time() - begin < 0.2


@pytest.mark.parametrize("answer", [busy, cut_short, broken])
def test_what_is_answered_without_django_has_the_headers_of_its_answers(
    settings: LazySettings, answer: Callable[[dict[str, Any]], Answer]
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_HSTS_SECONDS = 60
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = settings.SECURE_HSTS_PRELOAD = True
    plain, safe = _environ(), _environ((b"x-forwarded-proto", b"https"))
    told = dict(answer(safe).headers)
    assert told[b"Strict-Transport-Security"] == b"max-age=60; includeSubDomains; preload"
    assert told[b"X-Content-Type-Options"] == b"nosniff"
    assert told[b"X-Frame-Options"] == b"DENY"
    assert told[b"Referrer-Policy"] == b"same-origin"
    assert set(told) - set(dict(answer(plain).headers)) == {b"Strict-Transport-Security"}


async def _answer(gate: Gate, length: int = 0, pieces: Iterable[bytes] = ()) -> tuple[int, bytes]:
    """Status and body, of a client that sends these pieces and waits."""
    coming = iter(pieces)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if (piece := next(coming, None)) is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-length", str(length).encode())] if length else []
    await gate(SCOPE | {"headers": headers}, receive, send)
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


@pytest.mark.parametrize("longest", [7, 10])
def test_a_body_that_is_refused_unread_is_taken_and_kept_by_nobody(longest: int) -> None:
    """So is one that is too long for all who would read it."""
    given = list[bytes]()

    def application(environ: dict[str, Any], start: Start) -> list[bytes]:
        given.append(environ["wsgi.input"].read())
        start("413 Too large", [])
        return [environ["CONTENT_LENGTH"].encode()]

    refused = longest == 10
    gate = Gate(application, threads=1, longest=longest, refused_unread=lambda _request: refused)
    taken = iter([b"1234", b"5678"])

    async def asked() -> None:
        assert await _answer(gate, 8, taken) == (413, b"8")

    _run(asked())
    assert (given, list(taken)) == ([b""], [])


def _told(body: bytes) -> tuple[str, bool]:
    refusal = json.loads(body)
    assert list(refusal) == ["error", "code", "path", "retryable"]
    return refusal["code"], refusal["retryable"]


def test_when_too_many_wait_the_next_is_told_so_at_once() -> None:
    go = threading.Event()

    def application(_environ: dict[str, Any], start: Start) -> list[bytes]:
        go.wait(20)
        start("200 OK", [])
        return [b"well"]

    async def ask() -> None:
        gate = Gate(application, threads=2, longest=10)
        first = [asyncio.ensure_future(_answer(gate)) for _ in range(2 * (1 + WAITING))]
        await asyncio.sleep(0.1)
        status, body = await asyncio.wait_for(_answer(gate), 5)
        assert (status, *_told(body)) == (503, "unavailable", True)
        go.set()
        assert await asyncio.gather(*first) == len(first) * [(200, b"well")]
        assert await _answer(gate) == (200, b"well")

    _run(ask())


def test_bodies_are_held_up_to_a_bound() -> None:
    """Those that are whole and wait; nothing can give way to who comes next."""
    go = threading.Event()

    def application(environ: dict[str, Any], start: Start) -> list[bytes]:
        go.wait(20)
        start("200 OK", [])
        return [str(len(environ["wsgi.input"].read())).encode()]

    async def ask() -> None:
        gate = Gate(application, threads=1, longest=HELD_BYTES)
        most = HELD_BYTES - 10
        large = asyncio.ensure_future(_answer(gate, most, [bytes(most)]))
        await asyncio.sleep(0.1)
        status, body = await _answer(gate, 11, [b"1234", b"5678901"])
        assert (status, *_told(body)) == (503, "unavailable", True)
        small = asyncio.ensure_future(_answer(gate, 10, [b"1234", b"567890"]))
        await asyncio.sleep(0.1)
        go.set()
        assert await large == (200, str(most).encode())
        assert await small == (200, b"10")
        assert await _answer(gate, 11, [b"12345678901"]) == (200, b"11")

    _run(ask())


def test_who_has_been_sending_for_longest_gives_way() -> None:
    def application(environ: dict[str, Any], start: Start) -> list[bytes]:
        start("200 OK", [])
        return [str(len(environ["wsgi.input"].read())).encode()]

    async def ask() -> None:
        gate = Gate(application, threads=1, longest=HELD_BYTES)
        half = bytes(HELD_BYTES // 2)
        slow = [asyncio.ensure_future(_answer(gate, HELD_BYTES, [half])) for _ in range(2)]
        await asyncio.sleep(0.1)
        assert await _answer(gate, 10, [b"1234", b"567890"]) == (200, b"10")
        status, body = await asyncio.wait_for(slow[0], 5)
        assert (status, *_told(body)) == (503, "unavailable", True)
        assert not slow[1].done()
        assert await _answer(gate, 2 * len(half), [half, half]) == (200, str(HELD_BYTES).encode())
        assert (await asyncio.wait_for(slow[1], 5))[0] == 503
        assert await _answer(gate, HELD_BYTES, [half, half]) == (200, str(HELD_BYTES).encode())

    _run(ask())


class Downloads:
    """Large answers, of which nothing but the beginning is there, and who asks for them."""

    def __init__(self) -> None:
        self.gate = Gate(self._application, threads=1, longest=10)
        self.files: list[io.BytesIO] = []

    def _application(self, environ: dict[str, Any], start: Start) -> Any:
        start("200 OK", [("Content-Length", environ["QUERY_STRING"])])
        self.files.append(io.BytesIO(bytes(2**19)))
        return environ["wsgi.file_wrapper"](self.files[-1])

    async def begin(
        self, size: int, *, takes: float = 0, method: str = "GET"
    ) -> tuple[int, asyncio.Future[None]]:
        """Status, and the sending, to a reader who takes so many pieces and stands still."""
        began = asyncio.get_running_loop().create_future()
        taken = 0

        async def receive() -> dict[str, Any]:
            await asyncio.get_running_loop().create_future()
            return {}

        async def send(message: dict[str, Any]) -> None:
            nonlocal taken
            if not began.done():
                began.set_result(message["status"])
            elif message.get("more_body"):
                if taken >= takes:
                    await asyncio.get_running_loop().create_future()
                taken += 1

        scope = SCOPE | {"query_string": str(size).encode(), "method": method}
        sending = asyncio.ensure_future(self.gate(scope, receive, send))
        status = int(await began)
        await asyncio.sleep(0.02)
        return status, sending


def test_large_answers_wait_for_their_readers_up_to_a_bound() -> None:
    """Whoever has them made and does not read fills no disk, and keeps nobody from theirs."""

    async def ask() -> None:
        downloads = Downloads()
        unread = [await downloads.begin(MOST // 4) for _ in range(4)]
        assert [status for status, _ in unread] == 4 * [200]
        status, whole = await downloads.begin(LARGE + 1, takes=math.inf)
        assert (status, whole.done()) == (200, True)
        assert [sending.done() for _, sending in unread] == [True, False, False, False]
        assert [file.closed for file in downloads.files] == [True, False, False, False, True]
        assert unread[0][1].exception() is None
        small = [await downloads.begin(LARGE) for _ in range(10)]
        bodiless, _ = await downloads.begin(MOST, method="HEAD")
        assert (bodiless, [status for status, _ in small]) == (200, 10 * [200])
        assert not unread[1][1].done()
        for _, sending in (*unread[1:], *small):
            sending.cancel()

    _run(ask())


def test_who_leaves_a_large_answer_has_the_rest_of_it_read_by_nobody() -> None:
    """Whoever sends to one that is gone waits for nothing, and would have all others wait."""
    taken = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(_message: dict[str, Any]) -> None:
        nonlocal taken
        taken += 1

    async def ask() -> None:
        downloads = Downloads()
        scope = SCOPE | {"query_string": b"1000", "method": "GET"}
        await asyncio.wait_for(downloads.gate(scope, receive, send), 5)

    _run(ask())
    assert taken < 5  # of eight pieces, with the head and the end


def test_who_reads_slowest_gives_way() -> None:
    async def ask() -> None:
        downloads = Downloads()
        _, reads = await downloads.begin(MOST // 2, takes=7)
        _, does_not = await downloads.begin(MOST // 2)
        assert (await downloads.begin(MOST // 2, takes=math.inf))[0] == 200
        assert (reads.done(), does_not.done()) == (False, True)
        reads.cancel()

    _run(ask())


def test_what_is_larger_than_all_that_may_wait_is_sent_alone_or_not_at_all() -> None:
    async def ask() -> None:
        downloads = Downloads()
        _, first = await downloads.begin(LARGE + 1)
        assert (await downloads.begin(MOST + 1))[0] == 503
        assert downloads.files[-1].closed
        assert not first.done()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        status, alone = await downloads.begin(MOST + 1)
        assert (status, alone.done()) == (200, False)
        alone.cancel()

    _run(ask())


def test_what_comes_in_pieces_is_sent_whole_and_with_its_length() -> None:
    pieces = [bytes([n]) * 50_000 for n in range(7)]

    def application(_environ: dict[str, Any], start: Start) -> Iterator[bytes]:
        start("200 OK", [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
        yield from pieces

    call: Any = application
    answer = answered(call, environ_of(SCOPE), b"")
    with answer.body as body:
        assert body.read() == b"".join(pieces)
    assert answer.headers == [
        (b"Set-Cookie", b"a=1"),
        (b"Set-Cookie", b"b=2"),
        (b"Content-Length", b"350000"),
    ]


def test_an_answer_that_breaks_off_is_none() -> None:
    closed = []

    class Pieces:
        def __iter__(self) -> Iterator[bytes]:
            yield b"half"
            raise ValueError

        def close(self) -> None:
            closed.append(True)

    def application(_environ: dict[str, Any], start: Start) -> Pieces:
        start("200 OK", [])
        return Pieces()

    async def ask() -> None:
        status, body = await _answer(Gate(application, threads=1, longest=10))
        assert (status, *_told(body)) == (500, "fault_of_ours", True)

    _run(ask())
    assert closed == [True]
