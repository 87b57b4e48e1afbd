"""A browser without JavaScript: it signs in with a key, reads pages and sends their forms."""

import re
from typing import Any

import requests
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount


class Visitor:
    """A browser session at `url`, with a wallet for `key`."""

    def __init__(self, url: str, key: LocalAccount | None = None) -> None:
        self.url = url
        self.key: LocalAccount = key or Account.create()
        self.browser = requests.Session()

    def get(self, path: str) -> requests.Response:
        return self.browser.get(f"{self.url}{path}", timeout=60, allow_redirects=False)

    def page(self, path: str) -> str:
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text

    @property
    def is_signed_in(self) -> bool:
        return self.get("/dashboard").status_code == 200

    # As the script of the sign-in page

    def post(self, path: str, content: Any) -> requests.Response:
        token = _hidden(self.page("/sign-in"))["csrfmiddlewaretoken"]
        headers = {"X-CSRFToken": token, "Referer": f"{self.url}/sign-in"}
        return self.browser.post(f"{self.url}{path}", json=content, headers=headers, timeout=60)

    def message(self, chain: int = 1, address: str = "") -> str:
        """Get a message to sign."""
        body = {"address": address or self.key.address, "chainId": str(chain)}
        answer = self.post("/sign-in/message", body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["message"])

    def sign(self, message: str) -> str:
        signed = self.key.sign_message(encode_defunct(text=message))
        return f"0x{bytes(signed.signature).hex()}"

    def show(self, message: str, signature: str) -> requests.Response:
        return self.post("/sign-in", {"message": message, "signature": signature})

    def sign_in(self, chain: int = 1, address: str = "") -> "Visitor":
        message = self.message(chain, address)
        answer = self.show(message, self.sign(message))
        assert answer.status_code == 200, answer.text
        assert self.is_signed_in
        return self

    # As a person

    def submit(
        self, page: str, action: str, /, *, to: str = "", **fields: Any
    ) -> requests.Response:
        """Submit the first form of a page whose action matches; return the next page.

        An empty `action` matches a form without one. `to` replaces the form's action.
        """
        forms = re.findall(r"<form[^>]*>.*?</form>", self.page(page), flags=re.DOTALL)
        pattern = f'[^>]*action="{action}"' if action else '(?![^>]*action=)[^>]*method="post"'
        form = next(form for form in forms if re.match(f"<form {pattern}", form))
        address = re.findall('action="([^"]*)"', form)[0] if action else page
        return self.browser.post(
            f"{self.url}{to or address}",
            data=_hidden(form) | fields,
            headers={"Referer": f"{self.url}{page}"},
            timeout=60,
        )

    def choose(self, page: str, name: str, action: str) -> str:
        """Run an admin action on the row with `name`; return the next page."""
        rows = re.findall("<tr>.*?</tr>", self.page(page), re.DOTALL)
        row = next(row for row in rows if name in row)
        (key,) = re.findall('name="_selected_action" value="([^"]+)"', row)
        return self.submit(page, "", action=action, _selected_action=key).text


def _hidden(page: str) -> dict[str, str]:
    """The hidden fields of a form, or of the first form on a page."""
    hidden = re.findall('<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return dict(reversed(hidden))
