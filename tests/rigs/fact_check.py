"""Compare the facts of block jobs with the values of the queries that ask for them."""

from queries.facts import BLOCK_AT_TIME, facts_of
from queries.models import Fact, Query
from queries.statuses import BatchStatus


def check_stored_facts() -> None:
    queries = Query.objects.filter(
        batch__status=BatchStatus.DONE, has_ended=True, values__isnull=False
    )
    for query in queries:
        rows = {(row.account, row.name): row for row in Fact.objects.filter(job=query.job_id)}
        details = {event["name"]: event for event in query.events}
        words = {**query.all_values, BLOCK_AT_TIME: f"{query.block:064x}"}
        for name, fact in facts_of(query).items():
            row = rows[query.account if fact.account else "", fact.name]
            assert row.word is not None, row
            assert row.word.hex() == words[name], (row, words[name])
            assert row.details == details.get(name), (row, details)
            assert row.proven_at, row
