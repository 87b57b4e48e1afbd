"""The client's own keccak, beside the one that the service uses."""

import pytest

from queries.proving import keccak
from queries.tacitus import keccak256

pytestmark = pytest.mark.no_database

KNOWN = {
    b"": "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    b"abc": "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
    b"The quick brown fox jumps over the lazy dog": (
        "4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15"
    ),
    bytes(32): "290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563",
}


@pytest.mark.parametrize("content", KNOWN)
def test_known_hashes(content: bytes) -> None:
    assert keccak256(content).hex() == KNOWN[content]


def test_it_is_so_at_every_length_around_its_blocks() -> None:
    for length in (*range(130, 142), *range(266, 278)):
        content = bytes(range(256)) * 2
        assert keccak256(content[:length]) == keccak.keccak256(content[:length]), length
