"""`tacitus build_client`: builds the clients from their sources.

The TypeScript client's output is committed; servers join tacitus.py at the first request.
"""

import json
from argparse import ArgumentParser
from dataclasses import astuple
from pathlib import Path
from subprocess import run
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from explorer.endpoints import ENDPOINTS
from explorer.wiring import LIMITS
from queries.api.openapi import document
from queries.client.join import joined_client
from queries.contracts.abi import load_artifact
from queries.contracts.create2 import FACTORY, SALT
from queries.proving import BEACON_CHAINS, AccountField, HeaderField, keccak256
from queries.proving.beacon import MAX_COMMITTEE_AGE, BeaconChain
from queries.sources import KINDS, registry_artifact

CLIENT = settings.BASE_DIR / "queries" / "client" / "typescript"


class Command(BaseCommand):
    help = "Builds the TypeScript client in queries/client/typescript, and tacitus.py elsewhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--output", type=Path, default=CLIENT, help="the folder to write")

    def handle(self, *, output: Path, **_: Any) -> None:
        registries = [registry_artifact(kind).abi for kind in KINDS]
        contracts = {kind: f"{kind.capitalize()}Registry" for kind in KINDS}
        content = {
            "schemas": document(ENDPOINTS, LIMITS, "")["components"]["schemas"],
            "constants": {
                "version": settings.VERSION,
                "accountFields": dict(AccountField.__members__),
                "headerFields": dict(HeaderField.__members__),
                # What all kinds of registries have.
                "factsRegistryAbi": [
                    entry for entry in registries[0] if all(entry in abi for abi in registries)
                ],
                "eventsVerifierAbi": load_artifact("EventsVerifier").abi,
                "factsLookupAbi": load_artifact("FactsLookup").abi,
                "registryContracts": contracts,
                "codeHashes": {
                    name: f"0x{keccak256(load_artifact(name).bytecode).hex()}"
                    for name in (*contracts.values(), "EventsVerifier", "FactsLookup")
                },
                # By source, as a beacon registry's constructor takes them.
                "beaconChains": {
                    source: _beacon_chain_members(chain) for source, chain in BEACON_CHAINS.items()
                },
                "maxCommitteeAge": MAX_COMMITTEE_AGE,
                # Before the hash of the code in the preimage of a CREATE2 address.
                "create2Prefix": f"0xff{FACTORY[2:].lower()}{SALT.hex()}",
            },
        }
        program: list[str | Path] = ["node", CLIENT / "build.mjs", output]
        run(program, input=json.dumps(content), text=True, check=True)
        if output != CLIENT:
            (output / "tacitus.py").write_text(joined_client())


def _beacon_chain_members(chain: BeaconChain) -> dict[str, list[Any]]:
    root = f"0x{chain.genesis_validators_root.hex()}"
    forks = [
        (first_slot, f"0x{version.hex()}", *indexes)
        for first_slot, version, *indexes in map(astuple, chain.forks)
    ]
    return {"genesis": [chain.genesis_time, chain.seconds_per_slot, root], "forks": forks}
