"""How many facts each route has proven: a fact that is proven again is none that is new."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import F

from queries.models import BlockJob, Query, RouteRecord
from queries.wide_queries import in_portions

AT_ONCE = 500  # accounts that a statement names

Fact = tuple[str, str]  # account, name of the field or slot


def count_new_facts(queries: Sequence[Query], values: Mapping[int, Mapping[str, str]]) -> None:
    """In the transaction that stores the queries' values, and before it does."""
    found: dict[int, set[Fact]] = defaultdict(set)  # by job
    for query in queries:
        found[query.job_id or 0].update((query.account, name) for name in values[query.pk])
    for job, facts in found.items():
        _leave_out_what_was_proven(job, facts)
    routes = BlockJob.objects.filter(pk__in=[job for job in found if found[job]])
    for job, source, destination in routes.values_list("pk", "source", "destination"):
        record, _ = RouteRecord.objects.get_or_create(source=source, destination=destination)
        RouteRecord.objects.filter(pk=record.pk).update(facts=F("facts") + len(found[job]))


def _leave_out_what_was_proven(job: int, found: set[Fact]) -> None:
    """The newest first: where the same is asked for again and again, they have all of it."""
    accounts = sorted({account for account, _ in found})
    for start in range(0, len(accounts), AT_ONCE):
        some = accounts[start : start + AT_ONCE]
        left = {fact for fact in found if some[0] <= fact[0] <= some[-1]}
        proven = Query.objects.filter(job=job, account__in=some, values__isnull=False)
        newest = proven.order_by("-pk").values_list("pk", "slot_count")
        for keys in in_portions(newest.iterator(chunk_size=AT_ONCE)):
            for query in proven.filter(pk__in=keys).only("account", "values", "slot_values"):
                before = {(query.account, name) for name in query.words}
                found -= before
                left -= before
            if not left:
                break
