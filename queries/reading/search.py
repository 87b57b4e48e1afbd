"""What a search finds."""

from collections.abc import Iterable

from queries.models import Batch, BlockJob, Query, SentHash

MOST = 50  # of one kind
NEWEST = 500  # queries of a name: who it stood for


Block = tuple[int, int]  # its chain and its number


def is_batch(batch_id: str) -> bool:
    return Batch.objects.filter(pk=batch_id).exists()


def is_account(address: str) -> bool:
    """Whether anything was asked of the address, which is checksummed."""
    return Query.objects.filter(account=address).exists()


def accounts_named(name: str) -> tuple[str, ...]:
    """Whom the name stood for where it was asked for; the newest first."""
    # The index holds no empty names, and SQLite uses it only where that is said.
    asked = Query.objects.filter(name=name).exclude(name="").order_by("-id")
    rows = asked.values_list("account", flat=True)
    return tuple(dict.fromkeys(each for each in rows[:NEWEST] if each))[:MOST]


def chains_of_transaction(transaction_hash: str) -> list[int]:
    """Where we sent a transaction of this hash."""
    rows = SentHash.objects.filter(hash=transaction_hash).order_by("pk")
    return list(rows.values_list("transaction__chain", flat=True)[:MOST])


def blocks_with_hash(digits: str) -> list[Block]:
    """Of headers that are kept: the hash in 64 hex digits."""
    rows = BlockJob.objects.filter(block_hash=digits).exclude(block_hash="").order_by("pk")
    return list(dict.fromkeys(rows.values_list("source", "block")[:MOST]))


def blocks_numbered(number: int, chains: Iterable[int]) -> list[Block]:
    """Those that were asked for on any of these chains."""
    jobs = BlockJob.objects.filter(source__in=sorted(chains), block=number)
    return list(dict.fromkeys(jobs.order_by("source").values_list("source", "block")[:MOST]))
