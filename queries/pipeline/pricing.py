"""What proving costs: the calls that it takes, tried out, and who would bear which share."""

from collections.abc import Sequence

from queries.chain.errors import CallReverted
from queries.models import Query
from queries.pipeline.calls import Anchor, Call, calls_for
from queries.pipeline.chains import Chains
from queries.pipeline.lane import Priced
from queries.pipeline.wanted import Missing
from queries.routes import Registry

REFUSED = "registry_refuses"


def proving_calls(
    chains: Chains, registry: Registry, anchor: Anchor, lacking: Missing
) -> list[Call]:
    """The proofs are fetched and checked here."""
    asked = [(account, slots) for account, (_, slots) in lacking.accounts.items()]
    proofs = chains.source(registry.source).account_proofs(anchor.header, asked)
    return calls_for(anchor, lacking, proofs)


def priced(chains: Chains, registry: Registry, calls: Sequence[Call]) -> list[Priced]:
    """With the gas that each needs now; `CallReverted` where the registry refuses one."""
    destination = chains.destination(registry.destination)
    fees = destination.fees()
    return [
        Priced(call, destination.gas_needed(chains.sender, registry.address, call.data), fees)
        for call in calls
    ]


def refusal_of(reverted: CallReverted) -> str:
    """The registry's own word on a call that is not sent, for people."""
    return f"The registry refuses the proof: 0x{reverted.data.hex()[:200]}"


def most_to_pay(queries: Sequence[Query], calls: Sequence[Priced]) -> dict[str, int]:
    """Each batch's share by bytes, at the dearest gas that would be paid."""
    shares: dict[str, int] = {query.batch_id: 0 for query in queries}
    for each in calls:
        price = each.gas_needed * each.fees.dearest
        weights = [_weight(each.call, query) for query in queries]
        if not any(weights):  # the header alone is new to the registry: all who wait for it share
            weights = [1] * len(queries)
        whole = sum(weights)
        for query, weight in zip(queries, weights, strict=True):
            shares[query.batch_id] += price * weight // whole + 1 if weight else 0
    return shares


def _weight(call: Call, query: Query) -> int:
    if query.account:
        return call.accounts.get(bytes.fromhex(query.account[2:]), 0)
    return call.header_weight
