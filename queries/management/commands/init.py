"""`tacitus init`: writes a routes file for public networks, and prints the next steps."""

import json
import math
import os
import re
import stat
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from eth_utils.address import is_checksum_address

from queries.chain import (
    BeaconError,
    BeaconNode,
    BeaconNodes,
    BeaconNodesUnreachableError,
    ChainClient,
    ChainError,
    NodeError,
    NodesUnreachableError,
    SignerUnusableError,
    begin_light_client,
    measure_gas_rules,
)
from queries.config.beacon_chains import BEACON_EXPLORERS
from queries.config.chains import Chain, NodeAddress
from queries.config.networks import NETWORKS, Network, chain_lines
from queries.management.base import OperatorCommand, configured_signer, node_chain, whole_number
from queries.management.light_client_check import ADVICE
from queries.proving import BEACON_CHAINS
from queries.sources import (
    AttestedRegistry,
    BeaconRegistry,
    Registry,
    Routes,
    has_route,
    network_registry,
    read_routes,
    route_kind,
    route_lines,
)

NETWORK_NAMES = ", ".join(NETWORKS)
NetworkPair = tuple[Network, Network]


@dataclass
class InitArguments:
    """The operator's arguments."""

    pairs: list[NetworkPair] = field(default_factory=list)  # named one by one
    group: list[Network] = field(default_factory=list)  # all routes between these are wanted
    nodes: dict[str, list[str]] = field(default_factory=dict)  # by network, as TOML values
    beacon: dict[str, list[str]] = field(default_factory=dict)  # beacon nodes, the same
    checkpoints: dict[str, bytes] = field(default_factory=dict)  # by network
    signers: tuple[str, ...] = ()
    threshold: int = 0

    @property
    def networks(self) -> list[Network]:
        pairs = (*self.pairs, self.group)
        return list(dict.fromkeys(network for networks in pairs for network in networks))

    @property
    def destinations(self) -> list[Network]:
        return list(dict.fromkeys(destination for (_, destination), _ in self.registries()))

    def registries(self) -> Iterator[tuple[NetworkPair, Registry]]:
        for pair in self._possible_pairs():
            registry = network_registry(
                *pair,
                checkpoint=self.checkpoints.get(pair[0].name, b""),
                signers=self.signers,
                threshold=self.threshold,
            )
            if pair in self.pairs or not isinstance(registry, AttestedRegistry) or self.signers:
                yield pair, registry

    def left_out(self) -> Iterator[NetworkPair]:
        """Pairs of the group that need signers, which were not named."""
        pairs = {pair for pair, _ in self.registries()}
        return (pair for pair in self._possible_pairs() if pair not in pairs)

    def _possible_pairs(self) -> Iterator[NetworkPair]:
        pairs = (*self.pairs, *((a, b) for a in self.group for b in self.group))
        return (pair for pair in dict.fromkeys(pairs) if has_route(*pair))


THROUGH_L1 = (
    "From one L2 to an OP-stack chain, two routes through their L1 need no signers: see "
    "“From one L2 to another” in the guide Public networks."
)


def _checkpoint_hint(name: str) -> str:
    """What a checkpoint is, and where to look up one of this network."""
    return (
        "A checkpoint is the root of a finalized block of the last seven days. Your beacon node "
        "shows one at /eth/v1/beacon/headers/finalized: compare it with two explorers of the "
        f"beacon chain, such as {BEACON_EXPLORERS[NETWORKS[name].chain]}."
    )


def _way_without_signers(pair: NetworkPair) -> str:
    if route_kind(*pair) is not BeaconRegistry:
        return THROUGH_L1
    name = pair[0].name
    options = f"--beacon {name}=URL --checkpoint {name}=0x…"
    return f"Or have the registry check its sync committees: {options}. {_checkpoint_hint(name)}"


class Command(OperatorCommand):
    help = "Writes a routes file for public networks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "routes",
            nargs="*",
            metavar="NETWORK",
            help="a network, or SOURCE:DESTINATION. Networks get all routes between them, and to "
            f"their own past ({NETWORK_NAMES})",
        )
        parser.add_argument(
            "--node",
            action="append",
            default=[],
            metavar="NAME=URL",
            help="a network's node, or NAME=@PATH with a file that contains its URL; repeatable",
        )
        parser.add_argument(
            "--beacon",
            action="append",
            default=[],
            metavar="NAME=URL",
            help="a beacon node of a network, in the same forms: its sync committees then decide "
            "what is final, and routes from it need no signers; repeatable",
        )
        parser.add_argument(
            "--checkpoint",
            action="append",
            default=[],
            metavar="NAME=0x…",
            help="the root of a finalized beacon block of the last seven days, beside --beacon",
        )
        parser.add_argument("--signers", help="0x…,0x…, if a route needs an attested registry")
        parser.add_argument(
            "--threshold", type=whole_number(), default=0, help="how many of them must agree"
        )
        parser.add_argument("--file", type=Path, help="the file to write (default: ROUTES_FILE)")
        parser.add_argument("--force", action="store_true", help="overwrite the file")

    def handle(self, **options: Any) -> None:
        file = options["file"] or settings.ROUTES_FILE
        if file is None:
            raise CommandError("Name the file to write: --file PATH, or ROUTES_FILE.")
        file = file.absolute()
        if file.exists() and not options["force"]:
            raise CommandError(f"{file} is there already. Name another one, or use --force.")
        arguments = InitArguments()
        for text in dict.fromkeys(options["routes"]):
            if ":" in text:
                arguments.pairs.append(_parse_pair(text))
            else:
                arguments.group.append(_parse_network(text))
        arguments.nodes = _parse_nodes("--node", options["node"])
        arguments.beacon = _parse_nodes("--beacon", options["beacon"])
        arguments.checkpoints = _parse_checkpoints(options["checkpoint"])
        if options["signers"]:
            arguments.signers = _parse_signers(options["signers"])
            arguments.threshold = options["threshold"]
        _check_arguments(arguments)
        for sentence in _write_file(file, _file_content(arguments), overwrite=options["force"]):
            self.report(sentence)
        self._print_next_steps(file, arguments)

    def _print_next_steps(self, file: Path, arguments: InitArguments) -> None:
        write = self.stdout.write
        write(f"Wrote {file}. Nodes' URLs may contain keys, so only you can read a new file.\n")
        for (source, destination), registry in arguments.registries():
            write(
                f"{source.title} → {destination.title}: {registry.kind} registry {registry.address}"
            )
            for line in _remarks(source, registry):
                write(f"  {line}")
        for source, destination in arguments.left_out():
            needed = "--signers"
            if route_kind(source, destination) is BeaconRegistry:
                needed = f"--beacon and --checkpoint of {source.title}, or --signers"
            write(f"{source.title} → {destination.title}: left out, because it needs {needed}.")
        if any(arguments.left_out()):
            write(f"  {THROUGH_L1}")
        if len({network.is_test for network in arguments.networks}) > 1:
            write("Test networks and others are in one file: better write a file for each.")
        single = [net.title for net in arguments.networks if len(arguments.nodes[net.name]) == 1]
        if single:
            write(
                f"\nOne node only: {', '.join(single)}. Its word alone counts for what no hash "
                "covers, such as which block is final: add a second one with --node."
            )
        self._print_next_commands(file, arguments)

    def _print_next_commands(self, file: Path, arguments: InitArguments) -> None:
        write = self.stdout.write
        write("\nNext:")
        if settings.ROUTES_FILE is None or settings.ROUTES_FILE.absolute() != file:
            write(f"  export ROUTES_FILE={file}")
        try:
            signer = configured_signer().address
        except SignerUnusableError:
            write("  set SIGNER_KEY_FILE to a file with a new key, which pays for transactions")
            signer = "its address"
        write("  tacitus cost              what deploying and proving will cost")
        coins = (f"{network.currency} on {network.title}" for network in arguments.destinations)
        write(f"  send {' and '.join(coins)} to {signer}")
        if arguments.beacon:
            write("  tacitus check_setup       beacon nodes and checkpoints must be ok")
        write("  tacitus deploy_registry   shows the cost, and asks before it deploys")
        write("  tacitus migrate           creates the tables of the database")
        write("  tacitus check_setup       checks nodes, registries and the signer")


def _remarks(source: Network, registry: Registry) -> Iterator[str]:
    """What an operator has to know of a route."""
    yield f"A block can be proven {registry.provable_after(source)} after it was made."
    yield from registry.remarks()


# Parsing


def _parse_network(text: str) -> Network:
    network = NETWORKS.get(text.lower())
    if network is None:
        name = text if re.fullmatch("[a-z0-9-]{1,24}", text) else "That"  # it may contain a key
        raise CommandError(f"{name} is not a known network. Known are {NETWORK_NAMES}.")
    return network


def _parse_pair(text: str) -> NetworkPair:
    source, _, destination = text.partition(":")
    return _parse_network(source), _parse_network(destination)


def _parse_node(text: str) -> str:
    """Return the node as a TOML value."""
    if text.startswith("@"):
        path = json.dumps(str(Path(text[1:]).absolute()), ensure_ascii=False)
        return f"{{ file = {path} }}"
    return json.dumps(text)


def _parse_nodes(option: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """Nodes by network, as TOML values."""
    nodes: dict[str, list[str]] = {}
    for text in texts:
        name, separator, node = text.partition("=")
        if not separator:
            raise CommandError(f"{option} takes NAME=URL; the names are {NETWORK_NAMES}.")
        nodes.setdefault(_parse_network(name).name, []).append(_parse_node(node))
    return nodes


def _parse_checkpoint(text: str) -> tuple[str, bytes]:
    name, _, root = text.partition("=")
    if not re.fullmatch("0x[0-9a-fA-F]{64}", root):
        raise CommandError("--checkpoint takes NAME=0x… with the 64 hex digits of a block root.")
    return _parse_network(name).name, bytes.fromhex(root[2:])


def _parse_checkpoints(texts: Iterable[str]) -> dict[str, bytes]:
    """The checkpoints by network."""
    checkpoints: dict[str, bytes] = {}
    for name, root in map(_parse_checkpoint, texts):
        if name in checkpoints:
            raise CommandError(f"--checkpoint {name}=… is given twice. Name one checkpoint.")
        checkpoints[name] = root
    return checkpoints


def _parse_signers(text: str) -> tuple[str, ...]:
    signers = tuple(signer.strip() for signer in text.split(","))
    if not all(map(is_checksum_address, signers)) or len(set(signers)) < len(signers):
        raise CommandError("--signers takes different checksummed addresses, separated by commas.")
    return signers


def _check_options(arguments: InitArguments) -> None:
    """Check nodes and checkpoints against the networks."""
    for option, named in (("--node", arguments.nodes), ("--beacon", arguments.beacon)):
        if unused := set(named) - {network.name for network in arguments.networks}:
            raise CommandError(f"{option} {min(unused)}=… is of a network that is not named.")
    for name in (*arguments.beacon, *arguments.checkpoints):
        if NETWORKS[name].chain not in BEACON_CHAINS:
            raise CommandError(f"{NETWORKS[name].title} has no beacon chain.")
    if lone := set(arguments.beacon) ^ set(arguments.checkpoints):
        name = min(lone)
        raise CommandError(
            f"Name both of {name}: --beacon and --checkpoint. {_checkpoint_hint(name)}"
        )


def _check_arguments(arguments: InitArguments) -> None:
    if not arguments.networks:
        raise CommandError(f"Name networks, like sepolia or ethereum:base. Known: {NETWORK_NAMES}.")
    _check_options(arguments)
    for network in arguments.networks:
        if network.name not in arguments.nodes:
            raise CommandError(f"Name a node of {network.title}: --node {network.name}=URL.")
    for pair in arguments.pairs:
        if not has_route(*pair):
            raise CommandError(f"BLOCKHASH on {pair[0].title} is not that of its own blocks.")
    if not arguments.destinations:
        titles = " and ".join(network.title for network in arguments.networks)
        raise CommandError(f"There is no route for {titles} alone. Name another network with it.")
    _check_signers(arguments)


def _check_signers(arguments: InitArguments) -> None:
    for pair, registry in arguments.registries():
        if isinstance(registry, AttestedRegistry) and not arguments.signers:
            source, destination = (network.title for network in pair)
            raise CommandError(
                f"Tacitus cannot read block hashes of {source} on {destination}, so this route "
                "takes an attested registry: signers vouch for block hashes. Name them: "
                f"--signers 0x…,0x… --threshold N. {_way_without_signers(pair)}"
            )


# The file


def _file_content(arguments: InitArguments) -> str:
    destinations = arguments.destinations
    tables = [
        chain_lines(
            network,
            arguments.nodes[network.name],
            is_destination=network in destinations,
            beacon=arguments.beacon.get(network.name, ()),
            checkpoint=arguments.checkpoints.get(network.name, b""),
        )
        for network in arguments.networks
    ]
    for (source, destination), registry in arguments.registries():
        title = f"# {source.title} → {destination.title}"
        tables.append([title, "[[registries]]", *route_lines(registry)])
    return "\n\n".join("\n".join(lines) for lines in tables) + "\n"


def _write_file(file: Path, content: str, *, overwrite: bool) -> list[str]:
    """Write the file, which only this user can read if it is new; return what its nodes show."""
    file = file.resolve()  # keep a symbolic link
    try:
        handle, name = tempfile.mkstemp(prefix=".routes-", suffix=".toml", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(handle)
        new_file = Path(name)
        try:
            reports = list(_check_nodes(read_routes(new_file)))
            if overwrite and file.exists():
                old_stat = file.stat()
                os.chown(new_file, old_stat.st_uid, old_stat.st_gid)
                new_file.chmod(stat.S_IMODE(old_stat.st_mode))
                new_file.replace(file)  # atomic, for provers that start now
            else:
                file.hardlink_to(new_file)  # fails if the file was created meanwhile
        finally:
            new_file.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}.") from None
    return reports


def _check_nodes(routes: Routes) -> Iterator[str]:
    """Yield a warning for each node that does not answer, and each beacon node that does not know
    the checkpoint, and what gas pays for on each destination. Refuse a node of another chain.
    """
    destinations = {destination for _, destination in routes.registries}
    for chain in routes.chains.values():
        live_nodes: list[NodeAddress] = []
        for node in chain.nodes:
            try:
                chain_id = node_chain(node.url).id
            except NodesUnreachableError:
                yield f"Node {node.number} of {chain.name} does not answer, so it is not checked."
                continue
            if chain_id != chain.id:
                subject = f"Node {node.number} of {chain.name}"
                raise CommandError(f"{subject} is of chain {chain_id}. Nothing was written.")
            live_nodes.append(node)
        if live_nodes and chain.id in destinations:
            with closing(ChainClient(replace(chain, nodes=tuple(live_nodes)))) as client:
                try:
                    yield f"Gas on {chain.name}: {measure_gas_rules(client).sentence}."
                except ChainError as error:
                    yield f"What gas pays for on {chain.name} is not known. {error}"
        for node in chain.beacon:
            if warning := _beacon_node_warning(chain, node):
                yield f"Beacon node {node.number} of {chain.name} {warning}"


def _beacon_node_warning(chain: Chain, address: NodeAddress) -> str:
    """Say what is wrong with a beacon node; empty if a light client can begin with it. Refuse one
    of another chain.
    """
    with closing(BeaconNodes(replace(chain, beacon=(address,)))) as nodes:
        try:
            root = _genesis_validators_root(chain, address)
            if root != nodes.beacon_chain.genesis_validators_root:
                raise CommandError(
                    f"Beacon node {address.number} of {chain.name} is of another chain: its "
                    f"genesis validators root is 0x{root.hex()}. Nothing was written."
                )
            begin_light_client(nodes)
        except BeaconError as error:
            return f"cannot be used yet. {error} {ADVICE.get(type(error), '')}".rstrip()
        except NodeError as error:
            if error.kind is BeaconNodesUnreachableError:
                return "does not answer, so it is not checked."
            return f"does not report its genesis{error.detail}, so it is not checked."
        except (ValueError, LookupError, TypeError):
            return "does not report its genesis, so it is not checked."
    return ""


def _genesis_validators_root(chain: Chain, address: NodeAddress) -> bytes:
    """What tells the node's chain apart from others. Raises NodeError, and ValueError, LookupError
    or TypeError if the answer is malformed.
    """
    node = BeaconNode(chain, address, math.inf)
    with closing(node.session):
        genesis = node.get_json("/eth/v1/beacon/genesis")
    return bytes.fromhex(genesis["genesis_validators_root"].removeprefix("0x"))
