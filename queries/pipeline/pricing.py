"""What proving costs: the transactions that it takes, tried out, and who would bear which share."""

from collections.abc import Callable, Mapping, Sequence

from queries.chain.errors import CallReverted, ChainAnswer, TooMuchGas, TransactionRefused
from queries.chain.nodes import ENOUGH_NODES
from queries.chain.one_transaction import MOST_GAS
from queries.chain.registry_storage import AsIf
from queries.chain.source import nothing
from queries.models import Query
from queries.pipeline.chains import Chains
from queries.pipeline.joining import Call, join
from queries.pipeline.offers import Need, Offer
from queries.pipeline.pieces import Anchor, Piece, pieces_of
from queries.pipeline.shares import even_shares, shares_of
from queries.pipeline.truth import TRUTHS
from queries.pipeline.wanted import Missing
from queries.routes import Registry
from queries.wait_reasons import WaitCode

REFUSED = WaitCode.REGISTRY_REFUSES.value

Refusal = CallReverted | TransactionRefused


def proving_pieces(  # noqa: PLR0913, PLR0917  (what a piece is made of)
    chains: Chains,
    registry: Registry,
    job: int,
    anchor: Anchor,
    lacking: Missing,
    meanwhile: Callable[[], object] = nothing,
) -> list[Piece]:
    """The proofs are fetched and checked here."""
    asked = [(account, slots) for account, (_, slots) in lacking.accounts.items()]
    source = chains.source(registry.source)
    proofs = source.account_proofs(anchor.header, asked, meanwhile)
    TRUTHS.remember(anchor.header, lacking, proofs)
    return pieces_of(job, anchor, lacking, proofs)


def needs_alone(
    chains: Chains,
    registry: Registry,
    pieces: Sequence[Piece],
    as_if: AsIf | None = None,
    *,
    of_each: bool = False,
) -> dict[Piece, Need | Refusal]:
    """What each piece would need in a transaction of its own, or why there can be none; `of_each`
    node that is asked, the most.
    """
    calls = [piece.data for piece in pieces]
    needs = _needs(chains, registry, calls, as_if, of_each=of_each)
    return dict(zip(pieces, needs, strict=True))


def priced_together(
    chains: Chains,
    registry: Registry,
    alone: Mapping[Piece, Need],
    served: Mapping[int, Sequence[Query]],
    *,
    of_each: bool = False,
) -> list[Offer]:
    """The pieces in as few transactions as they fit in; `CallReverted` where one is refused."""
    fees = chains.destination(registry.destination).fees()
    return [
        Offer(
            call,
            need,
            fees,
            shares_of({piece: alone[piece].most(fees) for piece in call.pieces}, served),
        )
        for call, need in _joined(chains, registry, alone, of_each=of_each)
    ]


def _joined(
    chains: Chains, registry: Registry, alone: Mapping[Piece, Need], *, of_each: bool
) -> list[tuple[Call, Need]]:
    apart = {piece.data: need for piece, need in alone.items()}
    calls = join(list(alone))
    tried = [call.data for call in calls if call.data not in apart]
    together = _needs(chains, registry, tried, of_each=of_each)
    needs = apart | dict(zip(tried, together, strict=True))
    fitting: list[tuple[Call, Need]] = []
    for call in calls:
        need = needs[call.data]
        if isinstance(need, CallReverted):
            raise need
        if isinstance(need, TransactionRefused):  # together they are too much
            fitting += [(Call(piece.data, (piece,)), alone[piece]) for piece in call.pieces]
        else:
            fitting.append((call, need))
    return fitting


def priced_alone(chains: Chains, registry: Registry, call: Call, queries: Sequence[Query]) -> Offer:
    """A call that serves all of these queries alike."""
    (need,) = _needs(chains, registry, [call.data])
    if not isinstance(need, Need):
        raise need
    fees = chains.destination(registry.destination).fees()
    return Offer(call, need, fees, even_shares(queries))


def _needs(
    chains: Chains,
    registry: Registry,
    calls: Sequence[bytes],
    as_if: AsIf | None = None,
    *,
    of_each: bool = False,
) -> list[Need | Refusal]:
    if not of_each:
        return _needs_once(chains, registry, calls, as_if)
    destination = chains.destination(registry.destination)
    told: dict[int, list[Need | Refusal]] = {}  # by node
    refused: ChainAnswer | None = None
    for _ in destination.with_each_first():
        try:
            needs = _needs_once(chains, registry, calls, as_if)
        except ChainAnswer as fault:
            refused = fault
        else:
            told[destination.answered] = needs
    if refused and not told:
        raise refused
    return [_most(each) for each in zip(*told.values(), strict=True)]


def _most(told: Sequence[Need | Refusal]) -> Need | Refusal:
    """Of what nodes say of one call, the most that two name where there are three; refused is what
    two refuse there, or both: with one alone that names gas it would fail and be paid for.
    """
    needs = sorted(
        (each for each in told if isinstance(each, Need)),
        key=lambda need: (need.gas, need.data_fee),
    )
    if len(needs) < min(ENOUGH_NODES, len(told)):
        return next(each for each in told if not isinstance(each, Need))
    return needs[-ENOUGH_NODES:][0] if len(needs) > ENOUGH_NODES else needs[-1]


def _needs_once(
    chains: Chains, registry: Registry, calls: Sequence[bytes], as_if: AsIf | None
) -> list[Need | Refusal]:
    if not calls:
        return []
    destination = chains.destination(registry.destination)
    gas = destination.gas_needed_by_each(chains.sender, registry.address, calls, as_if)
    data_fees = destination.data_fees(calls)
    return [
        _fitting(Need(each, data_fee)) if isinstance(each, int) else each
        for each, data_fee in zip(gas, data_fees, strict=True)
    ]


def _fitting(need: Need) -> Need | TooMuchGas:
    """With less gas than it needs it would run out of it, and be paid for."""
    if need.gas <= MOST_GAS:
        return need
    return TooMuchGas(
        f"The proof takes a transaction of {need.gas:,} gas, and none may have more than "
        f"{MOST_GAS:,}. Ask for fewer accounts or slots in a batch."
    )


def refusal_of(reverted: CallReverted) -> str:
    """The registry's own word on a call that is not sent, for people."""
    return f"The registry refuses the proof: 0x{reverted.data.hex()[:200]}"
