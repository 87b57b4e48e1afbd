"""What was sent: each nonce once, told as it was mined, and nothing that was there already."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.chaos.brought_again import brought_again
from tests.chaos.evidence import ATTEST, as_json, seconds_of
from tests.chaos.happened import Happened
from tests.chaos.look import Look, Row, number
from tests.chaos.violations import Violation

READ_TWICE = 1.0  # second: two clocks that are one, read by two programs


def of_transactions(look: Look, happened: Happened) -> Iterator[Violation]:
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
        for each in brought_in_vain(look, chain):
            if not _was_replaced_before(look, each, happened):
                named = f"nonce {each['nonce']} on {chain}"
                yield Violation("paid twice", f"{named} brought a hash that was there already")
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
    is_new = receipt["logs"] or sent["input"] == "0x" or _brings_hash(sent["input"])
    if receipt["status"] == "0x1" and not is_new:
        yield Violation("paid twice", f"{named} proved nothing that was new")


def brought_in_vain(look: Look, chain: int) -> list[Row]:
    """Those that brought a block's hash which the registry had already."""
    silent = [
        row
        for row in look.sent
        if row["chain"] == chain
        and row["mined_hash"]
        and (it := look.receipts[row["id"]])
        and it["status"] == "0x1"
        and not it["logs"]
    ]
    asked = [("eth_getTransactionByHash", [row["mined_hash"]]) for row in silent]
    sent = look.scene.nodes[chain].ask_many(asked)
    return [row for row, it in zip(silent, sent, strict=True) if it and _brings_hash(it["input"])]


def _brings_hash(calldata: str) -> bool:
    """By a call without anything, or by signers' words."""
    return len(calldata) == len(ATTEST) or calldata.startswith(ATTEST)


def _was_replaced_before(look: Look, row: Row, happened: Happened) -> bool:
    """Two bring the same hash where a reorganisation had the first of them mined anew, at once with
    the one that was to take its place: neither nonce can be left out by then.
    """
    earlier = {
        its_hash
        for each in look.sent
        if each["chain"] == row["chain"] and each["nonce"] <= row["nonce"]
        for its_hash in as_json(each["hashes"])
    }
    taken = [each for each in happened.taken_away if each.chain == row["chain"]]
    return any(earlier & each.transactions for each in taken)


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
