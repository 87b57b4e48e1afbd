"""What was sent: each nonce once, told as it was mined, and nothing that was there already."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.chaos.brought_again import brought_again
from tests.chaos.evidence import ATTEST, as_json, seconds_of
from tests.chaos.look import Look, Row, number
from tests.chaos.violations import Violation

READ_TWICE = 1.0  # second: two clocks that are one, read by two programs


def of_transactions(look: Look) -> Iterator[Violation]:
    for chain, node in look.scene.nodes.items():
        rows = {row["nonce"]: row for row in look.sent if row["chain"] == chain}
        signer = look.scene.signer
        count = int(node.ask("eth_getTransactionCount", signer, "latest"), 16)
        pending = int(node.ask("eth_getTransactionCount", signer, "pending"), 16)
        if pending != count:
            yield Violation("nonce gap", f"{pending - count} wait on {chain}")
        for nonce in sorted(set(range(count)) ^ set(rows)):
            where = "no row" if nonce < count else "never mined"
            yield Violation("nonce gap", f"nonce {nonce} on {chain}: {where}")
        mined = [row for nonce, row in sorted(rows.items()) if nonce < count]
        for row in mined:
            if not row["mined_hash"]:
                yield Violation("untrue record", f"nonce {row['nonce']} on {chain} has no hash")
        known = [row for row in mined if row["mined_hash"]]
        asked = [("eth_getTransactionByHash", [row["mined_hash"]]) for row in known]
        sent = node.ask_many(asked)
        for row, transaction in zip(known, sent, strict=True):
            yield from _of_transaction(look, row, look.receipts[row["id"]], transaction)
        succeeded = [
            transaction
            for row, transaction in zip(known, sent, strict=True)
            if transaction and (it := look.receipts[row["id"]]) and it["status"] == "0x1"
        ]
        for its_hash, thing in brought_again(node, succeeded):
            yield Violation("paid twice", f"{its_hash} on {chain} brings {thing} again")


def _of_transaction(
    look: Look, row: Row, receipt: dict[str, Any] | None, sent: dict[str, Any] | None
) -> Iterator[Violation]:
    named = f"nonce {row['nonce']} on {row['chain']}"
    if receipt is None or sent is None:
        yield Violation("untrue record", f"{named} was not mined as {row['mined_hash']}")
        return
    if int(sent["nonce"], 16) != row["nonce"] or sent["from"] != look.scene.signer.lower():
        yield Violation("untrue record", f"{named} is another transaction")
    told = (row["mined_block"], row["succeeded"], row["gas_used"], number(row["gas_price"]))
    true = (
        int(receipt["blockNumber"], 16),
        receipt["status"] == "0x1",
        int(receipt["gasUsed"], 16),
        int(receipt["effectiveGasPrice"], 16),
    )
    if told != true:
        yield Violation("untrue record", f"{named} is {true}, and told as {told}")
    if not row["settled"]:
        yield Violation("not ended", f"{named} was mined, and is not settled")
    # Two that bring a hash, by a call without anything or by signers' words, bring the same one
    # where a reorganisation had both mined anew at once: neither nonce can be left out by then.
    calldata = sent["input"]
    brings_hash = len(calldata) == len(ATTEST) or calldata.startswith(ATTEST)
    if receipt["status"] == "0x1" and calldata != "0x" and not receipt["logs"] and not brings_hash:
        yield Violation("paid twice", f"{named} proved nothing that was new")


def of_times(look: Look, handed: Mapping[str, Sequence[float]]) -> Iterator[Violation]:
    """What was signed before it came to a node is not told to have been signed after that, but for
    what the clocks that the database is written by are apart. `handed`: by hash, when it came.
    """
    for row in look.sent:
        came = [each for text in _hashes_of(row) for each in handed.get(text, ())]
        if came and seconds_of(row["signed"]) > min(came) + look.scene.clocks_apart + READ_TWICE:
            what = f"nonce {row['nonce']} on {row['chain']} was signed after a node had it"
            yield Violation("false time", what)


def _hashes_of(row: Row) -> Sequence[str]:
    found: Sequence[str] = as_json(row["hashes"])
    return found
