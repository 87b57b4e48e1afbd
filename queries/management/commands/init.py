"""`manage.py init`: writes a routes file for public networks, and prints the next steps."""

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

from queries.chain.errors import NodesUnreachableError
from queries.chain.signer import SignerUnusableError
from queries.config.networks import NETWORKS, Network, chain_lines, network_registry, provable_after
from queries.config.registries import Registry, RegistryKind, route_lines
from queries.config.routes import Routes, read_node, read_routes
from queries.management.base import OperatorCommand, configured_signer, node_chain

NETWORK_NAMES = ", ".join(NETWORKS)
Value = TypeVar("Value")
NetworkPair = tuple[Network, Network]


@dataclass
class InitAnswers:
    """The operator's arguments, and answers to questions."""

    routes: list[NetworkPair] = field(default_factory=list)
    nodes: dict[str, list[str]] = field(default_factory=dict)  # by network, as TOML values
    signers: tuple[str, ...] = ()
    threshold: int = 0

    @property
    def networks(self) -> list[Network]:
        return list(dict.fromkeys(network for pair in self.routes for network in pair))

    def registries(self) -> Iterator[tuple[NetworkPair, Registry]]:
        for pair in self.routes:
            yield pair, network_registry(*pair, signers=self.signers, threshold=self.threshold)


class Command(OperatorCommand):
    help = "Writes a routes file for public networks. On a terminal it asks for missing arguments."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "routes",
            nargs="*",
            metavar="SOURCE:DESTINATION",
            help=f"source and destination; one name for a chain's own past ({NETWORK_NAMES})",
        )
        parser.add_argument(
            "--node",
            action="append",
            default=[],
            metavar="NAME=URL",
            help="a network's node, or NAME=@PATH with a file that contains its URL; repeatable",
        )
        parser.add_argument("--signers", help="0x…,0x…, if a route needs an attested registry")
        parser.add_argument("--threshold", default="", help="how many of them must agree")
        parser.add_argument("--file", type=Path, help="the file to write (default: ROUTES_FILE)")
        parser.add_argument("--force", action="store_true", help="overwrite the file")

    def handle(self, **options: Any) -> None:
        file = options["file"] or settings.ROUTES_FILE
        if file is None:
            raise CommandError("Name the file to write: --file PATH, or ROUTES_FILE.")
        file = file.absolute()
        if file.exists() and not options["force"]:
            raise CommandError(f"{file} is there already. Name another one, or use --force.")
        answers = InitAnswers()
        answers.routes += dict.fromkeys(map(_parse_pair, options["routes"]))
        for text in options["node"]:
            name, separator, node = text.partition("=")
            if not separator:
                raise CommandError(f"--node takes NAME=URL; the names are {NETWORK_NAMES}.")
            answers.nodes.setdefault(_parse_network(name).name, []).append(_parse_node(node))
        if options["signers"]:
            answers.signers = _parse_signers(options["signers"])
            answers.threshold = _parse_threshold(options["threshold"], len(answers.signers))
        if sys.stdin.isatty():
            self._ask_missing(answers)
        _check_answers(answers)
        for warning in _write_file(file, _file_content(answers), overwrite=options["force"]):
            self.report(warning)
        self._print_next_steps(file, answers)

    # Questions

    def _ask_missing(self, answers: InitAnswers) -> None:
        if not answers.routes:
            self.report(f"Known networks: {NETWORK_NAMES}.")
            question = "Source and destination (such as ethereum:base, or sepolia)?"
            answers.routes.append(self._ask_until_valid(question, _parse_pair))
        for network in answers.networks:
            if network.name not in answers.nodes:
                answers.nodes[network.name] = list(self._ask_nodes(network))
        for pair, registry in answers.registries():
            if registry.kind is RegistryKind.ATTESTED and not answers.signers:
                self.report(_why_attested(*pair))
                answers.signers = self._ask_until_valid(
                    "The signers' addresses, separated by commas:", _parse_signers
                )
                count = len(answers.signers)
                answers.threshold = self._ask_until_valid(
                    f"How many of these {count} must agree?",
                    partial(_parse_threshold, signer_count=count),
                )

    def _ask_nodes(self, network: Network) -> Iterator[str]:
        question = f"A node of {network.title} (its URL, or @ and a file that contains it):"
        yield self._ask_until_valid(question, _parse_node)
        question = f"Another node of {network.title} (Enter: no more):"
        while node := self._ask_until_valid(question, lambda text: text and _parse_node(text)):
            yield node

    def _ask_until_valid(self, question: str, read: Callable[[str], Value]) -> Value:
        """Repeat the question until the answer is valid."""
        while True:
            if not (line := self.ask(question)):
                raise CommandError("The questions were not answered; nothing was written.")
            try:
                return read(line.strip())
            except CommandError as error:
                self.report(str(error))

    def _print_next_steps(self, file: Path, answers: InitAnswers) -> None:
        write = self.stdout.write
        write(f"Wrote {file}. Nodes' URLs may contain keys, so only you can read a new file.\n")
        for (source, destination), registry in answers.registries():
            write(
                f"{source.title} → {destination.title}: {registry.kind} registry {registry.address}"
            )
            delay = provable_after(source, registry.kind)
            write(f"  A block can be proven {delay} after it was made.")
        single = [net.title for net in answers.networks if len(answers.nodes[net.name]) == 1]
        if single:
            write(
                f"\nOne node only: {', '.join(single)}. Data without a hash needs two that agree."
            )
        write("\nNext:")
        if settings.ROUTES_FILE is None or settings.ROUTES_FILE.absolute() != file:
            write(f"  export ROUTES_FILE={file}")
        titles = dict.fromkeys(destination.title for _, destination in answers.routes)
        try:
            signer = configured_signer().address
        except SignerUnusableError:
            write("  set SIGNER_KEY_FILE to a file with a new key, which pays for transactions")
            signer = "its address"
        write("  manage.py cost              what deploying and proving will cost")
        write(f"  send ETH on {' and '.join(titles)} to {signer}")
        write("  manage.py deploy_registry   shows the cost, and asks before it deploys")
        write("  manage.py check_setup       checks nodes, registries and the signer")


# Parsing


def _parse_network(text: str) -> Network:
    if text not in NETWORKS:
        name = text if re.fullmatch("[a-z0-9-]{1,24}", text) else "That"  # it may contain a key
        raise CommandError(f"{name} is not a known network. Known are {NETWORK_NAMES}.")
    return NETWORKS[text]


def _parse_pair(text: str) -> NetworkPair:
    source, _, destination = text.partition(":")
    return _parse_network(source), _parse_network(destination or source)


def _parse_node(text: str) -> str:
    """Return the node as a TOML value."""
    entry: object = {"file": str(Path(text[1:]).absolute())} if text.startswith("@") else text
    try:
        read_node(entry, Path())
    except ValueError as error:
        raise CommandError(f"A node's address: {error}.") from None
    if isinstance(entry, dict):
        return f"{{ file = {json.dumps(entry['file'], ensure_ascii=False)} }}"
    return json.dumps(text)


def _parse_signers(text: str) -> tuple[str, ...]:
    signers = tuple(signer.strip() for signer in text.split(","))
    if not all(map(is_checksum_address, signers)) or len(set(signers)) < len(signers):
        raise CommandError("--signers takes different checksummed addresses, separated by commas.")
    return signers


def _parse_threshold(text: str, signer_count: int) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= signer_count):
        raise CommandError(f"--threshold is how many signers must agree: 1 to {signer_count}.")
    return int(text)


def _why_attested(source: Network, destination: Network) -> str:
    return (
        f"Tacitus cannot read block hashes of {source.title} on {destination.title}, so this route "
        "takes an attested registry: signers vouch for block hashes."
    )


def _check_answers(answers: InitAnswers) -> None:
    if not answers.routes:
        raise CommandError(f"Name routes, like sepolia or ethereum:base. Known: {NETWORK_NAMES}.")
    for network in answers.networks:
        if network.name not in answers.nodes:
            raise CommandError(f"Name a node of {network.title}: --node {network.name}=URL.")
    for pair, registry in answers.registries():
        if registry.kind is RegistryKind.ATTESTED and not answers.signers:
            advice = "Name them: --signers 0x…,0x… --threshold N."
            raise CommandError(f"{_why_attested(*pair)} {advice}")


# The file


def _file_content(answers: InitAnswers) -> str:
    destinations = {destination for _, destination in answers.routes}
    tables = [
        chain_lines(network, answers.nodes[network.name], is_destination=network in destinations)
        for network in answers.networks
    ]
    for (source, destination), registry in answers.registries():
        title = f"# {source.title} → {destination.title}"
        tables.append([title, "[[registries]]", *route_lines(registry)])
    return "\n\n".join("\n".join(lines) for lines in tables) + "\n"


def _write_file(file: Path, content: str, *, overwrite: bool) -> list[str]:
    """Write the file, which only this user can read if it is new, and return warnings."""
    file = file.resolve()  # keep a symbolic link
    try:
        handle, name = tempfile.mkstemp(prefix=".routes-", suffix=".toml", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(handle)
        new_file = Path(name)
        try:
            warnings = list(_unreachable_nodes(read_routes(new_file)))
            if overwrite and file.exists():
                old = file.stat()
                os.chown(new_file, old.st_uid, old.st_gid)
                new_file.chmod(stat.S_IMODE(old.st_mode))
                new_file.replace(file)  # atomic, for provers that start now
            else:
                file.hardlink_to(new_file)  # fails if the file was created meanwhile
        finally:
            new_file.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}.") from None
    return warnings


def _unreachable_nodes(routes: Routes) -> Iterator[str]:
    """Yield a warning for each node that does not answer. Refuse a node of another chain."""
    for chain in routes.chains.values():
        for node in chain.nodes:
            try:
                chain_id = node_chain(node.url).id
            except NodesUnreachableError:
                yield f"Node {node.number} of {chain.name} does not answer, so it is not checked."
                continue
            if chain_id != chain.id:
                subject = f"Node {node.number} of {chain.name}"
                raise CommandError(f"{subject} is of chain {chain_id}. Nothing was written.")
