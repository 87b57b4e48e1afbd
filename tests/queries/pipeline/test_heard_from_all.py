"""Nobody is rejected, and nothing stopped or paid for again, for the word of the node that stands
first: where it would be the end, the others are asked as well.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import Batch, BlockJob, SentTransaction
from queries.pipeline import chains as chains_of_a_worker
from queries.pipeline import following, last_looks, work
from queries.pipeline.chains import Chains
from queries.pipeline.verdicts import LOOKS_WITH_ONE, Heard, is_heard_from_all
from queries.proving.header_fields import HeaderField
from queries.proving.headers import decode_header, header_from_json
from queries.proving.rlp_items import encode_list, encode_string
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Handle, PassOn, between, called, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.pipeline.standing_still import each_of
from tests.queries.pipeline.test_a_bad_node_first import (
    GWEI,
    is_dear_within_bounds,
    is_far_ahead,
    refuses,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
AWAY = "http://127.0.0.1:9"
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
FIELDS = {
    "extraData": HeaderField.EXTRA_DATA,
    "parentHash": HeaderField.PARENT_HASH,
    "timestamp": HeaderField.TIMESTAMP,
}
OUT_OF_REACH = 100_000  # blocks


def is_beyond_reach(service: Service) -> Handle:
    return is_far_ahead(service, OUT_OF_REACH)


def refusing_proofs(code: int, message: str) -> Callable[[Service], Handle]:
    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getProof":
            answer.pop("result", None)
            answer["error"] = {"code": code, "message": message}

    return lambda _: retold(change)


def makes_up_headers(_: Service) -> Handle:
    """Of the block that is asked for, with its true state, under which it proves."""
    made_up: dict[str, str] = {}  # by hash, the block

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        for each in each_of(question):
            if each["method"] == "eth_getProof" and isinstance(each["params"][2], dict):
                block_hash = each["params"][2]["blockHash"]
                each["params"][2] = made_up.get(block_hash, each["params"][2])
        told = json.loads(pass_on())
        for asked, answer in zip(each_of(question), each_of(told), strict=True):
            block = asked["params"][0] if asked["params"] else ""
            if asked["method"] == "eth_getBlockByNumber" and str(block).startswith("0x"):
                answer["result"] = made_up_header(answer["result"], extraData=b"\0")
                made_up[answer["result"]["hash"]] = block
        connection.answer(json.dumps(told).encode())

    return handle


def made_up_header(block: dict[str, Any], **other: bytes) -> dict[str, Any]:
    """With these fields, by their names in JSON, and the hash that it has then."""
    true = header_from_json(block)
    payloads = [*true.payloads]
    for name, payload in other.items():
        payloads[FIELDS[name]] = payload
    header = decode_header(encode_list([*map(encode_string, payloads), *true.later_items]))
    told = {name: _as_json(name, payload) for name, payload in other.items()}
    return {**block, **told, "hash": f"0x{header.hash.hex()}"}


def _as_json(name: str, payload: bytes) -> str:
    return hex(int.from_bytes(payload)) if name == "timestamp" else f"0x{payload.hex()}"


@pytest.mark.parametrize(
    "bad",
    [
        is_beyond_reach,
        makes_up_headers,
        refusing_proofs(3, "execution reverted"),
        refusing_proofs(-32000, "daily gas limit of your plan"),
        refusing_proofs(-32000, "insufficient funds, top up your plan"),
    ],
    ids=["beyond reach", "made-up headers", "reverts", "refuses", "is poor"],
)
def test_nobody_is_rejected_for_what_it_says(
    service: Service, bad: Callable[[Service], Handle]
) -> None:
    with between(service.node.url, bad(service)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.count() == 1


def test_what_is_said_of_a_chains_first_block_is_not_believed_at_once(service: Service) -> None:
    """Or a time would be before all of them."""
    seconds = service.chains().head(CHAIN_ID).timestamp - 3
    late = (seconds + 1).to_bytes(4)
    first, second = (service.header(number) for number in (0, 1))
    first = made_up_header(first, timestamp=late)
    parent = bytes.fromhex(first["hash"][2:])
    told = {"0x0": first, "0x1": made_up_header(second, timestamp=late, parentHash=parent)}

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] in told:
            answer["result"] = told[asked["params"][0]]

    with between(service.node.url, retold(change)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.submit({str(CHAIN_ID): {f"timestamp:{seconds}": BALANCE}})
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("place", [0, 1])
def test_its_place_is_all_the_same_and_so_is_what_failed_before(
    service: Service, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """What it says is counted by itself: nodes that were away for some looks are no word of its."""
    impatient(monkeypatch, patience=0)
    with between(service.node.url, is_beyond_reach(service)) as (address, _):
        nodes = [service.node.url, service.node.url]
        nodes.insert(place, address)
        prover = through(service, *nodes)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        service.work_until(BlockJob.objects.exists)
        through(service, AWAY, AWAY).work_until(BlockJob.objects.filter(failures__gte=2).exists)
        service.look_now()
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("place", [0, 1])
def test_what_it_refuses_goes_on_by_the_other_one(
    service: Service, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """However long that one was away, and whatever the count of failures is then."""
    monkeypatch.setattr(work, "LONGEST_WAIT", timedelta(seconds=0.1))
    impatient(monkeypatch, patience=0)
    nodes = [service.node.url]
    with between(service.node.url, _refusing_estimates) as (address, _):
        nodes.insert(place, address)
        away = [each if each == address else AWAY for each in nodes]
        batch = service.ask_balance(HOLDER, service.head() - 2)
        through(service, *away).work_until(BlockJob.objects.filter(failures__gte=7).exists)
        assert Batch.objects.get(pk=batch).ended is None
        service.look_now()
        through(service, *nodes).work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def _refusing_estimates(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
    def refuse(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("result", None)
            answer["error"] = {"code": 3, "message": "execution reverted", "data": "0x"}

    retold(refuse)(connection, question, pass_on)


def test_a_price_is_not_heard_twice_of_one_that_leaves_the_last_word_to_another(
    node: LocalNode,
) -> None:
    """It names what is dear, and fails another question, so that who answers last is honest."""
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        needed = service.estimate(data).json()["feeNeeded"]

        def change(asked: Any, answer: Any) -> None:
            if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
                answer["result"]["baseFeePerGas"] = hex(200 * GWEI)
            if asked["method"] == "eth_maxPriorityFeePerGas":
                answer["result"] = "no number"

        with between(node.url, retold(change)) as (address, _):
            prover = through(service, address, node.url, node.url)
            batch = prover.submit(data, fee=needed)
            prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("fee", ["0", "what is needed"])
def test_while_the_other_one_is_away_its_word_is_nobodys_end(node: LocalNode, fee: str) -> None:
    """Of what is sent, and of what it costs."""
    free, bad = fee == "0", refuses if fee == "0" else is_dear_within_bounds
    with running_service(node, free=free, dearest_gas=ETHER) as service:
        service.mine(12)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        needed = "0" if free else service.estimate(data).json()["feeNeeded"]
        with between(node.url, bad(service)) as (address, between_us):
            prover = through(service, address, AWAY)
            batch = prover.submit(data, fee=needed)
            asked = "eth_sendRawTransaction" if free else "eth_estimateGas"
            prover.work_until(lambda: between_us.asked.count(asked) >= 3)
            assert Batch.objects.get(pk=batch).ended is None
            service.look_now()
            through(service, address, node.url).work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_nothing_is_given_up_for_the_price_that_it_names(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.3))
    monkeypatch.setattr(following, "REPLACED_AFTER", timedelta(seconds=0.6))
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 0.1)
    with running_service(node, free=False, dearest_gas=500 * GWEI) as service:
        service.mine(12)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        needed = service.estimate(data).json()["feeNeeded"]
        node.rpc.ask_many("evm_setAutomine", [(False,)])

        def change(asked: Any, answer: Any) -> None:
            block = asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest"
            if block and SentTransaction.objects.exists():
                answer["result"]["baseFeePerGas"] = hex(200 * GWEI)

        with between(node.url, retold(change)) as (address, between_us):
            prover = through(service, address, node.url, node.url)
            batch = prover.submit(data, fee=needed)
            prover.work_until(lambda: between_us.asked.count("eth_sendRawTransaction") >= 4)
            node.rpc.ask_many("evm_setAutomine", [(True,)])
            service.mine(1)
            prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_a_state_that_it_denies_is_waited_for_only_so_long(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its head moves, and it has none of what was there some blocks ago."""
    monkeypatch.setattr(chains_of_a_worker, "LEADS_NOWHERE_AFTER", 1.0)
    with running_service(node, confirmations=3) as service:
        service.mine(12)

        def change(asked: Any, answer: Any) -> None:
            at = asked["params"][1] if called(asked) else "latest"
            if at != "latest" and int(at, 16) < service.head() and "result" in answer:
                answer["result"] = "0x" + "0" * (len(answer["result"]) - 2)

        with between(node.url, retold(change)) as (address, _):
            prover = through(service, address, node.url, node.url)
            batch = prover.ask_balance(HOLDER, service.head() - 2)
            held = prover.chains()
            prover.work_until(SentTransaction.objects.exists, chains=held)

            def done() -> bool:
                service.mine(1)
                return Batch.objects.filter(pk=batch).exclude(ended=None).exists()

            prover.work_until(done, chains=held)
    assert Batch.objects.get(pk=batch).error_code == ""


def test_receipts_of_blocks_to_come_are_waited_for_only_so_long(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chains_of_a_worker, "LEADS_NOWHERE_AFTER", 1.0)
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.3))

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionReceipt" and answer.get("result"):
            answer["result"]["blockNumber"] = hex(10**6)

    with between(service.node.url, retold(change)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work_until(SentTransaction.objects.filter(settled=True).exists)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_a_count_that_is_too_low_is_not_signed_for(service: Service) -> None:
    """The key was used elsewhere, and one node does not know of it."""
    sender = service.chains().sender
    service.node.rpc.ask("anvil_setNonce", sender, hex(6))

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionCount":
            answer["result"] = "0x1"

    with between(service.node.url, retold(change)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.get().nonce == 6


def _are_enough(chains: Chains, looks: int) -> bool:
    """So many that come to the same, each by the node whose turn it is."""
    return is_heard_from_all(
        chains, [Heard("lies", [CHAIN_ID])] * (looks - 1), {CHAIN_ID}, {"lies"}
    )


@pytest.mark.parametrize(
    ("nodes", "least"),
    [(1, 1), (2, 4), (3, 6), (4, 8)],
)
def test_each_of_them_was_first_twice(service: Service, nodes: int, least: int) -> None:
    asking = through(service, *[service.node.url] * nodes).chains()
    heard = [_are_enough(asking, looks) for looks in range(1, 10)]
    assert heard == [looks >= least for looks in range(1, 10)]


def test_one_that_answers_alone_is_believed_in_the_end(service: Service) -> None:
    asking = through(service, service.node.url, AWAY).chains()
    assert not _are_enough(asking, LOOKS_WITH_ONE - 1)
    assert _are_enough(asking, LOOKS_WITH_ONE)
