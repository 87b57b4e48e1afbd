"""Accounts that are named by ENS: the address that each name resolves to at the proven block.

A batch with many names stores what it has found and lets other batches go first.
"""

import time
from collections.abc import Iterable

from queries import query_rows
from queries.models import Batch, Query
from queries.pipeline.chains import Chains
from queries.pipeline.queue import Lease
from queries.pipeline.work import Snooze, pause_of
from queries.proving.headers import Header
from queries.schema.addresses import Address
from queries.wait_reasons import Reason, WaitCode

IN_TURN = Reason(
    WaitCode.NAMES_IN_TURN, "Its ENS names are looked up in turn with those of others."
)


def find_accounts(chains: Chains, header: Header, queries: Iterable[Query]) -> None:
    """Give queries of one block their accounts, unsaved; `EnsFault` where one has none."""
    named = [query for query in queries if query.name and not query.account]
    if not named:
        return
    names = list(dict.fromkeys(query.name for query in named))
    found = chains.names(named[0].source).addresses(header, names)
    addresses = dict(zip(names, found, strict=True))
    for query in named:
        query.account = Address(addresses[query.name]).checksummed


def find_batchs_accounts(chains: Chains, lease: Lease[Batch]) -> Snooze | None:
    """Store the accounts of a batch whose blocks are all known; or what it waits for."""
    batch, limits = lease.row, chains.routes.limits
    nameless = Query.objects.filter(batch=batch, account="").exclude(name="")
    until = time.monotonic() + limits.work_slice
    while first := nameless.order_by("source", "block", "place").first():
        if time.monotonic() > until:
            return Snooze(IN_TURN)
        source, block = first.source, first.block or 0
        head = chains.head(source)
        if not head.is_final(block):
            reason = Reason(WaitCode.BLOCK_NOT_FINAL, head.why_not_final(block))
            return Snooze(reason, pause_of(batch.submitted, limits))
        lease.keep()
        of_block = nameless.filter(source=source, block=block).order_by("place")
        some = list(of_block[: limits.batch_questions])
        find_accounts(chains, chains.source(source).header(block), some)
        query_rows.update(some, ["account"])
    return None
