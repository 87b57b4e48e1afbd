"""Build batches: the requests for facts."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queries.client.python.errors import UsageError
from queries.client.python.positions import WORD, Position, parse_integer, parse_typed_key
from queries.proving.keccak import keccak256


@dataclass(frozen=True, slots=True)
class BlockQuery:
    """The values to prove of one block of the chain `source`."""

    source: int | str
    _: dataclasses.KW_ONLY
    block: int | None = None
    timestamp: int | None = None  # the last block at or before this time
    accounts: Sequence[str] = ()
    props: Sequence[str] = ()
    slots: Sequence[int | str] = ()
    header: Sequence[str] = ()
    logs: Sequence[Mapping[str, object]] = ()  # the forms are in /docs/events; or `log_filter`
    receipts: Sequence[int | str] = ()  # of transactions, by index or hash
    transactions: Sequence[int | str] = ()
    withdrawals: Sequence[int] = ()
    absent: Sequence[Mapping[str, object]] = ()  # the forms are in /docs/events

    @property
    def selector(self) -> str:
        if (self.block is None) is (self.timestamp is None):
            raise UsageError("Name a block either by its number or by a timestamp.")
        return f"timestamp:{self.timestamp}" if self.block is None else f"block:{self.block}"


def build_batch(
    destination: int | str,
    *queries: BlockQuery,
    fee: int | str = 0,
    webhook: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Build a batch for `submit`; `fee` is the maximum to spend on it, in wei."""
    data: dict[str, dict[str, dict[str, Any]]] = {}
    for query in queries:
        block = data.setdefault(str(query.source), {}).setdefault(query.selector, {})
        for name in ("header", "logs", "receipts", "transactions", "withdrawals", "absent"):
            if items := getattr(query, name):
                block.setdefault(name, []).extend(items)
        for account in query.accounts:
            entries = block.setdefault("accounts", {})
            entry = entries.setdefault(account, {"props": [], "slots": []})
            entry["props"] += query.props
            entry["slots"] += [
                slot if isinstance(slot, str) else f"0x{Position(slot).slot:x}"
                for slot in query.slots
            ]
    batch: dict[str, object] = {
        "destinationChainId": str(destination),
        "fee": str(fee),
        "data": data,
    }
    return batch | ({"webhook": webhook} if webhook else {})


def log_filter(address: str, *topics: str | Sequence[str] | None) -> dict[str, object]:
    """Select all logs of a block by this emitter, for `BlockQuery.logs`.

    A topic is an event's signature, such as Transfer(address,address,uint256), or a value as in
    `slot --key`; None is any topic, and a list any of its topics.
    """
    return {"address": address, "topics": [_encode_topic(topic) for topic in topics]}


def _encode_topic(topic: str | Sequence[str] | None) -> object:
    if not isinstance(topic, str):
        return None if topic is None else [_encode_topic(text) for text in topic]
    word = keccak256(topic.encode()) if "(" in topic else parse_typed_key(topic)
    if len(word) != WORD:
        raise UsageError(f"{topic} has {len(word)} bytes; a topic has {WORD}.")
    return f"0x{word.hex()}"


def parse_log(text: str) -> dict[str, object]:
    """Read `5:0`, the first log of transaction 5, or a log's index in its block."""
    transaction, colon, index = text.rpartition(":")
    if not colon:
        return {"logIndex": parse_integer(text)}
    name = transaction if len(transaction) > WORD else parse_integer(transaction)
    return {"transaction": name, "log": parse_integer(index)}
