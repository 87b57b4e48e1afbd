"""Whether transactions that are told otherwise than they were mined, or paid twice, are found."""

from typing import Any

import pytest

from tests.chaos.chains import told
from tests.chaos.evidence import ATTEST
from tests.chaos.happened import Happened, TakenAway
from tests.chaos.look import Row
from tests.chaos.run import Ended
from tests.chaos.tampering import changed, last_sent, mined
from tests.chaos.transaction_checks import of_times, of_transactions

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]


def _transactions(it: Ended) -> set[str]:
    return {each.kind for each in of_transactions(it.look(), it.witnessed.happened)}


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("nonce", 1_000, "nonce gap"),
        ("gas_used", 21_000, "untrue record"),
        ("mined_hash", f"0x{7:064x}", "untrue record"),
        ("mined_hash", "", "untrue record"),
        ("settled", False, "not ended"),
    ],
)
def test_a_transaction_that_is_told_otherwise_is_found(
    ended: Ended, column: str, value: object, kind: str
) -> None:
    with changed(ended, "senttransaction", last_sent(ended)["id"], column, value):
        assert kind in _transactions(ended)


def test_what_was_signed_after_a_node_had_it_is_found(ended: Ended) -> None:
    row, look = last_sent(ended), ended.look()
    handed = ended.witnessed.handed
    assert not list(of_times(look, handed))
    apart = look.scene.clocks_apart + 10
    # Whoever's clock is ahead may have signed it, which is what these are apart for.
    early = {row["mined_hash"]: [each - apart for each in handed[row["mined_hash"]]]}
    assert {each.kind for each in of_times(look, early)} == {"false time"}


def test_what_is_proven_once_more_is_found(ended: Ended) -> None:
    """By the signer's own key, under a nonce that is in nobody's books."""
    row = next(
        each
        for each in reversed(ended.look().sent)
        if each["succeeded"] and not each["brings_hash"]
    )
    url, signer = ended.scene.chains[row["chain"]], ended.scene.signer
    sent = told(url, "eth_getTransactionByHash", row["mined_hash"])
    told(url, "anvil_impersonateAccount", signer)
    again = {"from": signer, "to": sent["to"], "data": sent["input"], "gas": hex(10**7)}
    again_hash = mined(url, again)
    assert "nonce gap" in _transactions(ended)
    with changed(ended, "senttransaction", row["id"], "mined_hash", again_hash):
        assert {"paid twice", "untrue record"} <= _transactions(ended)


def test_a_hash_that_is_brought_once_more_is_found(ended: Ended) -> None:
    """Unless a reorganisation took away one of ours before."""
    row, sent = next(
        (row, sent)
        for row in ended.look().sent
        if row["brings_hash"]
        and row["succeeded"]
        and (sent := _as_sent(ended, row))["input"].startswith(ATTEST)
    )
    url, chain = ended.scene.chains[row["chain"]], row["chain"]
    told(url, "anvil_impersonateAccount", ended.scene.signer)
    again = {"from": ended.scene.signer, "to": sent["to"], "data": sent["input"]}
    again_hash = mined(url, again | {"gas": hex(10**7)})
    replaced = Happened(taken_away=[TakenAway(chain, {}, frozenset([row["mined_hash"]]))])
    with changed(ended, "senttransaction", row["id"], "mined_hash", again_hash):
        kinds = [
            {each.kind for each in of_transactions(ended.look(), happened)}
            for happened in (Happened(), replaced)
        ]
    assert "paid twice" in kinds[0]
    assert "paid twice" not in kinds[1]


def _as_sent(ended: Ended, row: Row) -> dict[str, Any]:
    sent: dict[str, Any] = told(
        ended.scene.chains[row["chain"]], "eth_getTransactionByHash", row["mined_hash"]
    )
    return sent
