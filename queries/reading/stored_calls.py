"""What the calls of a job have shown: in them lies the proof of every fact that it has proven.

Those that were never mined show as much: each node and header lies under its own hash.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from django.db.models import QuerySet

from queries.chain.reader import Asked, nothing
from queries.chain.registry import FactRead, Missing
from queries.chain.signer import parts_of
from queries.models import BlockJob, KeptProof, SentTransaction
from queries.proving.accounts import AccountProof
from queries.proving.bundles import FactKind
from queries.proving.call_reading import Shown, read_call, rebuilt_account_proof
from queries.proving.errors import NodeMissing, ProofError
from queries.proving.headers import Header, decode_header
from queries.proving.tries import CheckedNodes

FEW = 250  # accounts that are looked for in a call in less time than it is read
MEANWHILE_EVERY = 0.5  # seconds
AT_ONCE = 50  # calls in memory, which may have 128 KiB each


def shown_of(
    job: BlockJob, reads: Iterable[FactRead], meanwhile: Callable[[], object] = nothing
) -> Shown:
    """What may prove these facts. A header's fields lie in the header, which the job keeps.

    A witness names its accounts, so calls that name none of them are passed over: of a block
    that many ask for, each has a few. Where many are wanted, looking for each would take longer.
    """
    wanted = list(reads)
    accounts = {read.account for read in wanted if read.account}
    of_times = any(read.kind is FactKind.BLOCK_AT_TIME for read in wanted)
    all_calls = of_times or len(accounts) > FEW
    own = {job.block: decode_header(job.header)} if job.header else {}
    now_and_then, shown = _seldom(meanwhile), Shown(own)
    for call in _calls(job):
        now_and_then()
        if all_calls or any(account in call for account in accounts):
            # An empty one in place of one that no node took shows nothing; what was read counts.
            with suppress(ProofError):
                read_call(call, shown)
    return shown


def _calls(job: BlockJob) -> Iterator[bytes]:
    sent = SentTransaction.objects.filter(for_jobs__job=job, prepares=False)
    for raw in _some_at_once(sent, "raw"):
        yield parts_of(raw).data
    yield from _some_at_once(KeptProof.objects.filter(job=job), "call")


def _some_at_once(rows: QuerySet[Any], column: str) -> Iterator[bytes]:
    """In their order. Each statement has ended before its rows are read: on SQLite nobody could
    keep a lease meanwhile.
    """
    last = 0
    while some := rows.filter(pk__gt=last).order_by("pk").values_list("pk", column)[:AT_ONCE]:
        for last, value in some:  # noqa: B007  (the last one is read after it)
            yield value
        if len(some) < AT_ONCE:
            break


def _seldom(act: Callable[[], object]) -> Callable[[], None]:
    """Done now and then, however often it is called: thousands of calls may be read."""
    last = time.monotonic()

    def now_and_then() -> None:
        nonlocal last
        if time.monotonic() >= last + MEANWHILE_EVERY:
            act()
            last = time.monotonic()

    return now_and_then


def proofs_in(
    shown: Shown, header: Header, wanted: Missing
) -> tuple[list[AccountProof], list[Asked]]:
    """The proofs of these accounts and slots, and what nothing shown proves."""
    proofs, unshown, checked = list[AccountProof](), list[Asked](), CheckedNodes()
    for account, slots in wanted.asked:
        try:
            proofs.append(
                rebuilt_account_proof(header.state_root, account, slots, shown.nodes, checked)
            )
        except NodeMissing:
            unshown.append((account, slots))
    return proofs, unshown
