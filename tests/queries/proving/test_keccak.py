import hashlib

import pytest

from queries.proving.keccak import (
    EMPTY_CODE_HASH,
    EMPTY_TRIE_ROOT,
    EMPTY_UNCLES_HASH,
    keccak256,
)

pytestmark = pytest.mark.no_database


def test_hashes_of_emptiness_are_those_of_the_protocol() -> None:
    assert EMPTY_TRIE_ROOT.hex() == (
        "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"
    )
    assert EMPTY_CODE_HASH.hex() == (
        "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    )
    assert EMPTY_UNCLES_HASH.hex() == (
        "1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"
    )


def test_is_keccak_and_not_the_later_standard() -> None:
    assert keccak256(b"") != hashlib.sha3_256(b"").digest()


def test_hashes_across_block_lengths() -> None:
    # transfer(address,uint256) is known by its selector; 136 bytes are one full block.
    assert keccak256(b"transfer(address,uint256)")[:4].hex() == "a9059cbb"
    assert len({keccak256(bytes(length)) for length in range(130, 140)}) == 10
