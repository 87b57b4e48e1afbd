"""The newest block that can be proven, for readers who leave the block to a gateway (ERC-3668)."""

from queries.chain.registry import RegistryFacts
from queries.config.registries import Registry, RegistryKind
from queries.models import Attestation, BlockJob
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvableError

# A contract knows the hashes of blocks before its own, and the caller's next call may reach a node
# that is a few blocks behind.
NATIVE_LAG = 4


def recent_block(chains: ChainReaders, registry: Registry, seen: int) -> tuple[int, int | None]:
    """The newest source block that can be proven to a node which has seen block `seen` of the
    destination, and the L1 block that an OP-stack chain sees there, if it is one.

    Raises `NotProvableError` or `ChainError`.
    """
    final = chains.provable_head(registry).final_number
    if registry.kind is RegistryKind.NATIVE:
        return max(min(seen - NATIVE_LAG, final), 0), None
    facts = chains.facts(registry)
    if registry.kind is RegistryKind.OPTIMISM:
        head = chains.latest(registry.destination).number
        l1_block, _ = facts.latest_l1_block(min(seen, head))
        return min(l1_block, final), l1_block
    return _newest_known(facts, registry, final, chains.limits.max_batch_calls), None


def _newest_known(facts: RegistryFacts, registry: Registry, final: int, limit: int) -> int:
    """The newest block that signers have attested, or that this server has accumulated."""
    route = {"source": registry.source, "destination": registry.destination, "block__lte": final}
    jobs = BlockJob.objects.filter(**route).exclude(header=b"")
    attested = Attestation.objects.filter(**route, registry=registry.address)
    blocks = {
        block
        for rows in (jobs, attested)
        for block in rows.order_by("-block").values_list("block", flat=True)[:limit]
    }
    known = facts.anchor_blocks(sorted(blocks))
    if not known:
        raise NotProvableError("The registry knows no block yet. Submit a batch first.")
    return max(known)
