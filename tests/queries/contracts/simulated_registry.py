"""A registry whose calls are tried on a chain that nothing is written to.

`eth_simulateV1` runs a list of calls one after the other, each seeing what those before it wrote,
and forgets them: a proof and all its readings are one question to the node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from queries.chain.local_node import GAS_LIMIT, LocalNode
from queries.chain.solidity import call_data, selector
from queries.proving.accounts import AccountState
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField
from tests.local_chain import Deployed

_BY_HASH = (1).to_bytes(32, "big")
_HASH = bytes(31) + b"\x01"
_NOT_ACCUMULATED = selector("BlockNotAccumulated(uint256,bytes32,bytes32)")


@dataclass(frozen=True)
class Outcome:
    """What became of one call: what it returned, or what it reverted with."""

    success: bool
    data: bytes

    def reading(self) -> int | None:
        """The answer of a `try…` function; None where nothing is proven."""
        assert self.success, self.data.hex()
        return int.from_bytes(self.data[32:], "big") if self.data[31] else None


class SimulatedRegistry:
    """The trial registry, which takes accounts and slots by their keys in the tries."""

    def __init__(self, node: LocalNode) -> None:
        self._node = node
        self._address = Deployed(node, "SettableRegistry", 2 * _BY_HASH).address

    def run(self, calls: Sequence[bytes]) -> list[Outcome]:
        asked = [
            {
                "from": self._node.payer,
                "to": self._address,
                "data": f"0x{call.hex()}",
                "gas": hex(GAS_LIMIT),
            }
            for call in calls
        ]
        blocks = {"blockStateCalls": [{"calls": asked}]}
        answers = self._node.rpc.ask("eth_simulateV1", blocks, "latest")[0]["calls"]
        return [
            Outcome(answer["status"] == "0x1", bytes.fromhex(answer["returnData"][2:]))
            for answer in answers
        ]

    def rebuilt_root(self, witness: bytes) -> bytes | None:
        """The root that the contract computes from a witness, where it gets that far."""
        (outcome,) = self.run([proof_of({1: witness})])
        assert not outcome.success
        return outcome.data[-32:] if outcome.data.startswith(_NOT_ACCUMULATED) else None


def believe(block: int, state_root: bytes) -> bytes:
    """A call that makes the registry take `state_root` for the block's."""
    signature = "setAccumulated(uint256,uint256,bytes32,bytes32)"
    return call_data(signature, block, block, _HASH, state_root)


def proof_of(witnesses: dict[int, bytes]) -> bytes:
    """One call that proves a witness for each of some blocks."""
    return prove_call(
        [accumulated_section(block, block, _HASH, witness) for block, witness in witnesses.items()]
    )


def ask_field(block: int, account: bytes, field: int) -> bytes:
    """The registry names an account by the first 20 bytes of its key."""
    return call_data("tryAccountField(address,uint256,uint8)", account[:20], block, field)


def ask_slot(block: int, account: bytes, slot: bytes) -> bytes:
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    return call_data(signature, account[:20], block, slot)


def field_value(state: AccountState, field: AccountField) -> int:
    hashes = {
        AccountField.STORAGE_ROOT: state.storage_root,
        AccountField.CODE_HASH: state.code_hash,
    }
    if field in hashes:
        return int.from_bytes(hashes[field], "big")
    return state.nonce if field == AccountField.NONCE else state.balance


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")
