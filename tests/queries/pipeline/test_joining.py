"""Which pieces go together in a call, and what of them is shown once."""

from dataclasses import replace
from typing import Any

import pytest
import rlp

from queries.pipeline.pieces import Anchor, Piece, join
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.packing import CALLDATA_BYTES, OSAKA, GasRules
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call

pytestmark = pytest.mark.no_database

WIDTHS = [32, 32, 20, 32, 32, 32, 256, 0, 4, 4, 4, 4, 3, 32, 8, 4, 32, 0, 0, 32, 32]


def _chain(count: int) -> list[Header]:
    headers: list[Header] = []
    for number in range(count):
        payloads = [bytes([place + 1]) * width for place, width in enumerate(WIDTHS)]
        payloads[HeaderField.PARENT_HASH] = headers[-1].hash if headers else bytes(32)
        payloads[HeaderField.BLOCK_NUMBER] = bytes([1, number])
        headers.append(decode_header(rlp.encode(payloads)))
    return headers


CHAIN = _chain(250)


def _piece(first: int, last: int, witness: bytes = b"", **more: Any) -> Piece:
    anchor = Anchor(CHAIN[first], accumulated=False, above=tuple(CHAIN[first + 1 : last + 1]))
    piece = Piece(first, anchor, accumulate=True, **more)
    vars(piece)["witness"] = witness
    return piece


def test_chains_that_meet_are_one_and_keep_what_each_wants() -> None:
    lower, upper = _piece(3, 9, b"low"), _piece(5, 9, b"up", fields=frozenset({HeaderField.NONCE}))
    (call,) = join([upper, lower])
    steps = [HeaderStep(header) for header in CHAIN[3:10]]
    steps[0], steps[2] = lower.steps[0], upper.steps[0]
    assert call.data == prove_call([headers_section(steps)])
    assert set(call.pieces) == {lower, upper}


def test_two_witnesses_of_one_block_are_distinguished() -> None:
    one, other = _piece(3, 4, b"one"), _piece(3, 4, b"other")
    (call,) = join([one, other])
    assert call.data == prove_call([one.section, other.section])


def test_a_header_of_another_fork_is_not_mixed_in() -> None:
    payloads = list(CHAIN[5].payloads)
    payloads[HeaderField.COINBASE] = bytes(20)
    forked = Piece(
        5, Anchor(decode_header(rlp.encode(payloads)), accumulated=False), accumulate=True
    )
    lower = _piece(3, 9)
    (call,) = join([lower, forked])
    assert call.data == prove_call([lower.section, forked.section])


def test_no_call_is_longer_or_costs_more_than_a_transaction_may() -> None:
    calls = join([_piece(place, place, bytes(4_000)) for place in range(0, 200, 2)])
    assert len(calls) > 1
    assert all(len(call.data) <= CALLDATA_BYTES for call in calls)
    assert sorted(piece.job for call in calls for piece in call.pieces) == list(range(0, 200, 2))
    rules = GasRules(new_slot=OSAKA.room // 2)
    dear = [replace(_piece(place, place), rules=rules) for place in range(5)]
    assert sorted(len(call.pieces) for call in join(dear)) == [1, 2, 2]
