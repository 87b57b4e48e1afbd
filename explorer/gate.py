"""What stands between the network and Django, and waits for slow clients so that no thread does.

Granian calls it on the event loop of a process. A body is read there, within a time; only a whole
request goes to Django, in one of a few threads; and what Django answers is sent from the loop
again, as fast as its reader takes it. Whoever goes away in the middle of a body has asked for
nothing; what came here whole is done whole, whether somebody waits for the answer or not. Who ends
his own side of a connection is gone, to the server that stands before this.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from enum import Enum, auto
from typing import Any
from wsgiref.types import WSGIApplication

from explorer.answers_of_the_gate import broken, busy, cut_short
from explorer.unread_answers import LARGE, Reader, UnreadAnswers
from explorer.wsgi_call import BODY_CAME_LATE, Answer, answered, environ_of

log = logging.getLogger("tacitus.serve")

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_SECONDS = 10.0  # for the whole of a body
CHUNKS_SECONDS = 2.0  # for as many of them as come, before they are refused
PIECE_SECONDS = 20.0  # in which a reader takes a piece of an answer
PIECE = 65_536  # bytes
PASSED_OVER = 16 * 2**20  # bytes: a body that nobody keeps is taken up to this length
HELD_BYTES = 32 * 2**20  # of the bodies of all requests of a process, until each is answered
WAITING = 50  # requests for each thread; who comes after them is told to come again


class Came(Enum):
    """What became of a body."""

    WHOLE = auto()
    LATE = auto()
    CUT_SHORT = auto()  # by its client, who mostly went away
    NO_ROOM = auto()


class Gate:
    """`longest` is the most bytes of a body that Django may read. What is longer is refused there,
    and so is what is `refused_unread`: both are taken here and kept by nobody, for a client that
    is answered before it has sent all may never read the answer, unless it waits for one. After
    what was not taken whole the connection is closed, and the answer says so: what is asked next
    over it would be lost.
    """

    def __init__(
        self,
        application: WSGIApplication,
        *,
        threads: int,
        longest: int,
        refused_unread: Callable[[dict[str, Any]], bool] = lambda _request: False,
    ) -> None:
        self._application = application
        self._threads = ThreadPoolExecutor(threads, "request")
        self._most = threads * (1 + WAITING)
        self._longest = longest
        self._refused_unread = refused_unread
        self._asked = 0  # requests that wait for a thread or have one
        self._held = 0  # bytes
        # Those that are not whole yet, the one that began first in front.
        self._coming: dict[asyncio.Timeout, bytearray] = {}
        self._says_busy = False
        self._unread = UnreadAnswers()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        request, taken = environ_of(scope), _Taken(receive)
        length = int(request.get("CONTENT_LENGTH") or 0)
        if "HTTP_TRANSFER_ENCODING" in request:
            # Chunks have no length, and nobody behind takes them.
            await _pass_over(request, PASSED_OVER, CHUNKS_SECONDS, taken)
            answer, send = await self._answer(request, b""), _closing(send)
        elif length:
            answer = await self._answer_to_a_body(request, length, taken)
            send = send if taken.bytes >= length else _closing(send)
        else:
            answer = await self._answer(request, b"")
        size = _size(answer, request)
        if size > LARGE:
            await self._send_large(size, answer, request, receive, send)
        else:
            await _send(answer, receive, send)

    async def _send_large(
        self, size: int, answer: Answer, request: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        def give_up() -> None:
            log.warning("Readers of large answers are too slow or too many. One was given up.")
            patience.reschedule(0)  # which is over

        with suppress(TimeoutError):
            async with asyncio.timeout(None) as patience:
                reader = self._unread.add(size, give_up)
                if reader is None:
                    answer.body.close()
                    answer = busy(request)
                    log.warning("An answer is larger than all that may wait. It got a 503.")
                try:
                    await _send(answer, receive, send, reader)
                finally:
                    if reader:
                        self._unread.remove(reader)

    async def _answer_to_a_body(
        self, request: dict[str, Any], length: int, receive: Receive
    ) -> Answer:
        if length > self._longest or self._refused_unread(request):
            if length <= PASSED_OVER:
                await _pass_over(request, length, BODY_SECONDS, receive)
            return await self._answer(request, b"")
        body = bytearray()
        try:
            match await self._read(body, length, receive):
                case Came.CUT_SHORT:
                    return cut_short(request)
                case Came.NO_ROOM:
                    return self._refusal(request)
                case Came.LATE:
                    request[BODY_CAME_LATE] = True
            return await self._answer(request, body)
        finally:
            self._held -= len(body)

    async def _read(self, body: bytearray, length: int, receive: Receive) -> Came:
        patience = asyncio.timeout(BODY_SECONDS)
        self._coming[patience] = body
        try:
            async with patience:
                while len(body) < length:
                    message = await receive()
                    if message["type"] != "http.request":
                        return Came.CUT_SHORT
                    piece = message["body"]
                    if not self._has_room_for(piece) or patience not in self._coming:
                        return Came.NO_ROOM
                    body += piece
                    self._held += len(piece)
        except TimeoutError:
            return Came.LATE if patience in self._coming else Came.NO_ROOM
        finally:
            self._coming.pop(patience, None)
        return Came.WHOLE

    def _has_room_for(self, piece: bytes) -> bool:
        """Who has been sending for longest gives way, so that whoever brings all at once is not
        kept out by those who bring much and never end.
        """
        while self._held + len(piece) > HELD_BYTES and self._coming:
            patience = next(iter(self._coming))
            body = self._coming.pop(patience)
            self._held -= len(body)
            body.clear()
            if not patience.expired():
                patience.reschedule(0)  # which is over, and ends it
        return self._held + len(piece) <= HELD_BYTES

    async def _answer(self, request: dict[str, Any], body: bytes | bytearray) -> Answer:
        if self._asked >= self._most:
            return self._refusal(request)
        self._says_busy = False
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, answered, self._application, request, body
            )
        except Exception:
            log.exception("An answer broke off.")
            return broken(request)
        finally:
            self._asked -= 1

    def _refusal(self, request: dict[str, Any]) -> Answer:
        if not self._says_busy:  # once, and not for each of thousands
            log.warning("More requests wait than are answered soon. Who asks now gets a 503.")
        self._says_busy = True
        return busy(request)


class _Taken:
    """What a client sends, and how much of it came."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self.bytes += len(message.get("body", b""))
        return message


async def _pass_over(
    request: dict[str, Any], length: int, seconds: float, receive: Receive
) -> None:
    if "HTTP_EXPECT" in request:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while length > 0:
                message = await receive()
                if message["type"] != "http.request" or not message["more_body"]:
                    return
                length -= len(message["body"])


def _closing(send: Send) -> Send:
    async def closing(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"Connection", b"close")]
        await send(message)

    return closing


def _size(answer: Answer, request: dict[str, Any]) -> int:
    """As its head says it: a part of a file, as browsers ask for it, cannot be measured."""
    if request["REQUEST_METHOD"] == "HEAD":
        return 0
    length = (value for name, value in answer.headers if name.lower() == b"content-length")
    return int(next(length, 0))


async def _send(answer: Answer, receive: Receive, send: Send, reader: Reader | None = None) -> None:
    with closing(answer.body) as body:
        await send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": answer.headers,
            }
        )
        piece = body.read(PIECE)
        if len(piece) < PIECE:
            await send({"type": "http.response.body", "body": piece})
            return
        gone = asyncio.ensure_future(_gone(receive))
        try:
            while piece and not gone.done():
                # Who is cut off sees it: the answer's length stands in its head.
                async with asyncio.timeout(PIECE_SECONDS):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                if reader:
                    reader.taken += len(piece)
                # To who is gone all is sent at once, and nobody else would have a turn meanwhile.
                await asyncio.sleep(0)
                piece = body.read(PIECE)
        except TimeoutError:
            return
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
