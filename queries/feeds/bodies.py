"""A feed's batch: the body of a run, and its refusals, which name values of the feed's own body."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.http.errors import RefusalError
from queries.intake.submit import check_batch, check_fee
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.checked_batch import CheckedBatch
from queries.schema.paths import WHOLE_BODY, RefusedJsonError
from queries.schema.templates import DUE, Values, fill_in
from queries.selectors import NAMED_BLOCK, Selector
from queries.sources import Routes

_BATCH = WHOLE_BODY.child("batch")
_MIN_NAMED = 20  # characters; a shorter value of a run may also be a chain's id


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that is due, and what its batch is filled in with."""

    due: int  # its block or Unix time; of a log, its block
    selector: Selector
    values: Values
    log_index: int | None = None  # if it is for a log
    # Of a value: the number, and the time of the block at which it was read.
    value: int | None = None
    read_time: int | None = None
    error: RefusalError | None = None  # why it has no batch


def scheduled_run(due: int, *, is_time: bool = False) -> DueRun:
    return DueRun(due, Selector(due, is_time=is_time), {DUE: str(due)})


def batch_of(request: str) -> dict[str, Any]:
    """The batch of a stored request."""
    return dict(json.loads(request)["batch"])


def destination_of(batch: Mapping[str, Any], routes: Routes) -> int | None:
    """The destination of a feed's batch; None if it is not configured any more."""
    try:
        return read_chain(batch["destinationChainId"], _BATCH, routes)
    except RefusalError:
        return None


def payment_currency(batch: Mapping[str, Any], routes: Routes) -> str:
    """The coin that a feed's runs are paid in: the destination's."""
    destination = destination_of(batch, routes)
    return "ETH" if destination is None else routes.chains[destination].currency


def one_block(batch: Mapping[str, Any]) -> tuple[str, str]:
    """The source chain of a feed's batch, and the key of its block."""
    ((chain, blocks),) = batch["data"].items()
    (key,) = blocks
    return chain, key


def run_body(batch: Mapping[str, Any], run: DueRun) -> dict[str, Any]:
    """The batch's body with the values of the run."""
    chain, key = one_block(batch)
    path = WHOLE_BODY.child("data").child(chain).child(key)
    selector = key if key == NAMED_BLOCK else str(run.selector)
    block = fill_in(batch["data"][chain][key], run.values, path)
    calls = {
        name: fill_in(batch[name], run.values, WHOLE_BODY.child(name))
        for name in ("block", "deliver")
        if name in batch
    }
    return {**batch, **calls, "data": {chain: {selector: block}}}


def check_run(
    batch: Mapping[str, Any], run: DueRun, routes: Routes, limits: BatchLimits
) -> CheckedBatch:
    """Check the body of a run. A refusal names the value in the feed's body."""
    values = {value: name for name, value in run.values.items() if isinstance(value, str)}
    names = {value: name for value, name in values.items() if len(value) > _MIN_NAMED}
    names[str(run.selector)] = one_block(batch)[1]
    try:
        request = check_batch(run_body(batch, run), routes, limits)
        check_fee(request, free=routes.chains[request.destination].free)
    except RefusedJsonError as error:
        raise error.within(_BATCH, names) from None
    return request


def check_alone(batch: Mapping[str, Any], routes: Routes, limits: BatchLimits) -> None:
    """Refuse a body that is not a batch, whatever its block."""
    try:
        check_batch(batch, routes, limits)
    except RefusedJsonError as error:
        raise error.within(_BATCH, {}) from None
