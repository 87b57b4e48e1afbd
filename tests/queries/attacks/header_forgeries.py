"""Made-up headers, in RLP and in the compact form of proofs, and forgeries with them."""

from dataclasses import dataclass

from eth_abi.abi import encode

from queries.contracts.abi import call_data
from queries.proving.keccak import EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256
from queries.proving.registry_calls import (
    HORIZON,
    HeaderFlag,
    SectionKind,
    accumulated_section,
    prove_call,
)
from queries.proving.rlp_items import encode_integer, encode_list, encode_string
from tests.queries.attacks.forgery import (
    NUMBER,
    TIME,
    UNPROVEN,
    Forgery,
    answer,
    read_field,
    read_slot,
)

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
    def rlp(self) -> bytes:
        front = (self.parent, EMPTY_UNCLES_HASH, _COINBASE, self.state_root, *_ROOTS_AND_BLOOM)
        return encode_list([*map(encode_string, front), self.tail])

    @property
    def hash(self) -> bytes:
        return keccak256(self.rlp)

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


TIMESTAMP = 11


def set_hash(number: int, block_hash: bytes) -> bytes:
    return call_data("setHash(uint256,bytes32)", number, block_hash)


def read_header(number: int, field: int) -> bytes:
    return call_data("tryHeaderField(uint256,uint8)", number, field)


def read_block_at(timestamp: int) -> bytes:
    return call_data("tryBlockNumberAt(uint256)", timestamp)


def field_mask(*fields: int) -> bytes:
    return sum(1 << field for field in fields).to_bytes(4, "big")


def time_list(*values: int) -> bytes:
    return bytes((len(values),)) + b"".join(timestamp.to_bytes(8, "big") for timestamp in values)


PARENT = FakeHeader(header_tail(NUMBER, TIME))
CHILD = FakeHeader(header_tail(NUMBER + 1, TIME + 12), PARENT.hash)
KNOWN_CHILD = (set_hash(NUMBER + 1, CHILD.hash),)


def _field_forgery(
    header: FakeHeader, field: int, lie: int, error: str, known_hash: bytes = b""
) -> Forgery:
    """A header of block NUMBER with a false field."""
    section = raw_headers(header.compact(HeaderFlag.FIELDS, field_mask(field)))
    setup = (set_hash(NUMBER, known_hash),) if known_hash else ()
    return Forgery(prove_call([section]), error, read_header(NUMBER, field), answer(lie), setup)


def _malformed(number: int, tail: bytes) -> Forgery:
    header = FakeHeader(tail)
    setup = (set_hash(number, header.hash),)
    return Forgery(prove_call([raw_headers(header.compact())]), "HeaderMalformed", setup=setup)


def _foreign_parent(child: bytes, *more: bytes) -> Forgery:
    """A foreign header in place of a known header's parent."""
    foreign = FakeHeader(header_tail(7, TIME)).compact(HeaderFlag.FIELDS, field_mask(TIMESTAMP))
    call, question = prove_call([raw_headers(foreign, child)]), read_header(7, TIMESTAMP)
    return Forgery(call, "BlockNotKnown", question, answer(TIME), (*KNOWN_CHILD, *more))


def _timestamp_forgery(*times: int) -> Forgery:
    """The last of the timestamps is false."""
    child = CHILD.compact(HeaderFlag.TIMESTAMPS, time_list(*times), first=False)
    call = prove_call([raw_headers(PARENT.compact(), child)])
    return Forgery(call, "TimestampOutside", read_block_at(times[-1]), answer(NUMBER), KNOWN_CHILD)


def _wrong_kind(question: bytes, number: int, field: int) -> Forgery:
    """A header field is proven, and a fact of another kind is read."""
    header = FakeHeader(header_tail(number, TIME))
    section = raw_headers(header.compact(HeaderFlag.FIELDS, field_mask(field)))
    return Forgery(
        prove_call([section]), "", question, UNPROVEN, setup=(set_hash(number, header.hash),)
    )


def _beacon_root_as_timestamp() -> Forgery:
    """The child's timestamp ends in 0xa0, which is also the RLP prefix of 32 bytes, and its extra
    data repeats all but the first byte of a beacon root that begins with 0xa0, the prefix of the
    extra data. If the root is omitted there, the timestamp read ends in the extra data's last byte.
    """
    true_time = TIME & ~0xFF | 0xA0
    read_time = true_time | 0xFF
    root = b"\xa0" + bytes(range(31))
    tail = header_tail(NUMBER + 1, true_time, root[1:] + bytes((read_time & 0xFF,)))
    place = tail.index(b"\xa0" + root)
    parent = FakeHeader(header_tail(NUMBER, true_time - 12))
    child = FakeHeader(tail, parent.hash)
    compact_child = child.compact(
        HeaderFlag.BEACON_KNOWN | HeaderFlag.TIMESTAMPS,
        bytes((place,)) + time_list(true_time + 1),
        tail=tail[:place] + tail[place + 33 :],
        first=False,
    )
    return Forgery(
        prove_call([raw_headers(parent.compact(), compact_child)]),
        "TimestampOutside",
        read_block_at(true_time + 1),
        answer(NUMBER),
        (set_hash(read_time, root), set_hash(NUMBER + 1, child.hash)),
    )


def _second_header() -> Forgery:
    """If the source of hashes contradicts itself, the first header stays."""
    second = FakeHeader(header_tail(NUMBER, TIME + 1))
    words = [NUMBER, TIME + 1, second.hash, second.state_root]
    call, second_call = (
        prove_call([raw_headers(header.compact(HeaderFlag.ACCUMULATE))])
        for header in (PARENT, second)
    )
    return Forgery(
        second_call,
        "AnotherBlockAccumulated",
        call_data("accumulated(uint256)", NUMBER),
        keccak256(encode(["uint256", "uint256", "bytes32", "bytes32"], words)),
        (set_hash(NUMBER, PARENT.hash), call, set_hash(NUMBER, second.hash)),
    )


LISTED = FakeHeader(header_tail(NUMBER, TIME, b"", b"\xc2\x01\x02"))
LATE = FakeHeader(header_tail(NUMBER, HORIZON))
NO_ACCOUNT = bytes(20)
HEADERS = {
    "a_header_field_read_as_an_account_field": _wrong_kind(read_field(NO_ACCOUNT, 2), NUMBER, 2),
    "a_header_field_read_as_a_slot": _wrong_kind(
        read_slot(NO_ACCOUNT, bytes(31) + b"\x02"), NUMBER, 2
    ),
    # A timestamp fact has no block and no account, like a field of block 0.
    "a_header_field_read_as_a_time": _wrong_kind(read_block_at(8), 0, 8),
    "a_beacon_root_put_into_the_timestamp": _beacon_root_as_timestamp(),
    "a_beacon_root_after_the_end": Forgery(
        prove_call([raw_headers(PARENT.compact(HeaderFlag.BEACON_KNOWN, b"\xff"))]),
        "HeaderMalformed",
    ),
    "a_field_after_the_last": _field_forgery(PARENT, 21, 0, "HeaderMalformed", PARENT.hash),
    "a_field_that_is_a_list": _field_forgery(LISTED, 21, 0, "HeaderMalformed", LISTED.hash),
    "a_number_of_forty_bytes": _malformed(
        0, encode_integer(0) + encode_string(bytes([1]) * 40) + header_tail(0, TIME)[2:]
    ),
    "a_header_that_ends_before_its_timestamp": _malformed(
        NUMBER, encode_integer(0) + encode_integer(NUMBER)
    ),
    "a_header_that_is_unknown": _field_forgery(PARENT, TIMESTAMP, TIME, "BlockNotKnown"),
    "another_hash_than_the_known_one": _field_forgery(
        PARENT, TIMESTAMP, TIME, "BlockNotKnown", CHILD.hash
    ),
    "no_header_at_all": Forgery(prove_call([raw_headers()]), "NoHeader"),
    "a_header_that_is_not_the_parent": _foreign_parent(CHILD.compact()),
    "a_foreign_header_before_a_known_one": _foreign_parent(CHILD.compact(first=False)),
    # A provided parent links the headers, even if its hash is known.
    "a_foreign_header_before_one_whose_parent_is_known": _foreign_parent(
        CHILD.compact(HeaderFlag.PARENT_KNOWN, first=False), set_hash(NUMBER, PARENT.hash)
    ),
    "a_time_before_both": _timestamp_forgery(TIME - 1),
    "a_time_of_the_later_one": _timestamp_forgery(TIME + 12),
    "a_time_of_the_later_one_after_a_true_one": _timestamp_forgery(TIME, TIME + 12),
    # A verifier could take the missing parent of the first header for block 0.
    "a_time_at_the_first_header": Forgery(
        prove_call([raw_headers(PARENT.compact(HeaderFlag.TIMESTAMPS, time_list(TIME - 1)))]),
        "NoParentProvided",
        setup=(set_hash(NUMBER, PARENT.hash),),
    ),
    "a_second_header_of_one_number": _second_header(),
    # A known hash does not prove the other words of a block.
    "four_words_that_are_not_the_accumulated_ones": Forgery(
        prove_call([accumulated_section(NUMBER, TIME, PARENT.hash, bytes(2) + b"\x07")]),
        "BlockNotAccumulated",
        setup=(set_hash(NUMBER, PARENT.hash),),
    ),
    # After the horizon, a state root may be of another state.
    "a_header_beyond_the_horizon": _field_forgery(
        LATE, TIMESTAMP, HORIZON, "BeyondHorizon", LATE.hash
    ),
}
