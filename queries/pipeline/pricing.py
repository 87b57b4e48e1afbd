"""What proving costs: the transactions that it takes, tried out, and who would bear which share."""

from collections.abc import Mapping, Sequence

from queries.chain.errors import CallReverted
from queries.models import Query
from queries.pipeline.chains import Chains
from queries.pipeline.joining import Call, join
from queries.pipeline.offers import Offer
from queries.pipeline.pieces import Anchor, Piece, pieces_of
from queries.pipeline.shares import even_shares, shares_of
from queries.pipeline.wanted import Missing
from queries.routes import Registry

REFUSED = "registry_refuses"


def proving_pieces(
    chains: Chains, registry: Registry, job: int, anchor: Anchor, lacking: Missing
) -> list[Piece]:
    """The proofs are fetched and checked here."""
    asked = [(account, slots) for account, (_, slots) in lacking.accounts.items()]
    proofs = chains.source(registry.source).account_proofs(anchor.header, asked)
    return pieces_of(job, anchor, lacking, proofs)


def gas_alone(
    chains: Chains, registry: Registry, pieces: Sequence[Piece]
) -> dict[Piece, int | CallReverted]:
    """What each piece would need in a transaction of its own, or why the registry refuses it."""
    destination = chains.destination(registry.destination)
    calls = [piece.data for piece in pieces]
    needed = destination.gas_needed_by_each(chains.sender, registry.address, calls)
    return dict(zip(pieces, needed, strict=True))


def priced_together(
    chains: Chains,
    registry: Registry,
    alone: Mapping[Piece, int],
    served: Mapping[int, Sequence[Query]],
) -> list[Offer]:
    """The pieces in as few transactions as they fit in; `CallReverted` where one is refused."""
    destination = chains.destination(registry.destination)
    calls = join(list(alone))
    joined = [call for call in calls if len(call.pieces) > 1]
    needed: dict[tuple[Piece, ...], int] = {
        call.pieces: alone[call.pieces[0]] for call in calls if len(call.pieces) == 1
    }
    found = destination.gas_needed_by_each(
        chains.sender, registry.address, [call.data for call in joined]
    )
    for call, gas in zip(joined, found, strict=True):
        if isinstance(gas, CallReverted):
            raise gas
        needed[call.pieces] = gas
    fees = destination.fees()
    return [
        Offer(
            call,
            needed[call.pieces],
            fees,
            shares_of({piece: alone[piece] for piece in call.pieces}, served),
        )
        for call in calls
    ]


def priced_alone(chains: Chains, registry: Registry, call: Call, queries: Sequence[Query]) -> Offer:
    """A call that serves all of these queries alike."""
    destination = chains.destination(registry.destination)
    gas = destination.gas_needed(chains.sender, registry.address, call.data)
    return Offer(call, gas, destination.fees(), even_shares(queries))


def refusal_of(reverted: CallReverted) -> str:
    """The registry's own word on a call that is not sent, for people."""
    return f"The registry refuses the proof: 0x{reverted.data.hex()[:200]}"
