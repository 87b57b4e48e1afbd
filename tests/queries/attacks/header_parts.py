"""Made-up headers in RLP and in the compact form of proofs."""

from dataclasses import dataclass

from queries.proving.keccak import EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256
from queries.proving.registry_calls import HeaderFlag, SectionKind
from queries.proving.rlp_items import encode_integer, encode_list, encode_string

BEACON_ROOT = bytes(range(100, 132))
_COINBASE = bytes(range(20))
_ROOTS_AND_BLOOM = (bytes([4]) * 32, bytes([5]) * 32, bytes([6]) * 256)


@dataclass(frozen=True)
class FakeHeader:
    """A header with a chosen parent, state root and tail."""

    tail: bytes
    parent: bytes = bytes([1]) * 32
    state_root: bytes = EMPTY_TRIE_ROOT

    @property
    def encoded(self) -> bytes:
        front = (self.parent, EMPTY_UNCLES_HASH, _COINBASE, self.state_root, *_ROOTS_AND_BLOOM)
        return encode_list([*map(encode_string, front), self.tail])

    @property
    def hash(self) -> bytes:
        return keccak256(self.encoded)

    def compact(
        self, flags: int = 0, suffix: bytes = b"", *, tail: bytes | None = None, first: bool = True
    ) -> bytes:
        """The compact form in a section, followed by `suffix`; `tail` may have parts omitted."""
        tail = self.tail if tail is None else tail
        front = (
            bytes((flags | HeaderFlag.NO_UNCLES,)),
            self.parent if first else b"",
            _COINBASE,
            b"" if flags & HeaderFlag.WITNESS else self.state_root,
            *_ROOTS_AND_BLOOM,
        )
        return b"".join((*front, len(tail).to_bytes(2, "big"), tail, suffix))


def header_tail(number: int, timestamp: int, extra: bytes = b"made up", *more: bytes) -> bytes:
    """The fields from the difficulty on, as of Prague; `more` are encoded fields of later forks."""
    integers = (0, number, 30_000_000, 21_000, timestamp)
    return b"".join(
        (
            *map(encode_integer, integers),
            encode_string(extra),
            encode_string(bytes([13]) * 32),
            encode_string(bytes(8)),
            encode_integer(7),
            encode_string(bytes([16]) * 32),
            encode_integer(0),
            encode_integer(0),
            encode_string(BEACON_ROOT),
            encode_string(bytes([20]) * 32),
            *more,
        )
    )


def raw_headers(*compact: bytes) -> bytes:
    """A section of headers in compact form."""
    return bytes((SectionKind.HEADERS,)) + len(compact).to_bytes(2, "big") + b"".join(compact)
