"""A wallet for browser tests that signs with a local node's accounts.

The page sees an EIP-1193 provider (wallet.js) whose requests are answered here, in the test's own
process, so that a test can make the wallet decline, wait, change or answer nonsense.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page

from explorer.demo.local_node import LocalNode

IN_PAGE = Path(__file__).with_name("wallet.js").read_text()
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'%3E"
    "%3Ccircle cx='4.5' cy='4.5' r='4.5' fill='{}'/%3E%3C/svg%3E"
)


@dataclass
class Wallet:
    node: LocalNode
    name: str
    accounts: list[str]
    colour: str = "teal"
    place: str = "announced"  # or "window.ethereum"
    chain: str = "0x7a69"
    refuses: dict[str, tuple[int, str]] = field(default_factory=dict)  # method → code, message
    holds: set[str] = field(default_factory=set)  # methods that wait for `release`
    requests: list[str] = field(default_factory=list)  # methods
    page: Page | None = None

    def answer(self, method: str, parameters: list[Any]) -> dict[str, object]:
        self.requests.append(method)
        if method in self.holds:
            return {"held": True}
        if method in self.refuses:
            code, message = self.refuses[method]
            return {"error": {"code": code, "message": message}}
        return {"result": self._result(method, parameters)}

    def _result(self, method: str, parameters: list[Any]) -> object:
        if method in {"eth_requestAccounts", "eth_accounts"}:
            return self.accounts[:1]
        if method == "eth_chainId":
            return self.chain
        return self.node.rpc.ask(method, *parameters)

    def in_page(self, call: str) -> Any:
        assert self.page is not None
        return self.page.evaluate(f"window.testWallets[{json.dumps(self.name)}].{call}")

    def release(self) -> None:
        self.holds.clear()
        self.in_page("release()")

    def emit(self, event: str, value: object) -> None:
        self.in_page(f"emit({json.dumps(event)}, {json.dumps(value)})")


def install(page: Page, *wallets: Wallet) -> None:
    """Inject the wallets before any script of a page runs, as an extension does."""
    by_name = {wallet.name: wallet for wallet in wallets}

    def answer(name: str, method: str, parameters: list[Any]) -> dict[str, object]:
        return by_name[name].answer(method, parameters)

    page.expose_function("askTheTest", answer)
    for wallet in wallets:
        wallet.page = page
        options = {
            "name": wallet.name,
            "icon": ICON.format(wallet.colour),
            "uuid": str(uuid4()),
            "rdns": f"test.{wallet.colour}",
            "place": wallet.place,
        }
        page.add_init_script(f"{IN_PAGE}({json.dumps(options)})")


@pytest.fixture
def wallet(shared_node: LocalNode) -> Wallet:
    return Wallet(shared_node, "Walnut", shared_node.rpc.ask("eth_accounts")[:3])


@pytest.fixture
def two_wallets(wallet: Wallet) -> tuple[Wallet, Wallet]:
    accounts = wallet.node.rpc.ask("eth_accounts")[3:5]
    return wallet, Wallet(wallet.node, "Halcyon", accounts, colour="indigo")
