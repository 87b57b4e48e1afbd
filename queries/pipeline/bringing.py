"""The call by which a registry on another chain learns a hash at or above a block."""

from collections import defaultdict

from queries.chain.attestation_signatures import RECORD_HASH, attest_call
from queries.chain.registry_facts import UNKNOWN, RegistryFacts
from queries.models import Attestation
from queries.pipeline.joining import Call
from queries.routes import Registry, RegistryKind


def bringing(registry: Registry, facts: RegistryFacts, first: int) -> Call | None:
    """None where there is nothing to bring yet."""
    if registry.kind is RegistryKind.ATTESTED:
        return _attested(registry, first)
    return recording(registry, facts, first)


def recording(registry: Registry, facts: RegistryFacts, first: int) -> Call | None:
    """What anyone can have it learn: the L1's hash that an OP-stack chain holds now."""
    if registry.kind is not RegistryKind.OPTIMISM:
        return None
    number, block_hash = facts.newest_l1_block()
    known = block_hash != UNKNOWN and first <= number <= first + registry.longest_range
    return Call(RECORD_HASH) if known else None


def _attested(registry: Registry, first: int) -> Call | None:
    """Of the blocks that enough signers agree on, the nearest."""
    rows = Attestation.objects.filter(
        source=registry.source,
        destination=registry.destination,
        registry=registry.address,
        block__gte=first,
        block__lte=first + registry.longest_range,
        signer__in=registry.signers,
    )
    words: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for row in rows.order_by("block", "block_hash"):
        words[row.block, row.block_hash][row.signer] = row.signature
    for (block, block_hash), by_signer in words.items():
        if len(by_signer) >= registry.threshold:
            ordered = sorted(by_signer, key=lambda signer: int(signer, 16))
            signatures = [bytes.fromhex(by_signer[signer]) for signer in ordered]
            return Call(attest_call(block, bytes.fromhex(block_hash), signatures))
    return None
