"""A registry whose calls are tried on a chain that nothing is written to."""

from explorer.demo.local_node import LocalNode
from queries.chain.solidity import call_data, selector
from queries.proving.accounts import AccountState
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField
from tests.local_chain import Deployed

_BY_HASH = (1).to_bytes(32, "big")
_HASH = bytes(31) + b"\x01"
_NOT_ACCUMULATED = selector("BlockNotAccumulated(uint256,bytes32,bytes32)")


class SimulatedRegistry(Deployed):
    """The trial registry, which takes accounts and slots by their keys in the tries."""

    def __init__(self, node: LocalNode) -> None:
        super().__init__(node, "SettableRegistry", 2 * _BY_HASH)

    def rebuilt_root(self, witness: bytes) -> bytes | None:
        """The root that the contract computes from a witness, where it gets that far."""
        (outcome,) = self.simulate([proof_of({1: witness})])
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
