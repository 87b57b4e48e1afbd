"""Forgeries from headers: point 15."""

from eth_abi.abi import encode

from queries.contracts.abi import call_data
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HORIZON, HeaderFlag, accumulated_section, prove_call
from queries.proving.rlp_items import encode_integer, encode_string
from tests.queries.attacks.forgery import NUMBER, TIME, UNPROVEN, Forgery, answer, field_of, slot_of
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of

TIMESTAMP = 11


def known(number: int, block_hash: bytes) -> bytes:
    return call_data("setHash(uint256,bytes32)", number, block_hash)


def header_field(number: int, field: int) -> bytes:
    return call_data("tryHeaderField(uint256,uint8)", number, field)


def block_at(timestamp: int) -> bytes:
    return call_data("tryBlockNumberAt(uint256)", timestamp)


def fields(*asked: int) -> bytes:
    return sum(1 << field for field in asked).to_bytes(4, "big")


def timestamps(*asked: int) -> bytes:
    return bytes((len(asked),)) + b"".join(each.to_bytes(8, "big") for each in asked)


PARENT = MadeUpHeader(tail_of(NUMBER, TIME))
CHILD = MadeUpHeader(tail_of(NUMBER + 1, TIME + 12), PARENT.hash)
KNOWN_CHILD = (known(NUMBER + 1, CHILD.hash),)


def _stating(
    header: MadeUpHeader, field: int, lie: int, error: str, known_hash: bytes = b""
) -> Forgery:
    """A header of block NUMBER, of which one field would be stored."""
    section = headers(header.told(HeaderFlag.FIELDS, fields(field)))
    setup = (known(NUMBER, known_hash),) if known_hash else ()
    return Forgery(prove_call([section]), error, header_field(NUMBER, field), answer(lie), setup)


def _malformed(number: int, tail: bytes) -> Forgery:
    header = MadeUpHeader(tail)
    setup = (known(number, header.hash),)
    return Forgery(prove_call([headers(header.told())]), "HeaderMalformed", setup=setup)


def _before_a_known_child(child: bytes, *more: bytes) -> Forgery:
    """A foreign header before a known one."""
    foreign = MadeUpHeader(tail_of(7, TIME)).told(HeaderFlag.FIELDS, fields(TIMESTAMP))
    call, question = prove_call([headers(foreign, child)]), header_field(7, TIMESTAMP)
    return Forgery(call, "BlockNotKnown", question, answer(TIME), (*KNOWN_CHILD, *more))


def _at(*times: int) -> Forgery:
    """The last of the times is false."""
    child = CHILD.told(HeaderFlag.TIMESTAMPS, timestamps(*times), first=False)
    call = prove_call([headers(PARENT.told(), child)])
    return Forgery(call, "TimestampOutside", block_at(times[-1]), answer(NUMBER), KNOWN_CHILD)


def _read_as(question: bytes, number: int, field: int) -> Forgery:
    """Of a header field another kind of fact is read, which is not proven."""
    header = MadeUpHeader(tail_of(number, TIME))
    section = headers(header.told(HeaderFlag.FIELDS, fields(field)))
    return Forgery(
        prove_call([section]), "", question, UNPROVEN, setup=(known(number, header.hash),)
    )


def _beacon_root_in_the_timestamp() -> Forgery:
    """The child's timestamp ends in 0xa0, the head of 32 bytes, and its extra data repeats all
    but the first byte of a beacon root, which is 0xa0 as well, the head of the extra data. With
    the root left out there, the timestamp that is read ends in the extra data's last byte.
    """
    true_time = TIME & ~0xFF | 0xA0
    read_time = true_time | 0xFF
    root = b"\xa0" + bytes(range(31))
    tail = tail_of(NUMBER + 1, true_time, root[1:] + bytes((read_time & 0xFF,)))
    place = tail.index(b"\xa0" + root)
    parent = MadeUpHeader(tail_of(NUMBER, true_time - 12))
    child = MadeUpHeader(tail, parent.hash)
    told = child.told(
        HeaderFlag.BEACON_KNOWN | HeaderFlag.TIMESTAMPS,
        bytes((place,)) + timestamps(true_time + 1),
        tail=tail[:place] + tail[place + 33 :],
        first=False,
    )
    return Forgery(
        prove_call([headers(parent.told(), told)]),
        "TimestampOutside",
        block_at(true_time + 1),
        answer(NUMBER),
        (known(read_time, root), known(NUMBER + 1, child.hash)),
    )


def _second_of_one_number() -> Forgery:
    """Where the source of hashes contradicts itself the first header stays."""
    second = MadeUpHeader(tail_of(NUMBER, TIME + 1))
    words = [NUMBER, TIME + 1, second.hash, second.state_root]
    first, then = (
        prove_call([headers(each.told(HeaderFlag.ACCUMULATE))]) for each in (PARENT, second)
    )
    return Forgery(
        then,
        "AnotherBlockAccumulated",
        call_data("accumulated(uint256)", NUMBER),
        keccak256(encode(["uint256", "uint256", "bytes32", "bytes32"], words)),
        (known(NUMBER, PARENT.hash), first, known(NUMBER, second.hash)),
    )


LISTED = MadeUpHeader(tail_of(NUMBER, TIME, b"", b"\xc2\x01\x02"))
LATE = MadeUpHeader(tail_of(NUMBER, HORIZON))
NO_ACCOUNT = bytes(20)
HEADERS = {
    "a_header_field_read_as_an_account_field": _read_as(field_of(NO_ACCOUNT, 2), NUMBER, 2),
    "a_header_field_read_as_a_slot": _read_as(slot_of(NO_ACCOUNT, bytes(31) + b"\x02"), NUMBER, 2),
    # Times have no block and no account, and so are like fields of block 0.
    "a_header_field_read_as_a_time": _read_as(block_at(8), 0, 8),
    "a_beacon_root_put_into_the_timestamp": _beacon_root_in_the_timestamp(),
    "a_beacon_root_after_the_end": Forgery(
        prove_call([headers(PARENT.told(HeaderFlag.BEACON_KNOWN, b"\xff"))]), "HeaderMalformed"
    ),
    "a_field_after_the_last": _stating(PARENT, 21, 0, "HeaderMalformed", PARENT.hash),
    "a_field_that_is_a_list": _stating(LISTED, 21, 0, "HeaderMalformed", LISTED.hash),
    "a_number_of_forty_bytes": _malformed(
        0, encode_integer(0) + encode_string(bytes([1]) * 40) + tail_of(0, TIME)[2:]
    ),
    "a_header_that_ends_before_its_timestamp": _malformed(
        NUMBER, encode_integer(0) + encode_integer(NUMBER)
    ),
    "a_header_that_is_unknown": _stating(PARENT, TIMESTAMP, TIME, "BlockNotKnown"),
    "another_hash_than_the_known_one": _stating(
        PARENT, TIMESTAMP, TIME, "BlockNotKnown", CHILD.hash
    ),
    "no_header_at_all": Forgery(prove_call([headers()]), "NoHeader"),
    # The known one states its own parent's hash.
    "a_header_that_is_not_the_parent": _before_a_known_child(CHILD.told()),
    "a_foreign_header_before_a_known_one": _before_a_known_child(CHILD.told(first=False)),
    # A parent that is provided links the headers, also where its hash is known.
    "a_foreign_header_before_one_whose_parent_is_known": _before_a_known_child(
        CHILD.told(HeaderFlag.PARENT_KNOWN, first=False), known(NUMBER, PARENT.hash)
    ),
    "a_time_before_both": _at(TIME - 1),
    "a_time_of_the_later_one": _at(TIME + 12),
    "a_time_of_the_later_one_after_a_true_one": _at(TIME, TIME + 12),
    # Before the first header there is none, which a verifier could take for block 0.
    "a_time_at_the_first_header": Forgery(
        prove_call([headers(PARENT.told(HeaderFlag.TIMESTAMPS, timestamps(TIME - 1)))]),
        "NoParentProvided",
        setup=(known(NUMBER, PARENT.hash),),
    ),
    "a_second_header_of_one_number": _second_of_one_number(),
    # The hash known for a number says nothing of the words that are shown for it.
    "four_words_that_are_not_the_accumulated_ones": Forgery(
        prove_call([accumulated_section(NUMBER, TIME, PARENT.hash, bytes(2) + b"\x07")]),
        "BlockNotAccumulated",
        setup=(known(NUMBER, PARENT.hash),),
    ),
    # After it, a state root may stand for another state.
    "a_header_beyond_the_horizon": _stating(LATE, TIMESTAMP, HORIZON, "BeyondHorizon", LATE.hash),
}
