"""The proof of a batch as a file, or a refusal that says what is missing.

It is built from the stored proofs, a block at a time; no node is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from tempfile import SpooledTemporaryFile
from typing import IO

from accounts.http.errors import RefusalError
from queries.contracts.create2 import verifier_address
from queries.database import stored_facts, stored_proofs
from queries.error_codes import ProofCode, batch_not_found, busy_refusal
from queries.facts import facts_of, subject
from queries.http.thread_slots import thread_slot
from queries.models import BlockJob, Query, SentTransaction
from queries.proving import (
    AccountToStore,
    BlockProof,
    ClaimedRegistry,
    ClaimedTransaction,
    decode_header,
    select_groups,
    write_bundle,
)
from queries.proving.facts import group_facts
from queries.reading import batches
from queries.reading.batches import BatchView
from queries.sources import Registry, Routes, constructor_arguments
from queries.statuses import BatchStatus

MAX_MEMORY = 2**20  # bytes of the file
PROVEN_BY_OTHERS = (
    "others had proven it before, and the chain's nodes no longer had its data. The fact is on "
    "chain."
)
BLOCK_REPLACED = "the chain has another block there now."


def build_proof_file(batch_id: str, routes: Routes) -> IO[bytes]:
    """The proof file of the batch. Raises `RefusalError` if there is none."""
    batch = batches.batch_view(batch_id)
    if batch is None:
        raise batch_not_found(batch_id, "batch")
    with thread_slot(for_proof=True) as acquired:
        if not acquired:
            raise busy_refusal(
                ProofCode.PROOFS_BUSY, "The server is already preparing as many proofs as it can"
            )
        return _build_file(batch, routes)


def _build_file(batch: BatchView, routes: Routes) -> IO[bytes]:
    queries = list(Query.objects.filter(batch=batch.id).order_by("source", "block", "pk"))
    _check_done(batch, queries)
    file = SpooledTemporaryFile(max_size=MAX_MEMORY)  # noqa: SIM115  (the response closes it)
    try:
        blocks = _block_proofs(batch, queries, routes)
        for piece in write_bundle(batch.id, batch.destination, blocks):
            file.write(piece.encode())
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _check_done(batch: BatchView, queries: Sequence[Query]) -> None:
    if not batch.proves:
        raise RefusalError(
            ProofCode.PROOF_UNAVAILABLE,
            "The batch proves nothing to a registry: what it asks for was only delivered.",
        )
    if batch.status is BatchStatus.REJECTED:
        reason = f" {batch.error.sentence}" if batch.error else ""
        raise RefusalError(
            ProofCode.BATCH_REJECTED, f"The batch was rejected, so it has no proof.{reason}"
        )
    if batch.status is not BatchStatus.DONE or not all(query.has_ended for query in queries):
        waits_for = batch.waits_for.sentence if batch.waits_for else "Ask again when it is DONE."
        raise RefusalError(
            ProofCode.BATCH_NOT_DONE,
            f"The batch is {batch.status}; not all of it is proven yet. {waits_for}",
        )
    if batch.error:
        raise RefusalError(
            ProofCode.PROOF_UNAVAILABLE,
            "A reorg removed facts of the batch, and they could not be proven again: "
            f"{batch.error.sentence}",
        )


def _block_proofs(
    batch: BatchView, queries: Sequence[Query], routes: Routes
) -> Iterator[BlockProof]:
    jobs = BlockJob.objects.in_bulk({query.job_id for query in queries})
    sent_rows = SentTransaction.objects.only("to", "mined_hash", "mined_block", "succeeded")
    transactions = sent_rows.in_bulk(_transaction_keys(queries))
    for (source, _), group in groupby(queries, key=lambda query: (query.source, query.block)):
        block_queries = list(group)
        registry = routes.registries.get((source, batch.destination))
        if registry is None:
            raise RefusalError(
                ProofCode.PROOF_UNAVAILABLE,
                f"This server no longer proves chain {source} on {batch.destination}, so it does "
                "not know the registry.",
            )
        yield _block_proof(
            block_queries, jobs[block_queries[0].job_id or 0], registry, transactions
        )


def _block_proof(
    queries: Sequence[Query], job: BlockJob, registry: Registry, rows: Mapping[int, SentTransaction]
) -> BlockProof:
    if not job.header:
        raise _proof_unavailable("of its header", job)
    header = decode_header(job.header)
    named_facts = [(query, facts_of(query)) for query in queries]
    facts = [fact for _, query_facts in named_facts for fact in query_facts.values()]
    groups = group_facts(facts)
    proofs, missing = stored_proofs.read_accounts(job, header, groups.account_slots)
    for account, _ in sorted(missing):
        raise _proof_unavailable(f"of account 0x{account.hex()}", job)
    by_account = {proof.address or b"": proof for proof in proofs}
    accounts = [
        AccountToStore(proof, groups.accounts[account][0])
        for account, proof in sorted(by_account.items())
    ]
    later_headers = stored_proofs.read_later_headers(job, header) if groups.timestamps else []
    if groups.timestamps and not later_headers:
        raise _proof_unavailable("of its time", job)
    witnesses = stored_proofs.read_witnesses(job) if groups.events else []
    events, missing_events = select_groups(witnesses, header, groups.events)
    for event in missing_events:
        raise _proof_unavailable(f"of {event.name}", job)
    transactions = [rows[key] for key in _transaction_keys(queries)]
    # The registry that has the facts: the route may have another one by now.
    recipients = [registry.address, *(row.to for row in transactions if row.succeeded)]
    verifiers = set(map(verifier_address, recipients))
    address = next(to for to in reversed(recipients) if to not in verifiers)
    block = BlockProof(
        chain=job.source,
        destination=job.destination,
        header=header,
        next_header=later_headers[0] if later_headers else None,
        header_fields=groups.header_fields,
        timestamps=groups.timestamps,
        accounts=tuple(accounts),
        registry=ClaimedRegistry(
            registry.kind.value, bytes.fromhex(address[2:]), constructor_arguments(registry)
        ),
        transactions=tuple(
            ClaimedTransaction(bytes.fromhex(row.mined_hash[2:]), row.mined_block)
            for row in transactions
            if row.mined_hash and row.mined_block is not None
        ),
        events=tuple(events),
        event_facts=frozenset(groups.events),
    )
    words, stored_words = block.words, stored_facts.stored_words(job)
    for query, query_facts in named_facts:
        for name, fact in query_facts.items():  # a reorg may have replaced the block since
            if words[fact] != stored_words.get((subject(query, fact), fact.name)):
                raise _proof_unavailable(f"of {name}, as it was read back,", job, BLOCK_REPLACED)
    return block


def _transaction_keys(queries: Sequence[Query]) -> list[int]:
    """Keys of the queries' transactions, in the order in which they were sent."""
    keys = {query.header_transaction_id for query in queries}
    keys |= {query.account_transaction_id for query in queries}
    return sorted(key for key in keys if key is not None)


def _proof_unavailable(subject: str, job: BlockJob, reason: str = PROVEN_BY_OTHERS) -> RefusalError:
    return RefusalError(
        ProofCode.PROOF_UNAVAILABLE,
        f"The proof {subject} at block {job.block:,} of chain {job.source} is not stored here: "
        f"{reason}",
    )
