"""The proofs of block jobs, stored when they are fetched and checked.

A row holds the trie nodes of an account and its slots, the headers that lead from the job's block
to a known one, or the witness of some events. They consist of hashes, so compression saves nothing.
Reading checks them again: they count only for a header to whose hash they lead, so that a reorg
needs no clean-up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from queries.chain import AccountSlots
from queries.facts import row_account
from queries.models import BlockJob, Proof
from queries.proving import (
    AccountProof,
    CheckedNodes,
    EventGroups,
    Header,
    TrieNodeMissingError,
    decode_header,
    encode_list,
    encode_string,
    keccak256,
    read_event_witness,
    read_string,
    rebuild_account_proof,
    split_list,
)

HEADERS, EVENTS = "headers", "events"  # subjects besides the addresses of accounts
# In memory; a statement that stays open on SQLite would block the renewal of leases.
ACCOUNTS_AT_ONCE = 50


def account_row(job: BlockJob, proof: AccountProof) -> Proof:
    """An unsaved row for the nodes of the account's proof and of its slots."""
    paths = (proof.path, *(slot.path for slot in proof.slots))
    nodes = dict.fromkeys(node for path in paths for node in path.hashed_nodes)
    return _row(job, row_account(proof.address), nodes)


def headers_row(job: BlockJob, headers: Iterable[Header]) -> Proof:
    """An unsaved row for the headers after the block, child after child."""
    return _row(job, HEADERS, (header.rlp for header in headers))


def events_row(job: BlockJob, witness: bytes) -> Proof:
    """An unsaved row for a witness that names no block."""
    return _row(job, EVENTS, [witness])


def read_accounts(
    job: BlockJob,
    header: Header,
    accounts: Sequence[AccountSlots],
    heartbeat: Callable[[], object] = lambda: None,
) -> tuple[list[AccountProof], list[AccountSlots]]:
    """The stored proofs of these accounts and slots, and those that are not stored.

    `heartbeat` is called regularly.
    """
    proofs, missing = list[AccountProof](), list[AccountSlots]()
    checked_nodes = CheckedNodes()
    for start in range(0, len(accounts), ACCOUNTS_AT_ONCE):
        heartbeat()
        part = accounts[start : start + ACCOUNTS_AT_ONCE]
        subjects = {account: row_account(account) for account, _ in part}
        nodes: dict[str, dict[bytes, bytes]] = {subject: {} for subject in subjects.values()}
        for subject, content in _rows(job, *nodes):
            nodes[subject] |= {keccak256(node): node for node in _unpack(content)}
        for account, slots in part:
            own_nodes = nodes[subjects[account]]
            if not own_nodes:
                missing.append((account, slots))
                continue
            try:
                proofs.append(
                    rebuild_account_proof(
                        header.state_root, account, slots, own_nodes, checked_nodes
                    )
                )
            except TrieNodeMissingError:
                missing.append((account, slots))
    return proofs, missing


def read_later_headers(job: BlockJob, header: Header) -> list[Header]:
    """The first stored headers that follow this one, child after child; empty if there are none."""
    for _, content in _rows(job, HEADERS):
        headers = list(map(decode_header, _unpack(content)))
        if headers[0].parent_hash == header.hash:
            return headers
    return []


def read_witnesses(job: BlockJob) -> list[EventGroups]:
    """The stored witnesses of the job's events, also of a block that a reorg has replaced."""
    return [
        read_event_witness(witness)
        for _, content in _rows(job, EVENTS)
        for witness in _unpack(content)
    ]


def _rows(job: BlockJob, *subjects: str) -> list[tuple[str, bytes]]:
    rows = Proof.objects.filter(job=job, subject__in=subjects).order_by("pk")
    return list(rows.values_list("subject", "content"))


def _row(job: BlockJob, subject: str, items: Iterable[bytes]) -> Proof:
    return Proof(job=job, subject=subject, content=pack(items))


def pack(items: Iterable[bytes]) -> bytes:
    """The content of a row with these nodes, headers or witnesses."""
    return encode_list(list(map(encode_string, items)))


def _unpack(content: bytes) -> Iterator[bytes]:
    return map(read_string, split_list(content))
