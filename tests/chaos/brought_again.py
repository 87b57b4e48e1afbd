"""What proofs brought to a registry that had it already: it was paid for twice.

The registry itself tells only of what is new, so its events cannot say it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.chaos.calldata import ACCOUNT_FIELD, Brought, brought_by
from tests.chaos.evidence import Chain

NONCE, BALANCE = 0, 1
Transaction = Mapping[str, Any]  # as its node tells it


def brought_again(
    node: Chain, transactions: Sequence[Transaction]
) -> Iterator[tuple[str, Brought]]:
    """With the hashes of those that did it. `transactions`: all that succeeded."""
    things = {each["hash"]: brought_by(bytes.fromhex(each["input"][2:])) for each in transactions}
    pairs = [(each, thing) for each in transactions for thing in things[each["hash"]]]
    before, after = (_kept(node, pairs, blocks_back) for blocks_back in (1, 0))
    for transaction, thing in pairs:
        if (transaction["hash"], thing) not in after:
            raise ValueError(f"{transaction['hash']} was read wrong: {thing} is not kept")
    # Of one block the state before it does not know what its earlier transactions brought.
    earlier: dict[tuple[int, str], set[Brought]] = {}
    for transaction in sorted(transactions, key=_place):
        its_hash, (block, _) = transaction["hash"], _place(transaction)
        present = earlier.setdefault((block, transaction["to"]), set())
        new: set[Brought] = set()
        for thing in things[its_hash]:
            if (its_hash, thing) in before or thing in present | new:
                yield its_hash, thing
            new.add(thing)
        present |= new | {_beside(thing) for thing in new}


def _place(transaction: Transaction) -> tuple[int, int]:
    return int(transaction["blockNumber"], 16), int(transaction["transactionIndex"], 16)


def _beside(thing: Brought) -> Brought:
    """Nonce and balance stand in one word: whoever brings one of them brings the other."""
    if thing.getter != ACCOUNT_FIELD or thing.words[-1] not in {NONCE, BALANCE}:
        return thing
    return replace(thing, words=(*thing.words[:-1], NONCE + BALANCE - thing.words[-1]))


def _kept(
    node: Chain, pairs: Sequence[tuple[Transaction, Brought]], blocks_back: int
) -> set[tuple[str, Brought]]:
    """By the registry, at the end of a transaction's block or so many before it."""
    asked = []
    for transaction, thing in pairs:
        call = {"to": transaction["to"], "data": thing.question}
        asked.append(("eth_call", [call, hex(_place(transaction)[0] - blocks_back)]))
    return {
        (transaction["hash"], thing)
        for (transaction, thing), answer in zip(pairs, node.ask_many(asked), strict=True)
        if int(answer[2:66] or "0", 16)
    }
