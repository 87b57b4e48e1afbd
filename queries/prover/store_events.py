"""Find and store the events of a pass: the requested facts about its block's content."""

from collections import Counter
from dataclasses import replace

from django.db import transaction
from django.db.models import F

from queries.chain.errors import ChainError, EventError
from queries.database import bulk_sql
from queries.models import Batch, EventReference, Query
from queries.planning.requested_events import event_references, set_events
from queries.prover.context import JobPass
from queries.prover.outcomes import Reject
from queries.proving.headers import Header
from queries.statuses import StepName
from queries.transitions import Failure


def store_events(job_pass: JobPass, header: Header) -> JobPass | Reject:
    """Return the pass with the events of its queries, found once for each pinned header.

    Returns a `Reject` for a query if one of its events cannot be proven. Leaves out queries for
    which no node answers; raises the `ChainError` if none is left.
    """
    content = job_pass.content(header)
    job_pass = replace(job_pass, known_content=content)
    block_hash, updated_queries = header.hash.hex(), list[Query]()
    errors, count_changes = dict[int, ChainError](), Counter[str]()
    for query in job_pass.queries:
        if query.event_request is None or query.events_block_hash == block_hash:
            continue
        earlier_count = query.event_count
        try:
            set_events(content, [query])
        except EventError as error:
            step = StepName.INITIAL_STATE
            failure = Failure(error.code, error.sentence, step, retryable=False)
            return replace(job_pass, queries=[query]).reject(failure)
        except ChainError as error:
            errors[query.pk] = error
        else:
            query.events_block_hash = block_hash
            updated_queries.append(query)
            count_changes[query.batch_id] += query.event_count - earlier_count
    references = [row for query in updated_queries for row in event_references(content, query)]
    with transaction.atomic():
        # Until now a filter counted as one fact. Batches are locked before queries.
        for batch_id, change in sorted(count_changes.items()):
            counts = {name: F(name) + change for name in ("event_count", "fact_count")}
            Batch.objects.filter(pk=batch_id).update(**counts)
        bulk_sql.update(updated_queries, ["events", "events_block_hash", "event_count"])
        # Replace references that an earlier header had.
        EventReference.objects.filter(query__in=updated_queries).delete()
        EventReference.objects.bulk_create(references)
    queries = [query for query in job_pass.queries if query.pk not in errors]
    if not queries:
        raise next(iter(errors.values()))
    return replace(job_pass, queries=queries)
