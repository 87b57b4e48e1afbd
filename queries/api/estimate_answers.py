"""What the API says of an estimate: numbers of a chain as decimal text, as everywhere."""

from queries.fact_names import shown_name
from queries.models import Query
from queries.pipeline.estimate import BlockEstimate, Estimate, Price
from queries.pipeline.wanted import TIMESTAMP
from queries.schema.batch_request import BatchRequest, BlockNumber, BlockTimestamp


def told_estimate(asked: BatchRequest, found: Estimate, *, free: bool) -> dict[str, object]:
    """`complete`: each block's price is in the sum."""
    return {
        "destinationChainId": str(asked.destination),
        "free": free,
        "feeNeeded": "0" if free else str(found.needed),
        "complete": found.complete,
        **_price(found.together),
        "warnings": [{"sentence": each.sentence, "path": each.path} for each in asked.warnings],
        "blocks": [_block(each) for each in found.blocks],
    }


def _block(shown: BlockEstimate) -> dict[str, object]:
    return {
        "originChainId": str(shown.source),
        "selectors": list(dict.fromkeys(_selector(query) for query in shown.queries)),
        "block": None if shown.block is None else str(shown.block),
        "lastFinalBlock": str(shown.last_final),
        "readiness": shown.readiness.value,
        "waitsFor": None if shown.code else shown.sentence or None,
        "error": shown.sentence if shown.code else None,
        "code": shown.code or None,
        "distance": None if shown.distance is None else str(shown.distance),
        "proven": [
            {"account": query.account or None, "name": query.name or None, "facts": facts}
            for query, names in zip(shown.queries, shown.proven, strict=False)
            if (facts := [shown_name(name) for name in names if name != TIMESTAMP])
        ],
        "price": _price(shown.price) if shown.price else None,
    }


def _price(price: Price) -> dict[str, object]:
    return {
        "transactions": price.transactions,
        "bytes": price.bytes,
        "gas": str(price.gas),
        "gasPrice": str(price.gas_price),
        "cost": str(price.cost),
    }


def _selector(query: Query) -> str:
    if query.timestamp is not None:
        return str(BlockTimestamp(query.timestamp))
    return str(BlockNumber(query.block or 0))
