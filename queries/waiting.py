"""What a batch waits for, in a sentence for whoever asked for it.

Its prover says so, or one of its jobs'. Where no prover has taken it, or none has looked at a chain
for long, that is what it waits for. All of it is read with the batch, in the one statement.
"""

from datetime import datetime, timedelta

from django.db.models import CharField, DateTimeField
from django.db.models.expressions import RawSQL

from queries.models import Batch
from queries.statuses import ENDED, BatchStatus

# Provers look at each source chain every second, unless all their threads wait for nodes.
LONG_AGO = timedelta(minutes=2)
NOT_TAKEN = "No prover has taken it yet"
START_ONE = "the operator starts one with manage.py run_prover."

# Once a batch is accepted, one of its jobs says what it waits for. In SQL's own words, because this
# is what polling asks: put together by the ORM each time, it made the read half as long again.
_OF_ITS_JOB = """
    SELECT job.waits_for
    FROM queries_query AS query JOIN queries_blockjob AS job ON job.id = query.job_id
    WHERE query.batch_id = queries_batch.id AND NOT query.ended AND job.waits_for <> ''
        AND queries_batch.status IN ('ACCEPTED', 'IN_PROGRESS')
    ORDER BY query.place LIMIT 1
"""
COLUMNS = ("lease_token", "waits_for")
ANNOTATIONS = {
    "job_waits_for": RawSQL(_OF_ITS_JOB, (), CharField()),  # noqa: S611  (constants, as below)
    "prover_seen": RawSQL("SELECT MAX(looked_at) FROM queries_head", (), DateTimeField()),
    "asked": RawSQL("CURRENT_TIMESTAMP", (), DateTimeField()),
}


def waits_for(row: Batch) -> str:
    """Of a batch that was read with these columns and annotations; empty where it goes on."""
    if row.status in ENDED:
        return ""
    read = vars(row)
    said = str(read["job_waits_for"] or row.waits_for)
    taken = row.status != BatchStatus.RECEIVED or row.lease_token or said
    seen: datetime | None = read["prover_seen"]
    if seen is not None and read["asked"] - seen < LONG_AGO:
        return said if taken else f"{NOT_TAKEN}."
    if seen is None:
        return said if taken else f"{NOT_TAKEN}, and none has been seen so far: {START_ONE}"
    since = f"has been seen since {seen:%Y-%m-%d %H:%M} UTC: {START_ONE}"
    return f"No prover {since}" if taken else f"{NOT_TAKEN}, and none {since}"
