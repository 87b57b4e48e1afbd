"""Whether a transaction that reverted is found, and traced where a fault took away its ground."""

from dataclasses import replace

import pytest
from eth_utils.crypto import keccak

from tests.chaos.chains import CHAIN_A, CHAIN_B, told
from tests.chaos.happened import Happened, TakenAway, Tally
from tests.chaos.look import Look, Row
from tests.chaos.revert_checks import OTHER_CHAIN, of_reverted
from tests.chaos.run import Ended
from tests.chaos.tampering import changed, mined

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]

# A contract that reverts with whatever it is called with.
ECHO = bytes.fromhex("67" + "365f5f37365ffd00" + "60005260086018f3")
UNKNOWN = keccak(text="BlockNotKnown(uint256,bytes32)")[:4].hex()
ANOTHER = keccak(text="AnotherBlockAccumulated(uint256,bytes32)")[:4].hex()
NUMBER, GONE = 5, f"0x{7:064x}"


def _found(it: Ended, route: tuple[int, int], words: str, happened: Happened) -> list[str]:
    """As if the last transaction to the route's registry had reverted with these words."""
    place = it.chains.of(route[1])
    registry = place.node.deploy(ECHO)
    payer = told(place.node.url, "eth_accounts")[3]
    call = {"from": payer, "to": registry, "data": words, "gas": hex(10**6)}
    its_hash = mined(place.node.url, call)
    scene = replace(it.scene, registries={**it.scene.registries, route: registry})
    with changed(it, "senttransaction", _last(it, route[1])["id"], "mined_hash", its_hash):
        return [each.kind for each in of_reverted(Look(scene, it.asked), happened)]


def _last(it: Ended, chain: int) -> Row:
    rows = [row for row in it.look().sent if row["chain"] == chain]
    return max(rows, key=lambda row: int(row["nonce"]))


def _words(block_hash: str, error: str = UNKNOWN) -> str:
    return f"0x{error}{NUMBER:064x}{block_hash[2:]}"


def _hash_of(it: Ended, chain: int) -> str:
    url = it.scene.chains[chain]
    return str(told(url, "eth_getBlockByNumber", hex(NUMBER), False)["hash"])  # noqa: FBT003


def test_one_that_gives_no_word_is_found(ended: Ended) -> None:
    assert _found(ended, (CHAIN_B, CHAIN_B), "0x", ended.witnessed.happened) == ["reverted"]


@pytest.mark.parametrize(
    ("route", "block_hash", "error", "found"),
    [
        ((CHAIN_B, CHAIN_B), GONE, UNKNOWN, []),
        ((CHAIN_B, CHAIN_B), f"0x{8:064x}", UNKNOWN, ["reverted"]),
        ((CHAIN_B, CHAIN_B), GONE, ANOTHER, ["reverted"]),
        ((CHAIN_A, CHAIN_B), GONE, UNKNOWN, ["reverted"]),  # it waits until blocks are final
    ],
)
def test_one_whose_block_was_replaced_is_traced_to_it(
    ended: Ended, route: tuple[int, int], block_hash: str, error: str, found: list[str]
) -> None:
    taken = [TakenAway(chain, {NUMBER: GONE}, frozenset()) for chain in (CHAIN_A, CHAIN_B)]
    happened = Happened(taken_away=taken)
    assert _found(ended, route, _words(block_hash, error), happened) == found
    assert _found(ended, route, _words(block_hash, error), Happened()) == ["reverted"]


def test_one_that_rests_on_what_was_replaced_is_traced_to_it(ended: Ended) -> None:
    route, words = (CHAIN_A, CHAIN_B), _words(_hash_of(ended, CHAIN_A))
    rows = sorted(
        (row for row in ended.look().sent if row["chain"] == CHAIN_B), key=lambda row: row["nonce"]
    )
    for chain, row, found in (
        (CHAIN_B, rows[0], []),
        (CHAIN_B, rows[-1], ["reverted"]),  # itself
        (CHAIN_A, rows[0], ["reverted"]),
    ):
        taken = TakenAway(chain, {}, frozenset({row["mined_hash"]}))
        assert _found(ended, route, words, Happened(taken_away=[taken])) == found


def test_one_of_another_chains_block_is_traced_to_who_said_so(ended: Ended) -> None:
    route, words = (CHAIN_B, CHAIN_B), _words(_hash_of(ended, CHAIN_A))
    for came, found in ((1, []), (0, ["reverted"])):
        happened = Happened({OTHER_CHAIN: Tally("answers", 1, came, came)})
        assert _found(ended, route, words, happened) == found
