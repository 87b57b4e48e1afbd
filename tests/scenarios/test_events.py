"""Logs, receipts, transactions and withdrawals are proven, and that something is absent."""

from dataclasses import dataclass
from typing import Any

import pytest
from eth_utils.crypto import keccak

from tests.rigs.anvil import Chain
from tests.rigs.service import OWNERS, Service

TRANSFER = f"0x{keccak(text='Transfer(address,address,uint256)').hex()}"
IS_LOG = "isLog(uint256,uint256,uint256,address,bytes32[],bytes)"
RECEIVER = OWNERS[1]
AMOUNT = 12_345


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


def word(address: str) -> bytes:
    return bytes.fromhex(address[2:]).rjust(32, b"\0")


def transfer(chain: Chain) -> Transfer:
    """Deploy a token and transfer some of it; the next block is mined too."""
    token = chain.deploy("DemoToken", ["address[]", "uint256[]"], [[chain.payer], [10**18]])
    call = f"0xa9059cbb{word(RECEIVER).hex()}{AMOUNT:064x}"
    receipt = chain.send(token, call)
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
