"""`manage.py verify_proof`: verifies a proof file, offline by default."""

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from eth_utils.address import to_checksum_address

from accounts.shared.wording import format_count
from queries.chain.client import ChainClient
from queries.chain.errors import BlockUnknownError, ChainError
from queries.config.registries import (
    Registry,
    RegistryKind,
    proves_its_code,
    registry_with_arguments,
    verifier_address,
)
from queries.management.base import add_url_argument, node_chain, url_host
from queries.management.bundle_files import add_bundle_arguments, read_bundle
from queries.management.proof_text import block_lines
from queries.proving.bundles import BlockProof, Bundle

BLOCK_HASH = re.compile("0x[0-9a-fA-F]{64}")


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
        hashes = [_parse_hash(text) for text in options["hash"]]
        _check_hashes(bundle, hashes)
        try:
            nodes = _source_nodes(bundle, options["node"])
            reasons = [_trust_reason(block, hashes, nodes) for block in bundle.blocks]
        except ChainError as error:
            raise CommandError(f"Nothing is proven. {error.sentence}") from None
        for line in _report(bundle, reasons):
            self.stdout.write(line)


def _parse_hash(text: str) -> bytes:
    if not BLOCK_HASH.fullmatch(text):
        raise CommandError("--hash takes a block's hash: 0x and 64 hex digits.")
    return bytes.fromhex(text[2:])


def _check_hashes(bundle: Bundle, hashes: Sequence[bytes]) -> None:
    """Refuse a hash that the proof does not rely on, or that two of its chains share."""
    trusted = {block.trusted_header.hash for block in bundle.blocks}
    parents = {block.header.hash: block for block in bundle.blocks if block.next_header}
    for hash_ in hashes:
        if hash_ in parents and hash_ not in trusted:
            block = parents[hash_]
            raise CommandError(
                f"0x{hash_.hex()} is block {block.header.number:,}. Give the hash of block "
                f"{block.trusted_header.number:,}, which shows that it was the last at that time."
            )
        if hash_ not in trusted:
            raise CommandError(f"Nothing is proven. The proof has no block 0x{hash_.hex()}.")
        blocks = [block for block in bundle.blocks if block.trusted_header.hash == hash_]
        if len(chains := sorted({block.chain for block in blocks})) > 1:
            raise CommandError(
                f"Nothing is proven. Chains {' and '.join(map(str, chains))} of the proof share "
                f"the block hash 0x{hash_.hex()}: name a node of each with --node URL."
            )


SourceNodes = Sequence[tuple[str, ChainClient]]  # the host, and the chain


def _source_nodes(bundle: Bundle, urls: Sequence[str]) -> SourceNodes:
    nodes = [(url_host(url), ChainClient(node_chain(url))) for url in urls]
    for host, source in nodes:
        if source.chain.id not in {block.chain for block in bundle.blocks}:
            raise CommandError(f"The node at {host} is of another chain, {source.chain.id}.")
    return nodes


def _trust_reason(block: BlockProof, hashes: Sequence[bytes], nodes: SourceNodes) -> str:
    """Return why the block hash that the facts rely on can be trusted."""
    header, origins = block.trusted_header, []
    block_name = f"block {header.number:,} of chain {block.chain}"
    if header.hash in hashes:
        origins.append("you gave")
    for host, source in nodes:
        if source.chain.id != block.chain:
            continue
        try:
            node_hash = source.header(header.number).hash
        except BlockUnknownError:
            sentence = f"Nothing is proven. The node at {host} does not know {block_name}."
            raise CommandError(sentence) from None
        if node_hash != header.hash:
            raise CommandError(
                f"Nothing is proven. The node at {host} says that {block_name} has the hash "
                f"0x{node_hash.hex()}, but the proof has 0x{header.hash.hex()}."
            )
        origins.append(f"the node at {host} gives")
    if not origins:
        raise CommandError(
            f"Nothing is proven yet: the facts are true if {block_name} has the hash "
            f"0x{header.hash.hex()}. Look it up where you trust it, and give it with --hash 0x…; "
            "or name a node of that chain with --node URL."
        )
    return f"that {block_name} has the hash 0x{header.hash.hex()}, which {' and '.join(origins)}"


def _registry_assumption(block: BlockProof) -> str:
    kind, address = RegistryKind(block.registry.kind), to_checksum_address(block.registry.address)
    claimed = Registry(kind, block.chain, block.destination, address)
    try:
        registry = registry_with_arguments(claimed, block.registry.arguments)
    except ValueError:
        registry = replace(claimed, address="")
    if not proves_its_code(registry) or registry.source != block.chain:
        return f"  that the {kind} registry {address} has no planted facts: it is unverifiable"
    line = f"  whether the {kind} registry {address} is deployed; its address proves its code"
    if kind is RegistryKind.OPTIMISM:
        return f"{line}\n  that the L1 of chain {block.destination} is chain {block.chain}"
    if kind is RegistryKind.OUTPUT:
        return f"{line},\n    and that it asks {registry.anchor_state_registry} about valid games"
    if kind is RegistryKind.ATTESTED:
        signers = f"{registry.threshold} of {', '.join(registry.signers)}"
        return f"{line},\n    and that these must sign: {signers}"
    return line


def _report(bundle: Bundle, reasons: Sequence[str]) -> Iterator[str]:
    yield f"Batch {bundle.batch} (the service's id for it), for chain {bundle.destination}"
    for block in bundle.blocks:
        yield ""
        yield from block_lines(block)
    facts = format_count(sum(len(block.facts) for block in bundle.blocks), "fact")
    yield ""
    yield f"Proven: {facts}. It relies on keccak-256, and"
    yield from (f"  {reason}" for reason in reasons)
    yield ""
    yield "Not checked, because it needs a node of the destination:"
    yield f"  that the registry on chain {bundle.destination} has these facts now"
    for block in bundle.blocks:
        for transaction in block.transactions:
            yield (
                f"  that transaction 0x{transaction.hash.hex()} in block {transaction.block:,} "
                f"proved facts of block {block.header.number:,}"
            )
    yield from sorted({_registry_assumption(block) for block in bundle.blocks})
    with_events = {block.registry.address for block in bundle.blocks if block.events}
    for verifier in sorted(map(verifier_address, map(to_checksum_address, with_events))):
        yield f"  whether the events verifier {verifier} is deployed; its address proves its code"
    yield "manage.py publish_proof checks the registry and sends the facts that it lacks."
