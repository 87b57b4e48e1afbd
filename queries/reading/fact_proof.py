"""The proof of a single fact, by levels, from the stored calls; no node is asked."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from queries.chain.signer import decode_transaction
from queries.models import BlockJob, Query, SentTransaction
from queries.proving.accounts import AccountProof, AccountState
from queries.proving.errors import ProofError, TrieNodeMissingError
from queries.proving.event_witness import PROVE_EVENTS_SELECTOR, read_events_call
from queries.proving.facts import FactKind
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import (
    PROVE_SELECTOR,
    RecoveredProofs,
    read_call,
    rebuild_account_proof,
)
from queries.proving.tries import CheckedNodes
from queries.reading.facts import FactView
from queries.reading.stored_calls import stored_calls

MAX_CALLS = 20  # of the job, besides those of the fact's own transactions


@dataclass(frozen=True, slots=True)
class ProofNode:
    """A header or a trie node."""

    hash: str
    size: int  # in bytes


@dataclass(frozen=True, slots=True)
class FactProof:
    """The proof that leads from a block hash known to the registry to the fact. Trie nodes are
    listed root first.
    """

    header: ProofNode
    later_headers: tuple[ProofNode, ...]  # up to the one whose hash the registry knew
    hops: int
    mined_block: int | None  # in which our transaction proved the header; None: without one
    state: tuple[ProofNode, ...]  # empty for header fields
    storage: tuple[ProofNode, ...]  # empty unless the fact is a slot
    account: AccountState | None  # None if the proof shows that it does not exist
    is_stored: bool  # False if the trie nodes or the event's witness are not stored
    event_root: str = ""  # of the event's trie, in the header
    witness_size: int = 0  # in bytes

    @property
    def proves_absence(self) -> bool:
        """Whether the proof shows that the account does not exist."""
        return bool(self.state) and not self.account


def read_fact_proof(query_id: int, fact: FactView) -> FactProof | None:
    """Read the proof from the stored calls. None if the block's header is not stored.

    `query_id`: a query that asked for the fact.
    """
    columns = ("job", "blockhash_transaction", "header_transaction", "account_transaction")
    row = Query.objects.select_related("job").only(*columns).get(pk=query_id)
    if row.job is None or not row.job.header:
        return None
    keys = [row.blockhash_transaction_id, row.header_transaction_id, row.account_transaction_id]
    rows = SentTransaction.objects.only("raw", "hops", "mined_block")
    transactions = rows.in_bulk([key for key in keys if key is not None])
    header = decode_header(row.job.header)
    recovered_proofs = RecoveredProofs({header.number: header})
    for transaction in transactions.values():
        with suppress(ProofError):  # a cancelling transaction is empty, for example
            read_call(decode_transaction(transaction.raw).data, recovered_proofs)
    header_transaction = transactions.get(row.header_transaction_id or 0)
    root, witness = "", b""
    if fact.event:
        root = f"0x{header.payload(fact.event.field).hex()}"
        section, witness = _find_event_call(row.job) if header_transaction else (b"", b"")
        with suppress(ProofError):
            read_call(PROVE_SELECTOR + section, recovered_proofs)
        if not section:  # the registry stored the root before
            header_transaction = None
    has_account = fact.kind in {FactKind.ACCOUNT_FIELD, FactKind.STORAGE_SLOT}
    proof = _find_account_proof(header, fact, recovered_proofs, row.job) if has_account else None
    storage = [node for slot in proof.slots for node in slot.path.hashed_nodes] if proof else []
    return FactProof(
        _node(header.rlp),
        tuple(_node(later.rlp) for later in _later_headers(header, recovered_proofs)),
        sum(transaction.hops for transaction in transactions.values()),
        header_transaction.mined_block if header_transaction else None,
        tuple(map(_node, proof.path.hashed_nodes if proof else [])),
        tuple(map(_node, storage)),
        proof.state if proof and proof.exists else None,
        is_stored=proof is not None or bool(witness) or not (has_account or fact.event),
        event_root=root,
        witness_size=len(witness),
    )


def _find_event_call(job: BlockJob) -> tuple[bytes, bytes]:
    """The section and witness of the job's only `prove` call to the events verifier; empty unless
    it sent exactly one.
    """
    calls = islice(stored_calls(job), MAX_CALLS)
    event_calls = {call for call in calls if call.startswith(PROVE_EVENTS_SELECTOR)}
    return read_events_call(event_calls.pop()) if len(event_calls) == 1 else (b"", b"")


def _find_account_proof(
    header: Header, fact: FactView, recovered_proofs: RecoveredProofs, job: BlockJob
) -> AccountProof | None:
    """None if nodes are missing."""
    account = bytes.fromhex(fact.account[2:])
    slots = [fact.identity.key] if fact.kind is FactKind.STORAGE_SLOT else []
    other_calls = (call for call in islice(stored_calls(job), MAX_CALLS) if account in call)
    while True:
        try:
            return rebuild_account_proof(
                header.state_root, account, slots, recovered_proofs.nodes, CheckedNodes()
            )
        except TrieNodeMissingError:
            call = next(other_calls, None)
            if call is None:
                return None
            with suppress(ProofError):
                read_call(call, recovered_proofs)


def _later_headers(header: Header, recovered_proofs: RecoveredProofs) -> Iterator[Header]:
    """Yield the headers from the block's child up to the one whose hash the registry knew."""
    child = recovered_proofs.children.get(header.hash)
    while child:
        yield child
        child = recovered_proofs.children.get(child.hash)


def _node(rlp: bytes) -> ProofNode:
    return ProofNode(f"0x{keccak256(rlp).hex()}", len(rlp))
