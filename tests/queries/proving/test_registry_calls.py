"""The calldata of `prove()`: which headers it takes, and what it may leave out."""

import pytest
import rlp

from queries.proving.errors import ArgumentMalformedError, HeaderFieldMissingError
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.registry_calls import SectionHeader, headers_section

pytestmark = pytest.mark.no_database

WIDTHS = [32, 32, 20, 32, 32, 32, 256, 0, 4, 4, 4, 4, 3, 32, 8, 4, 32, 0, 0, 32, 32]


def header(fields: int = 21, **changes: bytes) -> Header:
    payloads = [bytes([index + 1]) * width for index, width in enumerate(WIDTHS[:fields])]
    for name, payload in changes.items():
        payloads[HeaderField[name]] = payload
    return decode_header(rlp.encode(payloads))


def test_unlinked_headers_are_refused() -> None:
    with pytest.raises(ArgumentMalformedError, match="is not the child of header"):
        headers_section([SectionHeader(header()), SectionHeader(header())])


def test_only_an_existing_beacon_root_can_be_left_out() -> None:
    with pytest.raises(HeaderFieldMissingError, match="PARENT_BEACON_BLOCK_ROOT"):
        headers_section([SectionHeader(header(17), beacon_known=True)])
    long_header = header(EXTRA_DATA=bytes(97))
    assert headers_section([SectionHeader(long_header)])
    with pytest.raises(ArgumentMalformedError, match="bytes before the beacon root"):
        headers_section([SectionHeader(header(EXTRA_DATA=bytes(200)), beacon_known=True)])
