"""Functions of `queries.chain` for `accounts` and the pages, which must not import it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts.http.errors import CommonCode, RefusalError
from accounts.wallets import ChainNotConfiguredError, WalletAnswer
from explorer.demo.local_node import LocalNode
from queries.chain import (
    ChainError,
    JsonRpcError,
    NodeTransportError,
    RegistryAbsentError,
    ask_contract_wallet,
)
from queries.config.routes_file import RoutesFileError
from queries.http.thread_slots import thread_slot
from queries.intake.submit import batch_limits
from queries.reading import FactView
from queries.sources import (
    Registry,
    Routes,
    SetupError,
    read_live_fact,
    read_routes,
    read_visible_l1_block,
)

try:
    ROUTES = read_routes(settings.ROUTES_FILE)
except RoutesFileError as error:
    raise ImproperlyConfigured(str(error)) from None

LIMITS = batch_limits()


def ask_wallet(
    chain_id: int, address: str, digest: bytes, signature: bytes, before_call: Callable[[], None]
) -> WalletAnswer:
    """Ask a contract wallet whether it accepts a signature. `before_call` may refuse."""
    chain = ROUTES.chains.get(chain_id)
    if chain is None:
        names = (f"{chain.name} ({chain.id})" for chain in ROUTES.chains.values())
        raise ChainNotConfiguredError(", ".join(names))
    return ask_contract_wallet(chain, address, digest, signature, before_call)


@contextmanager
def demo_wallet() -> Iterator[LocalNode]:
    """The demo's node, whose first account is the demo's wallet."""
    try:
        yield LocalNode(settings.DEMO_WALLET_NODE)
    except (NodeTransportError, JsonRpcError) as error:
        raise RefusalError(
            CommonCode.UNAVAILABLE, "The demo wallet's chain does not answer. Start the demo again."
        ) from error


class RegistryOutcome(Enum):
    SAME = auto()
    DIFFERS = auto()
    NOT_PROVEN = auto()
    NO_REGISTRY = auto()  # at its address, or in the routes
    NO_ANSWER = auto()
    BUSY = auto()
    TOO_OFTEN = auto()  # the visitor asks too often


@dataclass(frozen=True, slots=True)
class RegistryAnswer:
    """The registry's value at a block, or why it could not be read."""

    outcome: RegistryOutcome
    word: str = ""
    block: int = 0
    seconds: int = 0  # until the visitor may ask again


def ask_registry(fact: FactView, routes: Routes) -> RegistryAnswer:
    """Read the fact from its registry now."""
    registry = routes.registries.get((fact.source, fact.destination))
    if registry is None:
        return RegistryAnswer(RegistryOutcome.NO_REGISTRY)
    try:
        with thread_slot() as acquired:
            if not acquired:
                return RegistryAnswer(RegistryOutcome.BUSY)
            chain = routes.chains[fact.destination]
            block, word = read_live_fact(chain, registry, fact.block, fact.identity)
    except RegistryAbsentError:
        return RegistryAnswer(RegistryOutcome.NO_REGISTRY)
    except ChainError:
        return RegistryAnswer(RegistryOutcome.NO_ANSWER)
    if word is None:
        return RegistryAnswer(RegistryOutcome.NOT_PROVEN, block=block)
    is_same = int.from_bytes(word) == int(fact.word, 16)
    outcome = RegistryOutcome.SAME if is_same else RegistryOutcome.DIFFERS
    return RegistryAnswer(outcome, f"0x{word.hex()}", block)


def compare_l1(registry: Registry, routes: Routes) -> str:
    """Compare, for visitors, the L1 that an OP-stack chain sees with the route's source."""
    source, destination = routes.chains[registry.source], routes.chains[registry.destination]
    try:
        with thread_slot() as acquired:
            if not acquired:
                return "Others are waiting for nodes right now. Try again in a few seconds."
            number = read_visible_l1_block(registry, source, destination)
    except SetupError as error:
        return str(error)
    except ChainError as error:
        return f"Nothing can be compared now. {error.sentence}"
    return (
        f"{destination.name} sees {source.name} up to block {number:,}, and a node of "
        f"{source.name} gives that block the same hash."
    )
