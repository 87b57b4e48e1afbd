"""Signing in as a wallet does: over HTTP, with a signature of the local node's first account."""

import requests

from accounts.key_text import KEY
from explorer.demo.processes import DemoFailed
from queries.chain.local_node import LocalNode

TIMEOUT = 30  # seconds


def sign_in(site: str, node: LocalNode, chain_id: int) -> str:
    """The API key that the dashboard shows afterwards."""
    with requests.Session() as browser:
        browser.get(f"{site}/sign-in", timeout=TIMEOUT).raise_for_status()
        asked = {"address": node.payer, "chainId": str(chain_id)}
        message = _post(browser, f"{site}/sign-in/message", asked)["message"]
        signed = {"message": message, "signature": node.sign_text(message)}
        _post(browser, f"{site}/sign-in", signed)
        dashboard = browser.get(f"{site}/dashboard", timeout=TIMEOUT)
    found = KEY.search(dashboard.text)
    if found is None:
        raise DemoFailed("Signing in worked, and the dashboard shows no API key.")
    return found[0]


def _post(browser: requests.Session, address: str, content: dict[str, str]) -> dict[str, str]:
    token = browser.cookies.get("visit") or ""
    answer = browser.post(address, json=content, headers={"X-CSRFToken": token}, timeout=TIMEOUT)
    body: dict[str, str] = answer.json()
    if not answer.ok:
        raise DemoFailed(f"Signing in was refused: {body.get('error', answer.status_code)}")
    return body
