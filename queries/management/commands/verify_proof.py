"""`manage.py verify_proof`: verifies a proof file, offline by default."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from eth_utils.address import to_checksum_address

from queries.chain.client import ChainClient
from queries.chain.errors import BlockUnknownError, ChainError
from queries.client.python.errors import NotProvenError, TacitusError
from queries.client.python.proofs import block_name, report_lines, trust_reasons
from queries.config.registries import (
    Registry,
    RegistryKind,
    has_derived_address,
    registry_with_arguments,
    verifier_address,
)
from queries.management.base import (
    add_bundle_arguments,
    add_url_argument,
    node_chain,
    read_bundle,
    url_host,
)
from queries.proving.beacon_chains import COMPARE_YOURSELF
from queries.proving.bundles import BlockProof, Bundle


class Command(BaseCommand):
    help = (
        "Verifies a batch's proof without a database, and without a network unless --node is "
        "given. Prints the facts and the hashes that it relies on."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_bundle_arguments(parser)
        parser.add_argument(
            "--hash",
            action="append",
            default=[],
            metavar="0x…",
            help="a block hash that you trust; once for each block",
        )
        add_url_argument(parser, "node", "to ask for block hashes", action="append", default=[])

    def handle(self, **options: Any) -> None:
        bundle = read_bundle(options["file"], options["max_mib"])
        try:
            ask_nodes = partial(_node_origins, nodes=_source_nodes(bundle, options["node"]))
            advice = "; or name a node of that chain with --node URL"
            reasons = trust_reasons(bundle, options["hash"], ask_nodes, advice)
        except ChainError as error:
            raise CommandError(f"Nothing is proven. {error.sentence}") from None
        except TacitusError as error:
            raise CommandError(error.sentence) from None
        for line in report_lines(bundle, reasons, _caveats(bundle)):
            self.stdout.write(line)


SourceNodes = Sequence[tuple[str, ChainClient]]  # the host, and the chain


def _source_nodes(bundle: Bundle, urls: Sequence[str]) -> SourceNodes:
    nodes = [(url_host(url), ChainClient(node_chain(url))) for url in urls]
    for host, source in nodes:
        if source.chain.id not in {block.chain for block in bundle.blocks}:
            raise CommandError(f"The node at {host} is of another chain, {source.chain.id}.")
    return nodes


def _node_origins(block: BlockProof, nodes: SourceNodes) -> Iterator[str]:
    """Describe the nodes that confirm the hash. Raises NotProvenError if one contradicts it."""
    header, name = block.trusted_header, block_name(block)
    for host, source in nodes:
        if source.chain.id != block.chain:
            continue
        try:
            node_hash = source.header(header.number).hash
        except BlockUnknownError:
            sentence = f"Nothing is proven. The node at {host} does not know {name}."
            raise NotProvenError(sentence) from None
        if node_hash != header.hash:
            raise NotProvenError(
                f"Nothing is proven. The node at {host} says that {name} has the hash "
                f"0x{node_hash.hex()}, but the proof has 0x{header.hash.hex()}."
            )
        yield f"the node at {host} gives"


def _registry_assumption(block: BlockProof) -> str:
    kind, address = RegistryKind(block.registry.kind), to_checksum_address(block.registry.address)
    claimed_registry = Registry(kind, block.chain, block.destination, address)
    try:
        registry = registry_with_arguments(claimed_registry, block.registry.arguments)
    except ValueError:
        registry = replace(claimed_registry, address="")
    if not has_derived_address(registry) or registry.source != block.chain:
        return f"  that the {kind} registry {address} has no planted facts: it is unverifiable"
    if differences := "; ".join(registry.beacon_differences or ()):
        line = f"  that the {kind} registry {address} has no false facts"
        return f"{line}: it is not genuine, because {differences}"
    line = f"  whether the {kind} registry {address} is deployed; its address proves its code"
    signers = f"{registry.threshold} of {', '.join(registry.signers)}"
    checkpoint = f"its checkpoint 0x{registry.checkpoint.hex()} is a block of the true beacon chain"
    comparison = "its genesis, slot length, forks and maximum age are those of the known one"
    if registry.beacon_differences is None:
        comparison = COMPARE_YOURSELF
    further = {
        RegistryKind.OPTIMISM: f"that the L1 of chain {block.destination} is chain {block.chain}",
        RegistryKind.OUTPUT: f"that it asks the portal {registry.portal} about valid games",
        RegistryKind.ARBITRUM: f"that it asks the outbox {registry.outbox} for confirmed blocks",
        RegistryKind.BEACON: f"that {checkpoint}\n    ({comparison})",
        RegistryKind.ATTESTED: f"that these must sign: {signers}",
    }
    return f"{line},\n    and {further[kind]}" if kind in further else line


def _caveats(bundle: Bundle) -> Iterator[str]:
    yield from sorted({_registry_assumption(block) for block in bundle.blocks})
    with_events = {block.registry.address for block in bundle.blocks if block.events}
    for verifier in sorted(map(verifier_address, map(to_checksum_address, with_events))):
        yield f"  whether the events verifier {verifier} is deployed; its address proves its code"
    yield "manage.py publish_proof checks the registry and sends the facts that it lacks."
