"""`tacitus verify_proof`: verifies a proof file, offline by default."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from eth_utils.address import to_checksum_address

from queries.chain import BlockUnknownError, ChainClient, ChainError
from queries.client.python.errors import NotProvenError, TacitusError
from queries.client.python.proofs import block_name, report_lines, trust_reasons
from queries.contracts.create2 import verifier_address
from queries.management.base import (
    add_bundle_arguments,
    add_url_argument,
    node_chain,
    read_bundle,
    url_host,
)
from queries.proving import BlockProof, Bundle
from queries.sources import KINDS, has_derived_address, registry_with_arguments


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
    claim, address = block.registry, to_checksum_address(block.registry.address)
    subject = f"the {claim.kind} registry {address}"
    try:
        registry = registry_with_arguments(
            KINDS[claim.kind], block.chain, block.destination, address, claim.arguments
        )
    except ValueError:
        registry = None
    if registry is None or not has_derived_address(registry) or registry.source != block.chain:
        return f"  that {subject} has no planted facts: it is unverifiable"
    if differences := "; ".join(registry.differences or ()):
        return f"  that {subject} has no false facts: it is not genuine, because {differences}"
    line = f"  whether {subject} is deployed; its address proves its code"
    return f"{line},\n    and {registry.assumption}" if registry.assumption else line


def _caveats(bundle: Bundle) -> Iterator[str]:
    yield from sorted({_registry_assumption(block) for block in bundle.blocks})
    with_events = {block.registry.address for block in bundle.blocks if block.events}
    for verifier in sorted(map(verifier_address, map(to_checksum_address, with_events))):
        yield f"  whether the events verifier {verifier} is deployed; its address proves its code"
    yield "tacitus publish_proof checks the registry and sends the facts that it lacks."
