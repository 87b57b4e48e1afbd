"""Users with wallets: keys that sign, and a client that posts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.test import Client
from eth_account import Account as Key
from eth_account.messages import encode_defunct


@dataclass(frozen=True)
class Signer:
    """A user with a key and a browser."""

    client: Client = field(default_factory=lambda: Client(enforce_csrf_checks=True))
    key: Any = field(default_factory=Key.create)

    @property
    def address(self) -> str:
        return str(self.key.address)

    def post(self, path: str, content: Mapping[str, object], **headers: str) -> Any:
        """Post as the page's script does, with the page's CSRF token."""
        if "visit" not in self.client.cookies:
            self.client.get("/sign-in")
        token = self.client.cookies["visit"].value
        return self.client.post(
            path,
            content,
            content_type="application/json",
            headers={"X-CSRFToken": token, **headers},
        )

    def message(self, chain_id: str = "1", address: str = "") -> str:
        request = {"address": address or self.address, "chainId": chain_id}
        response = self.post("/sign-in/message", request)
        assert response.status_code == 200, response.content
        return str(response.json()["message"])

    def sign(self, message: str) -> str:
        return "0x" + bytes(self.key.sign_message(encode_defunct(text=message)).signature).hex()

    def send_signature(self, message: str, signature: str, **more: object) -> Any:
        return self.post("/sign-in", {"message": message, "signature": signature, **more})

    def sign_in(self, **more: object) -> Any:
        message = self.message()
        return self.send_signature(message, self.sign(message), **more)
