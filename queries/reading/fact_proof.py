"""The proof of a single fact, by levels, from the stored calls; no node is asked."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from eth_abi.abi import decode

from queries.chain.signer import decode_transaction
from queries.contracts.abi import selector
from queries.models import BlockJob, Query, SentTransaction
from queries.proving.accounts import AccountState
from queries.proving.call_reading import (
    RecoveredProofs,
    path_nodes,
    read_call,
    rebuild_account_proof,
)
from queries.proving.errors import NodeMissingError, ProofError
from queries.proving.facts import FactKind
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import keccak256, number_word
from queries.proving.registry_calls import PROVE_SELECTOR
from queries.proving.tries import CheckedNodes
from queries.reading.facts import FactView
from queries.reading.stored_calls import stored_calls

PROVE_EVENTS = selector("prove(bytes,bytes)")  # of the events verifier
MAX_CALLS = 20  # of the job, besides those of the fact's own transactions


@dataclass(frozen=True, slots=True)
class ProofNode:
    """A header or a trie node."""

    hash: str
    size: int  # in bytes


@dataclass(frozen=True, slots=True)
class FactProof:
    """What leads from a known block hash to a fact. Nodes stand root first."""

    header: ProofNode
    later_headers: tuple[ProofNode, ...]  # up to the one whose hash the registry knew
    hops: int
    mined_block: int | None  # where our transaction proved the header, if there is one
    state: tuple[ProofNode, ...]  # empty for header fields
    storage: tuple[ProofNode, ...]  # empty unless the fact is a slot
    account: AccountState | None  # None if the proof shows that it does not exist
    is_stored: bool  # otherwise the trie nodes, or the witness of an event, are not known
    root: str = ""  # of the trie of an event, in the header
    witness: int = 0  # its size in bytes

    @property
    def proves_absence(self) -> bool:
        """Of the account."""
        return bool(self.state) and not self.account


def read_fact_proof(query: int, fact: FactView) -> FactProof | None:
    """`query`: the key of one that asked for the fact. None if the header is not stored."""
    columns = ("job", "blockhash_transaction", "header_transaction", "account_transaction")
    row = Query.objects.select_related("job").only(*columns).get(pk=query)
    if row.job is None or not row.job.header:
        return None
    keys = [row.blockhash_transaction_id, row.header_transaction_id, row.account_transaction_id]
    sent = SentTransaction.objects.only("raw", "hops", "mined_block")
    transactions = sent.in_bulk([key for key in keys if key is not None])
    header = decode_header(row.job.header)
    recovered = RecoveredProofs({header.number: header})
    for transaction in transactions.values():
        with suppress(ProofError):  # a cancelling transaction is empty, for example
            read_call(decode_transaction(transaction.raw).data, recovered)
    header_transaction = transactions.get(row.header_transaction_id or 0)
    root, witness = "", b""
    if fact.event:
        root = f"0x{header.payload(fact.event.field).hex()}"
        section, witness = _find_event_call(row.job) if header_transaction else (b"", b"")
        with suppress(ProofError):
            read_call(PROVE_SELECTOR + section, recovered)
        if not section:  # the registry stored the root before
            header_transaction = None
    paths = None if fact.event else _find_paths(header, fact, recovered, row.job)
    state, storage, account = paths or ([], [], None)
    return FactProof(
        _node(header.encoded),
        tuple(_node(later.encoded) for later in _later_headers(header, recovered)),
        sum(transaction.hops for transaction in transactions.values()),
        header_transaction.mined_block if header_transaction else None,
        tuple(map(_node, state)),
        tuple(map(_node, storage)),
        account,
        is_stored=paths is not None or bool(witness),
        root=root,
        witness=len(witness),
    )


def _find_event_call(job: BlockJob) -> tuple[bytes, bytes]:
    """The section and the witness that the job sent to the events verifier; empty if it sent none,
    or several, of which one proves the fact.
    """
    calls = islice(stored_calls(job), MAX_CALLS)
    event_calls = {call for call in calls if call.startswith(PROVE_EVENTS)}
    if len(event_calls) != 1:
        return b"", b""
    section, witness = decode(["bytes", "bytes"], event_calls.pop()[len(PROVE_EVENTS) :])
    return section, witness


def _find_paths(
    header: Header, fact: FactView, recovered: RecoveredProofs, job: BlockJob
) -> tuple[list[bytes], list[bytes], AccountState | None] | None:
    """The encoded nodes of the account and of the slot, and the account if it exists.

    None if nodes are missing.
    """
    if fact.kind in {FactKind.HEADER_FIELD, FactKind.BLOCK_AT_TIME}:
        return [], [], None
    account = bytes.fromhex(fact.account[2:])
    other_calls = (call for call in islice(stored_calls(job), MAX_CALLS) if account in call)
    while True:
        try:
            return _paths(header.state_root, account, fact, recovered.nodes)
        except NodeMissingError:
            call = next(other_calls, None)
            if call is None:
                return None
            with suppress(ProofError):
                read_call(call, recovered)


def _paths(
    state_root: bytes, account: bytes, fact: FactView, nodes: Mapping[bytes, bytes]
) -> tuple[list[bytes], list[bytes], AccountState | None]:
    slots = [fact.key] if fact.kind is FactKind.STORAGE_SLOT else []
    proof = rebuild_account_proof(state_root, account, slots, nodes, CheckedNodes())
    storage_root = proof.state.storage_root
    return (
        path_nodes(state_root, keccak256(account), nodes),
        path_nodes(storage_root, keccak256(number_word(fact.key)), nodes) if slots else [],
        proof.state if proof.exists else None,
    )


def _later_headers(header: Header, recovered: RecoveredProofs) -> Iterator[Header]:
    """From the block's child up to the header whose hash the registry knew."""
    child = recovered.children.get(header.hash)
    while child:
        yield child
        child = recovered.children.get(child.hash)


def _node(encoded: bytes) -> ProofNode:
    return ProofNode(f"0x{keccak256(encoded).hex()}", len(encoded))
