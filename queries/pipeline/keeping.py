"""The proof of facts that others proved before us, kept while the source still has it.

What we prove ourselves is kept as the transactions that are sent; see `shown_calls`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from queries.chain.errors import BlockUnknown
from queries.chain.registry_facts import FactRead
from queries.chain.source import SourceChain, nothing
from queries.models import BlockJob
from queries.pipeline.truth import TOO_OLD
from queries.pipeline.wanted import Missing, missing
from queries.proving.account_proofs import AccountProof
from queries.proving.headers import Header
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountRequest
from queries.shown_calls import not_shown, shown_of


def call_to_keep(  # noqa: PLR0913, PLR0917  (what there is to keep, and by whom)
    job: BlockJob,
    source: SourceChain,
    header: Header,
    reads: Collection[FactRead],
    fetched: Sequence[AccountProof],
    meanwhile: Callable[[], object] = nothing,
) -> bytes | None:
    """What would prove those of the facts that no call of ours shows; None where there are none.

    `fetched` are proofs at hand. What the source no longer proves is left out.
    """
    if not reads:
        return None
    lacking = missing(not_shown(header, reads, shown_of(job, reads, meanwhile)))
    if not lacking:
        return None
    proofs = _proofs(source, header, lacking, fetched, meanwhile)
    requests = [AccountRequest(proof, frozenset()) for proof in proofs]
    child = _child(source, header) if lacking.timestamps else None
    if not requests and child is None:
        return None
    step = HeaderStep(header, build_witness(requests) if requests else b"")
    return prove_call([headers_section([step, *([HeaderStep(child)] if child else [])])])


def _proofs(
    source: SourceChain,
    header: Header,
    lacking: Missing,
    fetched: Sequence[AccountProof],
    meanwhile: Callable[[], object],
) -> list[AccountProof]:
    known = {proof.address: proof for proof in fetched}
    found, unknown = list[AccountProof](), list[tuple[bytes, Sequence[int]]]()
    for account, (_, slots) in lacking.accounts.items():
        values = {each.slot: each for each in known[account].slots} if account in known else {}
        if account in known and set(slots) <= set(values):
            found.append(replace(known[account], slots=tuple(values[slot] for slot in slots)))
        else:
            unknown.append((account, slots))
    try:
        return found + (source.account_proofs(header, unknown, meanwhile) if unknown else [])
    except TOO_OLD:
        return found


def _child(source: SourceChain, header: Header) -> Header | None:
    try:
        child = source.header(header.number + 1)
    except BlockUnknown:
        return None
    return child if child.parent_hash == header.hash else None
