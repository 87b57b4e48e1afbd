"""Logs, receipts, transactions and withdrawals are proven, and that something is absent."""

from base64 import b64decode
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import decode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from queries.contracts.create2 import verifier_address
from tests.rigs.anvil import Chain, call_data
from tests.rigs.service import HOLDER, OWNERS, Service, accounts, request, wait_until
from tests.scenarios.fixtures import Install, proving

pytestmark = pytest.mark.either_database

TRANSFER = f"0x{keccak(text='Transfer(address,address,uint256)').hex()}"
IS_LOG = "isLog(uint256,uint256,uint256,address,bytes32[],bytes)"
RECEIVER = OWNERS[1]
AMOUNT = 12_345
TRANSACTIONS_ROOT, EMITTER = 4, False  # parameters of the verifier


@dataclass(frozen=True)
class Transfer:
    """A transfer of a token, mined on a chain."""

    token: str
    block: int
    transaction: str
    topics: list[bytes]

    @property
    def data(self) -> bytes:
        return AMOUNT.to_bytes(32)

    @property
    def call(self) -> str:
        return f"0xa9059cbb{word(RECEIVER).hex()}{self.data.hex()}"


def word(address: str) -> bytes:
    return bytes.fromhex(address[2:]).rjust(32, b"\0")


def transfer(chain: Chain) -> Transfer:
    """Deploy a token and transfer some of it; the next block is mined too."""
    token = chain.deploy("DemoToken", ["address[]", "uint256[]"], [[chain.payer], [10**18]])
    receipt = chain.send(token, f"0xa9059cbb{word(RECEIVER).hex()}{AMOUNT:064x}")
    chain.mine()
    topics = [bytes.fromhex(TRANSFER[2:]), word(chain.payer), word(RECEIVER)]
    return Transfer(token, int(receipt["blockNumber"], 16), receipt["transactionHash"], topics)


@pytest.fixture
def sent(shared_service: Service) -> Transfer:
    return transfer(shared_service.chain)


def prove(service: Service, block: int, **items: Any) -> dict[str, Any]:
    """Prove these items of the block; return the only query."""
    status = service.wait(service.submit({31337: {block: items}}))
    (query,) = status["queries"]
    return query  # type: ignore[no-any-return]


def is_log(service: Service, sent: Transfer, log: int = 0) -> bool:
    arguments = (sent.block, 0, log, sent.token, sent.topics, sent.data)
    return service.read_verifier(IS_LOG, *arguments)[31] == 1


def test_a_log_is_proven_by_transaction_by_index_and_by_filter(
    shared_service: Service, sent: Transfer
) -> None:
    forms = (
        {"transaction": sent.transaction, "log": 0},
        {"transaction": 0, "log": 0},
        {"logIndex": 0},
        {"address": sent.token, "topics": [TRANSFER, None, f"0x{word(RECEIVER).hex()}"]},
    )
    assert not is_log(shared_service, sent)
    for form in forms:
        query = prove(shared_service, sent.block, logs=[form])
        (event,) = query["events"]
        assert is_log(shared_service, sent)
        assert event["name"] == "LOG:0:0"
        assert (event["transactionIndex"], event["log"], event["logIndex"]) == (0, 0, 0)
        assert event["address"] == sent.token
        assert event["topics"] == [f"0x{topic.hex()}" for topic in sent.topics]
        assert event["data"] == f"0x{sent.data.hex()}"
        assert [step["step"] for step in query["steps"]][-1] == "HEADER_ACCUMULATED"


def test_receipts_and_transactions_are_proven(shared_service: Service, sent: Transfer) -> None:
    query = prove(shared_service, sent.block, receipts=[0], transactions=[sent.transaction])
    receipt, transaction = query["events"]
    mined = shared_service.chain.receipt(sent.transaction)
    assert receipt["status"] == 1
    assert receipt["logCount"] == len(mined["logs"])
    assert int(receipt["cumulativeGasUsed"]) == int(mined["cumulativeGasUsed"], 16)
    assert transaction["transactionHash"] == sent.transaction
    stored = shared_service.read_verifier("transactionHash(uint256,uint256)", sent.block, 0)
    assert f"0x{stored.hex()}" == sent.transaction
    assert shared_service.read_verifier("receiptOf(uint256,uint256)", sent.block, 0)


def test_absence_is_proven_in_its_three_kinds(shared_service: Service, sent: Transfer) -> None:
    other = f"0x{0xDEAD:040x}"
    absent = [
        {"transaction": 1},
        {"withdrawal": 0},
        {"transaction": 0, "address": sent.token, "topics": [None, f"0x{word(RECEIVER).hex()}"]},
        {"address": other},
        {"topic": f"0x{word(other).hex()}"},
    ]
    query = prove(shared_service, sent.block, absent=absent)
    assert len(query["events"]) == len(absent)
    silent = shared_service.read_verifier(
        "isBlockSilent(uint256,bool,bytes32)", sent.block, EMITTER, word(other)
    )
    assert silent[31] == 1
    ends_before = "isIndexAbsent(uint256,uint8,uint256)"
    assert shared_service.read_verifier(ends_before, sent.block, TRANSACTIONS_ROOT, 1)[31]


@pytest.mark.parametrize(
    ("items", "code", "words"),
    [
        ({"logs": [{"transaction": 0, "log": 1}]}, "event_not_found", "logs[0]: there is no log"),
        ({"logs": [{"logIndex": 1}]}, "event_not_found", "there is no log 1"),
        ({"transactions": [f"0x{7:064x}"]}, "event_not_found", "the block has no transaction"),
        ({"receipts": [1]}, "event_not_found", "receipts[0]: there is no transaction 1"),
        ({"withdrawals": [0]}, "event_not_found", "there is no withdrawal 0"),
        ({"absent": [{"transaction": 0}]}, "event_exists", "the block has 1 transaction"),
    ],
)
def test_missing_events_and_false_absences_are_rejected_with_the_reason(
    shared_service: Service, sent: Transfer, items: Any, code: str, words: str
) -> None:
    rejection = shared_service.rejection(shared_service.submit({31337: {sent.block: items}}))
    assert rejection["code"] == code
    assert words in rejection["message"]
    assert rejection["retryable"] is False


def test_presence_is_never_taken_for_absence(shared_service: Service, sent: Transfer) -> None:
    for absent in ({"address": sent.token}, {"topic": TRANSFER}):
        batch = shared_service.submit({31337: {sent.block: {"absent": [absent]}}})
        rejection = shared_service.rejection(batch)
        assert rejection["code"] == "event_exists"
        assert "log 0 of transaction 0 has this address or topic" in rejection["message"]
    in_receipt = {"transaction": 0, "address": sent.token, "topics": [TRANSFER]}
    batch = shared_service.submit({31337: {sent.block: {"absent": [in_receipt]}}})
    assert shared_service.rejection(batch)["code"] == "event_exists"


def test_a_full_bloom_that_matches_by_chance_is_inconclusive(shared_service: Service) -> None:
    # for (i = 0; i < 400; i++) log1(0, 0, i)
    receipt = shared_service.chain.send(None, "0x5f5b805f5fa1600101610190811060015700")
    shared_service.chain.mine()
    bloom = bytes.fromhex(receipt["logsBloom"][2:])
    unset = ~int.from_bytes(bloom)
    topic = next(n.to_bytes(32) for n in range(400, 10_000) if not unset & _bits(n.to_bytes(32)))
    items = {"absent": [{"topic": f"0x{topic.hex()}"}]}
    block = int(receipt["blockNumber"], 16)
    rejection = shared_service.rejection(shared_service.submit({31337: {block: items}}))
    assert rejection["code"] == "bloom_inconclusive"
    assert "no log has it" in rejection["message"]


def _bits(item: bytes) -> int:
    """The bits of a bloom that an item sets."""
    digest = keccak(item)
    places = (int.from_bytes(digest[start : start + 2]) % 2048 for start in (0, 2, 4))
    return reduce(or_, (1 << place for place in places))


def test_events_and_accounts_of_one_block_are_proven_side_by_side(
    shared_service: Service, sent: Transfer
) -> None:
    entry = accounts(HOLDER) | {"header": ["TIMESTAMP"], "logs": [{"logIndex": 0}]}
    status = shared_service.wait(shared_service.submit({31337: {sent.block: entry}}))
    assert [len(query["steps"]) for query in status["queries"]] == [3, 3, 4]
    assert is_log(shared_service, sent)
    assert shared_service.is_proven(HOLDER, sent.block)


def test_a_contract_verifies_a_witness_without_storing(
    shared_service: Service, sent: Transfer
) -> None:
    body = request({31337: {sent.block: {"logs": [{"logIndex": 0}]}}})
    (witness,) = shared_service.post("/witness", body).json()["witnesses"]
    (events,) = witness["events"]
    parts = [bytes.fromhex(events[name][2:]) for name in ("section", "witness")]
    answer = shared_service.chain.call(events["verifier"], "verify(bytes,bytes)", *parts)
    assert sent.data in answer
    assert not is_log(shared_service, sent)
    assert events["facts"][0]["name"] == "LOG:0:0"


def test_the_proof_file_has_events_that_others_proved(
    shared_service: Service, sent: Transfer, tmp_path: Path
) -> None:
    body = request({31337: {sent.block: {"logs": [{"logIndex": 0}]}}})
    (witness,) = shared_service.post("/witness", body).json()["witnesses"]
    (events,) = witness["events"]
    parts = [bytes.fromhex(events[name][2:]) for name in ("section", "witness")]
    shared_service.chain.send(events["verifier"], call_data("prove(bytes,bytes)", *parts))
    batch = shared_service.submit({31337: {sent.block: {"logs": [{"logIndex": 0}]}}})
    assert shared_service.wait(batch)["spent"] == "0"
    checked = _verify_proof(shared_service, batch, sent, tmp_path)
    assert (
        f"log 0 of transaction 0  by {to_checksum_address(sent.token)}, topics 0xddf252ad"
        in checked
    )
    assert f", data 0x{AMOUNT:064x}" in checked


def test_the_offline_check_names_the_absent_address_or_topic(
    shared_service: Service, sent: Transfer, tmp_path: Path
) -> None:
    emitter, topic = to_checksum_address(f"0x{0xDEAD:040x}"), f"0x{7:064x}"
    items = {"absent": [{"address": emitter}, {"topic": topic}]}
    batch = shared_service.submit({31337: {sent.block: items}})
    shared_service.wait(batch)
    checked = _verify_proof(shared_service, batch, sent, tmp_path)
    assert f"logs of the block  none is by {emitter}" in checked
    assert f"logs of the block  none has the topic {topic}" in checked


def _verify_proof(service: Service, batch: str, sent: Transfer, folder: Path) -> str:
    """The offline check of the batch's proof file."""
    file = folder / "proof.json"
    file.write_bytes(service.get(f"/batch-queries/{batch}/proof").content)
    block_hash = service.chain.header(sent.block)["hash"]
    return service.manage("verify_proof", str(file), "--hash", block_hash).stdout


def test_clients_of_another_service_get_a_proof_by_its_two_methods(
    shared_service: Service, sent: Transfer
) -> None:
    chain = shared_service.chain

    def call(method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        answer = shared_service.post(f"/event-proofs/{chain.id}", body).json()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
        return answer.get("result") or answer["error"]

    log = {"srcChainId": chain.id, "srcBlockNumber": sent.block, "globalLogIndex": 0}
    job = call("proof_request", log)

    def wait(number: int) -> Any:
        """The job once it has ended."""
        ended = {"complete", "error"}
        wait_until(lambda: call("proof_query", number)["status"] in ended)
        return call("proof_query", number)

    result = wait(job)
    assert (result["jobID"], result["status"]) == (job, "complete")
    proof = b64decode(result["proof"])
    verifier = verifier_address(shared_service.registries[chain.id, chain.id])
    router = chain.deploy("EventsRouter", ["uint32[]", "address[]"], [[chain.id], [verifier]])
    answer = chain.call(router, "validateEvent(bytes)", proof)
    types = ["uint32", "address", "bytes", "bytes"]
    chain_id, emitter, topics, data = decode(types, answer)
    assert (chain_id, to_checksum_address(emitter)) == (chain.id, sent.token)
    assert (topics, data) == (b"".join(sent.topics), sent.data)
    assert call("proof_query", 10**9)["code"] == -32602
    failed = call("proof_request", {**log, "globalLogIndex": 9})
    assert "there is no log 9" in wait(failed)["failureReason"]


def test_a_reorg_moves_a_transaction_that_was_proven(install: Install) -> None:
    """On a native route the registry's facts go with the block, and are proven again."""
    with closing(Chain(31337)) as chain, install() as service, proving(service, chain):
        sent = transfer(chain)
        log_filter = {"address": sent.token, "topics": [TRANSFER]}
        batch = service.submit({31337: {sent.block: {"logs": [log_filter]}}})
        service.wait(batch)
        assert is_log(service, sent)
        call = {"from": chain.payer, "to": sent.token, "data": sent.call, "gas": hex(10**6)}
        other = {"from": chain.payer, "to": chain.payer}
        chain.rpc("anvil_reorg", chain.head - sent.block + 1, [[other, 0], [call, 0]])
        arguments = (sent.block, 1, 0, sent.token, sent.topics, sent.data)
        chain.mine(2)
        wait_until(lambda: service.read_verifier(IS_LOG, *arguments)[31] == 1)
        assert not is_log(service, sent)
        wait_until(lambda: service.status(batch)["queries"][0]["values"])
        (event,) = service.status(batch)["queries"][0]["events"]
        assert event["name"] == "LOG:1:0"


def test_a_root_that_the_registry_stores_is_not_proven_again(
    shared_service: Service, sent: Transfer
) -> None:
    prove(shared_service, sent.block, header=["RECEIPTS_ROOT"])
    query = prove(shared_service, sent.block, logs=[{"logIndex": 0}])
    assert is_log(shared_service, sent)
    transaction = query["steps"][-1]["transactionHash"]
    call = shared_service.chain.rpc("eth_getTransactionByHash", transaction)["input"]
    section, witness = decode(["bytes", "bytes"], bytes.fromhex(call[10:]))
    assert not section
    assert witness
