"""The status of a batch from its submission to its end."""

import re
from datetime import UTC, datetime
from typing import Any

from eth_account import Account as Key

from tests.rigs.anvil import Chain
from tests.rigs.service import BALANCE, HOLDER, Service, accounts, wait_until
from tests.scenarios.fixtures import NewService

STEPS = ["INITIAL_STATE", "BLOCKHASH_AVAILABLE", "HEADER_ACCUMULATED", "ACCOUNT_ACCUMULATED"]
COMPLETED, IN_PROGRESS = "COMPLETED", "IN_PROGRESS"


def check(status: dict[str, Any], *expected: str | None) -> dict[str, Any]:
    """Check the statuses and times of the only query's steps; return the query."""
    (query,) = status["queries"]
    steps = query["steps"]
    assert [step["step"] for step in steps] == STEPS[: len(steps)]
    assert tuple(step["status"] for step in steps) == expected
    for step in steps:
        assert (step["started"] is None) == (step["status"] is None)
        assert (step["completed"] is None) == (step["status"] != COMPLETED)
    times = [step[name] for step in steps for name in ("started", "completed") if step[name]]
    assert times == sorted(times)
    assert status["submitted"] <= times[0]
    return dict(query)


def read_page(service: Service, batch: str) -> str:
    """What a browser shows of the batch without a click, on one line."""
    html = service.get(f"/explorer/query/{batch}").text
    main = html.partition("<main")[2].partition("</main>")[0]
    shown = re.sub("<details.*?</details>", " ", main, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", shown).split())


def check_page(page: str, status: dict[str, Any], batch: str) -> None:
    """Check the six things that the specification lists: id, submission, destination chain, fee,
    status, and the steps with their times.
    """
    submitted = status["submitted"].replace("T", " ")[:19]
    assert f"batch {batch}" in page
    assert f"submitted {submitted} UTC" in page
    assert "route Chain 31337 → Chain 31337" in page
    assert "native · trusts nobody" in page
    assert re.search("fee 0 offered \\(free here\\) · (0|[0-9.]+ ETH) spent", page)
    assert f"status {status['status']}" in page
    (query,) = status["queries"]
    for step in query["steps"]:
        times = (step[name] for name in ("started", "completed"))
        started, completed = (moment and moment[11:19] for moment in times)
        expected = f"{step['step']} {step['status'] or 'not started'}"
        expected += f" started {started}" if started else ""
        expected += f" → completed {completed}" if completed else ""
        assert expected in page


def test_steps_from_submission_to_done(chain: Chain, new_service: NewService) -> None:
    """Received, accepted, waiting for finality, sent, mined, confirmed."""
    service = new_service()
    service.add_native_chain(chain, finality=3, confirmations=3)
    service.serve()
    chain.automine(on=False)
    block = chain.mine()
    batch = service.submit_balance(block)
    status = service.status(batch)
    assert (status["queryStatus"], status["status"]) == (IN_PROGRESS, "RECEIVED")
    assert (status["waitCode"], status["ended"]) == ("no_prover", None)
    check(status, IN_PROGRESS, None, None, None)
    check_page(read_page(service, batch), status, batch)

    service.prove()
    status = service.wait_for(batch, "block_not_final")
    assert (status["queryStatus"], status["status"]) == (IN_PROGRESS, "ACCEPTED")
    assert status["waitsFor"]
    assert check(status, IN_PROGRESS, None, None, None)["waitCode"] == "block_not_final"

    chain.mine(3)
    status = service.wait_for(batch, "transaction_pending")
    assert status["status"] == IN_PROGRESS
    check(status, COMPLETED, COMPLETED, IN_PROGRESS, None)
    check_page(read_page(service, batch), status, batch)
    assert not service.is_proven(HOLDER, block)

    mined = chain.mine()
    status = service.wait_for(batch, "confirming")
    check(status, COMPLETED, COMPLETED, COMPLETED, IN_PROGRESS)
    chain.mine()
    assert service.wait_for(batch, "confirming")["ended"] is None

    chain.mine()
    status = service.wait(batch)
    header, account = check(status, COMPLETED, COMPLETED, COMPLETED, COMPLETED)["steps"][2:]
    assert (status["status"], status["waitCode"], status["waitsFor"]) == ("DONE", None, None)
    check_page(read_page(service, batch), status, batch)
    assert status["ended"] >= account["completed"]
    receipt = chain.receipt(header["transactionHash"])
    assert account["transactionHash"] == header["transactionHash"]
    assert header["transactionBlock"] == str(mined) == str(int(receipt["blockNumber"], 16))
    assert header["gasUsed"] == str(int(receipt["gasUsed"], 16))


def test_a_query_of_header_fields_ends_with_its_header(shared_service: Service) -> None:
    block = shared_service.chain.mine(2) - 1
    status = shared_service.wait(shared_service.submit({31337: {block: {"header": ["TIMESTAMP"]}}}))
    check(status, COMPLETED, COMPLETED, COMPLETED)


def test_a_batch_is_done_when_all_its_queries_are(shared_service: Service) -> None:
    """One of its blocks does not exist yet: the others are proven and shown; the batch waits."""
    chain, holder = shared_service.chain, Key.create().address
    chain.set_balance(holder, 7 * 10**18)
    block = chain.mine(3) - 2
    missing = block + 20  # far enough above what the other scenarios mine
    batch = shared_service.submit(
        {31337: {number: accounts(holder) for number in (missing, block, block + 1)}}
    )
    wait_until(
        lambda: (
            [query["values"] for query in shared_service.status(batch)["queries"]]
            == [None, *2 * [{"BALANCE": f"0x{7 * 10**18:064x}"}]]
        ),
        what=lambda: f"two of three are proven: {shared_service.status(batch)}",
    )
    status = shared_service.wait_for(batch, "block_not_final")
    assert status["queryStatus"] == IN_PROGRESS
    registry = shared_service.registries[31337, 31337]
    assert [query["registry"] for query in status["queries"]] == [None, registry, registry]
    assert [query["waitCode"] for query in status["queries"]] == ["block_not_final", None, None]
    waiting = f"{missing} waits until its block is final {re.escape(status['waitsFor'])}"
    rows = f"{waiting} {block} 7 ETH .* {block + 1} 7 ETH .* proven"
    page = read_page(shared_service, batch)
    assert re.search(rows, page)
    assert "INITIAL_STATE COMPLETED 2 of 3 started" in page
    assert f"2 of 3 queries are proven. {status['waitsFor']}" in page
    chain.mine(21)
    shared_service.wait(batch)
    for number in (missing, block, block + 1):
        assert shared_service.field(holder, number, BALANCE) == 7 * 10**18


def test_no_query_names_what_another_one_waits_for(shared_service: Service) -> None:
    """A time of one of its blocks is to come, and no block of the batch is looked at before."""
    chain = shared_service.chain
    block, time = chain.mine(3) - 2, int(chain.header("latest")["timestamp"], 16) + 3_000
    batch = shared_service.submit(
        {31337: {block: accounts(HOLDER), f"timestamp:{time}": accounts(HOLDER)}}
    )
    sentence = shared_service.wait_for(batch, "time_not_reached")["waitsFor"]
    page = read_page(shared_service, batch)
    assert sentence in page
    moment = datetime.fromtimestamp(time, UTC)
    rows = f"{block} waits with the batch {moment:%Y-%m-%d %H:%M:%S} UTC waits for its block"
    assert rows in page
    shared_service.post(f"/batch-queries/{batch}/cancel")
