"""What was read back from a registry is compared with the source's own proofs, which are kept.

Proofs that were fetched for a transaction are remembered until its facts are read back. Where
others had proven the facts, the calldata that would prove them is kept for the proof file.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from queries.chain.errors import (
    BlockUnknown,
    MethodMissing,
    ProofWindowExceeded,
    RegistryMisread,
    StateNotAvailable,
)
from queries.chain.registry import (
    AccountFieldRead,
    FactRead,
    HeaderFieldRead,
    SlotRead,
    TimestampRead,
)
from queries.chain.source import SourceChain, nothing
from queries.models import BlockJob
from queries.pipeline.wanted import Missing, missing
from queries.proving.account_proofs import AccountProof
from queries.proving.header_fields import HeaderField
from queries.proving.headers import Header
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest
from queries.shown_calls import not_shown, shown_of

# The nodes keep no state so old; then the registry's word, which was proven once, has to do.
TOO_OLD = (StateNotAvailable, ProofWindowExceeded, MethodMissing)
MOST_REMEMBERED = 20_000  # words, some hundred bytes each: twice what a batch may ask for


class Truths:
    """The words of accounts' facts that were proven here lately, for all threads."""

    def __init__(self) -> None:
        self._words: OrderedDict[tuple[bytes, FactRead], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, header: Header, wanted: Missing, proofs: Iterable[AccountProof]) -> None:
        told = {
            (header.hash, read): word
            for proof in proofs
            for read, word in _words(header.number, wanted, proof)
        }
        with self._lock:
            self._words.update(told)
            while len(self._words) > MOST_REMEMBERED:
                self._words.popitem(last=False)

    def known(self, header: Header, reads: Iterable[FactRead]) -> dict[FactRead, bytes]:
        with self._lock:
            found = {read: self._words.get((header.hash, read)) for read in reads}
        return {read: word for read, word in found.items() if word is not None}


TRUTHS = Truths()  # of this process


def check_against_proofs(
    source: SourceChain,
    header: Header,
    told: Mapping[FactRead, bytes],
    meanwhile: Callable[[], object] = nothing,
) -> Sequence[AccountProof]:
    """`RegistryMisread` where what was read of a registry is not what the source proves.

    Returns the proofs that were fetched for it.
    """
    of_state = [read for read in told if isinstance(read, AccountFieldRead | SlotRead)]
    truth: dict[FactRead, bytes] = {
        read: _of_header(header, read)
        for read in told
        if isinstance(read, HeaderFieldRead | TimestampRead)
    }
    known, fetched = _of_accounts(source, header, of_state, meanwhile)
    truth |= known
    for read, word in told.items():
        if read in truth and truth[read] != word:
            raise RegistryMisread(
                f"A node says that the registry holds 0x{word.hex()} where 0x{truth[read].hex()} "
                f"was proven, for block {header.number:,}."
            )
    return fetched


def _of_header(header: Header, read: HeaderFieldRead | TimestampRead) -> bytes:
    if isinstance(read, TimestampRead):
        return header.number.to_bytes(32, "big")
    return header.word(HeaderField(read.field))


def _of_accounts(
    source: SourceChain,
    header: Header,
    reads: Sequence[FactRead],
    meanwhile: Callable[[], object],
) -> tuple[Mapping[FactRead, bytes], Sequence[AccountProof]]:
    known = TRUTHS.known(header, reads)
    unknown = missing(read for read in reads if read not in known)
    if not unknown.accounts:
        return known, ()
    try:
        asked = [(account, slots) for account, (_, slots) in unknown.accounts.items()]
        proofs = source.account_proofs(header, asked, meanwhile)
    except TOO_OLD:
        return known, ()
    TRUTHS.remember(header, unknown, proofs)
    words = dict(pair for proof in proofs for pair in _words(header.number, unknown, proof))
    return known | words, proofs


def _words(block: int, wanted: Missing, proof: AccountProof) -> Iterable[tuple[FactRead, bytes]]:
    account, state = proof.address or b"", proof.state
    words = {
        AccountField.NONCE: _word(state.nonce),
        AccountField.BALANCE: _word(state.balance),
        AccountField.STORAGE_ROOT: state.storage_root,
        AccountField.CODE_HASH: state.code_hash,
    }
    fields, _ = wanted.accounts[account]
    for field in fields:
        yield AccountFieldRead(account, block, field), words[field]
    for slot in proof.slots:
        yield SlotRead(account, block, slot.slot), _word(slot.value)


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def call_to_keep(  # noqa: PLR0913, PLR0917  (what there is to keep, and by whom)
    job: BlockJob,
    source: SourceChain,
    header: Header,
    reads: Collection[FactRead],
    fetched: Sequence[AccountProof],
    meanwhile: Callable[[], object] = nothing,
) -> bytes | None:
    """What would prove those of the facts that no call of ours shows; None where there are none.

    `fetched` are proofs at hand. What the source no longer proves is left out.
    """
    if not reads:
        return None
    lacking = missing(not_shown(header, reads, shown_of(job, reads, meanwhile)))
    if not lacking:
        return None
    proofs = _proofs(source, header, lacking, fetched, meanwhile)
    requests = [AccountRequest(proof, frozenset()) for proof in proofs]
    child = _child(source, header) if lacking.timestamps else None
    if not requests and child is None:
        return None
    step = HeaderStep(header, build_witness(requests) if requests else b"")
    return prove_call([headers_section([step, *([HeaderStep(child)] if child else [])])])


def _proofs(
    source: SourceChain,
    header: Header,
    lacking: Missing,
    fetched: Sequence[AccountProof],
    meanwhile: Callable[[], object],
) -> list[AccountProof]:
    known = {proof.address: proof for proof in fetched}
    found, unknown = list[AccountProof](), list[tuple[bytes, Sequence[int]]]()
    for account, (_, slots) in lacking.accounts.items():
        values = {each.slot: each for each in known[account].slots} if account in known else {}
        if account in known and set(slots) <= set(values):
            found.append(replace(known[account], slots=tuple(values[slot] for slot in slots)))
        else:
            unknown.append((account, slots))
    try:
        return found + (source.account_proofs(header, unknown, meanwhile) if unknown else [])
    except TOO_OLD:
        return found


def _child(source: SourceChain, header: Header) -> Header | None:
    try:
        child = source.header(header.number + 1)
    except BlockUnknown:
        return None
    return child if child.parent_hash == header.hash else None
