"""A wallet in a real browser that really signs: its accounts are those of a local node.

The page sees an EIP-1193 provider (wallet.js); each of its questions comes here, to the test's own
process, where a test may also have it decline, wait, change its mind or talk nonsense.
"""

import json
from collections.abc import Callable
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
    """What it holds, and what it does otherwise than it should."""

    node: LocalNode
    name: str
    accounts: list[str]
    colour: str = "teal"
    place: str = "announced"  # or "window.ethereum", or "late"
    chain: str = "0x7a69"
    refuses: dict[str, tuple[int, str]] = field(default_factory=dict)  # method → code, message
    says: dict[str, object] = field(default_factory=dict)  # method → whatever it answers
    holds: set[str] = field(default_factory=set)  # methods that wait for `goes_on`
    then: dict[str, Callable[[], object]] = field(default_factory=dict)  # after a method
    asked: list[str] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)  # the texts it was shown
    page: Page | None = None

    def answer(self, method: str, parameters: list[Any]) -> dict[str, object]:
        self.asked.append(method)
        if method in self.holds:
            return {"held": True}
        if method in self.refuses:
            code, message = self.refuses[method]
            return {"error": {"code": code, "message": message}}
        result = self.says[method] if method in self.says else self._honest(method, parameters)
        self.then.get(method, lambda: None)()
        return {"result": result}

    def _honest(self, method: str, parameters: list[Any]) -> object:
        if method in {"eth_requestAccounts", "eth_accounts"}:
            return self.accounts[:1]
        if method == "eth_chainId":
            return self.chain
        if method == "personal_sign":
            self.signed.append(bytes.fromhex(parameters[0][2:]).decode())
        return self.node.rpc.ask(method, *parameters)

    def in_page(self, call: str) -> Any:
        assert self.page is not None
        return self.page.evaluate(f"window.testWallets[{json.dumps(self.name)}].{call}")

    def goes_on(self) -> None:
        self.holds.clear()
        self.in_page("goOn()")

    def tells(self, event: str, value: object) -> None:
        self.in_page(f"emit({json.dumps(event)}, {json.dumps(value)})")


def install(page: Page, *wallets: Wallet) -> None:
    """They are there before any script of a page runs, as an extension's are."""
    by_name = {wallet.name: wallet for wallet in wallets}

    def answer(name: str, method: str, parameters: list[Any]) -> dict[str, object]:
        return by_name[name].answer(method, parameters)

    page.expose_function("askTheTest", answer)
    for wallet in wallets:
        wallet.page = page
        told = {
            "name": wallet.name,
            "icon": ICON.format(wallet.colour),
            "uuid": str(uuid4()),
            "rdns": f"test.{wallet.colour}",
            "place": wallet.place,
        }
        page.add_init_script(f"{IN_PAGE}({json.dumps(told)})")


@pytest.fixture
def wallet(shared_node: LocalNode) -> Wallet:
    return Wallet(shared_node, "Walnut", shared_node.rpc.ask("eth_accounts")[:3])


@pytest.fixture
def two_wallets(wallet: Wallet) -> tuple[Wallet, Wallet]:
    accounts = wallet.node.rpc.ask("eth_accounts")[3:5]
    return wallet, Wallet(wallet.node, "Halcyon", accounts, colour="indigo")
