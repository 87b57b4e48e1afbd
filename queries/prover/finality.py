"""Wait until the block is final, and pin its header."""

from dataclasses import replace

from queries.chain.client import ChainClient
from queries.chain.errors import StateRootEmptyError
from queries.database.leases import Outcome, Snooze, recheck_pause
from queries.prover.context import JobPass
from queries.prover.reorgs import replace_header, store_header
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import EMPTY_TRIE_ROOT
from queries.statuses import StepName
from queries.transitions import Failure


def pin_final_header(job_pass: JobPass) -> Header | Outcome:
    """Return the block's header, stored once it is final; or the outcome of this pass.

    After a failure it is read again, because the source may have replaced it.
    """
    job = job_pass.job
    stored_header = decode_header(job.header) if job.header else None
    if stored_header and not job.failures:
        return _check_state_root(job_pass, stored_header)
    head = job_pass.context.provable_head(job_pass.registry)
    if reason := head.wait_reason(job.block):
        last_submitted = max(query.batch.submitted_at for query in job_pass.queries)
        return Snooze(reason, recheck_pause(last_submitted, job_pass.limits))
    header = job_pass.source.header(job.block)
    if stored_header is None:
        return _check_state_root(job_pass, store_header(job_pass, header))
    result = replace_header(job_pass, stored_header, header)
    return _check_state_root(job_pass, result) if isinstance(result, Header) else result


def _check_state_root(job_pass: JobPass, header: Header) -> Header | Outcome:
    """Return the header. Reject, by quorum, if its state root lacks the accounts of the block."""
    queries = [query for query in job_pass.queries if query.account]
    if header.state_root != EMPTY_TRIE_ROOT or not queries:
        return header
    account = bytes.fromhex(queries[0].account[2:])
    try:
        job_pass.source.ask_quorum(_prove_account, header.hash, account)
    except StateRootEmptyError as error:
        failure = Failure(error.code, error.sentence, StepName.INITIAL_STATE, retryable=False)
        return replace(job_pass, queries=queries).reject(failure)
    return header


def _prove_account(node: ChainClient, block_hash: bytes, account: bytes) -> None:
    node.account_proofs(node.header_by_hash(block_hash), [(account, ())])
