"""`tacitus build_contracts`: rebuilds the committed build output from the Solidity sources."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queries.config.networks import NETWORK_HORIZON, NETWORKS
from queries.contracts.abi import BUILD
from queries.contracts.compiler import (
    CompilerError,
    compile_contracts,
    read_sources,
    standard_json_input,
)
from queries.contracts.create2 import FACTORY, SALT, create2_address
from queries.proving import HORIZON
from queries.sources import (
    NativeRegistry,
    OptimismRegistry,
    Registry,
    constructor_arguments,
    format_time,
    network_registry,
)


class Command(BaseCommand):
    help = "Compiles the contracts into queries/contracts/build."

    def handle(self, **_: Any) -> None:
        sources = read_sources()
        try:
            contracts = compile_contracts(sources)
        except CompilerError as error:
            raise CommandError(str(error)) from error
        files = contracts | {
            "standard-input": standard_json_input(sources),
            "addresses": _addresses(contracts),
        }
        for name, content in files.items():
            (BUILD / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
        for name, output in contracts.items():
            size = len(output["deployedBytecode"]) // 2
            self.stdout.write(f"{name:18} {size:6,} bytes")


def _addresses(contracts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The courier's address, and those of registries by horizon: that of `init` for known networks,
    and the default.
    """
    return {
        "factory": FACTORY,
        "salt": f"0x{SALT.hex()}",
        "courier": create2_address(bytes.fromhex(contracts["Courier"]["bytecode"])),
        "horizons": {
            format_time(horizon): _addresses_until(horizon, contracts)
            for horizon in (NETWORK_HORIZON, HORIZON)
        },
    }


def _addresses_until(horizon: int, contracts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Registries' addresses: without other arguments by kind, of rollups by source."""

    def address(registry: Registry) -> str:
        code = bytes.fromhex(contracts[f"{registry.kind.capitalize()}Registry"]["bytecode"])
        return create2_address(code + constructor_arguments(registry))

    rollups = defaultdict[str, dict[str, str]](dict)
    for network in NETWORKS.values():
        if network.l1:
            l1 = next(other for other in NETWORKS.values() if other.chain == network.l1)
            registry = replace(network_registry(network, l1), horizon=horizon)
            rollups[registry.kind][str(network.chain)] = address(registry)
    return {
        **{
            kind.kind.value: address(kind(0, 0, horizon=horizon))
            for kind in (NativeRegistry, OptimismRegistry)
        },
        **rollups,
    }
