"""What must be readable from a registry after a transaction: facts of proofs we checked."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from queries.chain.gas.chains import BlockWords
from queries.chain.registry_reads import RegistryReads
from queries.proving.account_proofs import AccountProof
from queries.proving.witnesses import AccountField


@dataclass(frozen=True, slots=True)
class Fact:
    """How something is read, and what must be read."""

    name: str
    read: Callable[[RegistryReads], object]
    value: object


def accumulated_fact(words: BlockWords) -> Fact:
    read = partial(RegistryReads.accumulated, block=words.number)
    return Fact(f"the accumulated header {words.number}", read, words.leaf)


def account_facts(
    proof: AccountProof, fields: frozenset[AccountField], number: int
) -> tuple[Fact, ...]:
    """What a witness with these fields and the proof's slots stores."""
    address = registry_address(proof)
    words = field_words(proof)
    of_fields = [
        Fact(
            f"{field.name} of 0x{address.hex()}",
            partial(RegistryReads.account_field, account=address, block=number, field=field),
            words[field],
        )
        for field in sorted(fields)
    ]
    of_slots = [
        Fact(
            f"slot {slot.slot:#x} of 0x{address.hex()}",
            partial(RegistryReads.slot_value, account=address, block=number, slot=slot.slot),
            slot.value,
        )
        for slot in proof.slots
    ]
    return (*of_fields, *of_slots)


def registry_address(proof: AccountProof) -> bytes:
    """A registry that names accounts by hash keeps the first bytes of the hash as the address."""
    return proof.address_hash[:20] if proof.address is None else proof.address


def field_words(proof: AccountProof) -> dict[AccountField, bytes]:
    """The account's fields as `accountField` returns them."""
    state = proof.state
    return {
        AccountField.NONCE: state.nonce.to_bytes(32, "big"),
        AccountField.BALANCE: state.balance.to_bytes(32, "big"),
        AccountField.STORAGE_ROOT: state.storage_root,
        AccountField.CODE_HASH: state.code_hash,
    }
