import hashlib

import pytest

from queries.proving.keccak import (
    keccak256,
)

pytestmark = pytest.mark.no_database


def test_is_keccak_and_not_the_later_standard() -> None:
    assert keccak256(b"") != hashlib.sha3_256(b"").digest()


def test_hashes_across_block_lengths() -> None:
    # transfer(address,uint256) is known by its selector; 136 bytes are one full block.
    assert keccak256(b"transfer(address,uint256)")[:4].hex() == "a9059cbb"
    assert len({keccak256(bytes(length)) for length in range(130, 140)}) == 10
