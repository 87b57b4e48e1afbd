"""`manage.py init`: writes a routes file for public networks, and says what to do next."""

import json
import os
import re
import stat
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.core.management.base import CommandError
from eth_utils.address import is_checksum_address

from queries.chain.errors import NodesUnreachable
from queries.chain.signer import SignerUnusable
from queries.config.networks import NETWORKS, Network, chain_lines, provable_after, registry_of
from queries.config.registries import Registry, RegistryKind, route_lines
from queries.config.routes import Routes, read_routes
from queries.config.routes_file import RoutesUnreadable, node_address
from queries.management.base import OperatorCommand, configured_signer, node_chain

NAMES = ", ".join(NETWORKS)
Read = TypeVar("Read")
Ends = tuple[Network, Network]


@dataclass
class InitAnswers:
    """What the operator has said so far."""

    routes: list[Ends] = field(default_factory=list)
    nodes: dict[str, list[str]] = field(default_factory=dict)  # by network, as TOML values
    signers: tuple[str, ...] = ()
    threshold: int = 0

    @property
    def networks(self) -> list[Network]:
        """In the order in which the routes name them."""
        return list(dict.fromkeys(network for ends in self.routes for network in ends))

    def registries(self) -> Iterator[tuple[Ends, Registry]]:
        for ends in self.routes:
            yield ends, registry_of(*ends, signers=self.signers, threshold=self.threshold)


class Command(OperatorCommand):
    help = (
        "Writes a routes file for public networks, with everything that is known of them, and "
        "says what to do next. On a terminal it asks for what is left out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "routes",
            nargs="*",
            metavar="SOURCE:DESTINATION",
            help=f"whose past, proven to which chain; one name for a chain's own past ({NAMES})",
        )
        parser.add_argument(
            "--node",
            action="append",
            default=[],
            metavar="NAME=URL",
            help="a network's node, or NAME=@PATH with a file that holds its address; repeat it",
        )
        parser.add_argument("--signers", help="0x…,0x…, where only an attested registry works")
        parser.add_argument("--threshold", default="", help="how many of them must agree")
        parser.add_argument("--file", type=Path, help="instead of the one that ROUTES_FILE names")
        parser.add_argument("--force", action="store_true", help="overwrite the file")

    def handle(self, **options: Any) -> None:
        file = options["file"] or settings.ROUTES_FILE
        if file is None:
            raise CommandError("Name the file to write: --file PATH, or ROUTES_FILE.")
        file = file.absolute()
        if file.exists() and not options["force"]:
            raise CommandError(f"{file} is there already. Name another one, or use --force.")
        wanted = InitAnswers()
        wanted.routes += dict.fromkeys(map(_ends, options["routes"]))
        for text in options["node"]:
            name, is_named, node = text.partition("=")
            if not is_named:
                raise CommandError(f"--node takes NAME=URL; the names are {NAMES}.")
            wanted.nodes.setdefault(_network(name).name, []).append(_node(node))
        if options["signers"]:
            wanted.signers = _signers(options["signers"])
            wanted.threshold = _threshold(options["threshold"], len(wanted.signers))
        if sys.stdin.isatty():
            self._ask_for_the_rest(wanted)
        _check(wanted)
        for warning in _write(file, _content(wanted), overwrite=options["force"]):
            self.report(warning)
        self._conclude(file, wanted)

    # Questions

    def _ask_for_the_rest(self, wanted: InitAnswers) -> None:
        if not wanted.routes:
            self.report(f"Known networks: {NAMES}.")
            question = "Whose past is proven to which chain (such as ethereum:base, or sepolia)?"
            wanted.routes.append(self._ask(question, _ends))
        for network in wanted.networks:
            if network.name not in wanted.nodes:
                wanted.nodes[network.name] = list(self._ask_for_nodes(network))
        for ends, registry in wanted.registries():
            if registry.kind is RegistryKind.ATTESTED and not wanted.signers:
                self.report(_why_attested(*ends))
                wanted.signers = self._ask("The signers' addresses, separated by commas:", _signers)
                most = len(wanted.signers)
                agree = f"How many of these {most} must agree?"
                wanted.threshold = self._ask(agree, partial(_threshold, most=most))

    def _ask_for_nodes(self, network: Network) -> Iterator[str]:
        question = f"A node of {network.title} (its address, or @ and the file that holds it):"
        yield self._ask(question, _node)
        question = f"Another node of {network.title} (Enter: no more):"
        while node := self._ask(question, lambda text: text and _node(text)):
            yield node

    def _ask(self, question: str, read: Callable[[str], Read]) -> Read:
        """Until the answer can be read."""
        while True:
            if not (line := self.ask(question)):
                raise CommandError("The questions were not answered; nothing was written.")
            try:
                return read(line.strip())
            except CommandError as fault:
                self.report(str(fault))

    # Conclusion

    def _conclude(self, file: Path, wanted: InitAnswers) -> None:
        say = self.stdout.write
        say(f"Wrote {file}. Addresses of nodes may hold keys: only you can read a new file.\n")
        for (source, to), registry in wanted.registries():
            say(f"{source.title} → {to.title}: {registry.kind} registry {registry.address}")
            delay = provable_after(source, registry.kind)
            say(f"  A block can be proven {delay} after it was made.")
        lone = [each.title for each in wanted.networks if len(wanted.nodes[each.name]) == 1]
        if lone:
            say(
                f"\nOne node only: {', '.join(lone)}. Add a second and a third to `nodes`: what no "
                "hash proves needs two nodes that agree."
            )
        say("\nNext:")
        if settings.ROUTES_FILE is None or settings.ROUTES_FILE.absolute() != file:
            say(f"  export ROUTES_FILE={file}")
        destinations = " and ".join(dict.fromkeys(to.title for _, to in wanted.routes))
        try:
            signer = configured_signer().address
        except SignerUnusable:
            say("  set SIGNER_KEY_FILE to a file with a new key, which pays for transactions")
            signer = "its address"
        say("  manage.py cost              what deploying and proving will cost")
        say(f"  send ETH on {destinations} to {signer}")
        say("  manage.py deploy_registry   shows the cost, and asks before it deploys")
        say("  manage.py check_setup       checks nodes, registries and the signer")


# What the operator has written


def _network(text: str) -> Network:
    if text not in NETWORKS:
        named = text if re.fullmatch("[a-z0-9-]{1,24}", text) else "That"  # it may hold a key
        raise CommandError(f"{named} is not a known network. Known are {NAMES}.")
    return NETWORKS[text]


def _ends(text: str) -> Ends:
    source, _, destination = text.partition(":")
    return _network(source), _network(destination or source)


def _node(text: str) -> str:
    """As a TOML value."""
    entry: object = {"file": str(Path(text[1:]).absolute())} if text.startswith("@") else text
    try:
        node_address("nodes", entry, Path())
    except RoutesUnreadable as fault:
        raise CommandError(str(fault).replace("ROUTES_FILE, nodes:", "A node's address:")) from None
    if isinstance(entry, dict):
        return f"{{ file = {json.dumps(entry['file'], ensure_ascii=False)} }}"
    return json.dumps(text)


def _signers(text: str) -> tuple[str, ...]:
    signers = tuple(each.strip() for each in text.split(","))
    if not all(map(is_checksum_address, signers)) or len(set(signers)) < len(signers):
        raise CommandError(
            "--signers takes different checksummed addresses (EIP-55), separated by commas."
        )
    return signers


def _threshold(text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise CommandError(f"--threshold says how many of the signers must agree: 1 to {most}.")
    return int(text)


def _why_attested(source: Network, to: Network) -> str:
    return (
        f"{to.title} has no block hashes of {source.title} that Tacitus can read, so this route "
        "takes an attested registry: signers vouch for block hashes."
    )


def _check(wanted: InitAnswers) -> None:
    if not wanted.routes:
        raise CommandError(f"Name the routes, such as sepolia or ethereum:base. Known are {NAMES}.")
    for network in wanted.networks:
        if network.name not in wanted.nodes:
            raise CommandError(f"Name a node of {network.title}: --node {network.name}=URL.")
    for ends, registry in wanted.registries():
        if registry.kind is RegistryKind.ATTESTED and not wanted.signers:
            named = "Name them: --signers 0x…,0x… --threshold N."
            raise CommandError(f"{_why_attested(*ends)} {named}")


# The file


def _content(wanted: InitAnswers) -> str:
    paid = {to for _, to in wanted.routes}
    tables = [
        chain_lines(network, wanted.nodes[network.name], pays=network in paid)
        for network in wanted.networks
    ]
    for (source, to), registry in wanted.registries():
        title = f"# {source.title} → {to.title}"
        tables.append([title, "[[registries]]", *route_lines(registry)])
    return "\n\n".join("\n".join(lines) for lines in tables) + "\n"


def _write(file: Path, content: str, *, overwrite: bool) -> list[str]:
    """Write the file, and return warnings. `mkstemp` lets only this user read a new one."""
    file = file.resolve()  # a symbolic link stays
    try:
        handle, name = tempfile.mkstemp(prefix=".routes-", suffix=".toml", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(handle)
        written = Path(name)
        try:
            routes = read_routes(written)  # what would be refused later is refused now
            warnings = list(_unreachable(routes))
            if overwrite and file.exists():
                former = file.stat()
                os.chown(written, former.st_uid, former.st_gid)
                written.chmod(stat.S_IMODE(former.st_mode))
                written.replace(file)  # at once: provers that start now read one or the other
            else:
                file.hardlink_to(written)  # fails where another has just written it
        finally:
            written.unlink(missing_ok=True)
    except OSError as fault:
        raise CommandError(f"{file} cannot be written: {fault.strerror}.") from None
    return warnings


def _unreachable(routes: Routes) -> Iterator[str]:
    """A warning for each node that does not answer. Refuses a node of another chain."""
    for chain in routes.chains.values():
        for node in chain.nodes:
            try:
                of = node_chain(node.url).id
            except NodesUnreachable:
                yield f"Node {node.number} of {chain.name} does not answer, so it is not checked."
                continue
            if of != chain.id:
                raise CommandError(
                    f"Node {node.number} of {chain.name} is a node of chain {of}, not {chain.id}. "
                    "Nothing was written."
                )
