"""Look up batches, accounts, transactions and blocks for the search page."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice, product
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Lower
from ulid import ULID

from queries.models import Batch, BlockJob, FactMention, Feed, Query, SentHash, Token

MAX_HITS = 50  # of one kind
MAX_SUGGESTIONS = 10
MAX_ROWS_IN_RANGE = 1_000  # with the same prefix
MAX_LOOKUPS = 60  # statements for one search
SPELLED_DIGITS = 4
NAME_QUERIES = 500  # the newest queries of a name, in which its accounts are looked up

BlockKey = tuple[int, int]  # chain and number


def is_account(address: str) -> bool:
    """Whether there are queries of the checksummed address, or events that name it."""
    events = FactMention.objects.filter(address_or_hash=address.lower())
    return Query.objects.filter(account=address).exists() or events.exists()


def accounts_with_name(name: str) -> tuple[str, ...]:
    """Addresses to which the name resolved in queries, newest first."""
    # The index has no empty names, and SQLite uses it only if the statement excludes them.
    queries = Query.objects.filter(name=name).exclude(name="").order_by("-id")
    rows = queries.values_list("account", flat=True)
    return tuple(dict.fromkeys(filter(None, rows[:NAME_QUERIES])))[:MAX_HITS]


def tokens_with_symbol(symbol: str) -> list[tuple[int, str, str]]:
    """Chains, addresses and symbols of tokens in events, by the symbol in any letter case."""
    rows = Token.objects.alias(lower=Lower("symbol")).filter(lower=symbol.lower())
    return list(rows.order_by("pk").values_list("chain", "address", "symbol")[:MAX_SUGGESTIONS])


def chains_of_transaction(transaction_hash: str) -> list[int]:
    """The chains of our transactions with this hash, and of those with requested events."""
    transactions = SentHash.objects.filter(hash=transaction_hash).values_list("transaction__chain")
    mentions = FactMention.objects.filter(address_or_hash=transaction_hash)
    chains = transactions.union(mentions.values_list("source"))[:MAX_HITS]
    return sorted(chain for (chain,) in chains)


def blocks_with_hash(digits: str) -> list[BlockKey]:
    """Blocks with stored headers, by their hash in 64 hex digits."""
    rows = BlockJob.objects.filter(block_hash=digits).exclude(block_hash="").order_by("pk")
    return list(dict.fromkeys(rows.values_list("source", "block")[:MAX_HITS]))


def blocks_with_number(number: int, chains: Iterable[int]) -> list[BlockKey]:
    """Requested blocks with this number on any of these chains."""
    jobs = BlockJob.objects.filter(source__in=sorted(chains), block=number)
    return list(dict.fromkeys(jobs.order_by("source").values_list("source", "block")[:MAX_HITS]))


def batches_with_prefix(prefix: str, suffix: str = "") -> list[str]:
    """Ids of batches, newest first."""
    ids = _in_range(Batch.objects.all(), "pk", prefix).order_by("-pk").values_list("pk", flat=True)
    return [id_ for id_ in ids[:MAX_ROWS_IN_RANGE] if id_.endswith(suffix)][:MAX_SUGGESTIONS]


def feeds_with_prefix(prefix: str, suffix: str = "") -> list[str]:
    """Ids of feeds, newest first."""
    ids = _in_range(Feed.objects.all(), "pk", prefix).order_by("-pk").values_list("pk", flat=True)
    return [id_ for id_ in ids[:MAX_ROWS_IN_RANGE] if id_.endswith(suffix)][:MAX_SUGGESTIONS]


def batches_until(moment: datetime, limit: int) -> list[str]:
    """The newest batches that were submitted at that time or before; ids begin with the time."""
    last = ULID.from_bytes(ULID.from_datetime(moment).bytes[:6] + b"\xff" * 10)
    ids = Batch.objects.filter(pk__lte=str(last)).order_by("-pk").values_list("pk", flat=True)
    return list(ids[:limit])


def accounts_with_prefix(prefix: str, suffix: str = "") -> list[str]:
    """Accounts in queries, by the first and last hex digits in any letter case.

    Addresses are stored with a checksum's capitals, so each spelling of the first digits is a
    range of the index. Every account is one step in it, however many queries it has.
    """
    matches = (
        account
        for account in islice(_accounts_in_ranges(prefix), MAX_LOOKUPS)
        if account.lower().startswith(f"0x{prefix}") and account.lower().endswith(suffix)
    )
    return list(dict.fromkeys(islice(matches, MAX_SUGGESTIONS)))


def names_with_prefix(prefix: str, suffix: str = "") -> list[str]:
    """Addresses and hashes of transactions that events name."""
    values = _skip_scan(FactMention.objects.all(), "address_or_hash", f"0x{prefix}")
    matches = (value for value in islice(values, MAX_LOOKUPS) if value.endswith(suffix))
    return list(islice(matches, MAX_SUGGESTIONS))


def _accounts_in_ranges(prefix: str) -> Iterator[str]:
    spellings = product(*({digit, digit.upper()} for digit in prefix[:SPELLED_DIGITS]))
    for spelling in sorted(map("".join, spellings)):
        yield from _skip_scan(Query.objects.all(), "account", f"0x{spelling}")


def _skip_scan(rows: QuerySet[Any], column: str, prefix: str) -> Iterator[str]:
    """The column's values with this prefix, each found by one step in the index."""
    values = _in_range(rows, column, prefix).order_by(column).values_list(column, flat=True)
    value = values.first()
    while value:
        yield value
        value = values.filter(**{f"{column}__gt": value}).first()


def transactions_with_prefix(prefix: str, suffix: str = "") -> list[tuple[int, str]]:
    """Chains and hashes of transactions, by the first and last hex digits of a hash."""
    rows = _in_range(SentHash.objects.all(), "hash", f"0x{prefix}").order_by("hash")
    pairs = rows.values_list("transaction__chain", "hash")[:MAX_ROWS_IN_RANGE]
    return [pair for pair in pairs if pair[1].endswith(suffix)][:MAX_SUGGESTIONS]


def blocks_with_hash_prefix(prefix: str, suffix: str = "") -> list[BlockKey]:
    rows = _in_range(BlockJob.objects.exclude(block_hash=""), "block_hash", prefix)
    jobs = rows.order_by("block_hash").values_list("source", "block", "block_hash")
    matches = (
        (source, block)
        for source, block, digits in jobs[:MAX_ROWS_IN_RANGE]
        if digits.endswith(suffix)
    )
    return list(dict.fromkeys(matches))[:MAX_SUGGESTIONS]


def _in_range(rows: QuerySet[Any], column: str, prefix: str) -> QuerySet[Any]:
    """Rows with this prefix, by index; in every collation `z` sorts last."""
    return rows.filter(**{f"{column}__gte": prefix, f"{column}__lt": f"{prefix}{'z' * 64}"})
