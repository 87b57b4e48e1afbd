"""The page of each public network, as Markdown: claims with their sources, routes and contracts."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from accounts.wording import DAY, HOUR, MINUTE, datetime_from_unix
from explorer.guides.reference import table
from queries.config.networks import (
    NETWORK_HORIZON,
    NETWORKS,
    NOTES,
    OTHER_NETWORKS,
    SOURCES,
    Network,
)
from queries.contracts.create2 import courier_address
from queries.proving import BEACON_CHAINS
from queries.proving.beacon import Fork
from queries.sources import (
    AttestedRegistry,
    BeaconRegistry,
    Registry,
    has_route,
    network_registry,
    route_kind,
)

NETWORK_PAGES: Mapping[str, Network] = {f"networks/{name}": net for name, net in NETWORKS.items()}
# What a network's table claims, by the names of its sources.
CLAIMS = {
    "chain": "chain id",
    "explorer": "block explorer",
    "block_seconds": "a block every",
    "final_after": "final after",
    "claims_after": "a claim about a block counts on its L1 after",
    "portal": "OptimismPortal on its L1",
    "outbox": "outbox on its L1",
    "gas_rules": "gas rules",
    "history": "hashes of blocks in its state (EIP-2935) since",
    "history_blocks": "of how many blocks",
    "names_own_hashes": "names the hashes that its contracts read",
    "bls": "precompiles for BLS12-381 (EIP-2537) since",
    "beacon_forks": "forks of its beacon chain that registries know",
    "ens_registry": "ENS registry",
}
CODE_FIELDS = {"portal", "outbox", "ens_registry"}
CHOSEN = (BeaconRegistry, AttestedRegistry)  # the operator chooses an argument of the constructor
FORK_NAMES = ("Deneb", "Electra", "Fulu", "Gloas")  # each known beacon chain begins with the first
NOT_SEEN = "its committees' places: from the specification of Gloas, not yet seen on chain"
ROUTE_COLUMNS = ("from", "to", "kind", "trusts", "a block can be proven after")


@cache
def network_markdown(name: str) -> str:
    """The page with this name, such as `networks/base`."""
    return "\n\n".join(_parts(NETWORK_PAGES[name])) + "\n"


def network_table() -> str:
    """The networks that `init` knows."""
    head = ("name", "network", "chain id", "a block every", "final after", "hashes in its state")
    rows = (
        (
            f"`{network.name}`",
            f"[{network.title}](http://127.0.0.1:8000/docs/{page}.md)",
            str(network.chain),
            f"{network.block_seconds:g} s",
            network.final_after,
            f"{network.history_blocks:,} blocks, {_duration(network, network.history_blocks)}",
        )
        for page, network in NETWORK_PAGES.items()
    )
    return table(head, rows)


def fork_table() -> str:
    """The forks of beacon chains that registries know."""
    rows = []
    for network in NETWORKS.values():
        for fork, name, epoch in _forks(network):
            began = datetime_from_unix(BEACON_CHAINS[network.chain].start_of(fork.first_slot))
            layout = NOT_SEEN if fork.is_gloas else "in use since then"
            version = f"`0x{fork.version.hex()}`"
            rows.append((network.title, name, version, f"{epoch:,}", f"{began:%Y-%m-%d}", layout))
    return table(("beacon chain", "fork", "version", "from epoch", "on", "its layout"), rows)


def other_network_table() -> str:
    """Networks without a route, or with one that `init` does not know."""
    rows = ((note.title, note.text, _dated_link(note.source)) for note in OTHER_NETWORKS)
    return table(("network", "what to know", "source"), rows)


def _dated_link(name: str) -> str:
    """The source with this name, and the date of what it says."""
    source = SOURCES[name]
    return f"[{source.title}]({source.url}), {source.date}"


def _parts(network: Network) -> Iterator[str]:
    title = network.title
    yield f"# {title}"
    yield (
        f"See what can be proven about {title} and to contracts on it, whom readers trust, and "
        f"where each claim comes from. `init` calls it `{network.name}`; [Networks](networks.md) "
        "lists the others."
    )
    yield "## What we know"
    yield table(("what", title, "source"), _claim_rows(network))
    if network.notes:
        yield "## What is special"
        yield "\n".join(_note_lines(network))
    yield "## How far back"
    yield " ".join(_reach(network))
    yield "## Routes"
    yield table(ROUTE_COLUMNS, _route_rows(network))
    yield "## Contracts"
    yield from _contract_parts(network)
    yield "## Set it up"
    yield (
        "[Public networks](public-networks.md) goes through all steps, and says "
        "[which nodes](public-networks.md#nodes) prove far enough back."
    )
    yield f"```sh\n{_init_command(network)}\n```"


# ------------------------------------------------------------------------------------------ claims


def _claim_rows(network: Network) -> Iterator[tuple[str, str, str]]:
    for name, title in CLAIMS.items():
        if name in network.sources:
            yield title, _claim(network, name), _dated_link(network.sources[name])


def _claim(network: Network, name: str) -> str:
    if name == "beacon_forks":
        forks = [
            f"{title} from epoch {epoch:,}" + (f" ({NOT_SEEN})" if fork.is_gloas else "")
            for fork, title, epoch in _forks(network)
        ]
        return ", ".join(forks)
    value = getattr(network, name)
    if name == "block_seconds":
        return f"{value:g} s"
    if name == "explorer":
        return f"[{value.removeprefix('https://')}]({value})"
    return f"`{value}`" if name in CODE_FIELDS else str(value)


def _forks(network: Network) -> Iterator[tuple[Fork, str, int]]:
    """Each known fork of its beacon chain, with its name and its epoch."""
    if chain := BEACON_CHAINS.get(network.chain):
        for fork, name in zip(chain.forks, FORK_NAMES, strict=False):
            yield fork, name, fork.first_slot // chain.slots_per_epoch


def _note_lines(network: Network) -> Iterator[str]:
    for name in network.notes:
        yield f"- {NOTES[name].text} ({_dated_link(NOTES[name].source)})"


# ------------------------------------------------------------------------------ reach and routes


def _duration(network: Network, blocks: int) -> str:
    """How long so many blocks take, in words."""
    seconds = blocks * network.block_seconds
    for unit, name in ((DAY, "days"), (HOUR, "hours"), (MINUTE, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.2g} {name}"
    return f"{seconds:.0f} seconds"


def _reach(network: Network) -> Iterator[str]:
    blocks = network.history_blocks
    yield (
        f"The state of {network.title} has the hashes of its newest {blocks:,} blocks; they take "
        f"{_duration(network, blocks)}."
    )
    if network.sees_own_hashes:
        yield "Contracts there know these without a proof."
    yield (
        f"[Hops](glossary.md#hop) lead further back, to any block since {network.history}, if a "
        "node proves one block of each such stretch."
    )
    if network.l1 is not None:
        window = round(network.claim_delay / network.block_seconds)
        yield (
            f"On its L1 a block can be proven once a claim about it counts, {network.claims_after} "
            f"later; so a node has to prove {window:,} blocks back."
        )


def _peers(network: Network) -> list[Network]:
    """The other main networks, or the other test networks."""
    networks = NETWORKS.values()
    return [other for other in networks if other.is_test == network.is_test and other != network]


def _grouped(
    networks: Iterable[Network], key: Callable[[Network], object]
) -> Iterable[list[Network]]:
    groups: dict[object, list[Network]] = {}
    for network in networks:
        groups.setdefault(key(network), []).append(network)
    return groups.values()


def _route_rows(network: Network) -> Iterator[tuple[str, ...]]:
    if has_route(network, network):
        yield _route_row([network], [network])
    for others in _grouped(
        _peers(network),
        lambda other: (
            route_kind(other, network),
            route_kind(other, network).provable_after(other),
        ),
    ):
        yield _route_row(others, [network])
    for others in _grouped(_peers(network), lambda other: route_kind(network, other)):
        yield _route_row([network], others)


def _route_row(sources: list[Network], destinations: list[Network]) -> tuple[str, ...]:
    source, kind = sources[0], route_kind(sources[0], destinations[0])
    to = "itself" if sources == destinations else _titles(destinations)
    trusted, wait = kind.trusted_for(source), kind.provable_after(source)
    return _titles(sources), to, f"`{kind.kind}`", trusted, wait


def _titles(networks: Iterable[Network]) -> str:
    return ", ".join(network.title for network in networks)


# --------------------------------------------------------------------------------------- contracts


def _registries(network: Network) -> Iterator[tuple[Network, Network, Registry]]:
    """The registries whose address is the same for everyone, on this network and of it."""
    pairs = [(network, network)] if has_route(network, network) else []
    pairs += [(other, network) for other in _peers(network)]
    pairs += [(network, other) for other in _peers(network)]
    for source, destination in pairs:
        if route_kind(source, destination) not in CHOSEN:
            yield source, destination, network_registry(source, destination)


def _contract_parts(network: Network) -> Iterator[str]:
    horizon = f"{datetime_from_unix(NETWORK_HORIZON):%Y-%m-%d}"
    yield (
        "These addresses are the same whoever deploys: each follows from the code of this version "
        f"and the arguments of its constructor, such as the horizon {horizon}. `init` writes those "
        "of registries into the routes file, and `deploy_registry` deploys what is not there yet."
    )
    yield table(("contract", "chain", "address"), _contract_rows(network))
    yield (
        "Not listed are a `beacon` registry, whose address follows from its checkpoint, an "
        "`attested` one, from its signers, and a lookup, from its gateways: `init` and "
        "`deploy_registry` print these."
    )
    yield (
        "Ask a node of the chain whether a contract is there. `0x` means that nobody has deployed "
        "it; anything else is its code, because no other code can have this address. On a server, "
        "`check_setup` compares all of them."
    )
    _, destination, registry = next(_registries(network))
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "eth_getCode",
        "params": [registry.address, "latest"],
    }
    yield (
        f"```sh\ncurl -s https://{destination.name}.example.org \\\n"
        f"  -H 'Content-Type: application/json' \\\n  -d '{json.dumps(call)}'\n```"
    )


def _contract_rows(network: Network) -> Iterator[tuple[str, str, str]]:
    yield "courier", network.title, f"`{courier_address()}`"
    for source, destination, registry in _registries(network):
        kind, title = f"`{registry.kind}` registry of {source.title}", destination.title
        yield kind, title, f"`{registry.address}`"
        yield "its events verifier", title, f"`{registry.events_verifier}`"


def _init_command(network: Network) -> str:
    """The command for the route that needs the fewest choices: to itself, or to its L1."""
    l1 = next((name for name, other in NETWORKS.items() if other.chain == network.l1), "")
    names = [network.name] if network.sees_own_hashes else [network.name, l1]
    nodes = [
        f"--node {name}=https://{name}.example.org --node {name}=https://another-{name}.example.org"
        for name in names
    ]
    return " \\\n  ".join((f"tacitus init {':'.join(names)}", *nodes))
