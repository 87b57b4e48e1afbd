"""Accounts and storage slots at past blocks."""

import pytest
import requests
from eth_account import Account as Key

from tests.rigs.service import (
    BALANCE,
    CODE_HASH,
    HOLDER,
    HOLDER_BALANCE,
    NONCE,
    STORAGE_ROOT,
    Service,
    accounts,
)

pytestmark = pytest.mark.either_database

STEPS = ["INITIAL_STATE", "BLOCKHASH_AVAILABLE", "HEADER_ACCUMULATED", "ACCOUNT_ACCUMULATED"]
PROPS = ("NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH")
NO_STORAGE = 0x56E81F171BCC55A6FF8345E692C0F86E5B48E01B996CADC001622FB5E363B421
NO_CODE = 0xC5D2460186F7233C927E7DB2DCC703C0E500B653CA82273B7BFAD8045D85A470


def test_the_example_of_the_specification_is_proven(shared_service: Service) -> None:
    block = shared_service.chain.mine(2) - 1
    key = {"apiKey": shared_service.keys[0]}
    submitted = requests.post(
        f"{shared_service.url}/submit-batch-query",
        params=key,
        json={
            "destinationChainId": "31337",
            "fee": "0",
            "data": {
                "31337": {
                    f"block:{block}": {"accounts": {HOLDER: {"props": ["BALANCE"], "slots": []}}}
                }
            },
        },
        timeout=60,
    )
    batch = submitted.json()["internalId"]
    assert len(batch) == 26
    shared_service.wait(batch)
    parameters = {**key, "batchQueryId": batch}
    status = requests.get(
        f"{shared_service.url}/batch-query-status", params=parameters, timeout=60
    ).json()
    assert status["queryStatus"] == "DONE"
    (query,) = status["queries"]
    assert [(step["step"], step["status"]) for step in query["steps"]] == [
        (step, "COMPLETED") for step in STEPS
    ]
    assert (
        shared_service.field(HOLDER, block, BALANCE)
        == HOLDER_BALANCE
        == shared_service.chain.balance(HOLDER, block)
    )
    assert query["registry"].lower() == shared_service.registries[31337, 31337].lower()


def test_every_account_field_equals_the_nodes_proof(shared_service: Service) -> None:
    contract = shared_service.registries[31337, 31337]
    shared_service.chain.set_slot(contract, 2**255, 7)
    block = shared_service.chain.mine(2) - 1
    shared_service.wait(shared_service.submit({31337: {block: accounts(contract, props=PROPS)}}))
    proof = shared_service.chain.rpc("eth_getProof", contract, [], hex(block))
    fields = {field: shared_service.field(contract, block, field) for field in range(4)}
    assert fields == {
        NONCE: int(proof["nonce"], 16),
        BALANCE: int(proof["balance"], 16),
        STORAGE_ROOT: int(proof["storageHash"], 16),
        CODE_HASH: int(proof["codeHash"], 16),
    }
    assert fields[STORAGE_ROOT] != NO_STORAGE
    assert fields[CODE_HASH] != NO_CODE


def test_absent_accounts_and_zero_slots_are_proven(shared_service: Service) -> None:
    absent, present = Key.create().address, Key.create().address
    shared_service.chain.set_slot(present, 1, 5)
    shared_service.chain.set_slot(present, 2, 0)
    block = shared_service.chain.mine(2) - 1
    entry = accounts(absent, present, props=PROPS, slots=["0x1", "0x2", "0x3"])
    shared_service.wait(shared_service.submit({31337: {block: entry}}))
    assert [shared_service.field(absent, block, field) for field in range(4)] == [
        0,
        0,
        NO_STORAGE,
        NO_CODE,
    ]
    assert [shared_service.slot(absent, block, slot) for slot in (1, 2, 3)] == [0, 0, 0]
    assert [shared_service.slot(present, block, slot) for slot in (1, 2, 3)] == [5, 0, 0]
