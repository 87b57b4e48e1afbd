"""False facts by construction, from headers."""

from eth_abi.abi import encode

from queries.chain.solidity import call_data
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HeaderFlag, prove_call
from queries.proving.rlp_items import encode_integer, encode_string
from tests.queries.attacks.forgery_parts import NUMBER, TIME, Forgery, answer, forgery
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


def leaf_of(number: int, timestamp: int, header: MadeUpHeader) -> bytes:
    return keccak256(
        encode(
            ["uint256", "uint256", "bytes32", "bytes32"],
            [number, timestamp, header.hash, header.state_root],
        )
    )


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


def _before_a_known_child(child: bytes) -> Forgery:
    """A foreign header before a known one."""
    foreign = MadeUpHeader(tail_of(7, TIME)).told(HeaderFlag.FIELDS, fields(TIMESTAMP))
    call, question = prove_call([headers(foreign, child)]), header_field(7, TIMESTAMP)
    return Forgery(call, "BlockNotKnown", question, answer(TIME), KNOWN_CHILD)


@forgery
def point_15_a_beacon_root_put_into_the_timestamp() -> Forgery:
    """The child's timestamp ends in 0xa0, the head of 32 bytes, and its extra data repeats all
    but the first byte of a beacon root, which is 0xa0 as well, the head of the extra data. With
    the root left out there, the timestamp that is read ends in the extra data's last byte.
    """
    true_time = TIME & ~0xFF | 0xA0
    read_time = true_time | 0xFF
    root = b"\xa0" + bytes(range(31))
    child = MadeUpHeader(
        tail_of(NUMBER + 1, true_time, root[1:] + bytes((read_time & 0xFF,))), PARENT.hash
    )
    place = child.tail.index(b"\xa0" + root)
    left = child.tail[:place] + child.tail[place + 33 :]
    parent = MadeUpHeader(tail_of(NUMBER, true_time - 12))
    child = MadeUpHeader(child.tail, parent.hash)
    flags = HeaderFlag.BEACON_KNOWN | HeaderFlag.TIMESTAMPS
    behind = bytes((place,)) + timestamps(true_time + 1)
    section = headers(parent.told(), child.told(flags, behind, tail=left, first=False))
    return Forgery(
        prove_call([section]),
        "TimestampOutside",
        block_at(true_time + 1),
        answer(NUMBER),
        (known(read_time, root), known(NUMBER + 1, child.hash)),
    )


@forgery
def point_15_a_beacon_root_behind_the_end() -> Forgery:
    section = headers(PARENT.told(HeaderFlag.BEACON_KNOWN, b"\xff"))
    return Forgery(prove_call([section]), "HeaderMalformed")


@forgery
def point_15_a_field_behind_the_last() -> Forgery:
    return _stating(PARENT, 21, 0, "HeaderMalformed", PARENT.hash)


@forgery
def point_15_a_field_that_is_a_list() -> Forgery:
    header = MadeUpHeader(tail_of(NUMBER, TIME, b"", b"\xc2\x01\x02"))
    return _stating(header, 21, 0, "HeaderMalformed", header.hash)


@forgery
def point_15_a_number_of_forty_bytes() -> Forgery:
    number = encode_string(bytes([1]) * 40)
    header = MadeUpHeader(encode_integer(0) + number + tail_of(0, TIME)[2:])
    return Forgery(
        prove_call([headers(header.told())]), "HeaderMalformed", setup=(known(0, header.hash),)
    )


@forgery
def point_15_a_header_that_ends_before_its_timestamp() -> Forgery:
    header = MadeUpHeader(encode_integer(0) + encode_integer(NUMBER))
    return Forgery(
        prove_call([headers(header.told())]), "HeaderMalformed", setup=(known(NUMBER, header.hash),)
    )


@forgery
def point_15_a_header_that_nobody_knows() -> Forgery:
    return _stating(PARENT, TIMESTAMP, TIME, "BlockNotKnown")


@forgery
def point_15_another_hash_than_the_known_one() -> Forgery:
    return _stating(PARENT, TIMESTAMP, TIME, "BlockNotKnown", CHILD.hash)


@forgery
def point_15_no_header_at_all() -> Forgery:
    return Forgery(prove_call([headers()]), "NoHeader")


@forgery
def point_15_a_parent_that_is_none() -> Forgery:
    """The known one states its own parent's hash."""
    return _before_a_known_child(CHILD.told())


@forgery
def point_15_a_foreign_header_before_a_known_one() -> Forgery:
    return _before_a_known_child(CHILD.told(first=False))


def _at(timestamp: int, error: str) -> Forgery:
    child = CHILD.told(HeaderFlag.TIMESTAMPS, timestamps(timestamp), first=False)
    section = headers(PARENT.told(), child)
    return Forgery(prove_call([section]), error, block_at(timestamp), answer(NUMBER), KNOWN_CHILD)


@forgery
def point_15_a_time_before_both() -> Forgery:
    return _at(TIME - 1, "TimestampOutside")


@forgery
def point_15_a_time_of_the_later_one() -> Forgery:
    return _at(TIME + 12, "TimestampOutside")


@forgery
def point_15_a_time_at_the_first_header() -> Forgery:
    """Before the first header there is none, which a verifier could take for block 0."""
    section = headers(PARENT.told(HeaderFlag.TIMESTAMPS, timestamps(TIME - 1)))
    return Forgery(prove_call([section]), "NoParentProvided", setup=(known(NUMBER, PARENT.hash),))


@forgery
def point_15_a_second_header_of_one_number() -> Forgery:
    """Where the source of hashes contradicts itself the first header stays."""
    second = MadeUpHeader(tail_of(NUMBER, TIME + 1))
    accumulate = HeaderFlag.ACCUMULATE
    return Forgery(
        prove_call([headers(second.told(accumulate))]),
        "AnotherBlockAccumulated",
        call_data("accumulated(uint256)", NUMBER),
        leaf_of(NUMBER, TIME + 1, second),
        (
            known(NUMBER, PARENT.hash),
            prove_call([headers(PARENT.told(accumulate))]),
            known(NUMBER, second.hash),
        ),
    )


@forgery
def point_15_four_words_that_are_not_the_accumulated_ones() -> Forgery:
    """The hash known for a number says nothing of the words that are shown for it."""
    words = b"\x01" + (NUMBER).to_bytes(8, "big") + (TIME).to_bytes(8, "big") + PARENT.hash
    empty_witness = bytes(2) + b"\x07"
    return Forgery(
        prove_call([words + empty_witness]),
        "BlockNotAccumulated",
        setup=(known(NUMBER, PARENT.hash),),
    )


@forgery
def point_15_a_header_beyond_the_horizon() -> Forgery:
    """After it, a state root may stand for another state."""
    header = MadeUpHeader(tail_of(NUMBER, 1_830_297_600))
    return _stating(header, TIMESTAMP, 1_830_297_600, "BeyondHorizon", header.hash)
