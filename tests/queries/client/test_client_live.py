"""The client as a module and as a command, against a running service."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from queries.client.python import (
    BatchRejectedError,
    BlockQuery,
    DeliveryRequest,
    Status,
    Tacitus,
    build_batch,
    log_filter,
    main,
)
from tests.commands import run_program
from tests.queries.contracts.holder import NESTED, NESTED_VALUE
from tests.rigs.service import HOLDER, HOLDER_BALANCE, OWNERS, Service, wait_until
from tests.rigs.terminal import run_in_terminal, shown_lines

pytestmark = pytest.mark.either_database
CHAIN_ID = 31337


@pytest.fixture
def client(shared_service: Service) -> Tacitus:
    return Tacitus(f"{shared_service.url}/", shared_service.keys[0])


def test_a_program_submits_waits_and_reads_the_facts(
    shared_service: Service, client: Tacitus, contract: str, block: int
) -> None:
    position, value = NESTED, NESTED_VALUE
    head = shared_service.chain.header(block)
    shared_service.chain.mine(2)  # the next block determines which one was the last at a time
    batch = build_batch(
        CHAIN_ID,
        BlockQuery(
            CHAIN_ID, block=block, accounts=[HOLDER.lower()], props=["BALANCE", "CODE_HASH"]
        ),
        BlockQuery(
            CHAIN_ID, block=block, accounts=[contract], props=["NONCE"], slots=[position.slot]
        ),
        BlockQuery(CHAIN_ID, block=block, header=["PARENT_HASH", "TIMESTAMP", "COINBASE"]),
        BlockQuery(
            CHAIN_ID, timestamp=int(head["timestamp"], 16), accounts=[HOLDER], props=["NONCE"]
        ),
    )
    estimate = client.estimate(batch)
    assert (estimate.free, estimate.fee_needed, len(estimate.response["blocks"])) == (True, 0, 1)
    statuses: list[Status] = []
    batch_id = client.submit(batch).id
    done = client.wait(batch_id, timeout=60, on_progress=statuses.append, steps=True)
    assert done == statuses[-1]
    assert {step.mark for step in done.steps} == {"✓"}
    assert done.steps[0].name == "INITIAL_STATE"
    facts = client.facts(batch_id)
    assert {(fact.chain, fact.block) for fact in facts} == {(CHAIN_ID, block)}
    by_name = {(fact.account, fact.name): fact for fact in facts}
    balance = by_name[HOLDER, "BALANCE"]
    assert (balance.number, balance.units, balance.ens) == (
        HOLDER_BALANCE,
        Decimal(HOLDER_BALANCE) / 10**18,
        None,
    )
    assert by_name[HOLDER, "CODE_HASH"].number is None
    slots = [fact for fact in facts if fact.name == f"0x{position.slot:064x}"]
    assert [(fact.number, fact.units) for fact in slots] == [(value, None)]
    assert by_name[None, "PARENT_HASH"].word == head["parentHash"]
    assert by_name[None, "TIMESTAMP"].number == int(head["timestamp"], 16)
    (nonce,) = [fact for fact in facts if fact.selector.startswith("timestamp:")]
    assert (nonce.name, nonce.number) == ("NONCE", 0)


def test_a_rejected_batch_shows_its_step(client: Tacitus) -> None:
    batch = build_batch(CHAIN_ID, BlockQuery(CHAIN_ID, timestamp=1, header=["GAS_USED"]))
    with pytest.raises(BatchRejectedError) as raised:
        client.wait(client.submit(batch).id, timeout=60)
    assert (raised.value.step, raised.value.retryable) == ("INITIAL_STATE", False)


def test_a_program_reads_the_logs_that_match_its_filter(
    shared_service: Service, client: Tacitus
) -> None:
    chain = shared_service.chain
    holders, amounts = OWNERS, [7, 8]
    token = chain.deploy("DemoToken", ["address[]", "uint256[]"], [holders, amounts])
    block = chain.mine() - 1
    transfer = "Transfer(address,address,uint256)"
    query = BlockQuery(
        CHAIN_ID,
        block=block,
        logs=[log_filter(token, [transfer, "Approval(address,address,uint256)"], None, OWNERS[1])],
        receipts=[0],
        absent=[{"transaction": 0, **log_filter(token, transfer, OWNERS[0])}],
    )
    batch_id = client.submit(build_batch(CHAIN_ID, query)).id
    client.wait(batch_id, timeout=60)
    log, receipt, absence = client.facts(batch_id)
    assert log.event
    assert (log.name, log.event.transaction_index, log.event.log) == ("LOG:0:1", 0, 1)
    assert (log.event.address, log.event.log_index) == (token, 1)
    assert log.event.topics[2] == f"0x{24 * '0'}{OWNERS[1][2:].lower()}"
    assert int(log.event.data, 16) == amounts[1]
    assert receipt.event
    assert receipt.event.response["logCount"] == len(amounts)
    assert (absence.name.split(":")[0], int(absence.word, 16)) == ("ABSENT_LOG", 1)


# As a command


BLOCKS_AHEAD = 2  # of its chain's head, which a server still accepts


def environment(service: Service) -> dict[str, str]:
    return {"TACITUS_URL": service.url, "TACITUS_KEY": service.keys[0], "PYTHONUTF8": "1"}


def run(
    shared_service: Service, *arguments: str, **options: Any
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, shared_service.client_file, *arguments]
    completed = run_program(command, env=environment(shared_service), **options)
    assert shared_service.keys[0] not in completed.stdout + completed.stderr
    assert "Traceback" not in completed.stderr
    return completed


def submit(block: int, *options: str) -> list[str]:
    return ["submit", "--to", f"{CHAIN_ID}", "--block", f"{block}", "--account", HOLDER, *options]


def test_the_output_of_a_command_is_the_input_of_the_next(
    shared_service: Service, contract: str, block: int, tmp_path: Path
) -> None:
    slot = run(shared_service, "slot", "2", "--key", "0x" + 20 * "11").stdout.strip()
    file = tmp_path / "batch.json"
    query = BlockQuery(CHAIN_ID, block=block, accounts=[contract], slots=[slot])
    file.write_text(json.dumps(build_batch(CHAIN_ID, query)))
    batch = json.loads(run(shared_service, "submit", "--file", str(file), "--json").stdout)[
        "internalId"
    ]
    done = json.loads(run(shared_service, "wait", batch, "--json").stdout)
    (fact,) = done["facts"]
    assert (done["queryStatus"], fact["name"]) == ("DONE", slot)
    assert int(fact["word"], 16) == 2**184
    status = run(shared_service, "status", batch)
    first, *facts = status.stdout.splitlines()
    assert first.startswith(f"{batch}  DONE  ✓ final  ✓ hash known  ✓ header  ✓ facts")
    assert facts == [
        line for line in run(shared_service, "wait", batch).stdout.splitlines() if line
    ]
    assert json.loads(run(shared_service, "status", batch, "--json").stdout)["internalId"] == batch
    piped = run(
        shared_service, "submit", "--file", "-", "--idempotency-key", "x", input=file.read_text()
    )
    assert piped.returncode == 0, piped.stderr
    assert len(piped.stdout.strip()) == len(batch)


def test_the_status_of_a_batch_has_the_facts_proven_so_far(
    shared_service: Service, client: Tacitus, block: int
) -> None:
    late = shared_service.chain.head + BLOCKS_AHEAD  # not mined
    queries = [
        BlockQuery(CHAIN_ID, block=number, accounts=[HOLDER], props=["BALANCE"])
        for number in (block, late)
    ]
    header = BlockQuery(CHAIN_ID, block=late, header=["GAS_USED"])
    batch = client.submit(build_batch(CHAIN_ID, *queries, header)).id

    def rows() -> list[list[str]]:
        shown = run(shared_service, "status", batch)
        assert shown.returncode == 0, shown.stderr
        return [re.split("  +", line) for line in shown.stdout.splitlines()]

    wait_until(lambda: "BALANCE" in str(rows()))
    first, fact, *waiting = rows()
    assert first[1] == "IN_PROGRESS"
    balance = f"123.456789 ({HOLDER_BALANCE:,} wei)"
    assert fact == [f"{CHAIN_ID}", f"{block:,}", HOLDER, "BALANCE", balance]
    place = [f"{CHAIN_ID}", f"{late:,}"]
    assert [row[:-1] for row in waiting] == [[*place, "waits"], [*place, HOLDER, "waits"]]
    reasons = {query["waitsFor"] for query in client.status_response(batch)["queries"]} - {None}
    assert {row[-1] for row in waiting} == reasons
    shared_service.chain.mine(BLOCKS_AHEAD + 2)
    client.wait(batch, timeout=60)
    assert len(rows()) == 4


def test_the_command_waits_for_deliveries(shared_service: Service, target: str, block: int) -> None:
    function = "onBalance(address,uint256,uint256)"
    call = ("--deliver", target, function, HOLDER, "$block", f"$value({HOLDER}.BALANCE)")
    arguments = submit(block, "--prop", "BALANCE", *call, *call, "--wait")
    done = run(shared_service, *arguments)
    assert done.returncode == 0, done.stderr
    fact, first, second = done.stdout.splitlines()
    assert "BALANCE" in fact
    assert first.split()[:3] == second.split()[:3] == ["DELIVERED", target, function]
    assert first.split()[3] != second.split()[3]  # each has a transaction
    assert "✓ delivered" in done.stderr
    assert int.from_bytes(shared_service.chain.call(target, "balance()")) == HOLDER_BALANCE
    batch = json.loads(run(shared_service, *arguments, "--json").stdout)
    assert [entry["state"] for entry in batch["deliveries"]] == ["DELIVERED", "DELIVERED"]
    assert all(entry["gas"] > 30_000 for entry in batch["deliveries"])
    assert {entry["gas_source"] for entry in batch["deliveries"]} == {"TRIAL"}
    shown = run(shared_service, "status", batch["internalId"]).stdout.splitlines()
    assert "✓ delivered" in shown[0]
    assert len(shown) == 4


def test_the_command_refuses_incomplete_deliveries(shared_service: Service) -> None:
    base = submit(5, "--prop", "BALANCE", "--deliver", HOLDER)
    for options, sentence in (
        (["f(uint256)", "--gas", "30000", "--gas", "30000"], "Name the gas"),
        (["--gas", "30000"], "A delivery is --deliver CONTRACT FUNCTION"),
        (["f(uint256[])", "[1, x]", "--gas", "30000"], "is not a list in JSON"),
    ):
        refused = run(shared_service, *base, *options)
        assert refused.returncode == 2
        assert sentence in refused.stderr


def test_a_program_delivers_lists_and_large_numbers(
    shared_service: Service, client: Tacitus, target: str, block: int
) -> None:
    query = BlockQuery(CHAIN_ID, block=block, header=["TIMESTAMP"])
    call = DeliveryRequest(
        target,
        "onBalance(address,uint256,uint256)",
        [HOLDER, block, 2**255],
        gas=300_000,
        unless="isDone(uint256) view returns (bool)",
        unless_args=[2**254],
    )
    nothing = dataclasses.replace(call, unless_args=[block])
    batch = client.submit(build_batch(CHAIN_ID, query, deliver=[call, nothing]))
    status = client.wait(batch.id, timeout=60)
    assert [entry.state for entry in status.deliveries] == ["DELIVERED", "SKIPPED"]
    assert status.deliveries[0].transaction.startswith("0x")
    assert int.from_bytes(shared_service.chain.call(target, "balance()")) == 2**255


def create_feed(target: str, *options: str) -> list[str]:
    """The arguments that make a feed of HOLDER's balance."""
    function = "onBalance(address,uint256,uint256)"
    deliver = ("--deliver", target, function, HOLDER, "$block", f"$value({HOLDER}.BALANCE)")
    facts = ("--account", HOLDER, "--prop", "BALANCE")
    chain = ("--to", f"{CHAIN_ID}")
    return ["feed", "create", *chain, *facts, *deliver, "--gas", "300000", *options]


def test_the_command_makes_follows_changes_and_ends_a_feed(
    shared_service: Service, target: str
) -> None:
    def rows(*arguments: str) -> list[list[str]]:
        ended = run(shared_service, "feed", *arguments)
        assert ended.returncode == 0, ended.stderr
        return [re.split("  +", line) for line in ended.stdout.splitlines()]

    limits = ("--budget", f"{10**18}", "--catch-up", "all", "--until", "2030-01-01")
    created = run(shared_service, *create_feed(target, "--every", "20 blocks", *limits))
    assert created.returncode == 0, created.stderr
    feed = created.stdout.strip()
    ((_, state, sentence, target_chain, due),) = [row for row in rows("list") if row[0] == feed]
    subject = f"balance of {HOLDER[:6]}…{HOLDER[-4:]} · Chain {CHAIN_ID}, every 20 blocks"
    assert (state, sentence, target_chain) == ("ACTIVE", subject, f"to Chain {CHAIN_ID}")
    first = int(due.removeprefix("next: block ").replace(",", ""))
    shared_service.chain.mine(first + 23 - shared_service.chain.head)
    dues = [f"block {first + 20:,}", f"block {first:,}"]

    def runs() -> list[list[str]]:
        return [row for row in rows("show", feed)[5:] if row[0] in dues]

    value = "123.456789 ETH"
    wait_until(lambda: [row[2:] for row in runs()] == [["DONE", value, "DELIVERED"]] * 2)
    shown = rows("show", feed)
    assert [row[0] for row in runs()] == dues
    assert shown[1:5] == [
        ["deliver", f"onBalance(address,uint256,uint256) of {target}"],
        ["budget", "1 ETH in 24 hours"],
        ["until", "2030-01-01 00:00:00 UTC"],
        ["catch-up", "all"],
    ]
    assert "BALANCE" in run(shared_service, "wait", runs()[0][1]).stdout
    assert int.from_bytes(shared_service.chain.call(target, "balance()")) == HOLDER_BALANCE
    last = run(shared_service, "feed", "show", feed, "--runs", "1")
    assert last.stderr == "It has older runs; --runs 100 shows more.\n"
    now = run(shared_service, "feed", "run", feed)
    assert now.returncode == 0, now.stderr
    shared_service.chain.mine(3)  # its block was the newest
    assert "DELIVERED" in run(shared_service, "wait", now.stdout.strip()).stdout
    assert rows("rename", feed, "The <vault>")[0][2] == "The <vault>"
    paused = rows("pause", feed)[0]
    assert (paused[1], paused[2], paused[-1]) == ("PAUSED", "The <vault>", "Its owner paused it.")
    assert rows("rename", feed)[0][2] == subject
    assert paused[5].startswith(f"{value} at block ")
    assert rows("resume", feed)[0][1] == "ACTIVE"
    assert rows("budget", feed, "2000")[0][1] == "ACTIVE"
    wrong = run(shared_service, "feed", "budget", feed, "0.1")
    sentence = "argument wei: '0.1' is not a whole number in decimal or 0x-hex."
    assert (wrong.returncode, sentence in wrong.stderr) == (2, True)
    body = json.loads(run(shared_service, "feed", "show", feed, "--json").stdout)
    assert (body["budget"], body["catchUp"], body["batch"]["fee"]) == ("2000", "all", "0")
    ended = rows("end", feed)[0]
    assert (ended[1], ended[-1]) == ("ENDED", "Its owner ended it.")
    listed = run(shared_service, "feed", "list", "--json").stdout.splitlines()
    assert feed in [json.loads(line)["id"] for line in listed]
    refused = run(shared_service, "feed", "resume", feed)
    assert (refused.returncode, "has ended" in refused.stderr) == (1, True)


def test_the_command_shows_a_feeds_whole_trigger(
    shared_service: Service, tmp_path: Path, client: Tacitus
) -> None:
    def lines(*arguments: str) -> list[str]:
        return run(shared_service, "feed", *arguments).stdout.splitlines()

    query = BlockQuery(CHAIN_ID, block="$due", accounts=[HOLDER], slots=[2**255])
    batch = build_batch(CHAIN_ID, query)
    when = {"value": f"{HOLDER}.0x8{63 * '0'}", "by": "50 bp", "every": "900 blocks"}
    on = {"address": HOLDER, "event": "Paid(uint256 indexed id)", "topics": [None, f"0x{64 * '1'}"]}
    for trigger, expected in (
        ({"when": when}, [f"{name:8}  {text}" for name, text in when.items()]),
        ({"on": on}, [f"{name:8}  {on[name]}" for name in ("address", "event")]),
    ):
        feed = client.create_feed({**trigger, "batch": batch}).id
        (listed,) = (line for line in lines("list") if feed in line)
        assert len(re.sub("  +", "  ", listed)) < 200
        assert lines("show", feed)[1:][: len(expected)] == expected
        client.end_feed(feed)
    assert f'topics    [null, "0x{64 * "1"}"]' in lines("show", feed)


def test_the_command_says_where_a_run_tells_why_it_failed(
    shared_service: Service, target: str, client: Tacitus
) -> None:
    query = BlockQuery(CHAIN_ID, block="$due", accounts=[HOLDER], props=["BALANCE"])
    batch = build_batch(CHAIN_ID, query, deliver=[DeliveryRequest(target, "none()", gas=21_000)])
    feed = client.create_feed({"every": "1000 blocks", "batch": batch}).id
    run_of_feed = client.run_feed(feed).batch_id
    shared_service.chain.mine(3)
    client.wait(run_of_feed, timeout=60, deliveries=False)

    def retry() -> list[str]:
        """Empty until the delivery was refused."""
        lines = run(shared_service, "feed", "show", feed).stdout.splitlines()
        (row,) = (line for line in lines if run_of_feed in line)
        return re.findall(r"WAITING  refused once, next try (2.+) UTC  The contract reverts", row)

    (time,) = wait_until(retry)
    assert datetime.fromisoformat(f"{time}Z") > datetime.now(UTC) - timedelta(minutes=5)
    shown = run(shared_service, "feed", "show", feed)
    assert f"{shared_service.url}/explorer/query/" in shown.stderr
    client.end_feed(feed)


def test_a_batch_that_stores_nothing_has_no_facts(
    shared_service: Service, client: Tacitus, target: str, block: int
) -> None:
    query = BlockQuery(CHAIN_ID, block=block, accounts=[HOLDER], props=["BALANCE"])
    arguments = [HOLDER, "$block", f"$value({HOLDER}.BALANCE)"]
    call = DeliveryRequest(target, "onBalance(address,uint256,uint256)", arguments, gas=300_000)
    batch_id = client.submit(build_batch(CHAIN_ID, query, deliver=[call]) | {"prove": False}).id
    for command in (["wait", "--no-deliveries"], ["status"]):
        ended = run(shared_service, *command, batch_id)
        assert (ended.returncode, "stores no facts" in ended.stderr) == (0, True), ended.stderr
    body = json.loads(run(shared_service, "wait", batch_id, "--json").stdout)
    assert (body["prove"], body["facts"], client.facts(batch_id)) == (False, [], ())


FEED_TOML = f"""
every = "1 week"
until = 2030-01-01T00:00:00Z
[batch]
destinationChainId = "{CHAIN_ID}"
fee = "0"
[batch.data.{CHAIN_ID}."timestamp:$due".accounts.{HOLDER}]
props = ["BALANCE"]
"""


def test_a_feed_in_a_file_is_json_or_toml(shared_service: Service, tmp_path: Path) -> None:
    file = tmp_path / "feed.toml"
    file.write_text(FEED_TOML)
    made = run(shared_service, "feed", "create", "--file", str(file), "--budget", "7", "--json")
    assert made.returncode == 0, made.stderr
    body = json.loads(made.stdout)
    assert (body["until"], body["budget"]) == (1_893_456_000, "7")
    content = run(shared_service, "feed", "show", body["id"], "--json").stdout
    copy = {"every": body["every"], "batch": json.loads(content)["batch"]}
    again = run(shared_service, "feed", "create", "--file", "-", input=json.dumps(copy))
    assert again.returncode == 0, again.stderr
    for feed in (body["id"], again.stdout.strip()):
        assert "every week" in run(shared_service, "feed", "end", feed).stdout
    file.write_text("every = ")
    refused = run(shared_service, "feed", "create", "--file", str(file))
    assert (refused.returncode, f"{file} is not TOML" in refused.stderr) == (2, True)


def test_a_program_makes_follows_and_ends_a_feed(client: Tacitus) -> None:
    query = BlockQuery(CHAIN_ID, timestamp="$due", accounts=[HOLDER], props=["BALANCE"])
    batch = build_batch(CHAIN_ID, query)
    feed = client.create_feed({"every": "1 week", "batch": batch | {"label": "x"}})
    assert (feed.state, feed.source, feed.budget, feed.catch_up) == (
        "ACTIVE",
        CHAIN_ID,
        None,
        "latest",
    )
    assert "label" in feed.warnings[0]
    assert feed.next_due.startswith("timestamp:")
    assert feed.id in [listed.id for listed in client.feeds()]
    assert client.set_feed_budget(feed.id, 2**70).budget == 2**70
    assert client.pause_feed(feed.id).reason == "Its owner paused it."
    assert client.resume_feed(feed.id).state == client.feed(feed.id).state == "ACTIVE"
    assert list(client.feed_runs(feed.id)) == []
    ended = client.end_feed(feed.id)
    assert (ended.state, ended.next_due) == ("ENDED", "")


def test_closed_output_is_no_error_in_the_command(shared_service: Service) -> None:
    """As by `| head`, which closes the pipe after its lines."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        command = [sys.executable, shared_service.client_file, "slot", "3", "--key", "uint64:7"]
        ended = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


def test_the_command_proves_logs(shared_service: Service) -> None:
    chain = shared_service.chain
    chain.deploy("DemoToken", ["address[]", "uint256[]"], [[HOLDER], [1]])
    block = chain.mine() - 1
    (sent,) = chain.transactions_of(chain.payer, since=block)
    for log in (f"{sent['hash']}:0", "0:0", "0"):
        arguments = ["submit", "--to", f"{CHAIN_ID}", "--block", f"{block}", "--log", log]
        done = json.loads(run(shared_service, *arguments, "--wait", "--json").stdout)
        (fact,) = done["facts"]
        assert (fact["name"], fact["event"]["log_index"]) == ("LOG:0:0", 0)
    assert "LOG:0:0" in run(shared_service, *arguments, "--wait").stdout


def test_a_downloaded_proof_verifies_without_the_server(
    shared_service: Service, block: int, tmp_path: Path
) -> None:
    arguments = submit(block, "--prop", "BALANCE", "--wait", "--json")
    batch = json.loads(run(shared_service, *arguments).stdout)["internalId"]
    file = tmp_path / "proof.json"
    completed = run(shared_service, "proof", batch, "--out", str(file))
    assert (completed.returncode, completed.stdout) == (0, ""), completed.stderr
    assert completed.stderr.strip().endswith(f"bytes to {file}.")
    assert run(shared_service, "proof", batch).stdout == file.read_text()
    assert Tacitus(shared_service.url, shared_service.keys[0]).proof(batch) == file.read_bytes()
    verified = shared_service.manage("verify_proof", str(file), "--node", shared_service.chain.url)
    assert HOLDER in verified.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (submit(10**6, "--prop", "BALANCE"), 3, "when the server accepts this block."),
        (submit(1, "--prop", "AGE"), 1, "AGE"),
        (["status", "01J2VM6JSA6VKKZ0ENWGYYPR18"], 1, "No query found"),
        (["status", "x", "--key", "tct_wrong"], 1, "/dashboard/keys shows the one that works."),
        (["status", "x", "--server", "127.0.0.1"], 2, "The server must be a URL such as"),
        (["status", "x", "--server", "http://127.0.0.1:1"], 3, "does not answer"),
        (["submit"], 2, "Name the chain with --to and the values to prove"),
        (["feed", "create", "--every", "1 week"], 2, "Name the chain with --to"),
        (create_feed(HOLDER, "--every", "2 years"), 1, 'every is "2 years"'),
        (create_feed(HOLDER, "--every", "1 week", "--until", "soon"), 2, "soon is not a time"),
        (["feed", "show", "x"], 1, "You have no feed"),
        (["slot", "1", "--key", "dai"], 2, "string:dai"),
        (["slot", "a", "--layout", "/nowhere.json"], 2, "cannot be read"),
    ],
)  # fmt: skip
def test_a_failure_prints_one_sentence_and_sets_the_exit_code(
    shared_service: Service, arguments: list[str], code: int, sentence: str
) -> None:
    completed = run(shared_service, *arguments)
    assert (completed.returncode, completed.stdout) == (code, "")
    assert sentence in completed.stderr
    assert len(completed.stderr.splitlines()) == 1


@pytest.mark.parametrize("key", ["", "tct_wrong"])
def test_a_missing_or_wrong_key_links_to_the_dashboard_once(
    shared_service: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
) -> None:
    """The link comes from the server, which knows its own address."""
    monkeypatch.setenv("TACITUS_KEY", key)
    assert main(["status", "x", "--server", shared_service.url]) == 1
    message = capsys.readouterr().err
    assert message.count("/dashboard") == message.count(f"{shared_service.url}/dashboard") == 1
    assert ("Put it into TACITUS_KEY." in message) is (key == "")


@pytest.mark.parametrize(("columns", "colour"), [(60, False), (200, True)])
def test_on_a_terminal_the_progress_line_moves(
    shared_service: Service, block: int, tmp_path: Path, columns: int, *, colour: bool
) -> None:
    variables = environment(shared_service) | ({} if colour else {"NO_COLOR": "1"})
    output = run_in_terminal(
        [sys.executable, shared_service.client_file, *submit(block, "--prop", "NONCE", "--wait")],
        columns,
        folder=tmp_path,
        environment=variables,
    )
    link, progress, *facts = shown_lines(output)
    assert "/explorer/query/" in link[0]
    assert progress[-1].startswith("DONE  ✓ ")
    assert all(len(line) < columns and "…" not in line for line in progress)
    assert ("\x1b[32m✓\x1b[0m" in output) is colour
    assert len(facts) == 1


def test_ctrl_c_ends_waiting_with_a_sentence(shared_service: Service) -> None:
    batch = shared_service.submit_balance(
        shared_service.chain.head + BLOCKS_AHEAD
    )  # which is never mined
    command = subprocess.Popen(
        [sys.executable, shared_service.client_file, "wait", batch],
        env=environment(shared_service),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stderr
    first = command.stderr.readline()
    assert first.startswith((b"ACCEPTED", b"RECEIVED", b"IN_PROGRESS"))
    command.send_signal(signal.SIGINT)
    _, message = command.communicate(timeout=20)
    assert command.returncode == 130
    assert message.decode().splitlines()[-1].startswith("Interrupted. A submitted batch continues")
    assert b"Traceback" not in message


def test_routes_lists_whether_registry_addresses_prove_their_code(shared_service: Service) -> None:
    """This registry was deployed by hand, at another address."""
    (route,) = Tacitus(shared_service.url).routes()
    assert route.is_genuine is False
    line = f"{CHAIN_ID} → {CHAIN_ID}  native  {route.registry}  unverifiable: the address "
    assert run(shared_service, "routes").stdout.startswith(line)
    fields = json.loads(run(shared_service, "routes", "--json").stdout)
    assert (fields["kind"], fields["isGenuine"]) == ("native", False)
