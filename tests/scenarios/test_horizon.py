"""A fork after which a header's state root is that of the state before its block (EIP-7862)."""

from collections.abc import Callable
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
from tests.rigs.service import BALANCE, HELD, HOLDER, HORIZON, SIGNER, Service, accounts, until

L1, L2 = 1337, 31337
ATTESTER = f"0x{32 * '01'}"
HISTORY, RING = "0x0000F90827F1C53a10cb7A02335B175320002935", 8191
OLDER = 2**255  # what the ring has held 8,191 blocks before
TIMESTAMP = 11
ENDED_BY = f"0x{function_signature_to_4byte_selector('endedBy(bytes)').hex()}"


class Fork:
    """What a chain's node answers after the fork: the blocks since then, with the delayed roots.

    The headers are made from those of its chain. Its history contract holds their hashes.
    """

    def __init__(self, chain: Chain, blocks: int) -> None:
        """Mine the fork's blocks. What `HOLDER` has changes in each."""
        self.chain, self.before = chain, chain.head + 1  # the last but one from before the fork
        self.blocks: dict[int, dict[str, Any]] = {}
        self.proofs: dict[tuple[str, str], dict[str, Any]] = {}
        first, last = self.before + 2, self.before + 1 + blocks
        chain.rpc("anvil_setCode", HISTORY, "0x")
        for number in range(first - 2, last + 1):
            chain.set_slot(HISTORY, number % RING, OLDER)
        chain.mine(2)
        for number in range(first, last + 1):
            # Read now: a slot that is set belongs to the state of the block before as well.
            slots = [(number - back) % RING for back in (2, 1)]
            proofs = chain.proof(HOLDER), chain.proof(HISTORY, *slots)
            chain.set_slot(HISTORY, (number - 1) % RING, int(self.header(number - 1)["hash"], 16))
            chain.set_balance(HOLDER, HELD + number)
            chain.mine()
            self.blocks[number] = made = self._delayed(number)
            self.proofs |= {(made["hash"], proof["address"].lower()): proof for proof in proofs}

    def header(self, number: int) -> dict[str, Any]:
        return self.blocks.get(number) or self.chain.header(number)

    def _delayed(self, number: int) -> dict[str, Any]:
        own, before = self.chain.header(number), self.chain.header(number - 1)
        fields = rlp.decode(header_from_json(own).encoded)
        changed = {"parentHash": self.header(number - 1)["hash"], "stateRoot": before["stateRoot"]}
        fields[HeaderField.PARENT_HASH] = bytes.fromhex(changed["parentHash"][2:])
        fields[HeaderField.STATE_ROOT] = bytes.fromhex(changed["stateRoot"][2:])
        return own | changed | {"hash": f"0x{keccak(rlp.encode(fields)).hex()}"}

    def fault(self, node: Node) -> Fault:
        numbers = {block["hash"]: number for number, block in self.blocks.items()}

        def answer(question: Question) -> dict[str, Any] | None:
            method, params = question["method"], question.get("params", [])
            told = {"jsonrpc": "2.0", "id": question["id"]}
            if method == "eth_getBlockByHash" and params[0] in numbers:
                return told | {"result": self.blocks[numbers[params[0]]]}
            if method == "eth_getBlockByNumber":
                found = node.forward(question)["result"]
                return told | {"result": found and self.header(int(found["number"], 16))}
            if method == "eth_getProof" and params[2]["blockHash"] in numbers:
                proof = self.proofs.get((params[2]["blockHash"], params[0].lower()))
                if proof is None:
                    return told | {"error": {"code": -32000, "message": "missing trie node"}}
                shown = [slot for slot in proof["storageProof"] if slot["key"] in params[1]]
                return told | {"result": {**proof, "storageProof": shown}}
            return None

        return answer


def state_horizon(service: Service) -> float:
    (route,) = service.get("/chain-connections").json()["connections"]
    return datetime.fromisoformat(route["stateHorizon"]).timestamp()


@pytest.mark.parametrize("block", [30, RING + 1], ids=["", "where the ring begins again"])
def test_a_header_without_its_blocks_state_ends_accounts_and_no_header_fields(
    new_service: Callable[[], Service],
    new_chain: Callable[..., Chain],
    new_node: Callable[[Chain], Node],
    block: int,
) -> None:
    """One transaction proves it to the registry. Blocks from before the fork are proven as ever."""
    source, to = new_chain(L1, "--number", str(block - 28)), new_chain(L2)
    service = new_service()
    service.set_limits(retry_longest=1, poll_interval=1, check_interval=1)
    node, signer = new_node(source), Key.from_key(ATTESTER).address
    service.add_chain(source, node, finality=1)
    service.add_chain(to)
    source.mine(20)
    fork = Fork(source, 8)
    node.set_fault(fork.fault(node))
    service.add_registry("attested", source, to, signers=[signer], threshold=1)
    route = (L1, L2)
    own, proven = (
        int(fork.header(number)["timestamp"], 16) for number in (block, block - (block > RING))
    )
    with service.serve(), service.prove():
        ends = ("--source", str(L1), "--destination", str(L2), "--post", service.url)
        service.start("attest", *ends, "--watch", ATTESTER_KEY=ATTESTER)
        rejected = [service.submit({L1: {block: accounts(HOLDER)}})]
        plain = service.submit({L1: {block: {"header": ["TIMESTAMP"]}}})
        rejection = service.rejection(rejected[0])
        service.wait(plain)
        rejected.append(service.submit({L1: {block + 1: accounts(HOLDER)}}))
        assert service.rejection(rejected[1])["code"] == rejection["code"]
        service.wait(service.submit({L1: {fork.before: accounts(HOLDER)}}))
        until(lambda: state_horizon(service) == proven, what="clients are told")
    assert rejection["code"] == "beyond_horizon"
    assert not rejection["retryable"]
    assert "no account or slot can be proven" in rejection["message"]
    assert not service.is_proven(HOLDER, block, route=route)
    assert int.from_bytes(service.read("stateHorizon()", route=route)) == proven < HORIZON
    word = service.read("headerField(uint256,uint8)", block, TIMESTAMP, route=route)
    assert int.from_bytes(word) == own
    assert service.field(HOLDER, fork.before, BALANCE, route=route) == HELD
    ended = [
        transaction
        for transaction in to.transactions_of(SIGNER)
        if transaction["input"].startswith(ENDED_BY)
    ]
    assert len(ended) == 1
