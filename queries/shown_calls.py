"""What the calls of a job have shown: in them lies the proof of every fact that it has proven.

Those that were never mined show as much: each node and header lies under its own hash.
"""

from collections.abc import Iterable, Iterator, Sequence

from queries.chain.registry_facts import AccountFieldRead, FactRead, SlotRead, TimestampRead
from queries.chain.signed_parts import parts_of
from queries.models import BlockJob, KeptProof, SentTransaction
from queries.pipeline.wanted import missing
from queries.proving.call_reading import Shown, read_call
from queries.proving.errors import NodeMissing, ProofError
from queries.proving.headers import Header
from queries.proving.rebuilt_proofs import rebuilt_account_proof
from queries.proving.trie_proofs import CheckedNodes


def shown_of(job: BlockJob, reads: Iterable[FactRead]) -> Shown:
    """What may prove these facts, in two statements.

    A witness names its accounts, so calls that name none of them are passed over: of a block that
    many ask for, each has a few.
    """
    wanted = list(reads)
    accounts = {read.account for read in wanted if isinstance(read, AccountFieldRead | SlotRead)}
    times = any(isinstance(read, TimestampRead) for read in wanted)
    shown = Shown()
    for call in _calls(job):
        if times or any(account in call for account in accounts):
            _read(call, shown)
    return shown


def _calls(job: BlockJob) -> Iterator[bytes]:
    sent = SentTransaction.objects.filter(for_jobs__job=job, brings_hash=False)
    for raw in sent.values_list("raw", flat=True).order_by("pk").iterator():
        yield parts_of(bytes.fromhex(raw)).data
    for call in KeptProof.objects.filter(job=job).values_list("call", flat=True).iterator():
        yield bytes.fromhex(call)


def not_shown(header: Header, reads: Iterable[FactRead], shown: Shown) -> Sequence[FactRead]:
    """Those of the facts that nothing shown proves."""
    wanted = list(reads)
    checked = CheckedNodes()
    unshown: set[FactRead] = set()
    for account, (_, slots) in missing(wanted).accounts.items():
        try:
            rebuilt_account_proof(header.state_root, account, slots, shown.nodes, checked)
        except NodeMissing:
            unshown |= {read for read in wanted if _is_of(account, read)}
    if header.hash not in shown.children:
        unshown |= {read for read in wanted if isinstance(read, TimestampRead)}
    return [read for read in wanted if read in unshown]


def _is_of(account: bytes, read: FactRead) -> bool:
    return isinstance(read, AccountFieldRead | SlotRead) and read.account == account


def _read(call: bytes, shown: Shown) -> None:
    try:
        read_call(call, shown)
    except ProofError:
        return  # an empty one in place of one that no node took; what was read counts
