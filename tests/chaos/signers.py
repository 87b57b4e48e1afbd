"""Three who speak for chain B on A, two of whom are enough: each a process that may be killed.

Two have an honest node of their own and give their words to the service's database. The third
asks a node that lies now and then, as the service's own do, and sends its words over HTTP.
"""

from collections.abc import Mapping
from pathlib import Path

from tests.chaos.chains import CHAIN_A, CHAIN_B, Chains, routes_of
from tests.chaos.nodes_between import NodeBetween
from tests.chaos.programs import Program
from tests.chaos.service import Service

WATCH = ["attest", f"--source={CHAIN_B}", f"--destination={CHAIN_A}", "--watch"]


def add_signers(
    its: Service, keys: list[str], chains: Chains, nodes: Mapping[int, list[NodeBetween]]
) -> None:
    """As programs of the service."""
    honest = {place.id: [place.node.url] for place in (chains.a, chains.b)}
    lying = {chain: [some[0].url] for chain, some in nodes.items()}
    ways = [(honest, WATCH)] * (len(keys) - 1) + [(lying, [*WATCH, f"--post={its.address}"])]
    for place, (key, (known, arguments)) in enumerate(zip(keys, ways, strict=True), start=1):
        name = f"signer-{place}"
        routes = _written(its.folder / f"routes-of-{name}.toml", routes_of(chains, known))
        own = {"ROUTES_FILE": str(routes), "ATTESTER_KEY": key}
        its.signers.append(Program(its.folder, name, arguments, {**its.settings, **own}))


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file
