"""A fork after which headers have the state root of the block before (EIP-7862)."""

from datetime import datetime
from typing import Any

import pytest
import rlp
from eth_account import Account as Key
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.crypto import keccak

from queries.proving.headers import HeaderField, header_from_json
from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Fault, Node, Question
from tests.rigs.service import (
    BALANCE,
    HOLDER,
    HOLDER_BALANCE,
    HORIZON,
    SIGNER,
    Service,
    accounts,
    wait_until,
)
from tests.scenarios.fixtures import NewChain, NewNode, NewService

pytestmark = pytest.mark.either_database

L1, L2 = 1337, 31337
ATTESTER = f"0x{32 * '01'}"
HISTORY, RING = "0x0000F90827F1C53a10cb7A02335B175320002935", 8191
OLDER = 2**255  # the earlier content of the ring
TIMESTAMP = 11
ENDED_BY = f"0x{function_signature_to_4byte_selector('lowerHorizon(bytes)').hex()}"


class Fork:
    """The blocks of a chain after the fork, made from its own, with delayed state roots.

    The history contract has their hashes.
    """

    def __init__(self, chain: Chain, blocks: int) -> None:
        """Mine the fork's blocks. The balance of `HOLDER` changes in every block."""
        self.chain, self.before = chain, chain.head + 1  # the last block but one before the fork
        self.blocks: dict[int, dict[str, Any]] = {}
        self.proofs: dict[tuple[str, str], dict[str, Any]] = {}
        first, last = self.before + 2, self.before + 1 + blocks
        chain.rpc("anvil_setCode", HISTORY, "0x")
        for number in range(first - 2, last + 1):
            chain.set_slot(HISTORY, number % RING, OLDER)
        chain.mine(2)
        for number in range(first, last + 1):
            # Read now, because setting a slot changes the state of the block before as well.
            slots = [(number - back) % RING for back in (2, 1)]
            proofs = chain.proof(HOLDER), chain.proof(HISTORY, *slots)
            chain.set_slot(HISTORY, (number - 1) % RING, int(self.header(number - 1)["hash"], 16))
            chain.set_balance(HOLDER, HOLDER_BALANCE + number)
            chain.mine()
            self.blocks[number] = block = self._delayed_block(number)
            self.proofs |= {(block["hash"], proof["address"].lower()): proof for proof in proofs}

    def header(self, number: int) -> dict[str, Any]:
        return self.blocks.get(number) or self.chain.header(number)

    def _delayed_block(self, number: int) -> dict[str, Any]:
        own, before = self.chain.header(number), self.chain.header(number - 1)
        fields = rlp.decode(header_from_json(own).rlp)
        changed = {"parentHash": self.header(number - 1)["hash"], "stateRoot": before["stateRoot"]}
        fields[HeaderField.PARENT_HASH] = bytes.fromhex(changed["parentHash"][2:])
        fields[HeaderField.STATE_ROOT] = bytes.fromhex(changed["stateRoot"][2:])
        return own | changed | {"hash": f"0x{keccak(rlp.encode(fields)).hex()}"}

    def fault(self, node: Node) -> Fault:
        numbers = {block["hash"]: number for number, block in self.blocks.items()}

        def answer_for_fork(question: Question) -> dict[str, Any] | None:
            method, params = question["method"], question.get("params", [])
            envelope = {"jsonrpc": "2.0", "id": question["id"]}
            if method == "eth_getBlockByHash" and params[0] in numbers:
                return envelope | {"result": self.blocks[numbers[params[0]]]}
            if method == "eth_getBlockByNumber":
                block = node.forward(question)["result"]
                return envelope | {"result": block and self.header(int(block["number"], 16))}
            if method == "eth_getProof" and params[2]["blockHash"] in numbers:
                proof = self.proofs.get((params[2]["blockHash"], params[0].lower()))
                if proof is None:
                    return envelope | {"error": {"code": -32000, "message": "missing trie node"}}
                storage = [slot for slot in proof["storageProof"] if slot["key"] in params[1]]
                return envelope | {"result": {**proof, "storageProof": storage}}
            return None

        return answer_for_fork


def attest(service: Service, block: int) -> None:
    ends = ("--source", str(L1), "--destination", str(L2), "--store")
    service.manage("attest", *ends, "--block", str(block), ATTESTER_KEY=ATTESTER)


def state_horizon(service: Service) -> float:
    (route,) = service.get("/chain-connections").json()["connections"]
    return datetime.fromisoformat(route["stateHorizon"]).timestamp()


@pytest.mark.parametrize("block", [30, RING + 1], ids=["", "at the start of the ring"])
def test_delayed_state_roots_end_account_proofs_but_not_header_fields(
    new_service: NewService, new_chain: NewChain, new_node: NewNode, block: int
) -> None:
    """One transaction proves the fork to the registry. Earlier blocks are proven as before."""
    source, to = new_chain(L1, "--number", str(block - 28)), new_chain(L2)
    service = new_service()
    service.set_limits(max_retry_delay=1, poll_interval=1, check_interval=1)
    node, signer = new_node(source), Key.from_key(ATTESTER).address
    service.add_chain(source, node, finality=1)
    service.add_chain(to)
    source.mine(20)
    fork = Fork(source, 8)
    node.set_fault(fork.fault(node))
    service.add_registry("attested", source, to, signers=[signer], threshold=1)
    route = (L1, L2)
    timestamp, horizon = (
        int(fork.header(number)["timestamp"], 16) for number in (block, block - (block > RING))
    )
    with service.serve(), service.prove():
        for number in (block, block + 1, fork.before):
            attest(service, number)
        rejected = [service.submit({L1: {block: accounts(HOLDER)}})]
        plain = service.submit({L1: {block: {"header": ["TIMESTAMP"]}}})
        rejection = service.rejection(rejected[0])
        service.wait(plain)
        rejected.append(service.submit({L1: {block + 1: accounts(HOLDER)}}))
        assert service.rejection(rejected[1])["code"] == rejection["code"]
        service.wait(service.submit({L1: {fork.before: accounts(HOLDER)}}))
        wait_until(
            lambda: state_horizon(service) == horizon, what="/chain-connections has the horizon"
        )
    assert rejection["code"] == "beyond_horizon"
    assert not rejection["retryable"]
    assert "no account or slot can be proven" in rejection["message"]
    assert not service.is_proven(HOLDER, block, route=route)
    assert int.from_bytes(service.read("stateHorizon()", route=route)) == horizon < HORIZON
    word = service.read("headerField(uint256,uint8)", block, TIMESTAMP, route=route)
    assert int.from_bytes(word) == timestamp
    assert service.field(HOLDER, fork.before, BALANCE, route=route) == HOLDER_BALANCE
    ends = sum(call["input"].startswith(ENDED_BY) for call in to.transactions_of(SIGNER))
    assert ends == 1


def test_a_block_behind_a_hop_is_accumulated_before_its_state_root_is_reported(
    new_service: NewService, new_chain: NewChain, new_node: NewNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lowerHorizon` takes no hop, so it needs the header first."""
    source, to, service = new_chain(L1), new_chain(L2), new_service()
    service.set_limits(max_retry_delay=1, poll_interval=1, check_interval=1)
    node, route = new_node(source), (L1, L2)
    service.add_chain(source, node, finality=1)
    service.add_chain(to)
    source.mine(20)
    block, prove = source.head + 5, source.proof

    def prove_with_hop(account: str, *slots: int) -> dict[str, Any]:
        return prove(account, *dict.fromkeys([*slots, *([block] if account == HISTORY else [])]))

    monkeypatch.setattr(source, "proof", prove_with_hop)
    fork = Fork(source, 16)
    node.set_fault(fork.fault(node))
    signer = Key.from_key(ATTESTER).address
    service.add_registry("attested", source, to, signers=[signer], threshold=1)
    with service.serve(), service.prove():
        batch = service.submit({L1: {block: accounts(HOLDER)}})
        service.wait_for(batch, "not_attested")
        attest(service, block + 11)
        assert service.rejection(batch)["code"] == "beyond_horizon"
    assert any(service.read("accumulated(uint256)", block, route=route))
    horizon = int.from_bytes(service.read("stateHorizon()", route=route))
    assert horizon == int(fork.header(block)["timestamp"], 16)
    calls = [transaction["input"] for transaction in to.transactions_of(SIGNER)]
    # The attestation, the hop with the header, the evidence.
    assert [call.startswith(ENDED_BY) for call in calls] == [False, False, True]
