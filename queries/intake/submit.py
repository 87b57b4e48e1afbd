"""Stores a valid request as rows, all of them or none.

No node is asked here. A block is compared with the last head that a worker saw; if that does not
decide, it is accepted and checked later.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Sum
from django.utils import timezone
from ulid import ULID

from accounts.models import Account
from accounts.shared.errors import Refusal
from accounts.shared.rate_limits import DAY, refuse_above, spend
from accounts.shared.wording import counted
from queries.config.limits import Limits
from queries.config.routes import Routes
from queries.database.bulk_sql import ready_to_insert
from queries.database.durable import durably
from queries.engines.wake import wake
from queries.facts import header_bits
from queries.models import Batch, ChainRecord, Query
from queries.refusals import (
    BLOCK_BEYOND_HEAD,
    FEE_TOO_LOW,
    IDEMPOTENCY_KEY_MALFORMED,
    IDEMPOTENCY_KEY_REUSED,
    MORE_FACTS_THAN_A_DAY,
    TOO_MANY_FACTS,
)
from queries.schema.batch_request import (
    AccountRequest,
    Address,
    BatchRequest,
    BlockRequest,
    canonical,
)

IDEMPOTENCY_KEY = "Idempotency-Key"
LONGEST_KEY = 255
_KEY = re.compile(rf"[\x21-\x7e]{{1,{LONGEST_KEY}}}")
# A head that is older than this many poll intervals is ignored.
HEAD_COUNTS_FOR = 5
_GREATEST = 2**63 - 1  # the largest number that a database column holds


def accept(
    owner: Account, request: BatchRequest, idempotency_key: str | None, routes: Routes
) -> Batch:
    """Store the batch, or return the one that the same idempotency key stored before."""
    _check_key(idempotency_key)
    digest = hashlib.sha256(canonical(request)).hexdigest()
    earlier = _earlier(owner, idempotency_key, digest)
    if earlier:
        return earlier
    _check_fee(request, free=routes.chains[request.destination].free)
    check_heads(request.blocks, routes.limits)
    batch = _batch(owner, request, idempotency_key, digest)
    queries = list(queries_of(batch, request.blocks))
    batch.asked_queries = len(queries)
    batch.turn = next_turn(owner, batch.submitted, len(queries))
    facts = _facts(queries)
    store = ready_to_insert(queries)
    try:
        with durably():
            batch.save(force_insert=True)
            _count(facts, owner)  # rolled back with the batch
            store()
    except IntegrityError:
        # Two requests with one key at once: the first has stored it, and this one finds it now.
        earlier = _earlier(owner, idempotency_key, digest)
        if not earlier:
            raise
        return earlier
    transaction.on_commit(lambda: wake(batch.id))
    return batch


def _facts(queries: Iterable[Query]) -> int:
    """How many facts the queries ask for; refused if above an account's daily limit."""
    asked = sum(
        each.props.bit_count() + each.header_fields.bit_count() + len(each.slots)
        for each in queries
    )
    most = settings.FACTS_PER_DAY
    if asked > most:
        raise Refusal(
            MORE_FACTS_THAN_A_DAY,
            f"This batch asks for {counted(asked, 'fact')}, and no account may ask for more than "
            f"{most:,} in a day here. Split it into smaller batches and submit them over "
            "several days.",
            path="data",
        )
    return asked


def _count(facts: int, owner: Account) -> None:
    """Limit the facts of a day: each is stored, proven or not, at no cost to the account."""
    spent = spend(f"facts of {owner.pk}", settings.FACTS_PER_DAY, DAY, facts)
    refuse_above(
        spent,
        TOO_MANY_FACTS,
        f"This batch asks for {counted(facts, 'fact')}. An account may ask for {spent.most:,} a "
        "day here, and yours has fewer left.",
    )


def _check_key(key: str | None) -> None:
    if key is not None and not _KEY.fullmatch(key):
        raise Refusal(
            IDEMPOTENCY_KEY_MALFORMED,
            f"{IDEMPOTENCY_KEY} has 1 to {LONGEST_KEY} characters of visible ASCII, without "
            "spaces. A random UUID is a good one.",
            path=IDEMPOTENCY_KEY,
        )


def _earlier(owner: Account, key: str | None, digest: str) -> Batch | None:
    if key is None:
        return None
    batch = Batch.objects.filter(owner=owner, idempotency_key=key).first()
    if batch and batch.request_digest != digest:
        raise Refusal(
            IDEMPOTENCY_KEY_REUSED,
            f"This {IDEMPOTENCY_KEY} was used before with another batch, {batch.id}. Use a new key "
            "for a new batch.",
            path=IDEMPOTENCY_KEY,
        )
    return batch


def _check_fee(request: BatchRequest, *, free: bool) -> None:
    if not request.fee and not free:
        raise Refusal(
            FEE_TOO_LOW,
            f'fee is "0", but proving on chain {request.destination} is not free here. Offer the '
            "most that may be spent on the batch, in wei; POST /estimate says how much it takes.",
            path="fee",
        )


def check_heads(blocks: Iterable[BlockRequest], limits: Limits) -> None:
    """Refuse a block too far above the head that a prover recorded lately."""
    since = timezone.now() - timedelta(seconds=HEAD_COUNTS_FOR * limits.poll_interval)
    recent = ChainRecord.objects.filter(recorded__gt=since)
    heads = recent.in_bulk({block.source for block in blocks})
    for block in blocks:
        _check_head(block, heads.get(block.source), limits)


def _check_head(block: BlockRequest, head: ChainRecord | None, limits: Limits) -> None:
    ahead: float = 0
    if head is None:
        last = _GREATEST
    elif block.selector.is_time:
        last, ahead = head.timestamp, limits.seconds_ahead
    else:
        last, ahead = head.number, limits.blocks_ahead
    if block.selector.number > last + ahead:
        latest = replace(block.selector, number=last)
        seen = "the newest one seen is" if head else "the maximum is"
        raise Refusal(
            BLOCK_BEYOND_HEAD,
            f"{block.selector} is not on chain {block.source} yet: {seen} {latest}.",
            path=block.path,
        )


def _batch(owner: Account, request: BatchRequest, key: str | None, digest: str) -> Batch:
    now = timezone.now()
    webhook = request.webhook
    return Batch(
        id=str(ULID.from_datetime(now)),
        owner=owner,
        destination=request.destination,
        fee=f"{request.fee:064x}",
        submitted=now,
        look_again=now,
        warnings=[{"sentence": each.sentence, "path": each.path} for each in request.warnings],
        idempotency_key=key,
        request_digest=digest,
        webhook_url=webhook.url if webhook else "",
        webhook_headers=[list(each) for each in webhook.headers.items()] if webhook else [],
        asked_blocks=len(request.blocks),
    )


def queries_of(batch: Batch, blocks: Iterable[BlockRequest]) -> Iterator[Query]:
    """Rows that are not stored yet."""
    parts = ((block, part) for block in blocks for part in _parts(block))
    for place, (block, account) in enumerate(parts):
        query = _query(block, batch.submitted)
        query.batch, query.place = batch, place
        if account is None:
            query.header_fields = header_bits(block.header_fields)
        else:
            _write_account(query, account)
        query.spelling = _spelling(query, block.chain, account.spellings if account else {})
        yield query


def _parts(block: BlockRequest) -> Iterator[AccountRequest | None]:
    """None if the block's header is asked for; then its accounts."""
    if block.header_fields:
        yield None
    yield from block.accounts


def _query(block: BlockRequest, began: datetime) -> Query:
    number = block.selector.number
    if block.selector.is_time:
        return Query(source=block.source, timestamp=number, initial_state_began=began)
    return Query(source=block.source, block=number, initial_state_began=began)


def _write_account(query: Query, asked: AccountRequest) -> None:
    if isinstance(asked.account, Address):
        query.account = asked.account.checksummed
    else:
        query.name = asked.account.name
    query.props = sum(1 << prop for prop in asked.props)
    query.slots = [slot.hex() for slot in asked.slots]
    query.slot_count = len(query.slots)


def _spelling(query: Query, chain: str, accounts: Mapping[str, Sequence[str]]) -> object:
    """How the request spells the query, for clients that look it up so; None if as we do."""
    own = [f"0x{slot}" for slot in query.slots]
    spelled = {key: None if slots == own else slots for key, slots in accounts.items()}
    default = dict.fromkeys(filter(None, [query.name or query.account]))
    return None if (chain, spelled) == (str(query.source), default) else [chain, spelled]


# Longer than a prover takes (proving one account takes a node about 20 ms and a prover about 15):
# otherwise a very large old batch would come before all new ones.
OF_A_BATCH, OF_A_QUERY = timedelta(milliseconds=200), timedelta(milliseconds=50)


def next_turn(owner: Account, now: datetime, own: int) -> datetime:
    """The queue time of a batch with `own` queries: after its owner's open batches."""
    waiting = Batch.objects.filter(owner=owner, ended=None)
    found = waiting.aggregate(batches=Count("*"), queries=Sum("asked_queries"))
    batches, queries = int(found["batches"]), int(found["queries"] or 0) + own
    return now + batches * OF_A_BATCH + queries * OF_A_QUERY
