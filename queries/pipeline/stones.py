"""What it takes to prove a block far below what its registry knows, before any of it is sent."""

from queries.chain.errors import CallReverted, MethodMissing, QuestionRefused
from queries.chain.registry_storage import as_if_accumulated
from queries.pipeline.anchors import SteppingStone, chained
from queries.pipeline.chains import Chains
from queries.pipeline.offers import Need
from queries.pipeline.pieces import Anchor, Piece, stepping_stone
from queries.pipeline.pricing import needs_alone, proving_pieces
from queries.pipeline.wanted import Missing
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.routes import Registry

MOST = 6  # that are looked at for an estimate, which has some ten seconds


def needs_by_stones(
    chains: Chains, registry: Registry, header: Header, first: SteppingStone, lacking: Missing
) -> dict[Piece, Need] | None:
    """Each tried out as if the stone before it were there. None where nodes cannot do that, and
    where there are very many.
    """
    source = chains.source(registry.source)
    needs: dict[Piece, Need] = {}
    known: dict[int, bytes] = {}
    anchor: SteppingStone | Anchor = first
    while isinstance(anchor, SteppingStone):
        piece = stepping_stone(header.number, anchor.headers)
        if len(needs) == MOST or not _try_out(chains, registry, [piece], known, needs):
            return None
        stone = anchor.headers[0]
        known = {stone.number: leaf_of(stone)}
        anchor = chained(source.headers, header, stone.number, accumulated=False)
    pieces = proving_pieces(chains, registry, header.number, anchor, lacking)
    return needs if _try_out(chains, registry, pieces, known, needs) else None


def _try_out(
    chains: Chains,
    registry: Registry,
    pieces: list[Piece],
    known: dict[int, bytes],
    needs: dict[Piece, Need],
) -> bool:
    as_if = as_if_accumulated(registry.address, known) if known else None
    try:
        found = needs_alone(chains, registry, pieces, as_if)
    except (QuestionRefused, MethodMissing):
        return False
    for piece, need in found.items():
        if isinstance(need, CallReverted):  # by who did not look at what was supposed
            return False
        if not isinstance(need, Need):
            raise need
        needs[piece] = need
    return True
