"""The API beside proofs: estimates, lists, files, CORS."""

import csv
import io
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests

from queries.contracts.create2 import courier_address
from tests.commands import run_program
from tests.rigs.anvil import Chain
from tests.rigs.service import HOLDER, HOLDER_BALANCE, HORIZON, Service, accounts, request
from tests.scenarios.fixtures import NewNode, NewService
from tests.scenarios.test_keys import shown_keys
from tests.scenarios.visitor import Visitor

GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"  # of OP-stack chains
L1_FEE = 77 * 10**14  # wei
L1_SHARE = {"l1Fee": hex(L1_FEE)}  # of their receipts


def test_the_same_idempotency_key_submits_a_batch_once(shared_service: Service) -> None:
    first, other = (
        request({31337: {shared_service.chain.mine(2) - 1: accounts(HOLDER, props=props)}})
        for props in (["BALANCE"], ["NONCE"])
    )

    def submit(content: Any, key: str) -> requests.Response:
        return shared_service.post("/submit-batch-query", content, Idempotency_Key=key)

    with ThreadPoolExecutor(8) as pool:
        answers = [answer.json() for answer in pool.map(submit, 8 * [first], 8 * ["one"])]
    assert all(answer == answers[0] for answer in answers)
    conflict = submit(other, "one")
    assert (conflict.status_code, conflict.json()["code"]) == (409, "idempotency_key_reused")
    assert submit(other, "two").json() != answers[0]
    theirs = shared_service.post(
        "/submit-batch-query", other, key=shared_service.keys[1], Idempotency_Key="one"
    )
    assert theirs.status_code == 200  # accounts do not share idempotency keys
    shared_service.wait(answers[0]["internalId"])


def estimate(service: Service, block: int) -> dict[str, Any]:
    content = request({31337: {block: accounts(HOLDER)}})
    refused = service.post("/estimate", content | {"fee": "much"}).json()
    assert refused["code"] == "fee_malformed"
    del content["fee"]
    answer = service.post("/estimate", content)
    assert answer.status_code == 200, answer.text
    estimated: dict[str, Any] = answer.json()
    return estimated


def test_a_batch_with_the_estimated_fee_is_done_and_spends_no_more(
    new_service: NewService, new_node: NewNode, chain: Chain
) -> None:
    service, node = new_service(), new_node(chain)
    service.add_native_chain(chain, node, free=False)
    service.serve()
    block = chain.mine(2) - 1
    first = estimate(service, block)
    assert (first["complete"], first["free"]) == (True, False)
    assert 0 < int(first["cost"]) <= int(first["feeNeeded"])
    # OP-stack chains charge an L1 fee. This code returns L1_FEE for every call.
    chain.rpc("anvil_setCode", GAS_PRICE_ORACLE, f"0x66{L1_FEE:014x}5f5260205ff3")
    node.falsify(
        "eth_getTransactionReceipt", lambda _, receipt: receipt and {**receipt, **L1_SHARE}
    )
    block = chain.mine(2) - 1
    estimated = estimate(service, block)
    assert int(estimated["feeNeeded"]) >= int(first["feeNeeded"]) + L1_FEE
    service.prove()
    too_little = service.submit_balance(block, fee=str(L1_FEE))
    assert service.rejection(too_little)["code"] == "fee_too_low"
    # Enough for the next block, although the estimate allows the L1 fee to double.
    enough = int(first["feeNeeded"]) + L1_FEE
    assert enough < int(estimated["feeNeeded"])
    status = service.wait(service.submit_balance(block, fee=str(enough)))
    assert L1_FEE < int(status["spent"]) <= enough
    # A proven fact costs nothing.
    again = estimate(service, block)
    assert (again["feeNeeded"], again["blocks"][0]["proven"] != []) == ("0", True)
    assert service.wait(service.submit_balance(block, fee="1"))["spent"] == "0"


def test_a_list_has_the_owners_batches_newest_first_in_pages(shared_service: Service) -> None:
    block = shared_service.chain.mine(2) - 1
    own, others = (shown_keys(Visitor(shared_service.url).sign_in())[0] for _ in range(2))
    mine = [shared_service.submit_balance(block, key=own) for _ in range(4)]
    another = shared_service.submit_balance(block, key=others)
    shared_service.wait(*mine, another)
    listed: list[str] = []
    page = shared_service.get("/batch-queries", key=own, limit=2).json()
    shared_service.submit_balance(block, key=own)  # is on no later page
    while len(listed) < len(mine):
        assert len(page["batches"]) <= 2
        listed += [batch["internalId"] for batch in page["batches"]]
        if page["cursor"]:
            page = shared_service.get(
                "/batch-queries", key=own, limit=2, cursor=page["cursor"]
            ).json()
    assert page["cursor"] is None
    assert listed == sorted(mine, reverse=True)
    done = shared_service.get("/batch-queries", key=others, status="DONE").json()["batches"]
    assert [batch["internalId"] for batch in done] == [another]
    assert shared_service.get("/batch-queries", key=own, status="REJECTED").json()["batches"] == []


def test_the_routes_are_public(shared_service: Service) -> None:
    answer = requests.get(f"{shared_service.url}/chain-connections", timeout=30)
    here: dict[str, object] = {"originChainId": "31337", "destinationChainId": "31337"}
    # Deployed by hand, so its address does not prove its code.
    here |= {"kind": "native", "verifiable": False}
    here |= {"constructorArguments": f"0x{HORIZON:064x}", "horizon": "2100-01-01T00:00:00.000Z"}
    connection = answer.json()["connections"][0]
    assert here.items() <= connection.items()
    assert connection["courier"] == courier_address()
    router = shared_service.manage("deploy_router", "--destination", "31337", "--events", "--yes")
    assert connection["eventsRouter"] == router.stdout.strip()


def test_facts_are_downloaded_as_files_with_next_links(shared_service: Service) -> None:
    """A file has 2,000 facts; three batches ask for two of 400 accounts each, and of one more."""
    block, props = shared_service.chain.mine(2) - 1, ("BALANCE", "NONCE")
    many = [f"0x{number:040x}" for number in range(1, 1_201)]
    batches = [
        shared_service.submit({31337: {block: accounts(HOLDER, *part, props=props)}})
        for part in (many[:400], many[400:800], many[800:])
    ]
    shared_service.wait(*batches)
    page = f"{shared_service.url}/explorer/block/31337/{block}/facts"
    first = requests.get(f"{page}.json", timeout=60)
    rest = requests.get(f"{shared_service.url}{first.links['next']['url']}", timeout=60)
    assert "next" not in rest.links
    rows = first.json() + rest.json()
    assert len(rows) == 2 * len({HOLDER, *many})  # each fact once
    assert {row["account"].lower() for row in rows} == {HOLDER.lower(), *many}
    (batch_file,) = {
        requests.get(
            f"{shared_service.url}/explorer/query/{batch}/facts.csv", timeout=60
        ).text.count("\n")
        for batch in batches
    }
    assert batch_file == 803  # with the header line
    table = csv.DictReader(io.StringIO(requests.get(f"{page}.csv", timeout=60).text))
    assert list(table) == first.json()
    holder_rows = {row["field_or_slot"]: row for row in rows if row["account"] == HOLDER}
    row = holder_rows["BALANCE"]
    assert row["block"] == str(block)
    assert int(row["word"], 16) == HOLDER_BALANCE


def test_the_servers_tacitus_py_submits_and_waits(shared_service: Service, tmp_path: Path) -> None:
    file = tmp_path / "tacitus.py"
    file.write_bytes(requests.get(f"{shared_service.url}/tacitus.py", timeout=30).content)
    settings = {"TACITUS_URL": shared_service.url, "TACITUS_KEY": shared_service.keys[0]}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_program([sys.executable, str(file), *arguments], env=settings)

    options = ["--account", HOLDER, "--prop", "BALANCE", "--to", "31337", "--wait"]
    result = run("submit", "--block", str(shared_service.chain.mine(2) - 1), *options)
    assert (result.returncode, f"{HOLDER_BALANCE:,} wei" in result.stdout) == (0, True), (
        result.stderr
    )
    refused = run("submit", "--block", "1", *options, "--prop", "SHOE_SIZE")
    assert refused.returncode != 0
    assert "SHOE_SIZE" in refused.stderr


def test_the_examples_of_openapi_json_work_on_this_server(shared_service: Service) -> None:
    (route,) = shared_service.get("/chain-connections").json()["connections"]
    # The examples name one of the last 50 blocks. Other scenarios change the state of theirs.
    block = shared_service.chain.mine(60) - 1
    shared_service.wait(shared_service.submit_balance(block))  # so that the server knows the chain
    document = shared_service.get("/openapi.json").json()
    batches: list[str] = []
    for path in ("/submit-batch-query", "/submit-request", "/estimate", "/witness"):
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        for example in body["examples"].values():
            answer = shared_service.post(path, example["value"])
            assert answer.status_code == 200, answer.text
            content = answer.json()
            batches += {content.get("internalId"), content.get("request_id")} - {None}
    assert len(batches) == 3
    lookup = document["paths"]["/ccip"]["post"]["requestBody"]["content"]["application/json"]
    for example in lookup["examples"].values():
        answer = requests.post(f"{shared_service.url}/ccip", json=example["value"], timeout=30)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["data"]) > 1_000
    shared_service.chain.mine(4)
    shared_service.wait(*batches)
    routes = document["paths"]["/chain-connections"]["get"]["responses"]["200"]["content"]
    (example,) = routes["application/json"]["example"]["connections"]
    for name in ("originChainId", "destinationChainId", "registry"):
        assert example[name] == route[name]
    assert example["origin"]["name"] == route["origin"]["name"]
    guide = shared_service.get("/docs/api.md").text
    for text in (json.dumps(document), guide[guide.index("## Endpoints") :]):
        assert not re.search("11155111|5186021|Sepolia", text)


def test_cors_allows_any_origin_unless_api_cors_is_0(
    shared_service: Service, new_service: NewService
) -> None:
    closed = new_service()
    closed.serve(API_CORS="0")
    origin = {"Origin": "https://dapp.example"}
    preflight = origin | {"Access-Control-Request-Method": "POST"}
    for service, allowed in ((shared_service, "*"), (closed, None)):
        address = f"{service.url}/chain-connections"
        for answer in (
            requests.get(address, headers=origin, timeout=30),
            requests.options(f"{service.url}/submit-batch-query", headers=preflight, timeout=30),
            requests.options(f"{service.url}/no-such-address", headers=preflight, timeout=30),
            requests.get(f"{service.url}/docs/api.md", headers=origin, timeout=30),
        ):
            assert answer.headers.get("Access-Control-Allow-Origin") == allowed
            assert answer.ok or not allowed
            assert "Access-Control-Allow-Credentials" not in answer.headers
    for send in (requests.get, requests.options):
        page = send(f"{shared_service.url}/dashboard", headers=preflight, timeout=30)
        assert "Access-Control-Allow-Origin" not in page.headers


def test_the_owner_cancels_a_batch_before_anything_is_signed(
    new_service: NewService, chain: Chain
) -> None:
    service = new_service()
    service.add_native_chain(chain)
    service.serve()
    owner = Visitor(service.url).sign_in()
    (key,) = shown_keys(owner)
    block = chain.mine(2) - 1
    first, second = (service.submit_balance(block, key=key) for _ in range(2))
    assert service.post(f"/batch-queries/{first}/cancel").status_code == 404  # another's key
    answer = service.post(f"/batch-queries/{first}/cancel", key=key)
    assert answer.json()["rejection"]["code"] == "cancelled"
    again = service.post(f"/batch-queries/{first}/cancel", key=key)
    assert (again.status_code, again.json()["code"]) == (409, "batch_ended")
    # Only its owner sees the button on its page.
    page = f"/explorer/query/{second}"
    assert "Cancel this batch" not in Visitor(service.url).page(page)
    answer = owner.submit(page, f"/dashboard/batches/{second}/cancel")
    assert "The batch is cancelled." in answer.text
    with service.prove():
        third = service.submit_balance(block, key=key)
        service.wait(third)
        assert not service.rejection(second)["retryable"]
