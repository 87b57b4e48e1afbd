"""Compare the facts of block jobs with the queries that ask for them."""

from itertools import groupby

from queries.facts import facts_of, subject
from queries.models import Fact, Query
from queries.statuses import BatchStatus


def check_stored_facts() -> None:
    queries = Query.objects.filter(batch__status=BatchStatus.DONE, has_ended=True, failed=False)
    queries = queries.filter(batch__proves=True)  # others store none
    queries = queries.select_related("job", "batch").order_by("job")
    for job, queries_of_job in groupby(queries, lambda query: query.job):
        facts = Fact.objects.filter(job=job).select_related("transaction")
        rows = {(row.account, row.name): row for row in facts}
        for query in queries_of_job:
            for fact in facts_of(query).values():
                row = rows[subject(query, fact), fact.name]
                assert row.word is not None, row
                assert row.proven_at, row
                assert row.transaction is None or row.transaction.succeeded, row
                assert (row.details is not None) is fact.is_event, row
                if row.details:
                    assert row.word.hex() == row.details["word"], row
