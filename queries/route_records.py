"""How many facts each route has proven: a fact that is proven again is none that is new."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db.models import F

from queries.models import BlockJob, Query, RouteRecord

AT_ONCE = 500  # accounts that a statement names

Fact = tuple[int | None, str, str]  # job, account, name of the field or slot


def count_new_facts(queries: Sequence[Query], values: Mapping[int, Mapping[str, str]]) -> None:
    """In the transaction that stores the queries' values, and before it does."""
    found = {(query.job_id, query.account, name) for query in queries for name in values[query.pk]}
    new: dict[int | None, int] = defaultdict(int)
    for job, _, _ in found.difference(_proven_before(queries)):
        new[job] += 1
    routes = BlockJob.objects.filter(pk__in={job for job in new if job is not None}).values_list(
        "pk", "source", "destination"
    )
    for job, source, destination in routes:
        record, _ = RouteRecord.objects.get_or_create(source=source, destination=destination)
        RouteRecord.objects.filter(pk=record.pk).update(facts=F("facts") + new[job])


def _proven_before(queries: Iterable[Query]) -> Iterator[Fact]:
    accounts = sorted({query.account for query in queries})
    jobs = {query.job_id for query in queries}
    for start in range(0, len(accounts), AT_ONCE):
        known = Query.objects.filter(
            job__in=jobs, account__in=accounts[start : start + AT_ONCE], values__isnull=False
        )
        for job, account, kept in known.values_list("job", "account", "values").iterator():
            for name in kept or ():
                yield job, account, name
