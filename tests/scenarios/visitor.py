"""A browser without JavaScript: it signs in with a key, reads pages and sends their forms."""

import re
from typing import Any

import requests
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount


class Visitor:
    """Someone at the service at `url`, with a wallet that holds `key`."""

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

    # What the script of the sign-in page does

    def post(self, path: str, content: Any) -> requests.Response:
        token = _hidden(self.page("/sign-in"))["csrfmiddlewaretoken"]
        headers = {"X-CSRFToken": token, "Referer": f"{self.url}/sign-in"}
        return self.browser.post(f"{self.url}{path}", json=content, headers=headers, timeout=60)

    def message(self, chain: int = 1, address: str = "") -> str:
        """The message that this browser is given to sign."""
        asked = {"address": address or self.key.address, "chainId": str(chain)}
        answer = self.post("/sign-in/message", asked)
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

    # What a person does

    def submit(
        self, page: str, action: str, /, *, to: str = "", **fields: Any
    ) -> requests.Response:
        """Send the first form of a page whose action matches; return the page it leads to.

        An empty action is that of the form that has none. `to` is where to send it instead.
        """
        forms = re.findall(r"<form[^>]*>.*?</form>", self.page(page), flags=re.DOTALL)
        wanted = f'[^>]*action="{action}"' if action else '(?![^>]*action=)[^>]*method="post"'
        form = next(form for form in forms if re.match(f"<form {wanted}", form))
        address = re.findall('action="([^"]*)"', form)[0] if action else page
        return self.browser.post(
            f"{self.url}{to or address}",
            data=_hidden(form) | fields,
            headers={"Referer": f"{self.url}{page}"},
            timeout=60,
        )

    def choose(self, page: str, name: str, action: str) -> str:
        """As an operator: do this to the row with `name` of a list at /admin/; return the page."""
        rows = re.findall("<tr>.*?</tr>", self.page(page), re.DOTALL)
        row = next(row for row in rows if name in row)
        (chosen,) = re.findall('name="_selected_action" value="([^"]+)"', row)
        return self.submit(page, "", action=action, _selected_action=chosen).text


def _hidden(page: str) -> dict[str, str]:
    """The hidden fields of a form, or of the first one on a page."""
    hidden = re.findall('<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return dict(reversed(hidden))
