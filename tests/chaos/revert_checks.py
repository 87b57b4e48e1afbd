"""Why transactions were mined and reverted: each was paid for and proved nothing.

No number of faults excuses any. A proof is tried out just before it is signed, so it reverts only
where a block hash that it rests on is gone by the time it is mined, or never was the chain's. The
registry says which one, in what it reverts with; and what a run took away it has noted. So each is
traced to what took away its own ground:

- a block of the chain itself, which is not waited for to be final where the chain is source and
  destination at once, was replaced: its hash is one of those that were;
- the block is true, but the registry learned of it by a transaction of ours with a lower nonce,
  and the block with that one was replaced;
- the hash is of another chain's block of that number: a node spoke for that chain.

A chain that waits for more blocks than are ever replaced, and every other lie, explains none.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from eth_utils.crypto import keccak

from tests.chaos.chains import WAITS_FOR_FINAL
from tests.chaos.evidence import as_json
from tests.chaos.happened import Happened, TakenAway
from tests.chaos.look import Look, Row
from tests.chaos.violations import Violation

# With the block's number and hash as their first words.
OF_A_HASH = {
    f"0x{keccak(text=each)[:4].hex()}"
    for each in ("BlockNotKnown(uint256,bytes32)", "BlockNotAccumulated(uint256,bytes32,bytes32)")
}
OTHER_CHAIN = "node lied: another chain's data"


def of_reverted(look: Look, happened: Happened) -> Iterator[Violation]:
    """By the chain's own word, not the database's."""
    for row in reverted(look):
        reason = words_of_revert(look, row)
        if not why(look, row, reason, happened):
            what = f"{row['mined_hash']} on {row['chain']}, with {reason or 'no word'}"
            yield Violation("reverted", f"{what}, which no fault of the run explains")


def reverted(look: Look) -> list[Row]:
    receipts = look.receipts
    return [row for row in look.sent if (it := receipts.get(row["id"])) and it["status"] != "0x1"]


def words_of_revert(look: Look, row: Row) -> str:
    how = {"tracer": "callTracer"}
    node = look.scene.nodes[row["chain"]]
    return str(node.ask("debug_traceTransaction", row["mined_hash"], how).get("output", "0x"))


def why(look: Look, row: Row, reason: str, happened: Happened) -> str:
    """Empty where nothing explains it."""
    if reason[:10] not in OF_A_HASH:
        return ""
    number, block_hash = int(reason[10:74], 16), f"0x{reason[74:138]}"
    receipt: dict[str, Any] = look.receipts[row["id"]] or {}
    source = next(
        source
        for (source, destination), address in look.scene.registries.items()
        if destination == row["chain"] and address.lower() == receipt["to"]
    )
    replaced = any(each.blocks.get(number) == block_hash for each in _of(happened, source))
    if replaced and source == row["chain"] and source not in WAITS_FOR_FINAL:
        return "its block was replaced"
    if _hash_of(look, source, number) == block_hash:
        earlier = {
            its_hash
            for each in look.sent
            if each["chain"] == row["chain"] and each["nonce"] < row["nonce"]
            for its_hash in as_json(each["hashes"])
        }
        if any(earlier & each.transactions for each in _of(happened, row["chain"])):
            return "what it rests on was replaced"
    tally = happened.tallies.get(OTHER_CHAIN)
    others = [chain for chain in look.scene.nodes if chain != source]
    if tally and tally.came and any(_hash_of(look, each, number) == block_hash for each in others):
        return "a node spoke for another chain"
    return ""


def _of(happened: Happened, chain: int) -> Sequence[TakenAway]:
    return [each for each in happened.taken_away if each.chain == chain]


def _hash_of(look: Look, chain: int, number: int) -> str:
    block = look.scene.nodes[chain].ask("eth_getBlockByNumber", hex(number), False)  # noqa: FBT003
    return str(block["hash"]) if block else ""
