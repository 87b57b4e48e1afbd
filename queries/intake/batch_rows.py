"""The rows of a checked request, unsaved: a batch, its queries and its deliveries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count

from django.utils import timezone
from ulid import ULID

from accounts.models import Account
from queries.facts import fact_count, header_bits
from queries.models import Batch, Delivery, Query
from queries.schema.checked_batch import CheckedAccount, CheckedBatch, CheckedBlock, CheckedDelivery
from queries.statuses import GasSource


def new_batch(owner: Account, request: CheckedBatch, key: str | None, digest: str) -> Batch:
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
    """The rows of the deliveries. They become due once the batch is DONE."""
    for position, delivery in enumerate(deliveries):
        yield Delivery(
            batch=batch,
            position=position,
            to=delivery.to,
            function=delivery.function,
            arguments=delivery.args,
            gas=delivery.gas,
            gas_source=GasSource.TRIAL if delivery.gas is None else GasSource.REQUEST,
            unless=delivery.unless and [delivery.unless.function, delivery.unless.args],
            errors=delivery.errors,
        )


def build_queries(batch: Batch, blocks: Iterable[CheckedBlock]) -> Iterator[Query]:
    """The rows of the queries."""
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
