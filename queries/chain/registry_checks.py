"""Whether a registry is the contract that it should be, and can learn the hashes that it needs."""

from eth_abi.abi import decode

from queries.chain.destination import Destination
from queries.chain.errors import BlockUnknown
from queries.chain.own_hashes import OwnHashes, own_hashes
from queries.chain.registry_code import built_in_words
from queries.chain.registry_facts import L1_BLOCK, RegistryFacts
from queries.chain.registry_reads import call_data
from queries.chain.source import SourceChain
from queries.routes import Registry, RegistryKind

ATTEST = "Take an attested one."
DEPLOY = "Deploy one with manage.py deploy_registry."


class NotOk(Exception):  # noqa: N818
    """What is wrong, and what to do."""


def check_registry(registry: Registry, source: SourceChain, destination: Destination) -> str:
    """What is there, where all is right."""
    code = destination.code(registry.address)
    if not code:
        raise NotOk(f"There is no contract at {registry.address}. {DEPLOY}")
    words = built_in_words(registry.kind, code)
    if words is None:
        raise NotOk(
            f"The contract at {registry.address} is not this version's {registry.kind} registry. "
            + DEPLOY
        )
    if registry.kind is RegistryKind.NATIVE:
        return _native(destination)
    if registry.kind is RegistryKind.OPTIMISM:
        return _optimism(registry, source, destination)
    return _attested(registry, words, destination)


def _native(destination: Destination) -> str:
    hashes = own_hashes(destination)
    if hashes is OwnHashes.NO_BLOCKS_YET:
        raise NotOk("The chain has no blocks yet. Wait for its first one.")
    if hashes is OwnHashes.NONE:
        raise NotOk(
            "Contracts on this chain do not see its own block hashes, so a native registry knows "
            f"none. {ATTEST}"
        )
    if hashes is OwnHashes.RECENT:
        return "code as built; sees 256 blocks (the chain has no history contract, EIP-2935)"
    return "code as built; sees 8191 blocks"


def _optimism(registry: Registry, source: SourceChain, destination: Destination) -> str:
    if not destination.code(L1_BLOCK):
        raise NotOk(
            f"The chain has no L1Block contract at {L1_BLOCK}: it is no OP-stack chain. {ATTEST}"
        )
    number, block_hash = RegistryFacts(destination, registry).newest_l1_block()
    try:
        same = source.header(number).hash == block_hash
    except BlockUnknown:
        same = False
    if not same:
        raise NotOk(
            f"The L1 that the chain sees has another block {number:,} than {source.chain.name}, "
            "or further ones. Correct `source`, or look whether its nodes keep up."
        )
    return f"code as built; sees {source.chain.name} up to block {number:,}"


def _attested(registry: Registry, words: set[int], destination: Destination) -> str:
    """Source and threshold stand in the code itself; who signs is asked."""
    if registry.source not in words:
        raise NotOk(f"It keeps the facts of another chain than {registry.source}. {DEPLOY}")
    calls = [call_data("threshold()"), call_data("signers()")]
    threshold, signers = destination.call_many(registry.address, calls)
    if not isinstance(threshold, bytes) or not isinstance(signers, bytes):
        raise NotOk("It does not tell its signers.")
    (addresses,) = decode(["address[]"], signers)
    needed = int.from_bytes(threshold, "big")
    named = sorted(each.lower() for each in registry.signers)
    if sorted(addresses) != named or needed != registry.threshold:
        raise NotOk(
            f"ROUTES_FILE names other signers or another threshold than the registry has: {needed} "
            f"of {', '.join(addresses)}."
        )
    return f"code as built; {needed} of {len(addresses)} signers must agree"
