"""Wait until the block is final, pin its header and its events, and notice reorgs of the source.

`transactions/destination_reorgs` handles reorgs of the destination.
"""

from collections import Counter
from dataclasses import replace

from django.db import transaction
from django.db.models import F

from queries.chain import (
    AnotherBlockAccumulatedError,
    BlockContent,
    ChainClient,
    ChainError,
    EventError,
    StateRootEmptyError,
)
from queries.database import stored_facts
from queries.database.clock import shared_now
from queries.database.handler import Wait
from queries.database.leases import recheck_pause
from queries.models import Batch, Query
from queries.planning.events import FoundEvent, find_mentions, set_events
from queries.prover.job_pass import JobPass
from queries.prover.outcomes import Reject
from queries.prover.tokens import store_tokens
from queries.proving import EMPTY_TRIE_ROOT, Header, block_leaf, decode_header
from queries.sources import EMPTY_WORD, Registry, RegistryReader
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import WaitCode


def pin_final_block(job_pass: JobPass) -> JobPass | Wait | Reject:
    """Return the pass with the block and the events of its queries, pinned once the block is final;
    or the outcome of this pass.

    If the state root is that of an empty trie, although a quorum of nodes proves accounts of the
    block, reject the queries of accounts.
    """
    header = _pin_final_header(job_pass)
    if not isinstance(header, Header):
        return header
    account_queries = [query for query in job_pass.queries if query.account]
    if header.state_root == EMPTY_TRIE_ROOT and account_queries:
        account = bytes.fromhex(account_queries[0].account[2:])
        try:
            job_pass.source.ask_quorum(_request_account_proof, header.hash, account)
        except StateRootEmptyError as error:
            return Reject.create(account_queries, Failure.from_error(error))
    return _store_events(replace(job_pass, pinned_content=BlockContent(job_pass.source, header)))


def _request_account_proof(node: ChainClient, block_hash: bytes, account: bytes) -> None:
    node.account_proofs(node.header_by_hash(block_hash), [(account, ())])


def _pin_final_header(job_pass: JobPass) -> Header | Wait | Reject:
    """Return the block's header, pinned once it is final; or the outcome of this pass.

    After a failure the header is read again, because the source may have replaced the block.
    """
    job = job_pass.job
    pinned_header = decode_header(job.header) if job.header else None
    if pinned_header is None or job.failures:
        head = job_pass.context.provable_head(job_pass.registry)
        if reason := head.wait_reason(job.block):
            if any(query.batch.not_final_since is None for query in job_pass.queries):
                job_pass.findings.not_final_since = shared_now()
            last_submitted_at = max(query.batch.submitted_at for query in job_pass.queries)
            return Wait(reason, recheck_pause(last_submitted_at, job_pass.limits))
        header = job_pass.source.header(job.block)
        if pinned_header is None or header.hash != pinned_header.hash:
            if pinned_header:
                # An accumulated header stays, because other facts were proven from it.
                (leaf,) = job_pass.registry_reader.leaves([header.number])
                if leaf == block_leaf(pinned_header):
                    return resolve_conflict(job_pass, header)
            pinned_header = job_pass.pin(header)
    return pinned_header


def _store_events(job_pass: JobPass) -> JobPass | Reject:
    """Find and store the events of the queries, once for each pinned header.

    Returns a `Reject` for a query if one of its events cannot be proven. Leaves out queries for
    which no node answers; raises the `ChainError` if none is left.
    """
    content, updated_queries, events = job_pass.content, list[Query](), dict[str, FoundEvent]()
    block_hash = content.header.hash.hex()
    errors, count_changes = dict[int, ChainError](), Counter[str]()
    for query in job_pass.queries:
        if query.event_request is None or query.events_block_hash == block_hash:
            continue
        earlier_count = query.event_count
        try:
            events |= set_events(content, [query])
        except EventError as error:
            return Reject.create([query], Failure.from_error(error))
        except ChainError as error:
            errors[query.pk] = error
        else:
            query.events_block_hash = block_hash
            updated_queries.append(query)
            count_changes[query.batch_id] += query.event_count - earlier_count
    mentions = find_mentions(content, events.values())
    tokens = store_tokens(job_pass.source, events.values())
    with transaction.atomic():
        # Until now a filter counted as one fact. Batches are locked before queries.
        for batch_id, change in sorted(count_changes.items()):
            counts = {name: F(name) + change for name in ("event_count", "fact_count")}
            Batch.objects.filter(pk=batch_id).update(**counts)
        job_pass.lease.extend()  # fails if another worker has the job now
        columns = ["event_names", "events_block_hash", "event_count"]
        Query.objects.bulk_update(updated_queries, columns)
        stored_facts.add(updated_queries, events, tokens)
        stored_facts.set_mentions(job_pass.job, mentions)
    queries = [query for query in job_pass.queries if query.pk not in errors]
    if not queries:
        raise next(iter(errors.values()))
    return replace(job_pass, queries=queries)


def resolve_conflict(job_pass: JobPass, header: Header) -> Wait | Reject:
    """Find out, by quorum, whether the registry holds another header than the source.

    Returns a `Reject` if it does. Otherwise returns a wait, and pins the source's header if the
    registry holds that one.
    """

    def read_confirmed_leaf(node: ChainClient, registry: Registry, number: int) -> bytes:
        destination_block = node.confirmed_block(job_pass.destination_head.number)
        return RegistryReader(node, registry).leaves([number], destination_block)[0]

    number, destination = header.number, job_pass.destination
    leaf = destination.ask_quorum(read_confirmed_leaf, job_pass.registry, number)
    if leaf in {EMPTY_WORD, block_leaf(header)}:
        return job_pass.retry(WaitCode.REGISTRY_CONFLICT.reason)
    quorum_header = job_pass.source.ask_quorum(ChainClient.header, number)
    if block_leaf(quorum_header) == leaf:
        job_pass.pin(quorum_header)
        return Wait(WaitCode.REGISTRY_CONFLICT.reason)
    error = AnotherBlockAccumulatedError.create(
        destination.chain.name, detail=f": block {number:,}"
    )
    return job_pass.reject(Failure.from_error(error, StepName.HEADER_ACCUMULATED))
