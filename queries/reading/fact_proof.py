"""The proof of a single fact, by levels, from the stored proofs; no node is asked."""

from dataclasses import dataclass

from queries.database import stored_proofs
from queries.models import BlockJob, Query, SentTransaction
from queries.planning.known_blocks import recorded_hashes
from queries.proving import (
    AccountState,
    decode_header,
    encode_event_groups,
    keccak256,
    select_groups,
)
from queries.proving.facts import group_facts
from queries.reading.facts import FactView
from queries.reading.vouchers import stored_voucher
from queries.sources import Registry, Voucher


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

    block: int
    header: ProofNode
    later_headers: tuple[ProofNode, ...]  # up to the one whose hash the registry knew
    known_time: int  # of the block whose hash the registry knew, in Unix seconds
    is_recorded: bool  # whether this server had the registry record its hash
    voucher: Voucher | None  # for that record
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


def read_fact_proof(
    query_id: int | None, fact: FactView, registry: Registry | None
) -> FactProof | None:
    """Read the stored proof. None if the block's header is not stored.

    `query_id`: a query that asked for the fact, whose transactions show how the hash was known.
    `registry`: of the route, if it is still configured.
    """
    place = {"source": fact.source, "destination": fact.destination, "block": fact.block}
    job = BlockJob.objects.filter(**place).first()
    if job is None or not job.header:
        return None
    columns = ("blockhash_transaction", "header_transaction", "account_transaction")
    keys = Query.objects.filter(pk=query_id or 0).values_list(*columns).first() or (
        None,
        None,
        None,
    )
    rows = SentTransaction.objects.only("hops", "mined_block")
    transactions = rows.in_bulk([key for key in keys if key is not None])
    header_transaction = transactions.get(keys[1] or 0)
    header = decode_header(job.header)
    later_headers = stored_proofs.read_later_headers(job, header)
    known_header = [header, *later_headers][-1]
    record = None
    if registry:
        records = recorded_hashes(registry).filter(recorded_block=known_header.number)
        record = records.order_by("pk").last()
    witnesses = stored_proofs.read_witnesses(job) if fact.event else []
    events, _ = select_groups(witnesses, header, [fact.event] if fact.event else [])
    requests = group_facts([fact.identity]).account_slots
    proofs, _ = stored_proofs.read_accounts(job, header, requests)
    state = [node for proof in proofs for node in proof.path.hashed_nodes]
    storage = [node for proof in proofs for slot in proof.slots for node in slot.path.hashed_nodes]
    return FactProof(
        fact.block,
        _node(header.rlp),
        tuple(_node(later.rlp) for later in later_headers),
        known_header.timestamp,
        record is not None,
        stored_voucher(record) if record else None,
        sum(transaction.hops for transaction in transactions.values()),
        header_transaction.mined_block if header_transaction else None,
        tuple(map(_node, state)),
        tuple(map(_node, storage)),
        next((proof.state for proof in proofs if proof.exists), None),
        is_stored=bool(proofs or events) or not (requests or fact.event),
        event_root=f"0x{header.payload(fact.event.field).hex()}" if fact.event else "",
        witness_size=sum(len(encode_event_groups(groups)) for groups in events),
    )


def _node(rlp: bytes) -> ProofNode:
    return ProofNode(f"0x{keccak256(rlp).hex()}", len(rlp))
