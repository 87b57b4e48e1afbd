"""A chain whose newest blocks are replaced, and which ones those were."""

from typing import Any

from tests.chaos.chains import told
from tests.chaos.happened import TakenAway


def taken_away(chain: int, url: str, depth: int) -> TakenAway:
    """No block comes meanwhile: one that came unseen, and was replaced, nobody could name."""
    told(url, "anvil_setIntervalMining", 0)
    try:
        head = int(told(url, "eth_blockNumber"), 16)
        numbers = range(head - depth + 1, head + 1)
        before = [_block(url, each) for each in numbers]
        told(url, "anvil_reorg", depth, [])
        after = [_block(url, each) for each in numbers]
    finally:
        told(url, "anvil_setIntervalMining", 1)
    gone = [old for old, new in zip(before, after, strict=True) if old["hash"] != new["hash"]]
    return TakenAway(
        chain,
        {int(each["number"], 16): str(each["hash"]) for each in gone},
        frozenset(its_hash for each in gone for its_hash in each["transactions"]),
    )


def _block(url: str, number: int) -> dict[str, Any]:
    found: dict[str, Any] = told(url, "eth_getBlockByNumber", hex(number), False)  # noqa: FBT003
    return found
