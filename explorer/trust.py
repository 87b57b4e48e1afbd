"""How a registry learns its source's block hashes, in sentences for whoever is to rely on it."""

from explorer.page_links import PageLinks
from queries.routes import Registry, RegistryKind

EIP_2935_WINDOW = 8_191


def trust_of(registry: Registry, links: PageLinks) -> str:
    """Who must be trusted, beside the chains themselves."""
    destination = links.chain_name(registry.destination)
    if registry.kind is RegistryKind.NATIVE:
        return f"Nobody: the contract takes block hashes from {destination} itself."
    if registry.kind is RegistryKind.OPTIMISM:
        return (
            f"{destination} alone: its own L1Block contract tells the registry the hash of the "
            "newest L1 block."
        )
    signers = len(registry.signers)
    if signers == 1:
        return "One signer: what it signs for is taken as a block hash."
    return (
        f"{registry.threshold} of {signers} signers: what so many of them sign for is taken as "
        "a block hash. Fewer can forge nothing."
    )


def reach_of(registry: Registry, links: PageLinks) -> str:
    """How far back blocks can be proven."""
    chained = (
        f"Older ones chain back from a block that the registry knows, up to "
        f"{registry.longest_range:,} headers below it."
    )
    if registry.kind is RegistryKind.NATIVE:
        return f"The last {EIP_2935_WINDOW:,} blocks at any time. {chained}"
    if registry.kind is RegistryKind.OPTIMISM:
        source = links.chain_name(registry.source)
        return f"Blocks of {source} whose hash was recorded while it was the newest. {chained}"
    return f"Blocks that the signers have signed for. {chained}"
