"""Decode what a registry's `verify` returns."""

from collections.abc import Iterator

from eth_abi.abi import decode, encode

from queries.contracts.abi import call_data, selector

VERIFY = selector("verify(bytes)")
_FACTS = (
    "((address,uint256,uint64,uint256,bytes32,bytes32)[],(address,uint256,bytes32,bytes32)[],"
    "(uint256,uint8,bytes32)[],(uint256,uint256)[])"
)


def verified_facts(returned: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the `try…` call that reads a fact, and its word, for all facts."""
    ((accounts, slots, fields, times),) = facts = decode([_FACTS], returned)
    assert encode([_FACTS], facts) == returned  # canonical ABI encoding
    for account, block, nonce, balance, *hashes in accounts:
        for field, word in enumerate((_word(nonce), _word(balance), *hashes)):
            yield call_data("tryAccountField(address,uint256,uint8)", account, block, field), word
    for account, block, slot, value in slots:
        signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
        yield call_data(signature, account, block, slot), value
    for block, field, value in fields:
        yield call_data("tryHeaderField(uint256,uint8)", block, field), value
    for second, block in times:
        yield call_data("tryBlockNumberAt(uint256)", second), _word(block)


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")
