"""Accounts that are named by ENS: whom each name means at the block that is proven."""

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import chain
from random import SystemRandom

from queries import query_rows
from queries.chain.ens import EnsFault
from queries.chain.errors import NamesUnanswered
from queries.chain.name_turns import NamesBusy
from queries.models import Batch, Query
from queries.pipeline.chains import Chains
from queries.pipeline.leases import Lease
from queries.pipeline.work import SOON, Wait
from queries.proving.headers import Header
from queries.schema.addresses import Address
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

# Names of a block that are looked up at once and then kept: half as many after each time that no
# nodes answered so many in time, for the rest of the batch. And the seconds after which a batch
# with more of them lets others go first.
AT_ONCE, SECONDS = 100, 1.5
IN_TURN = Reason(
    WaitCode.NAMES_IN_TURN, "Its ENS names are looked up by turns with those of others."
)

Blocks = dict[tuple[int, int], dict[str, list[Query]]]  # by (source, block), and by name

_random = SystemRandom()


def find_accounts(
    chains: Chains, header: Header, queries: Iterable[Query], who: int | None = None
) -> None:
    """Give queries of one block their accounts, unsaved; `EnsFault` where one has none."""
    named = [query for query in queries if query.name and not query.account]
    if not named:
        return
    names = list(dict.fromkeys(query.name for query in named))
    found = chains.names(named[0].source).addresses(header, names, who)
    addresses = dict(zip(names, found, strict=True))
    for query in named:
        query.account = Address(addresses[query.name]).checksummed


def find_batchs_accounts(chains: Chains, lease: Lease[Batch]) -> Wait | None:
    """The same for a batch whose blocks are all known, saved; or what it waits for."""
    batch = lease.row
    blocks: Blocks = {}
    nameless = Query.objects.filter(batch=batch, account="").exclude(name="")
    for query in nameless.order_by("place"):
        names = blocks.setdefault((query.source, query.block or 0), {})
        names.setdefault(query.name, []).append(query)
    for source, block in blocks:
        head = chains.head(source)
        if not head.is_final(block):
            return Wait(SOON * 4, Reason(WaitCode.BLOCK_NOT_FINAL, head.why_not_final(block)))
    until = time.monotonic() + SECONDS
    some: list[Query] = []
    try:
        portions = _portions(blocks, batch.names_at_once or AT_ONCE)
        for place, (source, block, some) in enumerate(portions):
            if place and time.monotonic() > until:
                return Wait(SOON, IN_TURN)
            lease.keep()
            chains.names(source).be_awake(batch.owner_id)
            find_accounts(chains, chains.source(source).header(block), some, batch.owner_id)
            query_rows.update(some, ["account"])
    except NamesBusy:
        return Wait(SOON * 4, IN_TURN, batch.failures)
    except NamesUnanswered as fault:
        asked = len({query.name for query in some})
        if fault.asked and asked > 1:  # that one alone hangs says nothing of how many are too many
            lease.held().update(names_at_once=asked // 2)
        # Not all of an account's batches at the same moment: one of them is looked up.
        pause = max(fault.rests_for, 1.0) * _random.uniform(1.0, 1.2)
        why = Reason(fault.code, fault.sentence)
        return Wait(timedelta(seconds=pause), why, batch.failures)
    return None


def _portions(blocks: Blocks, at_once: int) -> Iterator[tuple[int, int, list[Query]]]:
    """By names: a block that is named in two ways may have two queries of one."""
    for (source, block), names in blocks.items():
        queries = list(names.values())
        for start in range(0, len(queries), at_once):
            yield source, block, list(chain.from_iterable(queries[start : start + at_once]))


def failure_of(fault: EnsFault) -> Failure:
    return Failure(fault.code, str(fault), StepName.INITIAL_STATE, retryable=fault.retryable)
