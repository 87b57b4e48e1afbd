"""Whom a reader of a registry trusts, besides its two chains."""

from queries.config.registries import Registry, RegistryKind

_TRUST = {
    RegistryKind.NATIVE: "trusts nobody",
    RegistryKind.OPTIMISM: "trusts the OP chain",
    RegistryKind.OUTPUT: "trusts its dispute games",
}


def trust(registry: Registry) -> str:
    """A few words, the same on every page; `parts/trust_sentence.html` has the sentence."""
    if registry.kind is not RegistryKind.ATTESTED:
        return _TRUST[registry.kind]
    signers = len(registry.signers)
    return f"{registry.threshold} of {signers} signers" if signers > 1 else "one signer"
