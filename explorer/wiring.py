"""Functions that `accounts` and the pages need of `queries.chain`, which they must not import."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts.shared.errors import UNAVAILABLE, Refusal
from accounts.shared.wallets import ChainNotConfiguredError, WalletAnswer
from explorer.demo.local_node import LocalNode
from queries.chain import contract_wallets
from queries.chain.errors import ChainError, RegistryAbsent
from queries.chain.json_rpc import NodeRefused, NodeUnreachable
from queries.chain.registry import FactRead, read_now
from queries.chain.registry_checks import Unfit, l1_seen_now
from queries.config.registries import Registry
from queries.config.routes import Routes, RoutesUnreadable, read_routes
from queries.http.thread_slots import place_to_wait
from queries.reading.facts import FactView
from queries.schema.batch_checks import BatchLimits

try:
    ROUTES = read_routes(settings.ROUTES_FILE)
except RoutesUnreadable as fault:
    raise ImproperlyConfigured(str(fault)) from None

LIMITS = BatchLimits(
    blocks=settings.BATCH_BLOCKS,
    accounts=settings.BATCH_ACCOUNTS,
    slots=settings.BATCH_SLOTS,
    webhook_headers=10,
    webhook_header_bytes=4_096,
    body_bytes=settings.BATCH_BODY_BYTES,
)


def ask_wallet(
    chain_id: int, address: str, digest: bytes, signature: bytes, before: Callable[[], None]
) -> WalletAnswer:
    """How sign-in asks a contract wallet on its chain."""
    chain = ROUTES.chains.get(chain_id)
    if chain is None:
        names = (f"{chain.name} ({chain.id})" for chain in ROUTES.chains.values())
        raise ChainNotConfiguredError(", ".join(names))
    return contract_wallets.ask_wallet(chain, address, digest, signature, before)


@contextmanager
def demo_wallet() -> Iterator[LocalNode]:
    """The demo's node, whose first account is the demo's wallet."""
    try:
        yield LocalNode(settings.DEMO_WALLET_NODE)
    except (NodeUnreachable, NodeRefused) as fault:
        gone = "The chain that the demo wallet signs with does not answer. Start the demo again."
        raise Refusal(UNAVAILABLE, gone) from fault


class Outcome(Enum):
    """What became of the question."""

    SAME = auto()
    DIFFERS = auto()
    NOT_PROVEN = auto()
    NO_REGISTRY = auto()  # at its address, or in the routes
    NO_ANSWER = auto()
    BUSY = auto()
    TOO_OFTEN = auto()  # the visitor's own questions


@dataclass(frozen=True, slots=True)
class RegistryWord:
    """What the registry answered at a block, or why it was not heard."""

    outcome: Outcome
    word: str = ""
    block: int = 0
    seconds: int = 0  # until it may be asked again


def ask_registry(fact: FactView, routes: Routes) -> RegistryWord:
    """What the fact's registry says now."""
    registry = routes.registries.get((fact.source, fact.destination))
    if registry is None:
        return RegistryWord(Outcome.NO_REGISTRY)
    read = FactRead(fact.kind, fact.key, fact.block, bytes.fromhex(fact.account[2:]))
    try:
        with place_to_wait() as is_free:
            if not is_free:
                return RegistryWord(Outcome.BUSY)
            block, word = read_now(routes.chains[fact.destination], registry, read)
    except RegistryAbsent:
        return RegistryWord(Outcome.NO_REGISTRY)
    except ChainError:
        return RegistryWord(Outcome.NO_ANSWER)
    if word is None:
        return RegistryWord(Outcome.NOT_PROVEN, block=block)
    said = f"0x{word.hex()}"
    same = int(said, 16) == int(fact.word, 16)
    return RegistryWord(Outcome.SAME if same else Outcome.DIFFERS, said, block)


def compare_l1(registry: Registry, routes: Routes) -> str:
    """For visitors: the L1 that an OP-stack chain sees, compared with the route's source."""
    source, destination = routes.chains[registry.source], routes.chains[registry.destination]
    try:
        with place_to_wait() as is_free:
            if not is_free:
                return "Others are waiting for nodes right now. Try again in a few seconds."
            number = l1_seen_now(registry, source, destination)
    except Unfit as unfit:
        return str(unfit)
    except ChainError as error:
        return f"Nothing can be compared now. {error.sentence}"
    return (
        f"{destination.name} sees {source.name} up to block {number:,}, and a node of "
        f"{source.name} gives that block the same hash."
    )
