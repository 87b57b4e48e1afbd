"""`manage.py verify_proof`: what a proof file proves and what that rests on; offline by default."""

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from eth_utils.address import to_checksum_address

from accounts.shared.wording import counted
from queries.chain.errors import BlockUnknown, ChainError
from queries.chain.reader import SourceChain
from queries.config.registries import Registry, RegistryKind, proves_its_code, with_arguments
from queries.management.base import add_url_argument, node_chain, url_host
from queries.management.bundle_files import add_bundle_arguments, read_bundle
from queries.management.proof_text import block_lines
from queries.proving.bundles import BlockProof, Bundle

HASH = re.compile("0x[0-9a-fA-F]{64}")


class Command(BaseCommand):
    help = (
        "Checks a batch's proof without a database, and without a network unless --node is "
        "given. Prints what is proven and what the proof rests on. Exits with 1 if anything is "
        "not proven."
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
        add_url_argument(
            parser, "node", "a node to ask for block hashes", action="append", default=[]
        )

    def handle(self, **options: Any) -> None:
        bundle = read_bundle(options["file"], options["max_mib"])
        hashes = [_hash(text) for text in options["hash"]]
        _check_hashes(bundle, hashes)
        try:
            nodes = _nodes(bundle, options["node"])
            grounds = [_ground(block, hashes, nodes) for block in bundle.blocks]
        except ChainError as fault:
            raise CommandError(f"Nothing is proven. {fault.sentence}") from None
        for line in _report(bundle, grounds):
            self.stdout.write(line)


def _hash(text: str) -> bytes:
    if not HASH.fullmatch(text):
        raise CommandError("--hash takes a block's hash: 0x and 64 hex digits.")
    return bytes.fromhex(text[2:])


def _check_hashes(bundle: Bundle, hashes: Sequence[bytes]) -> None:
    """Refuse a hash on which nothing in the bundle rests, or which two of its chains share."""
    rested_on = {block.rests_on.hash for block in bundle.blocks}
    parents = {block.header.hash: block for block in bundle.blocks if block.next_header}
    for each in hashes:
        if each in parents and each not in rested_on:
            block = parents[each]
            raise CommandError(
                f"0x{each.hex()} is block {block.header.number:,}. The next block shows that it "
                "was the last one at the requested time: give the hash of block "
                f"{block.rests_on.number:,}."
            )
        if each not in rested_on:
            raise CommandError(
                f"Nothing is proven. No block of the proof has the hash 0x{each.hex()} that you "
                "gave."
            )
        chains = sorted({block.chain for block in bundle.blocks if block.rests_on.hash == each})
        if len(chains) > 1:
            raise CommandError(
                f"Nothing is proven. In the proof, chains {' and '.join(map(str, chains))} "
                f"each have the block 0x{each.hex()}, so the hash alone does "
                "not say which: name a node of each with --node URL."
            )


Nodes = Sequence[tuple[str, SourceChain]]  # where each is, and its chain


def _nodes(bundle: Bundle, urls: Sequence[str]) -> Nodes:
    nodes = [(url_host(url), SourceChain(node_chain(url))) for url in urls]
    for host, source in nodes:
        if source.chain.id not in {block.chain for block in bundle.blocks}:
            raise CommandError(
                f"The node at {host} is of chain {source.chain.id}, and the proof has no block "
                "of that chain."
            )
    return nodes


def _ground(block: BlockProof, hashes: Sequence[bytes], nodes: Nodes) -> str:
    """Why to trust the block hash on which the facts rest."""
    header, grounds = block.rests_on, []
    which = f"block {header.number:,} of chain {block.chain}"
    if header.hash in hashes:
        grounds.append("you gave")
    for host, source in nodes:
        if source.chain.id != block.chain:
            continue
        try:
            found = source.header(header.number).hash
        except BlockUnknown:
            raise CommandError(
                f"Nothing is proven. The node at {host} does not know {which}."
            ) from None
        if found != header.hash:
            raise CommandError(
                f"Nothing is proven. The node at {host} says that {which} has the hash "
                f"0x{found.hex()}, but the proof has 0x{header.hash.hex()}."
            )
        grounds.append(f"the node at {host} gives")
    if not grounds:
        raise CommandError(
            f"Nothing is proven yet: all of it is true if {which} has the hash "
            f"0x{header.hash.hex()}. Look up that block's hash where you trust the answer, such as "
            "at your own node or at a block explorer, and give it with --hash 0x…; or name a node "
            "of that chain with --node URL."
        )
    return f"that {which} has the hash 0x{header.hash.hex()}, which {' and '.join(grounds)}"


def _registry_line(block: BlockProof) -> str:
    kind, address = RegistryKind(block.registry.kind), to_checksum_address(block.registry.address)
    claimed = Registry(kind, block.chain, block.destination, address)
    try:
        registry = with_arguments(claimed, block.registry.arguments)
    except ValueError:
        registry = replace(claimed, address="")
    if not proves_its_code(registry) or registry.source != block.chain:
        return f"  that the {kind} registry {address} has no planted facts: it is unverifiable"
    line = f"  whether the {kind} registry {address} is deployed; its address proves its code"
    if kind is RegistryKind.OPTIMISM:
        return f"{line}\n  that the L1 of chain {block.destination} is chain {block.chain}"
    if kind is RegistryKind.OUTPUT:
        return (
            f"{line},\n    and that it asks {registry.anchor_state_registry} which games are valid"
        )
    if kind is RegistryKind.ATTESTED:
        signers = f"{registry.threshold} of {', '.join(registry.signers)}"
        return f"{line},\n    and that these must sign: {signers}"
    return line


def _report(bundle: Bundle, grounds: Sequence[str]) -> Iterator[str]:
    yield f"Batch {bundle.batch}, as the service calls it, for chain {bundle.destination}"
    for block in bundle.blocks:
        yield ""
        yield from block_lines(block)
    facts = counted(sum(len(block.facts) for block in bundle.blocks), "fact")
    yield ""
    yield f"Proven: {facts}. It rests on keccak-256, and"
    yield from (f"  {ground}" for ground in grounds)
    yield ""
    yield "Not checked, because this needs a node of the destination:"
    yield f"  that the registry on chain {bundle.destination} has these facts now"
    for block in bundle.blocks:
        for each in block.transactions:
            yield (
                f"  that transaction 0x{each.hash.hex()} in block {each.block:,} proved facts "
                f"of block {block.header.number:,}"
            )
    yield from sorted({_registry_line(block) for block in bundle.blocks})
    yield "manage.py publish_proof checks the registry and sends the facts that it lacks."
