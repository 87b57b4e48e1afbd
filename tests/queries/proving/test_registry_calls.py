"""What a call of `prove()` leaves out, and what it refuses to tell."""

import pytest
import rlp

from queries.proving.errors import ArgumentMalformedError, HeaderFieldMissingError
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.keccak import EMPTY_UNCLES_HASH
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call

pytestmark = pytest.mark.no_database

WIDTHS = [32, 32, 20, 32, 32, 32, 256, 0, 4, 4, 4, 4, 3, 32, 8, 4, 32, 0, 0, 32, 32]


def header(fields: int = 21, **changed: bytes) -> Header:
    payloads = [bytes([place + 1]) * width for place, width in enumerate(WIDTHS[:fields])]
    for name, payload in changed.items():
        payloads[HeaderField[name]] = payload
    return decode_header(rlp.encode(payloads))


def test_what_the_registry_knows_is_left_out() -> None:
    told = header(UNCLES_HASH=EMPTY_UNCLES_HASH)
    whole = headers_section([HeaderStep(told)])
    short = headers_section([HeaderStep(told, parent_known=True, beacon_known=True)])
    assert told.parent_hash in whole
    assert told.parent_hash not in short
    assert EMPTY_UNCLES_HASH not in whole
    # Two hashes and the head of one; where the other belongs is told in a byte.
    assert len(whole) - len(short) == 32 + 33 - 1


def test_a_call_is_the_selector_and_its_sections() -> None:
    section = headers_section([HeaderStep(header())])
    assert prove_call([section, section]).hex() == "45152ae3" + 2 * section.hex()


def test_headers_that_are_no_chain_are_refused() -> None:
    with pytest.raises(ArgumentMalformedError, match="is not the child of header"):
        headers_section([HeaderStep(header()), HeaderStep(header())])


def test_a_beacon_root_is_left_out_only_where_there_is_one() -> None:
    with pytest.raises(HeaderFieldMissingError, match="PARENT_BEACON_BLOCK_ROOT"):
        headers_section([HeaderStep(header(17), beacon_known=True)])
    far = header(EXTRA_DATA=bytes(97))
    assert headers_section([HeaderStep(far)])
    with pytest.raises(ArgumentMalformedError, match="bytes before the beacon root"):
        headers_section([HeaderStep(header(EXTRA_DATA=bytes(200)), beacon_known=True)])
