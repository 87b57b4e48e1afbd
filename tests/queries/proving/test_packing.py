"""Where a block's accounts are cut into groups: of one size, and where it costs least."""

from itertools import pairwise

import pytest

from queries.proving.keccak import EMPTY_CODE_HASH, keccak256
from queries.proving.packing import CALLDATA_BYTES, pack
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest
from tests.queries.tries.random_tries import RandomAccount, RandomKey
from tests.queries.tries.second_opinion import BuiltState

pytestmark = pytest.mark.no_database

ACCOUNTS, MOST, NEAR = 240, 100, 8


@pytest.fixture(scope="module")
def requests() -> list[AccountRequest]:
    """As hashed addresses lie in a trie, in their order."""
    accounts = [
        RandomAccount(
            RandomKey(keccak256(b"%d" % number), held=True, asked=True),
            nonce=number + 1,
            balance=10**18,
            code_hash=EMPTY_CODE_HASH,
            fields=frozenset({AccountField.BALANCE}),
            slots=(),
            values=(),
        )
        for number in range(ACCOUNTS)
    ]
    asked = BuiltState.of(accounts).requests()
    return sorted(asked, key=lambda request: request.proof.address_hash)


def test_a_cut_is_as_cheap_as_any_near_it(requests: list[AccountRequest]) -> None:
    """Both sides built for each of the cuts say so; which of them it is, two accounts tell."""
    ends = [0]
    for group in pack(requests, build_witness, MOST):
        ends.append(ends[-1] + len(group))
    assert len(ends) == 4
    even = [ACCOUNTS * place // 3 for place in range(4)]
    paid, gained = 0, 0
    for place in (1, 2):
        before, behind = ends[place - 1], even[place + 1]
        costs = {
            cut: len(build_witness(requests[before:cut]) + build_witness(requests[cut:behind]))
            for cut in range(even[place] - NEAR, even[place] + NEAR + 1)
        }
        # Beside nodes a few bytes tell how far a path goes on alone.
        assert costs[ends[place]] <= min(costs.values()) + 8
        paid, gained = paid + costs[ends[place]], gained + costs[even[place]] - costs[ends[place]]
    assert gained > 0, paid


def test_groups_are_whole_in_their_order_and_near_one_size() -> None:
    groups = pack(range(1_000), lambda some: bytes(400 * len(some)), 1_000)
    assert [item for group in groups for item in group] == list(range(1_000))
    sizes = [len(group) for group in groups]
    assert len(groups) == -(-1_000 // (CALLDATA_BYTES // 400))
    assert max(sizes) - min(sizes) <= 2 * NEAR
    assert all(400 * size <= CALLDATA_BYTES for size in sizes)


def test_what_fits_only_unevenly_is_cut_where_it_fits() -> None:
    sizes = [60_000, 60_000, 10, 10, 10, 60_000, 60_000, 10]
    groups = pack(range(8), lambda some: bytes(sum(sizes[each] for each in some)), 8)
    ends = [0]
    for group in groups:
        assert sum(sizes[each] for each in group) <= CALLDATA_BYTES
        ends.append(ends[-1] + len(group))
    assert ends[-1] == 8
    assert all(start < end for start, end in pairwise(ends))


def test_one_item_is_taken_whatever_it_weighs() -> None:
    assert pack(["heavy"], lambda _: b"", 1, lambda _: 2) == [["heavy"]]
    assert pack([], lambda _: b"", 1) == []
