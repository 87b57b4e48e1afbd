"""Someone who is signed in at a server of its own process."""

import requests
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from tests.local_chain import CHAIN_ID


def signed_in(address: str, key: LocalAccount) -> requests.Session:
    """As the page's script does it."""
    person = requests.Session()
    person.get(f"{address}/sign-in", timeout=30)
    person.headers["X-CSRFToken"] = person.cookies["visit"]
    asked = {"address": key.address, "chainId": str(CHAIN_ID)}
    message = person.post(f"{address}/sign-in/message", json=asked, timeout=30).json()["message"]
    signature = "0x" + bytes(key.sign_message(encode_defunct(text=message)).signature).hex()
    shown = {"message": message, "signature": signature}
    assert person.post(f"{address}/sign-in", json=shown, timeout=30).status_code == 200
    return person
