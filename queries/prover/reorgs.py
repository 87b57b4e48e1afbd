"""Reorgs of the source: a block is replaced before or after a registry accumulates it.

`transactions/destination_reorgs` has those of the destination.
"""

from queries.chain.client import ChainClient
from queries.chain.errors import AnotherBlockAccumulatedError
from queries.chain.registry import EMPTY_WORD, RegistryFacts
from queries.config.registries import Registry
from queries.database.leases import Outcome, Snooze
from queries.prover.context import JobPass
from queries.proving.headers import Header
from queries.proving.registry_calls import block_leaf
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import WaitCode


def replace_header(job_pass: JobPass, stored_header: Header, header: Header) -> Header | Outcome:
    """Return the header that the source has now, stored instead of the other one if they differ.

    If the other one is accumulated, return the outcome of this pass instead.
    """
    if header.hash == stored_header.hash:
        return header
    # An accumulated header stays, because other facts were proven from it.
    if job_pass.facts.leaves([header.number]) == [block_leaf(stored_header)]:
        return resolve_conflict(job_pass, header)
    return store_header(job_pass, header)


def resolve_conflict(job_pass: JobPass, header: Header) -> Outcome:
    """Reject if, by quorum, the registry holds another header of the block."""
    number, registry = header.number, job_pass.registry

    destination = job_pass.destination
    leaf = destination.ask_quorum(_read_deep_leaf, registry, number, job_pass=job_pass)
    if leaf in {EMPTY_WORD, block_leaf(header)}:
        return job_pass.retry(WaitCode.REGISTRY_CONFLICT.reason)
    quorum_header = job_pass.source.ask_quorum(ChainClient.header, number)
    if block_leaf(quorum_header) == leaf:
        store_header(job_pass, quorum_header)
        return Snooze(WaitCode.REGISTRY_CONFLICT.reason)
    error = AnotherBlockAccumulatedError.create(destination.chain.name, why=f": block {number:,}")
    step = StepName.HEADER_ACCUMULATED
    return job_pass.reject(Failure(error.code, error.sentence, step, retryable=False))


def _read_deep_leaf(
    node: ChainClient, registry: Registry, number: int, *, job_pass: JobPass
) -> bytes:
    return RegistryFacts(node, registry).leaves([number], job_pass.deep_block(node))[0]


def store_header(job_pass: JobPass, header: Header) -> Header:
    job = job_pass.job
    job.header, job.block_hash = header.encoded, header.hash.hex()
    job_pass.lease.owned_rows().update(header=job.header, block_hash=job.block_hash)
    return header
