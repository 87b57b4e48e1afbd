"""The proof of a batch as a file: whole, or a refusal that says what is missing.

It is built from the stored calls that prove the facts, a block at a time, in a file that moves to
disk once it is large. So nothing is stored twice, and no node is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from tempfile import SpooledTemporaryFile
from typing import IO

from accounts.shared.errors import Refusal
from queries.chain.registry import missing
from queries.config.registries import Registry, arguments
from queries.config.routes import Routes
from queries.facts import TIMESTAMP
from queries.http.thread_slots import place_to_wait
from queries.models import BlockJob, Query, SentTransaction
from queries.planning.lookups import reads_of
from queries.proving.bundles import (
    BlockProof,
    ClaimedRegistry,
    ClaimedTransaction,
    Fact,
    FactKind,
    written,
)
from queries.proving.headers import decode_header
from queries.proving.witnesses import AccountRequest
from queries.reading import batches
from queries.reading.stored_calls import proofs_in, shown_of
from queries.reading.view_models import BatchView
from queries.refusals import (
    BATCH_NOT_DONE,
    BATCH_REJECTED,
    PROOF_UNAVAILABLE,
    PROOFS_BUSY,
    busy,
    no_such_batch,
)
from queries.statuses import BatchStatus

IN_MEMORY = 2**20  # bytes of a file
THEIRS = (
    "others had proven it before, and the chain's nodes no longer had the state. The registry "
    "has the fact."
)
CHANGED = "the chain has another block there now."


def proof_of(batch_id: str, routes: Routes) -> IO[bytes]:
    """The bundle of the batch; `Refusal` where there is none."""
    shown = batches.batch(batch_id)
    if shown is None:
        raise no_such_batch(batch_id, "batch")
    with place_to_wait(for_proof=True) as there_is_one:
        if not there_is_one:
            raise busy(PROOFS_BUSY, "The server is already preparing as many proofs as it can")
        return _file(shown, routes)


def _file(shown: BatchView, routes: Routes) -> IO[bytes]:
    queries = list(Query.objects.filter(batch=shown.id).order_by("source", "block", "pk"))
    _refuse_what_is_not_done(shown, queries)
    file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  (the response closes it)
    try:
        for piece in written(shown.id, shown.destination, _blocks(shown, queries, routes)):
            file.write(piece.encode())
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _refuse_what_is_not_done(shown: BatchView, queries: Sequence[Query]) -> None:
    if shown.status is BatchStatus.REJECTED:
        said = f" {shown.error.sentence}" if shown.error else ""
        raise Refusal(BATCH_REJECTED, f"The batch was rejected, so it has no proof.{said}")
    if shown.status is not BatchStatus.DONE or not all(each.ended for each in queries):
        waits_for = shown.waits_for.sentence if shown.waits_for else "Ask again when it is DONE."
        raise Refusal(
            BATCH_NOT_DONE, f"The batch is {shown.status}; not all of it is proven yet. {waits_for}"
        )


def _blocks(shown: BatchView, queries: Sequence[Query], routes: Routes) -> Iterator[BlockProof]:
    jobs = BlockJob.objects.in_bulk({each.job_id for each in queries})
    transactions = SentTransaction.objects.only("to", "mined_hash", "mined_block", "succeeded")
    sent = transactions.in_bulk(_named(queries))
    for (source, _), some in groupby(queries, key=lambda each: (each.source, each.block)):
        of_block = list(some)
        registry = routes.registries.get((source, shown.destination))
        if registry is None:
            raise Refusal(
                PROOF_UNAVAILABLE,
                f"This server no longer proves chain {source} on {shown.destination}, so it does "
                "not know the registry.",
            )
        yield _block(of_block, jobs[of_block[0].job_id or 0], registry, sent)


def _block(
    queries: Sequence[Query], job: BlockJob, registry: Registry, sent: Mapping[int, SentTransaction]
) -> BlockProof:
    if not job.header:
        raise _unavailable("of its header", job)
    header = decode_header(job.header)
    reads = [read for query in queries for read in reads_of(query).values()]
    wanted, shown = missing(reads), shown_of(job, reads)
    proofs, unshown = proofs_in(shown, header, wanted)
    for account, _ in sorted(unshown):
        raise _unavailable(f"of account 0x{account.hex()}", job)
    by_account = {proof.address or b"": proof for proof in proofs}
    requests = [
        AccountRequest(by_account[each], wanted.accounts[each][0]) for each in sorted(by_account)
    ]
    child = shown.children.get(header.hash) if wanted.timestamps else None
    if wanted.timestamps and child is None:
        raise _unavailable("of its time", job)
    transactions = [sent[key] for key in _named(queries)]
    # Of the one that it was proven to: the route may have another registry by now.
    proven_to = [row.to for row in transactions if row.succeeded]
    address = proven_to[-1] if proven_to else registry.address
    block = BlockProof(
        chain=job.source,
        destination=job.destination,
        header=header,
        next_header=child,
        header_fields=wanted.header_fields,
        timestamps=wanted.timestamps,
        accounts=tuple(requests),
        registry=ClaimedRegistry(
            registry.kind.value, bytes.fromhex(address[2:]), arguments(registry)
        ),
        transactions=tuple(
            ClaimedTransaction(bytes.fromhex(row.mined_hash[2:]), row.mined_block)
            for row in transactions
            if row.mined_hash and row.mined_block is not None
        ),
    )
    _compare_with_what_was_read(queries, block, job)
    return block


def _named(queries: Sequence[Query]) -> list[int]:
    """Keys of their transactions, in the order in which they were sent."""
    named = {each.header_transaction_id for each in queries}
    named |= {each.account_transaction_id for each in queries}
    return sorted(each for each in named if each is not None)


def _compare_with_what_was_read(queries: Sequence[Query], block: BlockProof, job: BlockJob) -> None:
    """A block that was reorganised away since is not the one that the batch asked for."""
    proven = {_name(fact): fact.word.hex() for fact in block.facts}
    for query in queries:
        account = bytes.fromhex(query.account[2:])
        for name, word in query.words.items():
            if proven.get((account, "COINBASE" if name == "PROPOSER" else name)) != word:
                raise _unavailable(f"of {name}, as it was read back,", job, CHANGED)


def _name(fact: Fact) -> tuple[bytes, str]:
    """As a query's values are called."""
    if fact.kind is FactKind.BLOCK_AT_TIME:
        return b"", TIMESTAMP
    return fact.account or b"", fact.name.removeprefix("0x")


def _unavailable(what: str, job: BlockJob, why: str = THEIRS) -> Refusal:
    return Refusal(
        PROOF_UNAVAILABLE,
        f"The proof {what} at block {job.block:,} of chain {job.source} is not stored here: {why}",
    )
