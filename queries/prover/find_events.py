"""Find the facts that queries ask for about the content of the pass's block."""

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


def find_requested_events(job_pass: JobPass, header: Header) -> JobPass | Reject:
    """The pass with the facts of its queries, found once for each header that is pinned.

    Rejects a query if one of its facts cannot be proven. Leaves out queries whose facts no
    node can answer now, if the pass has others.
    """
    content = job_pass.content(header)
    job_pass = replace(job_pass, known_content=content)
    block_hash, found = header.hash.hex(), list[Query]()
    waiting, added = list[tuple[Query, ChainError]](), Counter[str]()
    for query in job_pass.queries:
        if query.event_request is None or query.events_hash == block_hash:
            continue
        earlier_count = query.event_count
        try:
            set_events(content, [query])
        except EventError as error:
            step = StepName.INITIAL_STATE
            failure = Failure(error.code, error.sentence, step, retryable=False)
            return replace(job_pass, queries=[query]).reject(failure)
        except ChainError as error:
            waiting.append((query, error))
        else:
            query.events_hash = block_hash
            found.append(query)
            added[query.batch_id] += query.event_count - earlier_count
    references = [row for query in found for row in event_references(content, query)]
    with transaction.atomic():
        for batch in sorted(added):  # a filter was counted as one fact; batches before queries
            counts = {name: F(name) + added[batch] for name in ("event_count", "fact_count")}
            Batch.objects.filter(pk=batch).update(**counts)
        bulk_sql.update(found, ["events", "events_hash", "event_count"])
        EventReference.objects.filter(query__in=found).delete()  # of a replaced header
        EventReference.objects.bulk_create(references)
    if waiting and len(waiting) == len(job_pass.queries):
        raise waiting[0][1]
    left_out = [query for query, _ in waiting]
    queries = [query for query in job_pass.queries if query not in left_out]
    return replace(job_pass, queries=queries)
