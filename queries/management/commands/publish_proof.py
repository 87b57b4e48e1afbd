"""`tacitus publish_proof`: proves a proof file's facts to a registry, with any key."""

from argparse import ArgumentParser
from dataclasses import replace
from functools import cache
from typing import Any

from django.core.management.base import CommandError
from eth_utils.address import is_address, is_checksum_address, to_checksum_address

from accounts.wording import format_count
from queries.amounts import short_amount
from queries.chain import ChainClient, ChainError
from queries.config.chains import GWEI, NodeAddress
from queries.management.base import (
    OperatorCommand,
    add_bundle_arguments,
    add_url_argument,
    add_wait_argument,
    configured_signer,
    node_chain,
    read_bundle,
    url_host,
    whole_number,
)
from queries.management.publishing import (
    NotPublishedError,
    PublishContext,
    check_source,
    identify_registry,
    publish_block,
)
from queries.proving import COMPARE_YOURSELF, BlockProof
from queries.sources import Registry, RegistryReader, format_time, has_derived_address

DEFAULT_MAX_GAS_PRICE = 100  # gwei


class Command(OperatorCommand):
    help = (
        "Verifies a batch's proof and sends the facts that the registry lacks, paid for by the "
        "signer. It needs neither a database nor the service that made the proof."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_bundle_arguments(parser)
        node = parser.add_mutually_exclusive_group(required=True)
        add_url_argument(node, "node", "of the destination chain")
        add_url_argument(
            parser,
            "source-node",
            "of a source chain, for headers up to a block that the registry knows",
            action="append",
            default=[],
        )
        add_url_argument(
            parser,
            "beacon-node",
            "of a source's beacon chain, for updates that a beacon registry lacks",
            action="append",
            default=[],
        )
        parser.add_argument(
            "--registry",
            default="",
            metavar="0x…",
            help="publish to this registry instead of the one in the proof",
        )
        parser.add_argument(
            "--unverifiable",
            action="store_true",
            help="publish even if the registry's address does not prove its code, or the registry "
            "is not of the known beacon chain",
        )
        parser.add_argument(
            "--max-gas-price-gwei",
            type=whole_number(),
            default=DEFAULT_MAX_GAS_PRICE,
            metavar="N",
            help="the highest gas price to pay (%(default)s)",
        )
        add_wait_argument(parser)

    def handle(self, **options: Any) -> None:
        bundle = read_bundle(options["file"], options["max_mib"])
        registry = options["registry"]
        if registry and not is_checksum_address(registry):
            spelling = f": {to_checksum_address(registry)}" if is_address(registry.lower()) else ""
            raise CommandError(f"--registry takes an address with its checksum (EIP-55){spelling}.")
        try:
            chain = node_chain(options["node"])
            if chain.id != bundle.destination:
                raise CommandError(
                    f"The node at {url_host(options['node'])} is not of chain {bundle.destination}."
                )
            limits = replace(chain.limits, update_wait=0)
            max_price = options["max_gas_price_gwei"] * GWEI
            chain = replace(chain, max_gas_price=max_price, limits=limits)
            others = map(node_chain, options["source_node"])
            sources = {source.id: ChainClient(source) for source in (chain, *others)}
            context = PublishContext(
                ChainClient(chain),
                cache(configured_signer),
                None,
                tuple(map(NodeAddress, options["beacon_node"])),
                options["wait"],
                self.report,
            )
            for block in bundle.blocks:
                self._publish(block, replace(context, source=sources.get(block.chain)), options)
        except (ChainError, NotPublishedError) as error:
            raise CommandError(str(error)) from None
        count = sum(len(block.words) for block in bundle.blocks)
        facts = "The fact" if count == 1 else f"All {count:,} facts"
        self.stdout.write(
            f"{facts} of batch {bundle.batch} {'is' if count == 1 else 'are'} on chain "
            f"{bundle.destination}, as proven."
        )

    def _publish(self, block: BlockProof, context: PublishContext, options: dict[str, Any]) -> None:
        address = options["registry"] or to_checksum_address(block.registry.address)
        registry = identify_registry(context.destination, address, block.chain)
        block_name = f"block {block.header.number:,} of chain {block.chain}"
        self.report(f"The {registry.kind} registry {address}, {block_name} …")
        horizon = format_time(registry.horizon)
        accounts_end = format_time(RegistryReader(context.destination, registry).state_horizon())
        limit = f", and accounts of headers before {accounts_end}" * (accounts_end != horizon)
        self.report(f"It takes headers before {horizon}{limit}.")
        if not has_derived_address(registry):
            if not options["unverifiable"]:
                raise NotPublishedError(
                    f"The registry at {address} is unverifiable: its address does not prove its "
                    "code. Use --unverifiable to publish there anyway."
                )
            self.report("It is unverifiable: do not trust the facts that it already holds.")
        self._check_beacon_chain(registry, is_confirmed=options["unverifiable"])
        check_source(registry, context)
        cost = publish_block(block, registry, context)
        facts = f"{format_count(len(block.words), 'fact')} of {block_name}"
        if cost:
            amount = short_amount(cost, context.destination.chain.currency)
            self.stdout.write(f"{facts}: published for {amount}, and read back.")
        else:
            self.stdout.write(f"{facts}: all there already; nothing was sent.")

    def _check_beacon_chain(self, registry: Registry, *, is_confirmed: bool) -> None:
        """Refuse a beacon registry that could record false hashes, unless that is confirmed."""
        differences = registry.differences
        if differences is None:
            self.report(f"Not compared: {COMPARE_YOURSELF}.")
        elif differences:
            reasons = "; ".join(differences)
            if not is_confirmed:
                raise NotPublishedError(
                    f"The registry at {registry.address} is not genuine: {reasons}. Use "
                    "--unverifiable to publish there anyway."
                )
            self.report(f"It is not genuine, so do not trust the facts that it holds: {reasons}.")
