"""Look up batches, accounts, transactions and blocks for the search page."""

from collections.abc import Iterable

from queries.models import Batch, BlockJob, Query, SentHash

MAX_HITS = 50  # of one kind
NAME_QUERIES = 500  # the newest queries of a name, in which its accounts are looked up

BlockKey = tuple[int, int]  # chain and number


def is_batch(batch_id: str) -> bool:
    return Batch.objects.filter(pk=batch_id).exists()


def is_account(address: str) -> bool:
    """Whether there are queries of the checksummed address."""
    return Query.objects.filter(account=address).exists()


def accounts_with_name(name: str) -> tuple[str, ...]:
    """Addresses to which the name resolved in queries, newest first."""
    # The index has no empty names, and SQLite uses it only if the statement excludes them.
    queries = Query.objects.filter(name=name).exclude(name="").order_by("-id")
    rows = queries.values_list("account", flat=True)
    return tuple(dict.fromkeys(filter(None, rows[:NAME_QUERIES])))[:MAX_HITS]


def chains_of_transaction(transaction_hash: str) -> list[int]:
    """The chains to which a transaction with this hash was sent."""
    rows = SentHash.objects.filter(hash=transaction_hash).order_by("pk")
    return list(rows.values_list("transaction__chain", flat=True)[:MAX_HITS])


def blocks_with_hash(digits: str) -> list[BlockKey]:
    """Blocks with stored headers, by their hash in 64 hex digits."""
    rows = BlockJob.objects.filter(block_hash=digits).exclude(block_hash="").order_by("pk")
    return list(dict.fromkeys(rows.values_list("source", "block")[:MAX_HITS]))


def blocks_with_number(number: int, chains: Iterable[int]) -> list[BlockKey]:
    """Requested blocks with this number on any of these chains."""
    jobs = BlockJob.objects.filter(source__in=sorted(chains), block=number)
    return list(dict.fromkeys(jobs.order_by("source").values_list("source", "block")[:MAX_HITS]))
