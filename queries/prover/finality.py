"""Wait until the block is final, pin its header, and notice reorgs of the source.

`transactions/destination_reorgs` handles reorgs of the destination.
"""

from queries.chain.client import ChainClient
from queries.chain.errors import AnotherBlockAccumulatedError, StateRootEmptyError
from queries.chain.registry import EMPTY_WORD, RegistryReader
from queries.config.registries import Registry
from queries.database.leases import Snooze, Wait, recheck_pause
from queries.prover.context import JobPass, Reject
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import EMPTY_TRIE_ROOT
from queries.proving.registry_calls import block_leaf
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import WaitCode


def pin_final_header(job_pass: JobPass) -> Header | Wait | Reject:
    """Return the block's header, pinned once it is final; or the outcome of this pass.

    After a failure the header is read again, because the source may have replaced the block.
    """
    job = job_pass.job
    pinned_header = decode_header(job.header) if job.header else None
    if pinned_header is None or job.failures:
        head = job_pass.context.provable_head(job_pass.registry)
        if reason := head.wait_reason(job.block):
            last_submitted_at = max(query.batch.submitted_at for query in job_pass.queries)
            return Snooze(reason, recheck_pause(last_submitted_at, job_pass.limits))
        header = job_pass.source.header(job.block)
        if pinned_header is None or header.hash != pinned_header.hash:
            if pinned_header:
                # An accumulated header stays, because other facts were proven from it.
                (leaf,) = job_pass.registry_reader.leaves([header.number])
                if leaf == block_leaf(pinned_header):
                    return resolve_conflict(job_pass, header)
            pinned_header = job_pass.pin(header)
    return _check_state_root(job_pass, pinned_header)


def _check_state_root(job_pass: JobPass, header: Header) -> Header | Reject:
    """Return the header. If its state root is that of an empty trie, although a quorum of nodes
    proves accounts of the block, reject the queries of accounts.
    """
    queries = [query for query in job_pass.queries if query.account]
    if header.state_root != EMPTY_TRIE_ROOT or not queries:
        return header

    def request_account_proof(node: ChainClient, block_hash: bytes, account: bytes) -> None:
        node.account_proofs(node.header_by_hash(block_hash), [(account, ())])

    try:
        account = bytes.fromhex(queries[0].account[2:])
        job_pass.source.ask_quorum(request_account_proof, header.hash, account)
    except StateRootEmptyError as error:
        return Reject.create(queries, Failure.from_error(error))
    return header


def resolve_conflict(job_pass: JobPass, header: Header) -> Wait | Reject:
    """Find out, by quorum, whether the registry holds another header than the source.

    Returns a `Reject` if it does. Otherwise returns a wait, and pins the source's header if the
    registry holds that one.
    """

    def read_confirmed_leaf(node: ChainClient, registry: Registry, number: int) -> bytes:
        return RegistryReader(node, registry).leaves([number], job_pass.confirmed_block(node))[0]

    number, destination = header.number, job_pass.destination
    leaf = destination.ask_quorum(read_confirmed_leaf, job_pass.registry, number)
    if leaf in {EMPTY_WORD, block_leaf(header)}:
        return job_pass.retry(WaitCode.REGISTRY_CONFLICT.reason)
    quorum_header = job_pass.source.ask_quorum(ChainClient.header, number)
    if block_leaf(quorum_header) == leaf:
        job_pass.pin(quorum_header)
        return Snooze(WaitCode.REGISTRY_CONFLICT.reason)
    error = AnotherBlockAccumulatedError.create(
        destination.chain.name, detail=f": block {number:,}"
    )
    return job_pass.reject(Failure.from_error(error, StepName.HEADER_ACCUMULATED))
