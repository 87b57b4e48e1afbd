"""The client ends and keeps its key secret when servers break or lie."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from queries.client.join import joined_client
from queries.client.python import (
    BlockQuery,
    DeliveryFailedError,
    FactsLostError,
    RequestRefusedError,
    ResponseLostError,
    ServerUnreachableError,
    Tacitus,
    TacitusError,
    UnreadableResponseError,
    UsageError,
    WaitTimeoutError,
    build_batch,
    main,
    service,
)
from queries.client.python.service import MAX_ATTEMPTS
from queries.contracts.abi import load_artifact
from queries.sources.registry import constructor_arguments
from tests.commands import free_port, run_program
from tests.queries.client.checked_routes import checked_route, checked_routes
from tests.rigs.forged_beacon import FORGED, TO_COMPARE, TRUE, UNKNOWN_SOURCE
from tests.rigs.odd_server import OddServer, Response, hang_up, odd_server, respond

pytestmark = pytest.mark.no_database


def refuse(code: str, status: int, *, retryable: bool) -> Response:
    body = {"error": f"It is {code}.", "code": code, "path": "data.1", "retryable": retryable}
    return respond(body, status)


KEY = "tct_hunter2"
ID = "01J2VM6JSA6VKKZ0ENWGYYPR18"
BATCH = build_batch(1, BlockQuery(1, block=5, header=["PARENT_HASH"]))
SUBMITTED: dict[str, object] = {"internalId": ID, "warnings": []}
ACCEPTED: dict[str, object] = {"queryStatus": "IN_PROGRESS", "status": "ACCEPTED", "waitsFor": None}
DONE = ACCEPTED | {"queryStatus": "DONE", "status": "DONE"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_POLL_INTERVAL", 0.01)
    monkeypatch.setattr(service, "FIRST_RETRY_PAUSE", 0.01)


def test_retries_use_the_same_idempotency_key() -> None:
    broken = respond(b"<html>Bad Gateway</html>", 502)
    busy = refuse("unavailable", 503, retryable=True)
    with odd_server(hang_up, broken, busy, respond(SUBMITTED)) as odd:
        assert Tacitus(odd.address, KEY).submit(BATCH).id == ID
        assert Tacitus(odd.address, KEY).submit(BATCH).id == ID
    keys = [request.headers["idempotency-key"] for request in odd.requests]
    assert len(odd.requests) == 5
    assert len(set(keys[:4])) == 1
    assert keys[4] != keys[0]
    assert {request.headers["api-key"] for request in odd.requests} == {KEY}
    assert not [request for request in odd.requests if KEY in request.path]


@pytest.mark.parametrize(
    ("response", "kind", "attempts"),
    [
        (refuse("fee_too_low", 400, retryable=False), RequestRefusedError, 1),
        (refuse("block_beyond_head", 400, retryable=True), RequestRefusedError, MAX_ATTEMPTS),
        (hang_up, ServerUnreachableError, MAX_ATTEMPTS),
        (respond(b"<html>", 504), UnreadableResponseError, MAX_ATTEMPTS),
        (respond(b"<html>"), UnreadableResponseError, 1),
    ],
)
def test_only_retryable_failures_are_retried_and_a_few_times(
    response: Response, kind: type[TacitusError], attempts: int
) -> None:
    with odd_server(response) as odd, pytest.raises(kind) as raised:
        Tacitus(odd.address).submit(BATCH)
    assert len(odd.requests) == attempts
    assert raised.value.retryable is (attempts > 1)
    assert type(raised.value) is kind


@pytest.mark.parametrize("response", [hang_up, respond(b"<html>", 504)])
def test_a_feed_is_not_made_twice_if_the_response_is_lost(response: Response) -> None:
    busy = refuse("unavailable", 503, retryable=True)
    with odd_server(busy, response) as odd, pytest.raises(ResponseLostError) as raised:
        Tacitus(odd.address).create_feed({"every": "300 blocks", "batch": BATCH})
    assert len(odd.requests) == 2
    assert not raised.value.retryable
    assert "check before you repeat it" in raised.value.sentence


def test_a_list_of_feeds_says_why_a_due_run_waits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = {
        "id": ID,
        "state": "ACTIVE",
        "sentence": "balance of $to",
        "originChainId": "1",
        "destinationChainId": "10",
        "nextDue": "block:256",
        "waitsFor": "The budget is spent.",
        "batch": BATCH,
    }
    with odd_server(respond({"feeds": [feed], "connections": []})) as odd:
        monkeypatch.setenv("TACITUS_URL", odd.address)
        monkeypatch.setenv("TACITUS_KEY", KEY)
        assert main(["feed", "list"]) == 0
    row = f"{ID}  ACTIVE  balance of $to  to chain 10  next: waits. The budget is spent.\n"
    assert capsys.readouterr().out == row


def test_waiting_outlasts_an_outage_of_the_server() -> None:
    responses = [respond(ACCEPTED), *[hang_up] * 2 * MAX_ATTEMPTS, respond(DONE)]
    with odd_server(*responses) as odd:
        assert Tacitus(odd.address).wait(ID, timeout=30).is_done


def test_the_key_is_not_sent_to_a_redirects_target() -> None:
    with (
        odd_server(respond(SUBMITTED)) as target,
        odd_server(respond(b"", 307, Location=f"{target.address}/submit-batch-query")) as odd,
        pytest.raises(UnreadableResponseError, match="The API key is not sent there"),
    ):
        Tacitus(odd.address, KEY).submit(BATCH)
    assert (len(odd.requests), target.requests) == (1, [])


def send_endlessly(server: OddServer) -> None:
    server.send_response(200)
    server.send_header("Transfer-Encoding", "chunked")
    server.end_headers()
    while not server.running.stopped.is_set():
        server.wfile.write(b"100000\r\n" + bytes(2**20) + b"\r\n")


def test_an_endless_response_is_cut_off() -> None:
    with (
        odd_server(send_endlessly) as odd,
        pytest.raises(UnreadableResponseError, match="longer than"),
    ):
        Tacitus(odd.address).status(ID)


QUERY: dict[str, Any] = {
    "originChainId": "1", "block": "5", "selector": "block:5", "account": None, "name": None,
    "values": {"GAS_USED": f"0x{7:064x}"}, "events": [], "steps": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        [], 5, None, {}, {"queryStatus": 5}, DONE, DONE | {"queries": {}},
        DONE | {"queries": [{}]},
        DONE | {"queries": [QUERY], "nextQuery": 0}, DONE | {"queries": [QUERY], "nextQuery": "1"},
        DONE | {"queries": [QUERY | {"block": "-1"}]},
        DONE | {"queries": [QUERY | {"block": "9" * 5000}]},
        DONE | {"queries": [QUERY | {"values": {"GAS_USED": 5}}]},
        DONE | {"queries": [QUERY | {"values": {"GAS_USED": "0x05"}}]},
        DONE | {"queries": [QUERY | {"events": [5]}]},
        DONE | {"queries": [QUERY | {"events": [{"name": "LOG:0:0", "topics": 5}]}]},
        b"[" * 100_000, b"9" * 10_000, b"\xff", b"",
    ],
)  # fmt: skip
def test_a_malformed_response_is_reported_as_such(body: object) -> None:
    with odd_server(respond(body)) as odd, pytest.raises(UnreadableResponseError):
        Tacitus(odd.address).facts(ID)


def test_lost_facts_are_reported_as_such() -> None:
    body = DONE | {"queries": [QUERY, QUERY | {"values": None}]}
    with odd_server(respond(body)) as odd, pytest.raises(FactsLostError) as raised:
        Tacitus(odd.address).facts(ID)
    assert (raised.value.code, raised.value.retryable) == ("facts_lost", False)


def test_waiting_ends_with_the_reason_of_a_failed_delivery(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = {"code": "contract_refuses", "message": "The contract reverts: too late."}
    entry = {"to": "0x", "function": "f()", "transactionHash": None, "refusals": 0}
    waiting = entry | {"state": "WAITING", "waitsFor": "Not yet.", "waitCode": "confirming"}
    failed = entry | {"state": "FAILED", "error": error}
    facts = DONE | {"queries": [QUERY], "destinationChainId": "1"}
    answers = [DONE | {"deliveries": [waiting]}, DONE | {"deliveries": [failed]}]
    with odd_server(*map(respond, answers)) as odd:
        with pytest.raises(DeliveryFailedError, match="too late") as raised:
            Tacitus(odd.address).wait(ID)
        assert (raised.value.code, raised.value.batch_id) == ("contract_refuses", ID)
        assert Tacitus(odd.address).wait(ID, deliveries=False).is_done
    bodies = [answers[1], answers[1], facts | answers[1], {"connections": []}]
    with odd_server(*map(respond, bodies)) as odd:
        assert main(["wait", ID, "--server", odd.address]) == 1
    output = capsys.readouterr()
    assert "GAS_USED" in output.out
    assert "FAILED" in output.out
    assert "✗ delivered 0/1" in output.err
    assert "/docs/status#contract_refuses" in output.err
    with odd_server(respond(answers[0])) as odd, pytest.raises(WaitTimeoutError, match="Not yet"):
        Tacitus(odd.address).wait(ID, timeout=0)


def test_after_a_timeout_the_submitted_batch_is_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To submit again would store, and pay for, a second batch."""
    submit = ["submit", "--to", "1", "--block", "5", "--header", "PARENT_HASH", "--wait"]
    for command, answers in ((submit, 2 * [SUBMITTED, ACCEPTED]), (["wait", ID], [ACCEPTED])):
        with odd_server(*map(respond, answers)) as odd:
            options = ["--timeout", "0", "--server", odd.address]
            assert main([*command, *options]) == 3
            assert main([*command, *options, "--json"]) == 3
        messages = capsys.readouterr().err.splitlines()
        assert any(f"with: wait {ID}" in message for message in messages)
        assert json.loads(messages[-1])["internalId"] == ID
    with odd_server(refuse("unavailable", 503, retryable=True)) as odd:
        assert main([*submit, "--server", odd.address]) == 3
    assert "A retry may help." in capsys.readouterr().err  # nothing was stored


def test_a_servers_text_cannot_control_the_terminal() -> None:
    body = {"error": "\x1b[2JAll\rgood" + 9999 * "x", "code": "\x07", "path": "\n"}
    refusal = respond(body | {"retryable": False}, 400)
    with odd_server(refusal) as odd, pytest.raises(RequestRefusedError) as raised:
        Tacitus(odd.address).status(ID)
    text = f"{raised.value}{raised.value.code}{raised.value.path}"
    assert text.isprintable()
    assert len(text) < 2_100


def test_no_error_contains_the_key() -> None:
    service = Tacitus(f"http://127.0.0.1:{free_port()}", KEY)
    with pytest.raises(ServerUnreachableError) as raised:
        service.status(ID)
    assert KEY not in f"{service!r} {service} {raised.value!r} {raised.value} {vars(raised.value)}"
    with pytest.raises(UsageError) as usage:
        Tacitus("http://127.0.0.1", f"{KEY}\nX: y")
    assert KEY not in str(usage.value)


@pytest.mark.parametrize("kind", ["attested", "output", "arbitrum", "beacon"])
def test_an_address_proves_only_the_genuine_code_with_the_routes_source(kind: str) -> None:
    """A server cannot pass off its own code: the address follows from it."""
    for connection, bytecodes, is_proven in checked_routes(kind):
        codes = [respond({"bytecode": code}) for code in bytecodes]
        with odd_server(respond({"connections": [connection]}), *codes) as odd:
            (route,) = Tacitus(odd.address).routes()
        assert route.is_genuine is is_proven


def test_the_served_file_names_what_is_not_the_known_beacon_chains(tmp_path: Path) -> None:
    """The file has the known beacon chains in it; the server only serves the contracts' code."""
    (client := tmp_path / "tacitus.py").write_text(joined_client())
    proven = "its address proves its code and its constructor's arguments"
    checkpoint = f"0x{TRUE.checkpoint.hex()}"
    compare = f"compare the checkpoint {checkpoint};"
    known = "genesis and forks are those of the known beacon chain"
    remarks = [
        (TRUE, f"{proven}; {known}; {compare}"),
        (UNKNOWN_SOURCE, f"{proven}; {TO_COMPARE}; {compare}"),
        *((registry, f"not genuine: {differences}") for registry, differences in FORGED),
    ]
    connections = [
        checked_route("beacon", registry.address, constructor_arguments(registry))
        | {"originChainId": f"{registry.source}"}
        for registry, _ in remarks
    ]
    names = ("BeaconRegistry", "EventsVerifier", "FactsLookup")
    codes = [respond({"bytecode": load_artifact(name).bytecode.hex()}) for name in names]
    responses = [respond({"connections": connections}), *codes]
    command = [sys.executable, str(client), "routes", "--server"]
    with odd_server(*responses, *responses) as odd:
        ended = run_program([*command, odd.address])
        as_json = run_program([*command, odd.address, "--json"])
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    for line, (registry, remark) in zip(lines, remarks, strict=True):
        start = f"{registry.source} → 10  beacon  {registry.address}  {remark}"
        assert line.startswith(start)
    routes = list(map(json.loads, as_json.stdout.splitlines()))
    assert {route["checkpoint"] for route in routes} == {checkpoint}
    known, unknown, *forged = routes
    assert (known["isGenuine"], known["beaconDifferences"]) == (True, [])
    assert (unknown["isGenuine"], unknown["beaconDifferences"]) == (None, None)
    assert {route["isGenuine"] for route in forged} == {False}
    assert all(route["beaconDifferences"] for route in forged)
