"""What one process is told holds in the other at once: two workers of a real server."""

import re
from pathlib import Path

import pytest
import requests
from eth_account import Account as Key
from eth_account.messages import encode_defunct

from tests.commands import Manage
from tests.served import served

pytestmark = pytest.mark.no_database
ASKED = 24  # each on a connection of its own, which either process may take


def _sign_in(address: str) -> requests.Session:
    key = Key.create()
    browser = requests.Session()
    browser.get(f"{address}/sign-in", timeout=10)
    browser.headers["X-CSRFToken"] = browser.cookies["visit"]
    asked = {"address": key.address, "chainId": "1"}
    message = browser.post(f"{address}/sign-in/message", json=asked, timeout=10).json()["message"]
    signature = key.sign_message(encode_defunct(text=message)).signature
    shown = {"message": message, "signature": f"0x{bytes(signature).hex()}"}
    assert browser.post(f"{address}/sign-in", json=shown, timeout=10).status_code == 200
    browser.headers["X-CSRFToken"] = browser.cookies["visit"]
    return browser


def test_a_key_is_counted_and_revoked_for_both(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    variables = {"DEVELOPMENT": "1", "REQUESTS_PER_MINUTE": str(ASKED + 2)}
    assert manage("migrate", **variables).returncode == 0
    with served(repository, tmp_path, workers="2", **variables) as address:
        browser = _sign_in(address)
        page = browser.get(f"{address}/dashboard", timeout=10).text
        found = re.search("tct_([a-z2-7]{10})_[a-z2-7]{32}", page)
        assert found

        def ask() -> requests.Response:
            headers = {"api-key": found[0], "Connection": "close"}
            return requests.get(f"{address}/api-key", headers=headers, timeout=10)

        answers = [ask() for _ in range(ASKED)]
        assert {answer.status_code for answer in answers} == {200}
        left = [int(answer.headers["RateLimit-Remaining"]) for answer in answers]
        assert left == list(range(ASKED + 1, 1, -1))
        revoked = browser.post(f"{address}/keys/{found[1]}/revoke", timeout=10)
        assert "is revoked" in revoked.text
        codes = {(answer := ask()).json()["code"] for _ in range(ASKED)}
        assert (codes, answer.status_code) == ({"key_revoked"}, 401)
        assert browser.post(f"{address}/sign-out-everywhere", timeout=10).status_code == 200
        for _ in range(ASKED):
            fresh = requests.get(
                f"{address}/dashboard",
                cookies=browser.cookies.get_dict(),
                headers={"Connection": "close"},
                allow_redirects=False,
                timeout=10,
            )
            assert fresh.status_code == 302
