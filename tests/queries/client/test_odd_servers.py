"""The client before servers that break, lie or mean ill: it ends, and no key is lost."""

from typing import Any

import pytest

from queries.client import tacitus
from queries.client.tacitus import (
    AnswerUnreadable,
    Ask,
    Misused,
    Refused,
    Tacitus,
    TacitusError,
    Unreachable,
    batch_of,
)
from queries.contracts.abi import load_artifact
from tests.commands import free_port
from tests.queries.client.odd_server import (
    Answer,
    OddServer,
    hanging_up,
    odd_server,
    refusing,
    saying,
)

pytestmark = pytest.mark.no_database

KEY = "tct_hunter2"
ID = "01J2VM6JSA6VKKZ0ENWGYYPR18"
BATCH = batch_of(1, Ask(1, block=5, header=["PARENT_HASH"]))
SENT: dict[str, object] = {"internalId": ID, "warnings": []}
MOVING: dict[str, object] = {"queryStatus": "IN_PROGRESS", "status": "ACCEPTED", "waitsFor": None}
DONE = MOVING | {"queryStatus": "DONE", "status": "DONE"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tacitus, "POLLS", 0.01)


def test_what_passes_is_tried_again_under_one_idempotency_key() -> None:
    broken = saying(b"<html>Bad Gateway</html>", 502)
    busy = refusing("unavailable", 503, retryable=True)
    with odd_server(hanging_up, broken, busy, saying(SENT)) as odd:
        assert Tacitus(odd.address, KEY).submit(BATCH).id == ID
        assert Tacitus(odd.address, KEY).submit(BATCH).id == ID
    keys = [came.headers["idempotency-key"] for came in odd.came]
    assert len(odd.came) == 5
    assert len(set(keys[:4])) == 1
    assert keys[4] != keys[0]
    assert {came.headers["api-key"] for came in odd.came} == {KEY}
    assert not [came for came in odd.came if KEY in came.path]


@pytest.mark.parametrize(
    ("answer", "kind", "asked"),
    [
        (refusing("fee_too_low", 400, retryable=False), Refused, 1),
        (refusing("block_beyond_head", 400, retryable=True), Refused, tacitus.TRIES),
        (hanging_up, Unreachable, tacitus.TRIES),
        (saying(b"<html>", 504), AnswerUnreadable, tacitus.TRIES),
        (saying(b"<html>"), AnswerUnreadable, 1),
    ],
)
def test_it_is_tried_again_where_that_helps_and_not_for_ever(
    answer: Answer, kind: type[TacitusError], asked: int
) -> None:
    with odd_server(answer) as odd, pytest.raises(kind) as raised:
        Tacitus(odd.address).submit(BATCH)
    assert len(odd.came) == asked
    assert raised.value.retryable is (asked > 1)
    assert type(raised.value) is kind


def test_waiting_outlasts_a_server_that_is_away() -> None:
    answers = [saying(MOVING), *[hanging_up] * 2 * tacitus.TRIES, saying(DONE)]
    with odd_server(*answers) as odd:
        assert Tacitus(odd.address).wait(ID, timeout=30).done


def test_no_redirect_takes_the_key_along() -> None:
    with (
        odd_server(saying(SENT)) as other,
        odd_server(saying(b"", 307, Location=f"{other.address}/submit-batch-query")) as odd,
        pytest.raises(AnswerUnreadable, match="The API key is not sent there"),
    ):
        Tacitus(odd.address, KEY).submit(BATCH)
    assert (len(odd.came), other.came) == (1, [])


def endless(server: OddServer) -> None:
    server.send_response(200)
    server.send_header("Transfer-Encoding", "chunked")
    server.end_headers()
    while not server.ended.is_set():
        server.wfile.write(b"100000\r\n" + bytes(2**20) + b"\r\n")


def test_an_answer_without_end_has_one() -> None:
    with odd_server(endless) as odd, pytest.raises(AnswerUnreadable, match="longer than"):
        Tacitus(odd.address).status(ID)


QUERY: dict[str, Any] = {
    "originChainId": "1", "block": "5", "selector": "block:5", "account": None, "name": None,
    "values": {"GAS_USED": f"0x{7:064x}"},
}  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        [], 5, None, {}, {"queryStatus": 5}, DONE, DONE | {"queries": {}},
        DONE | {"queries": [{}]},
        DONE | {"queries": [QUERY], "nextQuery": 0}, DONE | {"queries": [QUERY], "nextQuery": "1"},
        DONE | {"queries": [QUERY | {"block": "-1"}]},
        DONE | {"queries": [QUERY | {"block": "9" * 5000}]},
        DONE | {"queries": [QUERY | {"values": None}]},
        DONE | {"queries": [QUERY | {"values": {"GAS_USED": 5}}]},
        DONE | {"queries": [QUERY | {"values": {"GAS_USED": "0x05"}}]},
        b"[" * 100_000, b"9" * 10_000, b"\xff", b"",
    ],
)  # fmt: skip
def test_what_no_server_says_is_reported_as_that(answer: object) -> None:
    with odd_server(saying(answer)) as odd, pytest.raises(AnswerUnreadable):
        Tacitus(odd.address).facts(ID)


def test_nothing_that_is_said_moves_a_terminal() -> None:
    told = {"error": "\x1b[2JAll\rgood" + 9999 * "x", "code": "\x07", "path": "\n"}
    refused = saying(told | {"retryable": False}, 400)
    with odd_server(refused) as odd, pytest.raises(Refused) as raised:
        Tacitus(odd.address).status(ID)
    said = f"{raised.value}{raised.value.code}{raised.value.path}"
    assert said.isprintable()
    assert len(said) < 2_100


def test_a_key_is_nowhere_to_be_read() -> None:
    service = Tacitus(f"http://127.0.0.1:{free_port()}", KEY)
    with pytest.raises(Unreachable) as raised:
        service.status(ID)
    assert KEY not in f"{service!r} {service} {raised.value!r} {raised.value} {vars(raised.value)}"
    with pytest.raises(Misused) as misused:
        Tacitus("http://127.0.0.1", f"{KEY}\nX: y")
    assert KEY not in str(misused.value)


@pytest.mark.parametrize("kind", ["attested", "output"])
def test_a_registry_is_genuine_by_known_code_and_its_own_source_alone(kind: str) -> None:
    """A server that serves another code has an address that follows from it."""
    genuine, other = load_artifact(f"{kind.capitalize()}Registry").bytecode, b"\x60\x00"
    words = [bytes(32) + source.to_bytes(32, "big") + bytes(64) for source in (1, 2)]
    for served, made_of, given, expected in (
        (genuine, genuine, words[0], True),
        (genuine, genuine, words[1], False),  # of another source
        (genuine, other, words[0], False),
        (other, other, words[0], False),
    ):
        connection = {
            "originChainId": "1",
            "destinationChainId": "10",
            "kind": kind,
            "registry": tacitus.registry_address(made_of + given),
            "constructorArguments": f"0x{given.hex()}",
            "horizon": "2100-01-01T00:00:00.000Z",
            "stateHorizon": "2100-01-01T00:00:00.000Z",
        }
        answers = saying({"connections": [connection]}), saying({"bytecode": served.hex()})
        with odd_server(*answers) as odd:
            (route,) = Tacitus(odd.address).routes()
        assert route.proves_its_code is expected
