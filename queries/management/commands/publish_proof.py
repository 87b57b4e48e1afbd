"""`manage.py publish_proof`: brings a bundle's facts to a registry, from any key."""

from argparse import ArgumentParser
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from eth_utils.address import is_checksum_address, to_checksum_address

from accounts.wording import counted
from queries.amounts import short_amount
from queries.chain.errors import ChainError
from queries.chain.node_pool import chain_at, host_of
from queries.chain.sender import Destination
from queries.chain.source import SourceChain
from queries.management.base import IN_A_FILE, OperatorCommand, address_in, configured_signer
from queries.management.bundle_files import add_bundle, read_bundle
from queries.pipeline.publish import Means, NotPublished, check_l1, publish, registry_at
from queries.proving.bundles import BlockProof, Bundle
from queries.registries import DEFAULT_RANGE, proves_its_code
from queries.routes import GWEI, LONGEST_RANGE

WAIT = 600  # seconds
DEAREST = 100  # gwei


class Command(OperatorCommand):
    help = (
        "Checks a batch's proof and brings its facts to their registry, paid for by SIGNER_KEY or "
        "SIGNER_KEYSTORE; what is there already costs nothing. It takes no database, and none of "
        "the service that made the proof."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_bundle(parser)
        node = parser.add_mutually_exclusive_group(required=True)
        node.add_argument("--node", metavar="URL", help="of the destination chain")
        node.add_argument("--node-file", type=Path, metavar="PATH", help=IN_A_FILE)
        parser.add_argument(
            "--source-node",
            action="append",
            default=[],
            metavar="URL",
            help="of a source chain: for headers up to a block that the registry knows",
        )
        parser.add_argument(
            "--source-node-file",
            action="append",
            default=[],
            type=Path,
            metavar="PATH",
            help=IN_A_FILE,
        )
        parser.add_argument("--registry", default="", metavar="0x…", help="another than it names")
        parser.add_argument(
            "--longest-range",
            type=int,
            default=DEFAULT_RANGE,
            metavar="N",
            help="how many headers may lead down to a block (%(default)s)",
        )
        parser.add_argument(
            "--dearest-gas-gwei",
            type=int,
            default=DEAREST,
            metavar="N",
            help="the most that is paid for a unit of gas (%(default)s)",
        )
        parser.add_argument(
            "--wait", type=int, default=WAIT, help="seconds for a block (%(default)s)"
        )

    def handle(self, **options: Any) -> None:
        bundle = read_bundle(options["file"], options["most_mib"])
        _check(options)
        node, source_nodes = _nodes(options)
        try:
            with ExitStack() as stack:
                chain = chain_at(node)
                if chain.id != bundle.destination:
                    raise CommandError(
                        f"The node at {host_of(node)} is of chain {chain.id}, and the facts are "
                        f"for chain {bundle.destination}."
                    )
                chain = replace(chain, dearest_gas=options["dearest_gas_gwei"] * GWEI)
                destination = stack.enter_context(closing(Destination(chain)))
                sources = {chain.id: stack.enter_context(closing(SourceChain(chain)))}
                for url in source_nodes:
                    other = chain_at(url)
                    sources[other.id] = stack.enter_context(closing(SourceChain(other)))
                means = Means(
                    destination, cache(configured_signer), None, options["wait"], self.report
                )
                for block in bundle.blocks:
                    self._publish(block, replace(means, source=sources.get(block.chain)), options)
        except NotPublished as fault:
            raise CommandError(str(fault)) from None
        except ChainError as fault:
            raise CommandError(fault.sentence) from None
        self._conclude(bundle)

    def _publish(self, block: BlockProof, means: Means, options: dict[str, Any]) -> None:
        address = options["registry"] or to_checksum_address(block.registry.address)
        longest = options["longest_range"]
        registry = registry_at(means.destination, address, block.chain, longest)
        which = f"block {block.header.number:,} of chain {block.chain}"
        self.report(f"The {registry.kind} registry {address}, {which} …")
        if not proves_its_code(registry):
            self.report(
                "This registry is unverifiable: its code is as built, but its address does not "
                "prove what its constructor wrote. Do not trust facts that it has already."
            )
        check_l1(registry, means)
        spent = publish(block, registry, means)
        facts = f"{counted(len(block.facts), 'fact')} of {which}"
        if spent:
            cost = short_amount(spent, means.destination.chain.currency)
            self.stdout.write(f"{facts}: published for {cost}, and read back.")
        else:
            self.stdout.write(f"{facts}: all there already; nothing was sent.")

    def _conclude(self, bundle: Bundle) -> None:
        facts = sum(len(block.facts) for block in bundle.blocks)
        all_of_it = "The fact" if facts == 1 else f"All {facts:,} facts"
        self.stdout.write(
            f"{all_of_it} of batch {bundle.batch} {'is' if facts == 1 else 'are'} on chain "
            f"{bundle.destination}, as proven."
        )


def _nodes(options: dict[str, Any]) -> tuple[str, list[str]]:
    """The destination's, and those of source chains."""
    file = options["node_file"]
    in_files = [address_in(each, "--source-node-file") for each in options["source_node_file"]]
    return (
        address_in(file, "--node-file") if file else options["node"],
        [*options["source_node"], *in_files],
    )


def _check(options: dict[str, Any]) -> None:
    if options["registry"] and not is_checksum_address(options["registry"]):
        raise CommandError("--registry takes an address with its checksum (EIP-55).")
    if not 1 <= options["longest_range"] <= LONGEST_RANGE:
        raise CommandError(f"--longest-range is from 1 to {LONGEST_RANGE:,}.")
    if options["dearest_gas_gwei"] < 1 or options["wait"] < 1:
        raise CommandError("--dearest-gas-gwei and --wait are at least 1.")
