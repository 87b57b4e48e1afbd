"""Store a valid request as a batch and its queries.

No node is asked here. A block is compared with the head that a prover stored recently. Without one
it is accepted, and checked later.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Protocol

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Sum
from django.utils import timezone
from ulid import ULID

from accounts.http.errors import InvalidValueError, RefusalError
from accounts.http.rate_limits import Quota, read_quota, refuse_over_quota, use_quota
from accounts.models import Account
from accounts.wording import DAY, format_count, format_duration, format_timestamp
from queries.config.limits import Limits
from queries.database.bulk_sql import prepare_insert
from queries.database.durable import durable_transaction
from queries.engines import PROVE
from queries.engines.wake import wake
from queries.error_codes import EndpointCode, RequestCode, SubmissionCode
from queries.facts import fact_count, header_bits
from queries.http.public_address import is_private
from queries.models import Batch, ChainRecord, Delivery, Query
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.checked_batch import CheckedAccount, CheckedBatch, CheckedBlock, CheckedDelivery
from queries.schema.paths import WHOLE_BODY
from queries.selectors import Selector
from queries.sources import Routes

IDEMPOTENCY_KEY = "Idempotency-Key"
MAX_IDEMPOTENCY_KEY_LENGTH = 255
WEBHOOK_URL = WHOLE_BODY.child("webhook").child("url")
_IDEMPOTENCY_KEY_PATTERN = re.compile(rf"[\x21-\x7e]{{1,{MAX_IDEMPOTENCY_KEY_LENGTH}}}")
MAX_HEAD_AGE_POLLS = 5  # poll intervals after which a stored head is ignored
_MAX_NUMBER = 2**63 - 1  # the largest number that a database column holds


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
    batch = _new_batch(owner, request, idempotency_key, digest)
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


def set_counts(batch: Batch, queries: Sequence[Query]) -> None:
    """Set the counts that lists of batches show."""
    batch.query_count = len(queries)
    sources = {query.source for query in queries}
    batch.source_count = len(sources)
    batch.source = min(sources) if len(sources) == 1 else None
    batch.account_count = len({query.account or query.name for query in queries} - {""})
    requests = [
        (query.props, query.header_fields, tuple(query.slots), str(query.event_request))
        for query in queries
    ]
    batch.is_uniform = len(set(requests)) == 1
    batch.header_field_count = sum(query.header_fields.bit_count() for query in queries)
    batch.event_count = sum(query.event_count for query in queries)
    batch.fact_count = sum(map(fact_count, queries))


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


def refuse_blocks_beyond_head(blocks: Iterable[CheckedBlock], limits: Limits) -> None:
    """Refuse a block too far above the head that a prover recorded recently."""
    earliest = timezone.now() - timedelta(seconds=MAX_HEAD_AGE_POLLS * limits.poll_interval)
    recent = ChainRecord.objects.filter(recorded_at__gt=earliest)
    heads = recent.in_bulk({block.source for block in blocks})
    for block in blocks:
        if block.selector.is_named:
            continue
        if reason := reason_beyond_head(block.selector, heads.get(block.source), limits):
            problem = f"is not on chain {block.source} yet: {reason}"
            raise InvalidValueError(
                RequestCode.BLOCK_BEYOND_HEAD,
                problem,
                block.path,
                sentence=f"{block.selector} {problem}",
            )


class KnownHead(Protocol):
    """The newest block that a prover has seen."""

    @property
    def number(self) -> int: ...

    @property
    def timestamp(self) -> int: ...

    @property
    def block_seconds(self) -> float | None: ...


def reason_beyond_head(selector: Selector, head: KnownHead | None, limits: Limits) -> str:
    """Say what is accepted, and when this block is expected; empty if the block is accepted."""
    number, seconds = selector.number, None
    if head is None:
        maximum = replace(selector, number=_MAX_NUMBER)
        return f"the maximum is {maximum}." if number > _MAX_NUMBER else ""
    if selector.is_time:
        last = head.timestamp + int(limits.max_seconds_ahead)
        newest = f"from {format_timestamp(head.timestamp)}"
        accepted_range = f"times up to {format_timestamp(last)}"
        seconds = number - head.timestamp
    else:
        last = head.number + limits.max_blocks_ahead
        newest, accepted_range = f"{head.number:,}", f"blocks up to {last:,}"
        if head.block_seconds is not None:
            seconds = round((number - head.number) * head.block_seconds)
    if number <= last:
        return ""
    sentence = f"the newest block seen is {newest}, and {accepted_range} are accepted."
    if seconds is None:
        return sentence
    return f"{sentence} It is expected in about {format_duration(seconds)}."


def _new_batch(owner: Account, request: CheckedBatch, key: str | None, digest: str) -> Batch:
    now, webhook = timezone.now(), request.webhook
    return Batch(
        id=str(ULID.from_datetime(now)),
        owner=owner,
        destination=request.destination,
        fee=f"{request.fee:064x}",
        submitted_at=now,
        due_at=now,
        warnings=list(map(asdict, request.warnings)),
        idempotency_key=key,
        request_digest=digest,
        webhook_url=webhook.url if webhook else "",
        webhook_headers=list(map(list, webhook.headers.items())) if webhook else [],
        block_count=len(request.blocks),
        delivery_count=len(request.deliveries),
        proves=request.proves,
        named_by=request.named_by,
    )


def build_deliveries(batch: Batch, deliveries: Iterable[CheckedDelivery]) -> Iterator[Delivery]:
    """Build the rows of the deliveries, unsaved. They become due once the batch is DONE."""
    for position, delivery in enumerate(deliveries):
        yield Delivery(
            batch=batch,
            position=position,
            to=delivery.to,
            function=delivery.function,
            arguments=delivery.args,
            gas=delivery.gas,
            unless=delivery.unless and [delivery.unless.function, delivery.unless.args],
        )


def build_queries(batch: Batch, blocks: Iterable[CheckedBlock]) -> Iterator[Query]:
    """Build the rows of the queries, unsaved."""
    positions = count()
    for block in blocks:
        rows = [(_account_query(account), account.spellings) for account in block.accounts]
        if block.events:
            event_count = sum(map(len, block.events.values()))
            query = Query(event_request=dict(block.events), event_count=event_count)
            rows.insert(0, (query, {}))
        if block.header_fields:
            rows.insert(0, (Query(header_fields=header_bits(block.header_fields)), {}))
        for query, spellings in rows:
            query.batch, query.position, query.source = batch, next(positions), block.source
            query.spelling = _spelling(query, block.chain, spellings)
            query.initial_state_began_at = batch.submitted_at
            if block.selector.is_time:
                query.timestamp = block.selector.number
            elif not block.selector.is_named:
                query.block = block.selector.number
            yield query


def _account_query(account: CheckedAccount) -> Query:
    query = Query(props=sum(1 << prop for prop in account.props))
    if "." in account.account:
        query.name = account.account
    else:
        query.account = account.account
    query.slots = [slot.hex() for slot in account.slots]
    query.slot_count = len(query.slots)
    return query


def _spelling(query: Query, chain: str, accounts: Mapping[str, Sequence[str]]) -> object:
    """The request's spelling of the query, for clients that look it up. None if it is canonical."""
    default_slots = [f"0x{slot}" for slot in query.slots]
    spellings = {key: None if slots == default_slots else slots for key, slots in accounts.items()}
    default = dict.fromkeys(filter(None, [query.name or query.account]))
    return None if (chain, spellings) == (str(query.source), default) else [chain, spellings]


# Longer than proving takes (one account takes a node about 20 ms and a prover about 15 ms):
# otherwise a very large old batch would come before all new ones.
TURN_PER_BATCH, TURN_PER_QUERY = timedelta(milliseconds=200), timedelta(milliseconds=50)


def next_turn(owner: Account, now: datetime, query_count: int) -> datetime:
    """The queue time of a batch with this many queries: after its owner's open batches."""
    open_batches = Batch.objects.filter(owner=owner, ended_at=None)
    sums = open_batches.aggregate(batches=Count("*"), queries=Sum("query_count"))
    query_count += int(sums["queries"] or 0)
    return now + int(sums["batches"]) * TURN_PER_BATCH + query_count * TURN_PER_QUERY
