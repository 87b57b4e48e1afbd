# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""Tacitus from Python, in one file: ask for a chain's past state, wait, read what was proven.

Every server serves its own version of it, as /tacitus.py. It is a module,

    service = Tacitus("https://proofs.example.org", key)
    sent = service.submit(batch_of(1, Ask(1, block=23000000, accounts=["vitalik.eth"],
                                          props=["BALANCE"])))
    service.wait(sent.id)
    for fact in service.facts(sent.id):
        print(fact.name, fact.units)

and a command: `python tacitus.py --help`, or `uv run tacitus.py --help`, which fetches requests.
Whatever goes wrong is a TacitusError, with a sentence, a code, and whether trying again can help.
"""

import argparse
import contextlib
import dataclasses
import io
import itertools
import json
import math
import os
import random
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

try:
    import requests
except ModuleNotFoundError:
    if __name__ == "__main__":
        sys.exit("tacitus.py needs one package: python -m pip install requests")
    raise

__version__ = "0.1.0"
__all__ = [
    "AnswerUnreadable", "Ask", "Estimate", "Fact", "Misused", "NotDone", "Position", "Refused",
    "Rejected", "Route", "Status", "StepCount", "Submitted", "Tacitus", "TacitusError", "TimedOut",
    "Unreachable", "Variable", "batch_of", "find_variable", "keccak256", "mapping_key",
    "registry_address",
]  # fmt: skip

# ------------------------------------------------------------------------------ what goes wrong


class TacitusError(Exception):
    """All of it: a sentence for people, and for programs a code and whether to try again."""

    code = "failed"
    retryable = False

    def __init__(self, sentence: str, **known: Any) -> None:
        self.sentence = _legible(sentence)
        super().__init__(self.sentence)
        self.code = _legible(known.get("code", self.code))
        self.path = _legible(known.get("path", ""))  # of the value at fault in the request
        self.retryable = known.get("retryable", self.retryable)
        self.http_status: int | None = known.get("http_status")
        self.retry_after: float | None = known.get("retry_after")  # seconds
        self.batch_id = _legible(known.get("batch_id", ""))
        self.step = _legible(known.get("step", ""))  # in which a batch was rejected


class Refused(TacitusError):  # noqa: N818
    """The server does not take the request; `code` is one of those that its /docs/api lists."""


class Rejected(TacitusError):  # noqa: N818
    """The batch has ended without being proven. Where it is retryable, submit it again."""


class NotDone(TacitusError):  # noqa: N818
    """The batch has no facts yet."""

    code, retryable = "not_done", True


class Unreachable(TacitusError):  # noqa: N818
    """The server does not answer, or not to the end."""

    code, retryable = "unreachable", True


class TimedOut(TacitusError):  # noqa: N818
    """The batch has not ended within the time that was given; it goes on all the same."""

    code, retryable = "timed_out", True


class AnswerUnreadable(TacitusError):  # noqa: N818
    """The answer is not one that a Tacitus server gives."""

    code = "answer_unreadable"


class Misused(TacitusError, ValueError):  # noqa: N818
    """An argument or option is invalid; nothing was sent."""

    code = "misused"


MOST_SHOWN = 2_000  # characters of a sentence


def _legible(text: str) -> str:
    """A stranger's text without what moves a terminal's cursor or colours it."""
    shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return f"{shown[:MOST_SHOWN]}…" if len(shown) > MOST_SHOWN else shown


# -------------------------------------------------------------------- what is asked and answered


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be proven of one block of the chain `source`."""

    source: int | str
    _: dataclasses.KW_ONLY
    block: int | None = None
    timestamp: int | None = None  # the last block that is not later
    accounts: Sequence[str] = ()
    props: Sequence[str] = ()
    slots: Sequence[int | str] = ()
    header: Sequence[str] = ()

    @property
    def selector(self) -> str:
        if (self.block is None) is (self.timestamp is None):
            raise Misused("Name a block either by its number or by a timestamp.")
        return f"timestamp:{self.timestamp}" if self.block is None else f"block:{self.block}"


def batch_of(destination: int | str, *asked: Ask, fee: int | str = 0) -> dict[str, object]:
    """A batch as `submit` takes it; `fee` is the most that may be spent on it, in wei."""
    data: dict[str, dict[str, dict[str, Any]]] = {}
    for each in asked:
        block = data.setdefault(str(each.source), {}).setdefault(each.selector, {})
        if each.header:
            block.setdefault("header", []).extend(each.header)
        for account in each.accounts:
            entries = block.setdefault("accounts", {})
            entry = entries.setdefault(account, {"props": [], "slots": []})
            entry["props"] += each.props
            entry["slots"] += [
                slot if isinstance(slot, str) else f"0x{Position(slot).slot:x}"
                for slot in each.slots
            ]
    return {"destinationChainId": str(destination), "fee": str(fee), "data": data}


@dataclass(frozen=True, slots=True)
class Submitted:
    """The id of a batch that was taken, and what the server remarked about it."""

    id: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many queries have begun a step and completed it, of those that have it."""

    name: str
    begun: int
    completed: int
    whole: int

    @property
    def mark(self) -> str:
        return "✓" if self.completed == self.whole else "◐" if self.begun else "○"


@dataclass(frozen=True, slots=True)
class Status:
    """How far a batch is."""

    id: str
    state: str  # RECEIVED, ACCEPTED, IN_PROGRESS, DONE or REJECTED
    waits_for: str  # a sentence, or empty
    wait_code: str  # the same for programs: /docs/api lists them
    steps: tuple[StepCount, ...]  # of its first hundred queries, where they were asked for
    rejected: Rejected | None

    @property
    def done(self) -> bool:
        return self.state == "DONE"


NUMBERS = {
    "NONCE", "BALANCE", "DIFFICULTY", "BLOCK_NUMBER", "GAS_LIMIT", "GAS_USED", "TIMESTAMP",
    "BASE_FEE_PER_GAS", "BLOB_GAS_USED", "EXCESS_BLOB_GAS",
}  # fmt: skip
ADDRESSES = {"COINBASE", "PROPOSER"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One proven value: the word that the registry holds under this name."""

    chain: int
    block: int
    selector: str  # how the block was asked for
    account: str | None  # None for a field of the block's header
    ens: str | None  # the name that the account was asked for by
    name: str  # of a field, or a slot as 0x and 64 digits
    word: str

    @property
    def number(self) -> int | None:
        """None where the word is a hash, an address or bytes."""
        return int(self.word, 16) if self.name in NUMBERS or self.name[:2] == "0x" else None

    @property
    def units(self) -> Decimal | None:
        """A balance in whole units of 10^18, exactly."""
        return Decimal(f"{int(self.word, 16)}e-18") if self.name == "BALANCE" else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a batch would take now; `answer` is all that the server answered."""

    fee_needed: int  # wei
    free: bool
    complete: bool  # each block's price is in it
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Witness:
    """A proof for a registry's `verify`; `answer` is all that the server says of it."""

    source: int
    registry: str
    proof: bytes
    gas: int  # of a transaction that verifies it alone
    valid_until: int | None  # the last block in which `verify` accepts it; None: it stays valid
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Route:
    """A way from one chain to another, and the registry on which it ends."""

    source: int
    destination: int
    kind: str
    registry: str
    arguments: str  # of the registry's constructor, as Solidity encodes them
    horizon: str  # the time from which on it takes no headers
    state_horizon: str  # and no accounts and slots; earlier if a fork has ended them
    proves_its_code: bool  # the address is that of the genuine code with these arguments


# keccak256 of the creation code of this version's registries, before their constructors' arguments.
CODE_HASHES = {
    "native": "8a1b43f16c483609436c6ecec442c40b54c76fefd0c8602eb8722eaa82b3db43",
    "optimism": "adde3383174c214b03357838e3c58397bbd242c1d0b4a3a593f83c2c0abdaef0",
    "output": "742230cc4bee0225eb793cda0ef63b9677b9841bfd8043182a8979bceba41527",
    "attested": "e70cabc3a06832b4238680cd5374d63adb05072d7138c04d6275eeca530d5711",
}
NAME_THEIR_SOURCE = {"output", "attested"}  # by the second argument
FACTORY, SALT = "0x4e59b44847b379578588920cA78FbF26c0B4956C", b"Tacitus registry".ljust(32, b"\0")


def registry_address(code: bytes) -> str:
    """Where the CREATE2 factory puts a contract, on every chain.

    `code` is the `bytecode` of the registry's build file, and behind it its constructor's arguments
    as Solidity encodes them.
    """
    made_of = b"\xff" + bytes.fromhex(FACTORY[2:]) + SALT + keccak256(code)
    return f"0x{keccak256(made_of)[12:].hex()}"


# ---------------------------------------------------------------------------------- the service

MOST_BYTES, MOST_PROOF_BYTES = 32 * 2**20, 512 * 2**20
ANSWER_SECONDS, SLOWER_PROOF = 60.0, 10  # a proof's file may take that much longer
TRIES = 4
LONGEST_PAUSE = 120.0  # seconds; for a longer Retry-After it gives up and says so
POLLS, SLOWER, SLOWEST = 0.5, 1.3, 5.0  # seconds, and by how much each pause is longer
MADE_FOR_RETRIES = {429, 500, 502, 503, 504}  # where a proxy answers, and says no more than this
TOO_MANY_PAGES = 10_000
Kind = TypeVar("Kind")


class Tacitus:
    """A server and your key to it. For one thread at a time."""

    def __init__(self, url: str, key: str = "", *, seconds: float = ANSWER_SECONDS) -> None:
        """`seconds`: the time limit for one complete answer."""
        if not re.fullmatch(r"https?://[^\s/?#@\\]+(/[^\s?#]*)?", url):
            raise Misused(
                "The server must be a URL such as https://proofs.example.org, without a query or "
                "fragment."
            )
        if not re.fullmatch(r"[!-~]*", key):
            raise Misused("This is not an API key: it must consist of visible ASCII characters.")
        self.url = url.rstrip("/")
        self._key, self._seconds = key, seconds
        self._session = requests.Session()
        self._spare = 0.0  # seconds to wait between polls, to stay within the key's limit

    def submit(self, batch: Mapping[str, object], *, idempotency: str = "") -> Submitted:
        """Submit the batch. Retries use the same Idempotency-Key, so it is stored once.

        Pass your own key in `idempotency` to submit it safely again after a crash.
        """
        headers = {"Idempotency-Key": idempotency or str(uuid.uuid4())}
        body = self._json("POST", "/submit-batch-query", json=batch, headers=headers)
        warnings = tuple(_member(each, "sentence", str) for each in _member(body, "warnings", list))
        return Submitted(_member(body, "internalId", str), warnings)

    def estimate(self, batch: Mapping[str, object]) -> Estimate:
        body = self._json("POST", "/estimate", json=batch)
        fee = _whole(_member(body, "feeNeeded", str))
        return Estimate(fee, _member(body, "free", bool), _member(body, "complete", bool), body)

    def witness(self, batch: Mapping[str, object]) -> list[Witness]:
        """A proof for each source chain, to verify in a transaction of your own."""
        body = self._json("POST", "/witness", json=batch)
        return [_witness(each) for each in _member(body, "witnesses", list)]

    def status(self, batch_id: str, *, steps: bool = True, until: float | None = None) -> Status:
        """How far it is; without `steps` it costs the server least."""
        return _status(batch_id, self.answered(batch_id, until=until, details=int(steps)))

    def answered(self, batch_id: str, *, until: float | None = None, **more: int) -> dict[str, Any]:
        """The status endpoint's own answer."""
        asked = {"batchQueryId": batch_id, **more}
        return self._json("GET", "/batch-query-status", params=asked, until=until)

    def wait(
        self,
        batch_id: str,
        *,
        timeout: float | None = 600,
        progress: Callable[[Status], object] = lambda _: None,
        steps: bool = False,
    ) -> Status:
        """Wait until the batch is DONE. Raises Rejected, or TimedOut after `timeout` seconds.

        `progress` is called with each status, which counts `steps` where they are asked for.
        """
        until = time.monotonic() + (math.inf if timeout is None else timeout)
        for polls in itertools.count():
            status = self.status(batch_id, steps=steps, until=until)
            progress(status)
            if status.rejected:
                raise status.rejected
            if status.done:
                break
            left = until - time.monotonic()
            if left <= 0:
                raise TimedOut(
                    f"The batch has not ended within {timeout:g} seconds, and goes on. "
                    f"{status.waits_for}".strip(),
                    batch_id=batch_id,
                )
            pause = min(POLLS * SLOWER ** min(polls, 20), SLOWEST) * _jitter()
            time.sleep(min(max(pause, self._spare), left))
        return status

    def facts(self, batch_id: str) -> tuple[Fact, ...]:
        """What was proven. Raises NotDone before that, and Rejected where it never will be."""
        found: list[Fact] = []
        place = 0
        for _ in range(TOO_MANY_PAGES):
            body = self.answered(batch_id, fromQuery=place)
            status = _status(batch_id, body)
            if status.rejected:
                raise status.rejected
            if not status.done:
                raise NotDone(f"The batch is {status.state}; wait until it is DONE.")
            found += [fact for query in _member(body, "queries", list) for fact in _facts_of(query)]
            following = body.get("nextQuery")
            if following is None:
                return tuple(found)
            if not isinstance(following, int) or following <= place:
                break
            place = following
        raise AnswerUnreadable("The server's pages of queries come to no end.")

    def routes(self) -> tuple[Route, ...]:
        """From which chains to which this server proves, and with which registries."""
        listed = _member(self._json("GET", "/chain-connections"), "connections", list)
        codes = {
            kind: self._creation_code(kind)
            for kind in CODE_HASHES.keys() & {_member(route, "kind", str) for route in listed}
        }
        return tuple(_route(route, codes) for route in listed)

    def _creation_code(self, kind: str) -> bytes:
        """Return the genuine code of a kind of registry; empty if the server has another one."""
        build = self._json("GET", f"/contracts/{kind.capitalize()}Registry.json")
        code = _hex(f"0x{_member(build, 'bytecode', str)}")
        return code if keccak256(code).hex() == CODE_HASHES[kind] else b""

    def proof(self, batch_id: str) -> bytes:
        """The file with which anyone checks the batch without this server: JSON, as it came."""
        path = f"/batch-queries/{quote(batch_id, safe='')}/proof"
        seconds = self._seconds * SLOWER_PROOF
        content = self._asked("GET", path, most=MOST_PROOF_BYTES, seconds=seconds)
        _parsed(content)
        return content

    def _json(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        return _parsed(self._asked(method, path, **more))

    def _asked(self, method: str, path: str, *, until: float | None = None, **more: Any) -> bytes:
        """Ask, and retry if that can help: a few times, or until `until`."""
        for tries in itertools.count(1):
            try:
                return self._asked_once(method, path, **more)
            except TacitusError as fault:
                pause = fault.retry_after or POLLS * 2 ** min(tries - 1, 6) * _jitter()
                over = tries == TRIES if until is None else time.monotonic() + pause > until
                if not fault.retryable or over or pause > LONGEST_PAUSE:
                    raise
                time.sleep(pause)
        raise AssertionError("counting ends")

    def _asked_once(
        self, method: str, path: str, *, most: int = MOST_BYTES, seconds: float = 0, **more: Any
    ) -> bytes:
        seconds = seconds or self._seconds
        more["headers"] = more.get("headers", {}) | ({"api-key": self._key} if self._key else {})
        # requests would send our key on to any redirect target: it strips only headers it knows.
        fixed: dict[str, Any] = {"allow_redirects": False, "stream": True}
        try:
            with self._session.request(
                method, self.url + path, timeout=seconds, **fixed, **more
            ) as answer:
                content = _content(answer, most, seconds)
        except UNSENT as fault:
            raise Misused(f"This cannot be sent ({type(fault).__name__}).") from fault
        except requests.RequestException as fault:
            raise Unreachable(
                f"{self.url} does not answer ({type(fault).__name__}). Check the URL, and that the "
                "server is running.",
                retryable=isinstance(fault, PASSING) and not isinstance(fault, LASTING),
            ) from fault
        self._spare = _spare(answer)
        if answer.is_redirect:
            raise AnswerUnreadable(
                f"{self.url} redirects to {answer.headers['Location']}. The API key is not sent "
                "there. If you trust that URL, use it as the server.",
                http_status=answer.status_code,
            )
        if not answer.ok:
            raise _refusal(answer, content)
        return content


PASSING = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
LASTING = requests.exceptions.SSLError
UNSENT = (
    requests.exceptions.InvalidHeader,
    requests.exceptions.InvalidJSONError,
    requests.exceptions.InvalidURL,
)


def _content(answer: requests.Response, most: int, seconds: float) -> bytes:
    """The body, of bounded size, and however slowly it drips in bounded time."""
    content = bytearray()
    watch = threading.Timer(seconds, _hang_up, [answer])
    watch.daemon = True
    watch.start()
    try:
        for piece in answer.iter_content(2**16):
            content += piece
            if len(content) > most:
                raise AnswerUnreadable(f"The answer is longer than {most:,} bytes.")
    finally:
        watch.cancel()
    return bytes(content)


def _hang_up(answer: requests.Response) -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError, AttributeError):
        answer.raw.shutdown()


def _refusal(answer: requests.Response, content: bytes) -> TacitusError:
    known: dict[str, Any] = {"http_status": answer.status_code, "retry_after": _seconds(answer)}
    try:
        body = _parsed(content)
        sentence, code = _member(body, "error", str), _member(body, "code", str)
        path, retryable = _member(body, "path", str), _member(body, "retryable", bool)
    except AnswerUnreadable:
        return AnswerUnreadable(
            f"The server answers {answer.status_code}, and not as a Tacitus server does.",
            retryable=answer.status_code in MADE_FOR_RETRIES,
            **known,
        )
    more = _text(body, "detail")
    sentence = f"{sentence}. {more}" if more else sentence
    return Refused(sentence, code=code, path=path, retryable=retryable, **known)


def _seconds(answer: requests.Response, name: str = "Retry-After") -> float | None:
    seconds = answer.headers.get(name, "")
    return float(seconds) if re.fullmatch(r"[0-9]{1,6}", seconds) else None


def _spare(answer: requests.Response) -> float:
    remaining, resets = (_seconds(answer, f"RateLimit-{of}") for of in ("Remaining", "Reset"))
    return 0.0 if remaining is None else min((resets or 0) / (remaining + 1), LONGEST_PAUSE)


def _jitter() -> float:
    """Spreads out clients that started at the same time."""
    return random.uniform(0.8, 1.2)  # noqa: S311  (no secret)


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as fault:
        raise AnswerUnreadable("The server's answer is not JSON.") from fault
    if not isinstance(body, dict):
        raise AnswerUnreadable("The server's answer is not a JSON object.")
    return body


def _member(body: object, name: str, kind: type[Kind]) -> Kind:
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        raise AnswerUnreadable(f"In the server's answer, {name} is missing or malformed.")
    return value


def _text(body: object, name: str) -> str:
    """Empty where it is null or left out."""
    value = body.get(name) if isinstance(body, dict) else None
    return _legible(value) if isinstance(value, str) else ""


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,78}", text):
        raise AnswerUnreadable("The server's answer has a malformed number.")
    return int(text)


def _hex(text: str) -> bytes:
    try:
        return _bytes(text)
    except Misused:
        raise AnswerUnreadable("The server's answer has malformed hex.") from None


def _route(body: object, codes: Mapping[str, bytes]) -> Route:
    """`codes`: the genuine creation code by kind."""
    source, destination, kind, registry, arguments, horizon, state_horizon = (
        _member(body, name, str)
        for name in (
            "originChainId", "destinationChainId", "kind", "registry", "constructorArguments",
            "horizon", "stateHorizon",
        )
    )  # fmt: skip
    given, code = _hex(arguments), codes.get(kind, b"")
    named = int.from_bytes(given[WORD : 2 * WORD])
    is_genuine = (
        bool(code)
        and registry.lower() == registry_address(code + given)
        and (kind == "native") == (source == destination)
        and (kind not in NAME_THEIR_SOURCE or named == _whole(source))
    )
    return Route(
        _whole(source), _whole(destination), kind, registry, arguments,
        horizon, state_horizon, is_genuine,
    )  # fmt: skip


def _witness(body: Mapping[str, Any]) -> Witness:
    until = _text(body, "validUntil")
    return Witness(
        source=_whole(_member(body, "originChainId", str)),
        registry=_member(body, "registry", str),
        proof=_hex(_member(body, "proof", str)),
        gas=_whole(_member(body, "gas", str)),
        valid_until=_whole(until) if until else None,
        answer=body,
    )


def _status(batch_id: str, body: Mapping[str, Any]) -> Status:
    ended = _member(body, "queryStatus", str)
    rejected = None
    if ended == "REJECTED":
        cause = body.get("rejection")
        rejected = Rejected(
            _text(cause, "message") or "The batch was rejected.",
            code=_text(cause, "code") or "rejected",
            retryable=isinstance(cause, dict) and cause.get("retryable") is True,
            step=_text(cause, "step"),
            batch_id=batch_id,
        )
    state = ended if ended in {"DONE", "REJECTED"} else _text(body, "status") or ended
    steps = _steps_of(_member(body, "queries", list)) if "queries" in body else ()
    waits_for, wait_code = _text(body, "waitsFor"), _text(body, "waitCode")
    return Status(batch_id, _legible(state), waits_for, wait_code, steps, rejected)


def _steps_of(queries: Iterable[object]) -> tuple[StepCount, ...]:
    counts: dict[str, StepCount] = {}
    for step in (step for query in queries for step in _member(query, "steps", list)):
        name = _legible(_member(step, "step", str))
        so_far = counts.get(name, StepCount(name, 0, 0, 0))
        begun = so_far.begun + bool(_text(step, "started"))
        completed = so_far.completed + bool(_text(step, "completed"))
        counts[name] = StepCount(name, begun, completed, so_far.whole + 1)
    return tuple(counts.values())


def _facts_of(query: object) -> list[Fact]:
    chain, block = (_whole(_member(query, name, str)) for name in ("originChainId", "block"))
    values = _member(query, "values", dict)
    if not all(re.fullmatch(r"0x[0-9a-f]{64}", str(word)) for word in values.values()):
        raise AnswerUnreadable("The server's answer has a value that is no word of 32 bytes.")
    selector, account, ens = (_text(query, name) for name in ("selector", "account", "name"))
    return [
        Fact(chain, block, selector, account or None, ens or None, _legible(name), word)
        for name, word in values.items()
    ]


# -------------------------------------------------------------------------------------- keccak

RATE, LANES, ROUNDS = 136, 25, 24  # of Keccak-256: bytes a block, lanes of 8 bytes
LANE = 2**64 - 1


def keccak256(content: bytes) -> bytes:
    """Ethereum's hash. hashlib has the later SHA-3 alone, which pads with another bit."""
    padded = bytearray(content + b"\x01" + bytes(-(len(content) + 1) % RATE))
    padded[-1] |= 0x80
    lanes = [0] * LANES
    for begin in range(0, len(padded), RATE):
        for place in range(RATE // 8):
            at = begin + 8 * place
            lanes[place] ^= int.from_bytes(padded[at : at + 8], "little")
        lanes = _permuted(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def _permuted(lanes: list[int]) -> list[int]:
    """Keccak-f[1600], in the words of FIPS 202; the lane A[x, y] stands at x + 5y."""
    register = 1
    for _ in range(ROUNDS):
        # theta
        columns = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20]
                   for x in range(5)]  # fmt: skip
        lanes = [
            lane ^ columns[(place - 1) % 5] ^ _rotated(columns[(place + 1) % 5], 1)
            for place, lane in enumerate(lanes)
        ]
        # rho and pi
        x, y, moved = 1, 0, lanes[1]
        for turn in range(1, 25):
            x, y = y, (2 * x + 3 * y) % 5
            moved, lanes[x + 5 * y] = lanes[x + 5 * y], _rotated(moved, turn * (turn + 1) // 2)
        # chi
        rows = [lanes[begin : begin + 5] for begin in range(0, LANES, 5)]
        lanes = [row[x] ^ ~row[(x + 1) % 5] & row[(x + 2) % 5] for row in rows for x in range(5)]
        # iota
        for bit in range(7):
            register = (register << 1 ^ (register >> 7) * 0x71) % 256
            lanes[0] ^= (register >> 1 & 1) << (1 << bit) - 1
    return lanes


def _rotated(lane: int, by: int) -> int:
    by %= 64
    return (lane << by | lane >> 64 - by) & LANE


# ---------------------------------------------------------------------------- storage positions

WORD, ADDRESS = 32, 20  # bytes
SLOT_LIMIT = 2**256


@dataclass(frozen=True, slots=True)
class Position:
    """Where Solidity keeps a variable: its slot, and which of the slot's bytes is its lowest.

    Every step into a variable gives the next position, such as `points[4].y`:

        Position(7).dynamic_array_element(4, size=64).member(1)
    """

    slot: int
    byte_offset: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.slot < SLOT_LIMIT or not 0 <= self.byte_offset < WORD:
            raise Misused(f"There is no byte {self.byte_offset} of slot {self.slot}.")

    @property
    def word(self) -> bytes:
        return self.slot.to_bytes(WORD, "big")

    def member(self, slot_offset: int, byte_offset: int = 0) -> "Position":
        """A struct's member, at the place in the struct that the compiler's layout names."""
        self._must_begin_a_slot("struct")
        if slot_offset < 0:
            raise Misused(f"A struct has no member at slot {slot_offset}.")
        return Position((self.slot + slot_offset) % SLOT_LIMIT, byte_offset)

    def mapping(self, key: bytes) -> "Position":
        """A mapping's value for a key in the form that `mapping_key` gives it."""
        self._must_begin_a_slot("mapping")
        return Position(int.from_bytes(keccak256(key + self.word), "big"))

    def fixed_array_element(self, index: int, size: int = WORD) -> "Position":
        """An element of `T[n]`, where a T takes `size` bytes.

        Elements of at most half a word share slots; none spans two. A longer T, and any struct
        or array, takes whole slots: its size is a multiple of 32.
        """
        self._must_begin_a_slot("array")
        if index < 0:
            raise Misused(f"An array has no element {index}.")
        if size < 1 or (size > WORD and size % WORD):
            raise Misused(f"No element takes {size} bytes.")
        if size <= WORD:
            slots, place = divmod(index, WORD // size)
            return Position((self.slot + slots) % SLOT_LIMIT, place * size)
        return Position((self.slot + index * (size // WORD)) % SLOT_LIMIT)

    def dynamic_array_element(self, index: int, size: int = WORD) -> "Position":
        """An element of `T[]`; the array's own slot holds its length."""
        return self.dynamic_data().fixed_array_element(index, size)

    def dynamic_data(self) -> "Position":
        """Where a dynamic array's elements begin, or the bytes of a `bytes` or `string` over 31."""
        self._must_begin_a_slot("array")
        return Position(int.from_bytes(keccak256(self.word), "big"))

    def _must_begin_a_slot(self, kind: str) -> None:
        if self.byte_offset:
            raise Misused(f"A {kind} begins a slot, not at byte {self.byte_offset}.")


TYPED = re.compile(r"(address|bool|string|bytes(?:\d*)|u?int(?:\d*))")


def mapping_key(kind: str, key: str | int | bytes) -> bytes:
    """A mapping's key as Solidity hashes it; `kind` is its type, such as uint64 or bytes4."""
    text = f"0x{key.hex()}" if isinstance(key, bytes) else str(key)
    name, digits = kind.rstrip("0123456789"), kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    match name:
        case "address":
            return _address(text).rjust(WORD, b"\0")
        case "string":
            return text.encode(errors="surrogateescape")
        case "bool" if text.lower() in {"true", "false"}:
            return mapping_key("uint", int(text.lower() == "true"))
        case "bytes" if not digits:
            return _bytes(text)
        case "bytes" if 1 <= int(digits) <= WORD and len(_bytes(text)) == int(digits):
            return _bytes(text).ljust(WORD, b"\0")
        case "uint" | "int" if int(digits or 256) in range(8, 257, 8):
            number, signed = whole_number(text), name == "int"
            bits = int(digits or 256) - signed
            if -(1 << bits) * signed <= number < 1 << bits:
                return number.to_bytes(WORD, "big", signed=signed)
    raise Misused(f"{text} is no key of type {kind}.")


def whole_number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise Misused(f"{text!r} is no whole number, in decimal or 0x-hex.") from None


def _bytes(text: str) -> bytes:
    if not re.fullmatch(r"0x([0-9a-fA-F]{2})*", text):
        raise Misused(f"{text!r} is not bytes as 0x-hex, two digits each.")
    return bytes.fromhex(text[2:])


def _address(text: str) -> bytes:
    """Checks the EIP-55 checksum: a mistyped address would give a wrong slot without an error."""
    address = _bytes(text)
    if len(address) != ADDRESS:
        raise Misused(f"An address has {ADDRESS} bytes, not {len(address)} as {text} has.")
    digits, hashed = text[2:], keccak256(address.hex().encode()).hex()
    raised = "".join(
        digit.upper() if check >= "8" else digit
        for digit, check in zip(digits.lower(), hashed, strict=False)
    )
    if digits not in {digits.lower(), digits.upper(), raised}:
        raise Misused(
            f"{text} has a wrong checksum (EIP-55). Check its digits; if they are right, write "
            f"0x{raised}."
        )
    return address


def typed_key(text: str) -> bytes:
    """Such as `uint64:5` and `string:abc`; or an address, 32 bytes, a number, true or false."""
    kind, colon, key = text.partition(":")
    if colon and TYPED.fullmatch(kind):
        return mapping_key(kind, key)
    shapes = {
        "address": r"0x.{40}",
        "bytes32": r"0x.{64}",
        "bool": "true|false",
        "uint": "[0-9]+",
        "int": "-[0-9]+",
    }
    for guess, shape in shapes.items():
        if re.fullmatch(shape, text):
            return mapping_key(guess, text)
    raise Misused(f"Say of which type the key {text} is, such as string:{text} or bytes4:0x….")


# ------------------------------------------------------------------------------- solc's layouts

NAMED = re.compile(r"[A-Za-z_$][\w$]*")
STEP = re.compile(
    r"""\.([A-Za-z_$][\w$]*) | \[ (?: "([^"]*)" | '([^']*)' | ([^]"']+) ) \]""", re.VERBOSE
)


@dataclass(frozen=True, slots=True)
class Variable:
    """What a layout says of a name."""

    position: Position
    size: int  # bytes
    type: str
    data: Position | None  # where its elements begin, or a long text's bytes


def find_variable(content: object, expression: str, contract: str = "") -> Variable:
    """Such as `points[4].y`, in what solc writes: its storageLayout, or all of its output."""
    try:
        return _found(_layout(content, contract), expression.strip())
    except Misused:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise Misused("The layout is not one that solc writes.") from fault


def _layout(content: Any, contract: str) -> Any:
    """The one of `contract`, or the only one."""
    content = content.get("output", content)
    if "contracts" not in content:
        return content.get("storageLayout", content)
    layouts = {
        f"{file}:{name}": each["storageLayout"]
        for file, contracts in content["contracts"].items()
        for name, each in contracts.items()
        if each.get("storageLayout", {}).get("storage")
    }
    chosen = [name for name in layouts if contract in {"", name, name.rpartition(":")[2]}]
    if len(chosen) != 1:
        names = ", ".join(layouts) or "none (select storageLayout in solc's outputSelection)"
        raise Misused(f"Choose one of the contracts with variables: {names}.")
    return layouts[chosen[0]]


def _found(layout: Any, expression: str) -> Variable:
    name = NAMED.match(expression)
    entries = [each for each in layout["storage"] if name and each["label"] == name[0]]
    if len(entries) != 1 or not name:
        named = ", ".join(each["label"] for each in layout["storage"])
        raise Misused(
            f"{expression!r} does not name exactly one variable. The layout has: {named}."
        )
    kinds, rest = layout["types"], expression[name.end() :]
    steps = list(STEP.finditer(rest))
    if "".join(step[0] for step in steps) != rest:
        raise Misused(f"{expression!r} is not written like points[4].y or names['a'].")
    position, kind = Position(int(entries[0]["slot"]), entries[0]["offset"]), entries[0]["type"]
    for step in steps:
        member, *quoted, bare = step.groups()
        key = next((each for each in quoted if each is not None), (bare or "").strip())
        position, kind = (
            _member_of(kinds, kind, position, member)
            if member
            else _element_of(kinds, kind, position, key)
        )
    found = kinds[kind]
    dynamic = found["encoding"] in {"dynamic_array", "bytes"}
    data = position.dynamic_data() if dynamic else None
    return Variable(position, int(found["numberOfBytes"]), found["label"], data)


def _member_of(kinds: Any, kind: str, position: Position, name: str) -> tuple[Position, str]:
    for each in kinds[kind].get("members", ()):
        if each["label"] == name:
            return position.member(int(each["slot"]), each["offset"]), each["type"]
    raise Misused(f"{kinds[kind]['label']} has no member {name}.")


def _element_of(kinds: Any, kind: str, position: Position, key: str) -> tuple[Position, str]:
    of = kinds[kind]
    if of["encoding"] == "mapping":
        return position.mapping(_key_of(kinds, of["key"], key)), of["value"]
    if "base" not in of:
        raise Misused(f"{of['label']} has no elements.")
    index, size = whole_number(key), int(kinds[of["base"]]["numberOfBytes"])
    if of["encoding"] == "dynamic_array":
        return position.dynamic_array_element(index, size), of["base"]
    if (count := re.search(r"\)(\d+)_storage$", kind)) and index >= int(count[1]):
        raise Misused(f"{of['label']} has no element {index}.")
    return position.fixed_array_element(index, size), of["base"]


def _key_of(kinds: Any, kind: str, text: str) -> bytes:
    """By the compiler's name of the key's type, such as t_uint64 or t_contract(IERC20)12."""
    name = re.match(r"t_(\w+)", kind)
    known = {"contract": "address", "enum": "uint8", "address_payable": "address"}
    short = re.sub(r"_(memory_ptr|storage|calldata_ptr).*", "", name[1]) if name else ""
    short = known.get(short, short)
    if short == "userDefinedValueType":
        return _key_of_own_type(kinds[kind]["label"], int(kinds[kind]["numberOfBytes"]), text)
    return mapping_key(short, text) if TYPED.fullmatch(short) else typed_key(text)


def _key_of_own_type(label: str, size: int, text: str) -> bytes:
    """Of `type Id is bytes20`: a layout gives only its size, but bytes are left-aligned in a word,
    and numbers and addresses right-aligned.
    """
    if re.fullmatch("-?[0-9]+", text):
        return mapping_key(f"{'int' if text[0] == '-' else 'uint'}{8 * size}", text)
    kind, colon, _ = text.partition(":")
    if not colon or not TYPED.fullmatch(kind):
        raise Misused(
            f"The layout does not give the type under {label}. Write it before the key, such as "
            f"bytes{size}:{text} or uint{8 * size}:{text}."
        )
    return typed_key(text)


# ------------------------------------------------------------------------------- the command line

EPILOG = """\
Ask for a balance, wait until it is proven, and see it:
  export TACITUS_URL=https://proofs.example.org TACITUS_KEY=tct_…
  python tacitus.py submit --to 11155111 --block 5186021 --account 0xd8dA… --prop BALANCE --wait

Ask for an entry of a mapping in slot 3, by its key; or by its name, as solc lays it out:
  SLOT=$(python tacitus.py slot 3 --key 0xd8dA…)
  SLOT=$(python tacitus.py slot --layout layout.json 'balances[0xd8dA…]')
  ID=$(python tacitus.py submit --to 1 --block 23000000 --account 0xA0b8… --slot $SLOT)
  python tacitus.py wait $ID

Exit codes: 0 done, 1 refused or rejected, 2 wrong usage, 3 a retry may help, 130 interrupted.
"""
SLOT_EPILOG = """\
Prints the slot to stdout, and what the slot holds to stderr:
  slot 3 --key 0xd8dA…                         balances[0xd8dA…], a mapping in slot 3
  slot 4 --key 0xd8dA… --key uint64:7          allowed[0xd8dA…][7]
  slot --layout layout.json 'points[4].y'      any variable by its name
layout.json is what `solc --storage-layout` or `forge inspect … storageLayout --json` prints, or the
whole output of a build that selected storageLayout. A key may be an address, 32 bytes in hex, a
number, true or false. For any other type, write the type first: string:abc, bytes4:0x…. Do so too
for a hex key of a user-defined value type, because the layout does not give the type under it.
"""
NEXT = {
    "key_missing": "Put it into TACITUS_KEY.",
    "nothing_here": "Use the client that this server offers at /tacitus.py.",
    "answer_unreadable": "Check that this is the URL of a Tacitus server.",
    "misused": "--help shows how.",
}
DESCRIPTION = "Ask for a chain's past state, wait, and see what was proven."
ASKED: tuple[tuple[str, Callable[[str], object], str], ...] = (
    ("block", whole_number, "a block's number"),
    ("timestamp", whole_number, "unix seconds: the last block that is not later"),
    ("account", str, "an address, or an ENS name"),
    ("prop", str, "of the accounts: BALANCE, NONCE, STORAGE_ROOT or CODE_HASH"),
    ("slot", whole_number, "of the accounts: a storage slot, in decimal or 0x-hex"),
    ("header", str, "a field of the block's header, such as PARENT_HASH"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a mark that a terminal lacks is no reason to end
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except TacitusError as fault:
        _print_fault(fault, options)
        return 2 if isinstance(fault, Misused) else 3 if fault.retryable else 1
    except KeyboardInterrupt:
        _say("Interrupted. What was submitted goes on; see `status` and `wait`.")
        return 130
    return 0


def _print_fault(fault: TacitusError, options: argparse.Namespace) -> None:
    if options.json:
        known = {"error": fault.sentence, "code": fault.code, "path": fault.path}
        _say(json.dumps({**known, "retryable": fault.retryable}))
        return
    place = f" (at {fault.path})" if fault.path and fault.path not in fault.sentence else ""
    step = f" It failed in {fault.step}." if fault.step else ""
    again = "Trying again may help." if fault.retryable else ""
    _say(" ".join(filter(None, [fault.sentence + place + step, NEXT.get(fault.code, again)])))


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = _described(argparse.ArgumentParser(prog="tacitus.py"), DESCRIPTION, EPILOG)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    submit = _command(commands, "submit", _submit, "ask for a batch; prints its id")
    for name, kind, what in ASKED:
        submit.add_argument(
            f"--{name}", action="append", default=[], type=kind, help=f"{what}; repeatable"
        )
    submit.add_argument("--to", metavar="CHAIN", help="the id of the chain to prove it to")
    submit.add_argument("--from", metavar="CHAIN", help="whose state; --to, if left out")
    submit.add_argument("--fee", default="0", help="the most that may be spent, in wei (0)")
    submit.add_argument("--file", help="the whole batch as JSON instead; - for stdin")
    submit.add_argument(
        "--idempotency-key", default="", help="a batch sent again with the same key is stored once"
    )
    submit.add_argument("--wait", action="store_true", help="until it is DONE; prints the facts")
    wait = _command(commands, "wait", _wait, "wait until a batch is DONE; prints its facts")
    status = _command(commands, "status", _print_status, "how far a batch is, and what was proven")
    _command(
        commands,
        "routes",
        _print_routes,
        "the server's routes, and whether registry addresses prove their code",
    )
    proof = _command(commands, "proof", _proof, "the file that proves a batch without the server")
    proof.add_argument("--out", help="where to; stdout, if left out")
    for each in (submit, wait):
        each.add_argument("--timeout", type=float, default=600, help="seconds (600)")
    for each in (wait, status, proof):
        each.add_argument("id", help="the batch's, as submit printed it")
    _add_slot(commands)
    return parser


def _described(parser: argparse.ArgumentParser, what: str, epilog: str) -> argparse.ArgumentParser:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description, parser.epilog = what, epilog
    return parser


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], what: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=what, description=what)
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")
    parser.add_argument("--server", help="its URL; TACITUS_URL, if left out")
    parser.add_argument(
        "--key", help="your API key; TACITUS_KEY is safer, because process lists show options"
    )
    return parser


def _add_slot(commands: Any) -> None:
    what = "where a variable is kept; asks no server"
    parser = commands.add_parser("slot", help=what)
    _described(parser, what, SLOT_EPILOG).set_defaults(run=_slot)
    parser.add_argument("where", help="a slot's number; with --layout, a name such as points[4].y")
    parser.add_argument(
        "--key", action="append", default=[], help="of a mapping; repeat it for a mapping in it"
    )
    parser.add_argument("--layout", help="what solc writes; - for stdin")
    parser.add_argument(
        "--contract", default="", help="which contract of the layout: Name, or file:Name"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _service(options: argparse.Namespace) -> Tacitus:
    url = options.server or os.environ.get("TACITUS_URL")
    if not url:
        raise Misused("Name the server, with --server or in TACITUS_URL.")
    return Tacitus(url, options.key or os.environ.get("TACITUS_KEY", ""))


def _submit(options: argparse.Namespace) -> None:
    service = _service(options)
    sent = service.submit(_asked_batch(options), idempotency=options.idempotency_key)
    for each in sent.warnings:
        _say(_legible(each))
    if not options.wait:
        shown = {"internalId": sent.id, "warnings": sent.warnings}
        print(json.dumps(shown) if options.json else _legible(sent.id))
        return
    _say(f"{service.url}/explorer/query/{_legible(sent.id)}")
    options.id = sent.id
    _wait(options, service)


def _asked_batch(options: argparse.Namespace) -> Mapping[str, object]:
    if options.file:
        batch: Mapping[str, object] = _json_of(options.file)
        return batch
    if not options.to:
        raise Misused("Say what to prove and --to which chain, or give the whole batch as --file.")
    if not options.block + options.timestamp:
        raise Misused("Say of which block: --block NUMBER, or --timestamp SECONDS.")
    named = [("block", each) for each in options.block]
    named += [("timestamp", each) for each in options.timestamp]
    asked = [
        Ask(
            vars(options)["from"] or options.to,
            accounts=options.account,
            props=options.prop,
            slots=options.slot,
            header=options.header,
            **{kind: number},
        )
        for kind, number in named
    ]
    return batch_of(options.to, *asked, fee=options.fee)


def _json_of(file: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except OSError as fault:
        raise Misused(f"{file} cannot be read: {fault.strerror}.") from fault
    except (ValueError, RecursionError) as fault:
        raise Misused(f"{file} is not JSON.") from fault


def _wait(options: argparse.Namespace, service: Tacitus | None = None) -> None:
    service = service or _service(options)
    shown = ""

    def show(status: Status) -> None:
        nonlocal shown
        line = f"{status.state}: {status.waits_for}".rstrip(": ")
        if line != shown and not options.json:
            _say(line)
        shown = line

    service.wait(options.id, timeout=options.timeout, progress=show)
    _print_facts(service.facts(options.id), options)


def _print_status(options: argparse.Namespace) -> None:
    service = _service(options)
    body = service.answered(options.id)
    if options.json:
        print(json.dumps(body))
        return
    status = _status(options.id, body)
    print(f"{_legible(options.id)}  {rail(status)}")
    if status.rejected:
        _print_fault(status.rejected, options)
    elif status.done:
        _print_facts(service.facts(options.id), options)


def _print_routes(options: argparse.Namespace) -> None:
    for route in _service(options).routes():
        known = dataclasses.asdict(route)
        if options.json:
            known["provesItsCode"] = known.pop("proves_its_code")
            print(json.dumps(known))
            continue
        what = "unverifiable: this is not the address of the genuine code"
        if route.proves_its_code:
            unknown = ", but not which chain is its L1" if route.kind == "optimism" else ""
            what = f"its address proves its code and its constructor's arguments{unknown}"
        if route.state_horizon != route.horizon:
            what += f"; no accounts from {route.state_horizon} on"
        ends = f"{route.source} → {route.destination}"
        print(_legible(f"{ends}  {route.kind}  {route.registry}  {what}"))


def rail(status: Status, width: int = 10_000) -> str:
    """`✓ INITIAL_STATE 3/3 ── ◐ …`; where that is too wide, the step that moves alone is named."""
    marks = [step.mark for step in status.steps]
    steps = [f"{step.mark} {step.name} {step.completed}/{step.whole}" for step in status.steps]
    rail = " ── ".join(steps)
    if len(rail) > width:
        moving = next((place for place, mark in enumerate(marks) if mark != "✓"), len(marks) - 1)
        rail = " ".join([*marks[:moving], steps[moving], *marks[moving + 1 :]])
    whole = "  ".join(filter(None, [status.state, rail, status.waits_for]))
    shown = whole if len(rail) + len(status.state) + 2 <= width else rail
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def _print_facts(facts: Sequence[Fact], options: argparse.Namespace) -> None:
    if options.json:
        listed = [dataclasses.asdict(each) for each in facts]
        print(json.dumps({"internalId": options.id, "queryStatus": "DONE", "facts": listed}))
        return
    rows = [
        (f"{chain}", f"{block:,}", ens or account or "", name, _shown(each))
        for each in facts
        for chain, block, _, account, ens, name, _ in [dataclasses.astuple(each)]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _shown(fact: Fact) -> str:
    if fact.units is not None:
        units = f"{fact.units:,f}".rstrip("0").rstrip(".")
        return f"{units} ({fact.number:,} wei)"
    if fact.name in ADDRESSES:
        return f"0x{fact.word[-2 * ADDRESS :]}"
    if fact.number is None or fact.number >= 2**128:  # rather a hash, or several values
        return fact.word
    if fact.name == "TIMESTAMP":
        with contextlib.suppress(ValueError, OverflowError, OSError):
            return f"{datetime.fromtimestamp(fact.number, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{fact.number:,}"


def _proof(options: argparse.Namespace) -> None:
    content = _service(options).proof(options.id)
    if not options.out:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(options.out).write_bytes(content)
    except OSError as fault:
        raise Misused(f"{options.out} cannot be written ({fault.strerror}).") from fault
    _say(f"{len(content):,} bytes are in {options.out}.")


def _slot(options: argparse.Namespace) -> None:
    if options.layout:
        if options.key:
            raise Misused(
                "With --layout, write the key into the name, such as balances[0x…], instead of "
                "--key."
            )
        found = find_variable(_json_of(options.layout), options.where, options.contract)
    else:
        position = Position(whole_number(options.where))
        for key in options.key:
            position = position.mapping(typed_key(key))
        found = Variable(position, 0, "", None)
    at = found.position
    slot, data = f"0x{at.word.hex()}", f"0x{found.data.word.hex()}" if found.data else ""
    if options.json:
        shown = {"slot": slot, "offset": at.byte_offset, "bytes": found.size or None}
        print(json.dumps({**shown, "type": found.type or None, "data": data or None}))
        return
    print(slot)
    if found.type:
        _say(f"{found.type}: {found.size} bytes from byte {at.byte_offset} of the slot's low end")
    if data:
        _say(f"Its elements, or the bytes of a text over 31, begin in slot {data}.")


if __name__ == "__main__":
    sys.exit(main())
