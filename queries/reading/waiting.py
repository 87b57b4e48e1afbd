"""What a batch waits for, in a sentence for whoever asked for it and a code for programs.

Its prover says so, or one of its jobs'. Where no prover has taken it, or none has looked at a chain
for long, that is what it waits for. All of it is read with the batch, in the one statement.
"""

from datetime import datetime, timedelta
from types import SimpleNamespace

from django.db.models import CharField, DateTimeField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Concat

from queries.models import Batch
from queries.statuses import ENDED, BatchStatus
from queries.wait_reasons import Reason, WaitCode

# Provers poll each chain more often than that.
LONG_AGO = timedelta(minutes=2)
NOT_TAKEN = "No prover has taken it yet"
START_ONE = "the operator starts one with manage.py run_prover."

# Once a batch is accepted, one of its jobs says what it waits for. In SQL's own words, because this
# is what polling asks: put together by the ORM each time, it made the read half as long again.
_OF_ITS_JOB = """
    SELECT job.wait_code || ' ' || job.waits_for
    FROM queries_query AS query JOIN queries_blockjob AS job ON job.id = query.job_id
    WHERE query.batch_id = queries_batch.id AND NOT query.ended AND job.waits_for <> ''
        AND queries_batch.status IN ('ACCEPTED', 'IN_PROGRESS')
    ORDER BY query.place LIMIT 1
"""
COLUMNS = ("lease_token", "waits_for", "wait_code")
_PROVER_SEEN = "SELECT MAX(looked_at) FROM queries_chainrecord"
_ASKED = "CURRENT_TIMESTAMP"
ANNOTATIONS = {
    "job_reason": RawSQL(_OF_ITS_JOB, (), CharField()),  # noqa: S611  (constants, as below)
    "prover_seen": RawSQL(_PROVER_SEEN, (), DateTimeField()),  # noqa: S611
    "asked": RawSQL(_ASKED, (), DateTimeField()),  # noqa: S611
}
# The same for a statement that is written out.
SELECTED = f"({_OF_ITS_JOB}), ({_PROVER_SEEN}), {_ASKED}"

# The same of a query's job, where the ORM puts the statement together.
OF_A_JOB = Concat("job__wait_code", Value(" "), "job__waits_for")


def waits_for(row: Batch | SimpleNamespace) -> Reason | None:
    """Of a batch that was read with these columns and annotations; None where it goes on."""
    if row.status in ENDED:
        return None
    read = vars(row)
    said = reason_of(read["job_reason"]) or reason_of(f"{row.wait_code} {row.waits_for}")
    taken = row.status != BatchStatus.RECEIVED or bool(row.lease_token or said)
    seen: datetime | None = read["prover_seen"]
    if seen is not None and read["asked"] - seen < LONG_AGO:
        return said if taken else Reason(WaitCode.NOT_TAKEN, f"{NOT_TAKEN}.")
    if seen is None:
        never = f"{NOT_TAKEN}, and none has been seen so far: {START_ONE}"
        return said if taken else Reason(WaitCode.NO_PROVER, never)
    since = f"has been seen since {seen:%Y-%m-%d %H:%M} UTC: {START_ONE}"
    sentence = f"No prover {since}" if taken else f"{NOT_TAKEN}, and none {since}"
    return Reason(WaitCode.NO_PROVER, sentence)


def reason_of(code_and_sentence: str | None) -> Reason | None:
    """As the statements read them; None where there is no sentence."""
    code, _, sentence = (code_and_sentence or "").partition(" ")
    return Reason(code, sentence) if sentence else None
