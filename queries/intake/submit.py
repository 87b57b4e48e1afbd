"""Store a valid request as a batch and its queries. No node is asked here."""

import hashlib
import json
import re
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Sum

from accounts.http.errors import InvalidValueError, RefusalError
from accounts.http.rate_limits import Quota, read_quota, refuse_over_quota, use_quota
from accounts.models import Account
from accounts.wording import DAY, format_count
from queries.database.bulk_sql import prepare_insert
from queries.database.durable import durable_transaction
from queries.engines import PROVE
from queries.engines.wake import wake
from queries.error_codes import EndpointCode, RequestCode, SubmissionCode
from queries.http.public_address import is_private
from queries.intake.batch_rows import build_deliveries, build_queries, new_batch, set_counts
from queries.intake.beyond_head import refuse_blocks_beyond_head
from queries.models import Batch, Delivery
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.checked_batch import CheckedBatch
from queries.schema.paths import WHOLE_BODY
from queries.sources import Routes

IDEMPOTENCY_KEY = "Idempotency-Key"
MAX_IDEMPOTENCY_KEY_LENGTH = 255
WEBHOOK_URL = WHOLE_BODY.child("webhook").child("url")
_IDEMPOTENCY_KEY_PATTERN = re.compile(rf"[\x21-\x7e]{{1,{MAX_IDEMPOTENCY_KEY_LENGTH}}}")


def submit_batch(
    owner: Account,
    content: object,
    idempotency_key: str | None,
    routes: Routes,
    limits: BatchLimits,
) -> Batch:
    """Check and store the batch in a parsed body. Raises `RefusalError`."""
    batch = check_batch(content, routes, limits)
    _check_idempotency_key(idempotency_key)
    return store_batch(owner, batch, idempotency_key, routes)


def batch_limits() -> BatchLimits:
    """The limits of batches by the settings."""
    return BatchLimits(
        blocks=settings.BATCH_BLOCKS,
        accounts=settings.BATCH_ACCOUNTS,
        slots=settings.BATCH_SLOTS,
        events=settings.BATCH_EVENTS,
        webhook_headers=10,
        webhook_header_bytes=4_096,
        body_bytes=settings.BATCH_BODY_BYTES,
    )


def check_batch(content: object, routes: Routes, limits: BatchLimits) -> CheckedBatch:
    """Check a parsed body. Raises `RefusalError`."""
    batch = read_batch(content, routes, limits)
    if batch.webhook and not settings.ALLOW_PRIVATE_WEBHOOKS and is_private(batch.webhook.url):
        raise WEBHOOK_URL.refusal(
            RequestCode.WEBHOOK_MALFORMED,
            "names this machine or a private network, where no webhook is sent. The operator can "
            "allow it with ALLOW_PRIVATE_WEBHOOKS.",
        )
    return batch


def store_batch(
    owner: Account, request: CheckedBatch, idempotency_key: str | None, routes: Routes
) -> Batch:
    """Store the batch, or return the one that the same idempotency key stored before."""
    body = json.dumps(request.content, sort_keys=True)
    digest = hashlib.sha256(body.encode()).hexdigest()
    if earlier_batch := _earlier_batch(owner, idempotency_key, digest):
        return earlier_batch
    check_fee(request, free=routes.chains[request.destination].free)
    refuse_blocks_beyond_head(request.blocks, routes.limits)
    batch = new_batch(owner, request, idempotency_key, digest)
    queries = list(build_queries(batch, request.blocks))
    set_counts(batch, queries)
    _check_daily_limit(batch.fact_count)
    batch.turn = next_turn(owner, batch.submitted_at, len(queries))
    insert_queries = prepare_insert(queries)
    try:
        with durable_transaction():
            batch.save(force_insert=True)
            _spend_daily_limit(batch.fact_count, owner)  # rolled back with the batch
            insert_queries()
            Delivery.objects.bulk_create(build_deliveries(batch, request.deliveries))
    except IntegrityError:  # a concurrent request with the same key has stored the batch
        if earlier_batch := _earlier_batch(owner, idempotency_key, digest):
            return earlier_batch
        raise
    transaction.on_commit(partial(wake, PROVE))
    return batch


def _check_daily_limit(facts: int) -> None:
    """Refuse a batch that no account could submit, even with its whole daily limit."""
    limit = settings.FACTS_PER_DAY
    if facts > limit:
        raise RefusalError(
            SubmissionCode.BATCH_EXCEEDS_DAILY_LIMIT,
            f"This batch asks for {format_count(facts, 'fact')}, and no account may ask "
            f"for more than {limit:,} in a day here. Split it into smaller batches and submit them "
            "over several days.",
            path="data",
        )


def _spend_daily_limit(facts: int, owner: Account) -> None:
    """Limit the facts of a day, because storing them costs the account nothing."""
    quota = use_quota(_facts_subject(owner), settings.FACTS_PER_DAY, DAY, facts)
    refuse_over_quota(
        quota,
        SubmissionCode.TOO_MANY_FACTS,
        f"This batch asks for {format_count(facts, 'fact')}. An account may ask for "
        f"{quota.limit:,} a day here, and yours has fewer left.",
    )


def daily_facts(owner: Account) -> Quota:
    """The account's remaining daily limit."""
    return read_quota(_facts_subject(owner), settings.FACTS_PER_DAY, DAY)


def _facts_subject(owner: Account) -> str:
    return f"facts of {owner.pk}"


def _check_idempotency_key(key: str | None) -> None:
    if key is not None and not _IDEMPOTENCY_KEY_PATTERN.fullmatch(key):
        raise RefusalError(
            EndpointCode.IDEMPOTENCY_KEY_MALFORMED,
            f"{IDEMPOTENCY_KEY} must have 1 to {MAX_IDEMPOTENCY_KEY_LENGTH} characters of visible "
            "ASCII, without spaces. A random UUID is a good one.",
            path=IDEMPOTENCY_KEY,
        )


def _earlier_batch(owner: Account, key: str | None, digest: str) -> Batch | None:
    if key is None:
        return None
    batch = Batch.objects.filter(owner=owner, idempotency_key=key).first()
    if batch and batch.request_digest != digest:
        problem = f"was used before with another batch, {batch.id}."
        raise InvalidValueError(
            EndpointCode.IDEMPOTENCY_KEY_REUSED,
            problem,
            IDEMPOTENCY_KEY,
            sentence=f"This {IDEMPOTENCY_KEY} {problem} Use a new key for a new batch.",
        )
    return batch


def check_fee(request: CheckedBatch, *, free: bool) -> None:
    """Refuse the fee 0 where proving is not free."""
    if not request.fee and not free:
        raise WHOLE_BODY.child("fee").refusal(
            EndpointCode.FEE_TOO_LOW,
            f'is "0", but proving on chain {request.destination} is not free here. Offer the '
            "maximum that may be spent on the batch, in wei; POST /estimate returns a fee.",
        )


# Longer than proving takes (one account takes a node about 20 ms and a prover about 15 ms):
# otherwise a very large old batch would come before all new ones.
TURN_PER_BATCH, TURN_PER_QUERY = timedelta(milliseconds=200), timedelta(milliseconds=50)


def next_turn(owner: Account, now: datetime, query_count: int) -> datetime:
    """The queue time of a batch with this many queries: after its owner's open batches."""
    open_batches = Batch.objects.filter(owner=owner, ended_at=None)
    sums = open_batches.aggregate(batches=Count("*"), queries=Sum("query_count"))
    query_count += int(sums["queries"] or 0)
    return now + int(sums["batches"]) * TURN_PER_BATCH + query_count * TURN_PER_QUERY
