"""A feed's batch: the body of a run, and the places of errors in the feed's own body."""

from collections.abc import Mapping
from typing import Any

from accounts.http.errors import RefusalError
from queries.config.routes import Routes
from queries.intake.submit import check_batch, check_fee
from queries.schema.batch_checks import BatchLimits
from queries.schema.checked_batch import CheckedBatch, Selector


def run_body(batch: Mapping[str, Any], selector: Selector) -> dict[str, Any]:
    """The batch's body with this block in place of `$due`."""
    ((chain, blocks),) = batch["data"].items()
    return {**batch, "data": {chain: {str(selector): block for block in blocks.values()}}}


def check_run(
    batch: Mapping[str, Any], selector: Selector, routes: Routes, limits: BatchLimits
) -> CheckedBatch:
    """Check the body of a run. A refusal names the place in the feed's body."""
    ((_, blocks),) = batch["data"].items()
    (key,) = blocks
    try:
        request = check_batch(run_body(batch, selector), routes, limits)
        check_fee(request, free=routes.chains[request.destination].free)
    except RefusalError as error:
        for path in (error.path, error.path.rpartition(".")[0]):  # some sentences name the parent
            if path and path in error.sentence:
                error.sentence = error.sentence.replace(path, f"batch.{path}", 1)
                break
        error.sentence = error.sentence.replace(str(selector), key)
        error.path = f"batch.{error.path}".rstrip(".").replace(str(selector), key)
        raise
    return request
