"""Whom a reader of a registry trusts, besides its two chains: a mark, and its sentence."""

from dataclasses import dataclass

from explorer.pages.links import PageLinks
from queries.config.registries import Registry, RegistryKind

_MARKS = {
    RegistryKind.NATIVE: "trusts nobody",
    RegistryKind.OPTIMISM: "trusts the OP chain",
    RegistryKind.OUTPUT: "trusts its dispute games",
}
_SENTENCES = {
    RegistryKind.NATIVE: "No one: the contract reads block hashes from {destination} itself.",
    RegistryKind.OPTIMISM: (
        "{destination} alone: its own L1Block contract gives the registry the hash of the newest "
        "L1 block."
    ),
    RegistryKind.OUTPUT: (
        "What withdrawals from {source} rest on: its dispute games, its guardian, and those who "
        "may upgrade its contracts."
    ),
}


@dataclass(frozen=True, slots=True)
class Trust:
    kind: str
    mark: str  # a few words, the same on every page
    sentence: str


def trust(registry: Registry, links: PageLinks) -> Trust:
    if registry.kind is RegistryKind.ATTESTED:
        signers = len(registry.signers)
        mark = f"{registry.threshold} of {signers} signers" if signers > 1 else "one signer"
        sentence = (
            f"{registry.threshold} of {signers} signers: the registry accepts a block hash that "
            "this many have signed. Fewer cannot forge one."
            if signers > 1
            else "One signer: the registry accepts any block hash that it signs."
        )
        return Trust(registry.kind, mark, sentence)
    source, destination = map(links.chain_name, (registry.source, registry.destination))
    sentence = _SENTENCES[registry.kind].format(source=source, destination=destination)
    return Trust(registry.kind, _MARKS[registry.kind], sentence)
