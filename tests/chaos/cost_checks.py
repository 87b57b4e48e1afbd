"""What batches have paid: what the chains' receipts say was spent, each its share, none too much.

Promised is that a fee is the most that is spent on a batch, and that who shares a transaction
shares its cost. So what all of them have spent is what their transactions cost, but where a fee
was lower than that: then, and for what serves nobody who still pays, the operator bears the rest.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.chaos.chains import FREE
from tests.chaos.evidence import as_json
from tests.chaos.look import Look, Row, number
from tests.chaos.violations import Violation

TOO_LOW = "fee_too_low"
NEEDED = re.compile(r"may cost ([0-9,]+) wei")
PAYS_NOTHING = "fee too little"  # a kind of batches
# Of these, accounts that nobody else asks for: whatever is proven of them was proven for the batch.
OF_THEIR_OWN = {PAYS_NOTHING, "fee runs out"}


@dataclass
class Borne:
    """What a batch, or a query, bears by the receipts."""

    wei: int = 0
    transactions: int = 0  # in each a wei may be rounded to who comes before or after


@dataclass
class Bill:
    """By receipts and shares."""

    of_batches: dict[str, Borne] = field(default_factory=lambda: defaultdict(Borne))
    of_queries: dict[str, Borne] = field(default_factory=lambda: defaultdict(Borne))
    of_chains: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    shared: dict[int, int] = field(default_factory=lambda: defaultdict(int))  # that somebody bears


def price(look: Look, row: Row) -> int:
    """Wei, as the chain took them."""
    receipt = look.receipts.get(row["id"])
    return _gas(look, row) * int(receipt["effectiveGasPrice"], 16) if receipt else 0


def _gas(look: Look, row: Row) -> int:
    receipt = look.receipts.get(row["id"])
    return int(receipt["gasUsed"], 16) if receipt else 0


def bill(look: Look) -> Bill:
    made = Bill()
    for row in look.sent:
        cost, shares = price(look, row), as_json(row["shares"])
        made.of_chains[row["chain"]] += cost
        whole = sum(weight for its in shares.values() for weight in its.values())
        made.shared[row["chain"]] += cost if whole else 0
        for batch, its in shares.items():
            _bear(made.of_batches[batch], cost * sum(its.values()) // whole)
            for query, weight in its.items():
                _bear(made.of_queries[query], cost * weight // whole)
    return made


def _bear(it: Borne, wei: int) -> None:
    it.wei += wei
    it.transactions += 1


def of_costs(look: Look) -> Iterator[Violation]:
    made = bill(look)
    yield from _of_batches(look, made)
    yield from _of_sums(look, made)
    yield from _of_queries(look, made)
    yield from _of_payers(look)
    yield from _of_the_poor(look)


def _of_batches(look: Look, made: Bill) -> Iterator[Violation]:
    for key, row in look.batches.items():
        fee, spent, borne = number(row["fee"]), number(row["spent"]), made.of_batches[key]
        if row["destination"] not in FREE:
            if spent > fee:
                yield Violation("false cost", f"{key} has spent {spent} of a fee of {fee}")
            borne = Borne(min(borne.wei, fee), borne.transactions)
        if abs(spent - borne.wei) > borne.transactions:
            what = f"{key} has spent {spent}, where {borne.wei} are its share"
            yield Violation("paid twice" if spent > borne.wei else "false cost", what)


def _of_sums(look: Look, made: Bill) -> Iterator[Violation]:
    """To the last wei, where no fee was too low for its share."""
    records = {row["chain"]: row for row in look.scene.rows("chaincost")}
    for chain, whole in made.of_chains.items():
        theirs = {key: row for key, row in look.batches.items() if row["destination"] == chain}
        spent = sum(number(row["spent"]) for row in theirs.values())
        rest = made.shared[chain] - spent
        beyond = [_beyond_its_fee(row, made) for row in theirs.values()]
        if not sum(least for least, _ in beyond) <= rest <= sum(most for _, most in beyond):
            what = f"batches have spent {spent} wei on {chain}, where {made.shared[chain]} were"
            yield Violation("paid twice" if rest < 0 else "false cost", what)
        rows = [row for row in look.sent if row["chain"] == chain]
        true = (len(rows), sum(_gas(look, row) for row in rows), whole)
        record = records.get(chain)
        told = record and (record["transactions"], record["gas"], number(record["spent"]))
        if told != true:
            yield Violation("false cost", f"{chain} took {true}, and is told to have taken {told}")


def _beyond_its_fee(row: Row, made: Bill) -> tuple[int, int]:
    """How much of a batch's share its fee does not cover, at least and at most."""
    if row["destination"] in FREE:
        return 0, 0
    its = made.of_batches[row["id"]]
    least = its.wei - number(row["fee"])
    return max(least, 0), max(least + its.transactions, 0)


def _of_queries(look: Look, made: Bill) -> Iterator[Violation]:
    """What each is told to have cost is its share, and with its batch's others what that has
    spent.
    """
    whole: dict[str, int] = defaultdict(int)
    for row in look.queries:
        cost, share = number(row["cost"]), made.of_queries[str(row["id"])]
        whole[row["batch_id"]] += cost
        if cost > share.wei + share.transactions:
            what = f"{row['batch_id']}, {row['place']} is told to cost {cost}, and costs {share}"
            yield Violation("false cost", what)
    for key, cost in whole.items():
        spent = number(look.batches[key]["spent"])
        if cost != spent:
            yield Violation("false cost", f"queries of {key} cost {cost}, and it has spent {spent}")


def _of_payers(look: Look) -> Iterator[Violation]:
    """Nobody bears anything of what serves only others: of a transaction that has a block of no
    query of theirs, but for headers that lead down to it.
    """
    queries = {str(row["id"]): row for row in look.queries}
    jobs: dict[int, set[int]] = defaultdict(set)
    for link in look.scene.rows("transactionofjob"):
        jobs[link["transaction_id"]].add(link["job_id"])
    for row in look.sent:
        for batch, its in as_json(row["shares"]).items():
            for key in its:
                query = queries.get(key)
                if query is None or query["batch_id"] != batch:
                    yield Violation("false cost", f"{batch} bears of {row['id']} for no query")
                elif not query["misplaced"] and query["job_id"] not in jobs[row["id"]]:
                    what = f"{batch} bears of {row['id']}, which proves nothing of its blocks"
                    yield Violation("false cost", what)


def _of_the_poor(look: Look) -> Iterator[Violation]:
    """Who is rejected because of the fee had offered less than is said to be needed; and of what
    nobody else asked for, no more was proven than was paid for.
    """
    shared = {batch for row in look.sent for batch in as_json(row["shares"])}
    for it in look.asked:
        row = look.batches.get(it.id)
        if row is None or row["error_code"] != TOO_LOW:
            continue
        fee, spent = number(row["fee"]), number(row["spent"])
        needed = NEEDED.search(row["error_sentence"])
        if not needed or int(needed[1].replace(",", "")) <= fee:
            what = f"{it.id} offered {fee}: {row['error_sentence']}"
            yield Violation("false cause", what)
        if it.kind == PAYS_NOTHING and (spent or it.id in shared):
            yield Violation("false cost", f"{it.id} offered {fee}, and has spent {spent}")
        if it.kind in OF_THEIR_OWN:
            kept = look.scene.kept_words(sorted(set(look.facts_of(it))))
            there = [fact for fact, word in kept.items() if word is not None]
            if there and (it.id not in shared or len(there) == len(kept)):
                what = f"{it.id} was rejected for its fee, and {there} were proven for it alone"
                yield Violation("false cost", what)


def told_of_costs(look: Look) -> Iterator[str]:
    """For people."""
    made = bill(look)
    for chain, whole in sorted(made.of_chains.items()):
        theirs = [row for row in look.batches.values() if row["destination"] == chain]
        spent = sum(number(row["spent"]) for row in theirs)
        kind = "free" if chain in FREE else "not free"
        yield (
            f"  chain {chain}, {kind}: {whole:,} wei by the receipts, {spent:,} by the batches, "
            f"{whole - spent:,} by the operator"
        )
    poor = [row for row in look.batches.values() if row["error_code"] == TOO_LOW]
    some = sum(number(row["spent"]) > 0 for row in poor)
    yield f"  {len(poor)} batches offered too little, {some} of them after some was proven"
