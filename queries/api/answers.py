"""What the API says of batches: views → JSON.

A chain's numbers (ids, blocks, amounts, gas) are decimal text, because many JSON readers keep no
more than 53 bits of a number.
"""

from datetime import UTC, datetime
from functools import lru_cache

from django.http import JsonResponse

from queries.reading.views import BatchView, ErrorView, QueryPage, QueryView, StepView
from queries.schema.batch_request import BlockNumber, BlockTimestamp
from queries.statuses import BatchStatus
from queries.wait_reasons import Reason


def answer(content: dict[str, object]) -> JsonResponse:
    return JsonResponse(content, headers={"Cache-Control": "no-store"})


def told_batch(shown: BatchView) -> dict[str, object]:
    """`queryStatus` is all that existing clients read."""
    told: dict[str, object] = {
        "queryStatus": _query_status(shown.status),
        "internalId": shown.id,
        "status": shown.status.value,
        "destinationChainId": str(shown.destination),
        "fee": str(shown.fee),
        "spent": str(shown.spent),
        "submitted": moment(shown.submitted),
        "ended": moment(shown.ended),
        **_told_reason(shown.waits_for),
    }
    if shown.error:
        # Not `error`: existing clients throw on that before they read `queryStatus`.
        told["rejection"] = {
            "code": shown.error.code,
            "message": shown.error.sentence,
            "step": shown.error.step or None,
            "retryable": shown.error.retryable,
        }
        told["info"] = [shown.error.sentence]
    return told


def told_queries(page: QueryPage) -> dict[str, object]:
    return {"queries": [_query(each) for each in page.queries], "nextQuery": page.next}


def _query(shown: QueryView) -> dict[str, object]:
    return {
        "originChainId": str(shown.source),
        "selector": _selector(shown),
        "block": _number(shown.block),
        "account": shown.account or None,
        "name": shown.name or None,
        "props": [each.name for each in shown.props],
        "slots": list(shown.slots),
        "header": [each.name for each in shown.header_fields],
        "steps": [_step(each) for each in shown.steps],
        **_told_reason(shown.waits_for),
        "values": {each.name: each.word for each in shown.values} or None,
        "cost": _number(shown.cost),
    }


def _told_reason(why: Reason | None) -> dict[str, object]:
    return {
        "waitsFor": why.sentence if why else None,
        "waitCode": (why.code or None) if why else None,
    }


def _selector(shown: QueryView) -> str:
    if shown.timestamp is not None:
        return str(BlockTimestamp(shown.timestamp))
    return "" if shown.block is None else str(BlockNumber(shown.block))


def _step(shown: StepView) -> dict[str, object]:
    return {
        "step": shown.name,
        "status": shown.status,
        "started": moment(shown.began),
        "completed": moment(shown.completed),
        "transactionHash": shown.transaction_hash or None,
        "transactionBlock": _number(shown.transaction_block),
        "gasUsed": _number(shown.gas_used),
        "error": _error(shown.error),
    }


def _error(shown: ErrorView | None) -> dict[str, object] | None:
    if shown is None:
        return None
    return {"error": shown.sentence, "code": shown.code, "retryable": shown.retryable}


def _query_status(status: BatchStatus) -> str:
    """Of five states the API has three: what has not ended is in progress."""
    ended = status in {BatchStatus.DONE, BatchStatus.REJECTED}
    return status.value if ended else BatchStatus.IN_PROGRESS.value


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


@lru_cache(1_024)  # the steps of a batch's queries begin and end together
def moment(value: datetime | None) -> str | None:
    """In UTC and milliseconds, such as 2026-11-20T07:41:03.204Z: steps can be that short."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
