"""Who vouched for the block hashes of a batch, or who has to."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.pages.links import PageLinks
from queries.proving import SYNC_COMMITTEE_SIZE
from queries.reading import (
    BatchView,
    FactProof,
    Progress,
    VouchedHash,
    awaited_blocks,
    missing_signers,
    read_vouchers,
)
from queries.sources import AttestedRegistry, BeaconRegistry, Registry, RollupRegistry
from queries.statuses import StepName
from queries.wait_reasons import WaitCode

MAX_HASHES = 3  # that are listed


@dataclass(frozen=True, slots=True)
class AwaitedSigner:
    address: str
    has_signed: bool


@dataclass(frozen=True, slots=True)
class Vouching:
    """Who vouched for the hashes of a route's blocks."""

    hashes: tuple[VouchedHash, ...]
    awaited: str  # whose word is still to come; empty if no one's
    awaited_signers: tuple[AwaitedSigner, ...]  # of an attested registry
    sentence: str  # of the route, if nothing else is known

    @property
    def first_hashes(self) -> tuple[VouchedHash, ...]:
        return self.hashes[:MAX_HASHES]

    @property
    def more_hashes(self) -> int:
        return len(self.hashes[MAX_HASHES:])

    @property
    def committee_size(self) -> int:
        return SYNC_COMMITTEE_SIZE


def read_vouching(
    batch: BatchView,
    progress: Progress,
    registry: Registry,
    links: PageLinks,
    proof: FactProof | None,
) -> Vouching:
    """`proof`: of the batch's only fact, if there is one."""
    step = next(step for step in progress.steps if step.name is StepName.BLOCKHASH_AVAILABLE)
    is_awaited = not (batch.ended_at or step.completed_at)
    hashes = read_vouchers(batch, registry) if step.completed_count else ()
    sentence = "No one: it ended before a block hash was needed."
    if step.completed_count or is_awaited:
        names = links.chain_name(registry.source), links.chain_name(registry.destination)
        sentence = registry.trust_sentence(*names)
    if step.completed_count and proof and not proof.hops:
        block = proof.block + len(proof.later_headers)
        sentence += f" The proof begins with the hash of block {block:,}."
    return Vouching(
        hashes,
        _awaited(registry) if is_awaited else "",
        tuple(_awaited_signers(batch, registry)) if is_awaited else (),
        sentence,
    )


def _awaited(registry: Registry) -> str:
    if isinstance(registry, AttestedRegistry):
        return f"{registry.threshold} of these must sign"
    if isinstance(registry, BeaconRegistry):
        period = int(time.time() - registry.genesis_time) // registry.period_seconds
        return f"the sync committee of period {period:,} has to sign"
    if isinstance(registry, RollupRegistry):
        return f"{registry.claim[0].lower()}{registry.claim[1:]} has to cover the block"
    return ""


def _awaited_signers(batch: BatchView, registry: Registry) -> Sequence[AwaitedSigner]:
    """The signers of the registry. Those have signed who attested the block that is waited for."""
    if not isinstance(registry, AttestedRegistry):
        return ()
    missing: Sequence[str] = registry.signers
    if batch.waits_for and batch.waits_for.code == WaitCode.NOT_ATTESTED:
        block = awaited_blocks([batch.id]).get(batch.id)
        if block and block.number is not None and block.source == registry.source:
            missing = missing_signers(registry, block.number)
    return [AwaitedSigner(signer, signer not in missing) for signer in registry.signers]
