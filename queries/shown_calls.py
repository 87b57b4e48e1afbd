"""What the calls of a job have shown: in them lies the proof of every fact that it has proven.

Those that were never mined show as much: each node and header lies under its own hash.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

from django.db.models import QuerySet

from queries.chain.registry import (
    AccountFieldRead,
    FactRead,
    HeaderFieldRead,
    SlotRead,
    TimestampRead,
)
from queries.chain.signer import parts_of
from queries.chain.source import Asked, nothing
from queries.models import BlockJob, KeptProof, SentTransaction
from queries.pipeline.wanted import Missing
from queries.proving.accounts import AccountProof
from queries.proving.call_reading import Shown, Stored, read_call, rebuilt_account_proof
from queries.proving.errors import NodeMissing, ProofError
from queries.proving.headers import Header, HeaderField
from queries.proving.tries import CheckedNodes
from queries.proving.witnesses import AccountField

FEW = 250  # accounts that are looked for in a call in less time than it is read
MEANWHILE_EVERY = 0.5  # seconds
AT_ONCE = 50  # calls in memory, which may have 128 KiB each


def shown_of(
    job: BlockJob, reads: Iterable[FactRead], meanwhile: Callable[[], object] = nothing
) -> Shown:
    """What may prove these facts, in two statements.

    A header's fields lie in the header, which the job keeps.
    """
    wanted = [read for read in reads if not isinstance(read, HeaderFieldRead)]
    sent = (call for _, call in _sent(SentTransaction.objects.all(), job))
    return _read(chain(sent, _kept(job)), wanted, _seldom(meanwhile))


def who_stored(
    job: BlockJob,
    mined: QuerySet[SentTransaction],
    reads: Iterable[FactRead],
    meanwhile: Callable[[], object],
) -> int | None:
    """Key of the first of these transactions that have stored one of the facts for the job."""
    wanted, now_and_then = set(reads), _seldom(meanwhile)
    for key, call in _sent(mined, job):
        shown = _read([call], wanted, now_and_then)
        if any(not wanted.isdisjoint(_facts_of(stored)) for stored in shown.stored):
            return key
    return None


def _sent(rows: QuerySet[SentTransaction], job: BlockJob) -> Iterator[tuple[int, bytes]]:
    for key, raw in _some_at_once(rows.filter(for_jobs__job=job, prepares=False), "raw"):
        yield key, parts_of(raw).data


def _kept(job: BlockJob) -> Iterator[bytes]:
    for _, call in _some_at_once(KeptProof.objects.filter(job=job), "call"):
        yield call


def _some_at_once(rows: QuerySet[Any], column: str) -> Iterator[tuple[int, bytes]]:
    """In their order. Each statement has ended before its rows are read: on SQLite nobody could
    keep a lease meanwhile.
    """
    last = 0
    while some := rows.filter(pk__gt=last).order_by("pk").values_list("pk", column)[:AT_ONCE]:
        yield from some
        if len(some) < AT_ONCE:
            break
        last = some[len(some) - 1][0]


def _seldom(act: Callable[[], object]) -> Callable[[], None]:
    """Done now and then, however often it is called: thousands of calls may be read."""
    last = time.monotonic()

    def now_and_then() -> None:
        nonlocal last
        if time.monotonic() >= last + MEANWHILE_EVERY:
            act()
            last = time.monotonic()

    return now_and_then


def _read(
    calls: Iterable[bytes], wanted: Collection[FactRead], meanwhile: Callable[[], object]
) -> Shown:
    """A witness names its accounts, so calls that name none of them are passed over: of a block
    that many ask for, each has a few. Where many are wanted, looking for each would take longer.
    """
    accounts = {read.account for read in wanted if isinstance(read, AccountFieldRead | SlotRead)}
    of_headers = any(isinstance(read, HeaderFieldRead | TimestampRead) for read in wanted)
    all_calls = of_headers or len(accounts) > FEW
    shown = Shown()
    for call in calls:
        meanwhile()
        if all_calls or any(account in call for account in accounts):
            # An empty one in place of one that no node took shows nothing; what was read counts.
            with suppress(ProofError):
                read_call(call, shown)
    return shown


def _facts_of(stored: Stored) -> Iterator[FactRead]:
    block = stored.block
    for field in HeaderField:
        if stored.fields >> field & 1:
            yield HeaderFieldRead(block, field)
    for second in stored.timestamps:
        yield TimestampRead(second)
    for account in stored.accounts:
        for kind in AccountField:
            if account.mask >> kind & 1:
                yield AccountFieldRead(account.name, block, kind)
        for slot in account.slots:
            yield SlotRead(account.name, block, slot)


def proofs_in(
    shown: Shown, header: Header, wanted: Missing
) -> tuple[list[AccountProof], list[Asked]]:
    """The proofs of these accounts and slots, and what nothing shown proves."""
    proofs, unshown, checked = list[AccountProof](), list[Asked](), CheckedNodes()
    for account, (_, slots) in wanted.accounts.items():
        try:
            proofs.append(
                rebuilt_account_proof(header.state_root, account, slots, shown.nodes, checked)
            )
        except NodeMissing:
            unshown.append((account, slots))
    return proofs, unshown
