"""What one part of the house needs of another, without the two knowing each other."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts.contract_wallets import WalletAnswer as ForSignIn
from explorer.live_check import AskRegistry, Outcome, RegistryWord, compared
from queries.chain import demo_wallet
from queries.chain.contract_wallets import WalletAnswer, WalletQuestions
from queries.chain.demo_wallet import DemoAccount, DemoWalletGone
from queries.chain.errors import ChainError, RegistryAbsent
from queries.chain.live_reads import LiveReads, TooManyReads
from queries.chain.registry_facts import (
    AccountFieldRead,
    FactRead,
    HeaderFieldRead,
    SlotRead,
    TimestampRead,
)
from queries.deliveries import replay
from queries.reading.facts import FactKind, FactView
from queries.routes import Routes, RoutesUnreadable, read_routes
from queries.schema.batch_rules import BatchLimits

# A node of another chain is as good as none.
TOLD = {
    WalletAnswer.ACCEPTED: ForSignIn.ACCEPTED,
    WalletAnswer.REFUSED: ForSignIn.REFUSED,
    WalletAnswer.NO_CONTRACT: ForSignIn.NO_CONTRACT,
    WalletAnswer.CHAIN_UNKNOWN: ForSignIn.CHAIN_UNKNOWN,
    WalletAnswer.NODE_UNREACHABLE: ForSignIn.NODE_UNREACHABLE,
    WalletAnswer.WRONG_CHAIN: ForSignIn.NODE_UNREACHABLE,
    WalletAnswer.NODES_DISAGREE: ForSignIn.NODES_DISAGREE,
    WalletAnswer.BUSY: ForSignIn.NODE_UNREACHABLE,
}


def _configured() -> Routes:
    try:
        return read_routes(settings.ROUTES_FILE)
    except RoutesUnreadable as fault:
        raise ImproperlyConfigured(str(fault)) from None


__all__ = ["LIMITS", "ROUTES", "WALLETS", "DemoWalletGone", "ask_wallet", "replay"]

ROUTES = _configured()

LIMITS = BatchLimits(
    blocks=settings.BATCH_BLOCKS,
    accounts=settings.BATCH_ACCOUNTS,
    slots=settings.BATCH_SLOTS,
    webhook_headers=10,
    webhook_header_bytes=4_096,
    body_bytes=settings.BATCH_BODY_BYTES,
)


WALLETS = WalletQuestions()  # of this process


def ask_wallet(
    chain_id: int, address: str, digest: bytes, signature: bytes, before: Callable[[], None]
) -> ForSignIn:
    """How sign-in asks a contract wallet on its chain."""
    return TOLD[WALLETS.ask(ROUTES.chains.get(chain_id), address, digest, signature, before)]


def demo_account() -> DemoAccount:
    """Whom the demo's wallet signs for."""
    return demo_wallet.demo_account(settings.DEMO_WALLET_NODE)


def demo_signature(address: str, text: str) -> str:
    return demo_wallet.demo_signature(settings.DEMO_WALLET_NODE, address, text)


LIVE_READS = LiveReads()  # of this process


def ask_registry(routes: Routes) -> AskRegistry:
    """How a page asks the registries of these routes what they say now."""

    def ask(fact: FactView) -> RegistryWord:
        registry = routes.registries.get((fact.source, fact.destination))
        if registry is None:
            return RegistryWord(Outcome.NO_REGISTRY)
        chain = routes.chains[fact.destination]
        try:
            found = LIVE_READS.words(chain, registry, [_read_of(fact)])
        except TooManyReads:
            return RegistryWord(Outcome.BUSY)
        except RegistryAbsent:
            return RegistryWord(Outcome.NO_REGISTRY)
        except ChainError:
            return RegistryWord(Outcome.NO_ANSWER)
        return compared(fact, found.words[0], found.block)

    return ask


def _read_of(fact: FactView) -> FactRead:
    account = bytes.fromhex(fact.account[2:])
    match fact.kind:
        case FactKind.ACCOUNT_FIELD:
            return AccountFieldRead(account, fact.block, fact.key)
        case FactKind.STORAGE_SLOT:
            return SlotRead(account, fact.block, fact.key)
        case FactKind.HEADER_FIELD:
            return HeaderFieldRead(fact.block, fact.key)
        case _:
            return TimestampRead(fact.key)
