"""The key that pays for our transactions. It is in no representation, sentence or traceback."""

import json
import re
from dataclasses import dataclass

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_typing import Hash32

from queries.chain.destination import Fees

DYNAMIC_FEE = 2  # the type of EIP-1559's transactions

NO_KEY = "SIGNER_KEY is no private key: that is 32 bytes in hex."
TWO_KEYS = "SIGNER_KEY and SIGNER_KEYSTORE are both set; keep one of them."
# By which of key, keystore and password are given.
REFUSALS = {
    (False, False, False): "There is no signer: set SIGNER_KEY, or SIGNER_KEYSTORE.",
    (False, False, True): "SIGNER_PASSWORD is set, and SIGNER_KEYSTORE is not.",
    (False, True, False): "SIGNER_KEYSTORE is set, and SIGNER_PASSWORD is not.",
    (True, False, True): "SIGNER_PASSWORD is for SIGNER_KEYSTORE, and SIGNER_KEY is set.",
    (True, True, False): TWO_KEYS,
    (True, True, True): TWO_KEYS,
}


class SignerUnusable(Exception):  # noqa: N818
    """No signer is set, or its key cannot be read; the sentence does not repeat it."""


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """What is broadcast, and the hash by which it is found."""

    raw: bytes
    hash: str


class Signer:
    """Holds a private key, given as 32 bytes of hex."""

    address = ""  # until the key is read

    def __init__(self, key: str) -> None:
        account = _account(key)
        if account is None:
            # A page of faults shows what a function's names hold.
            del key
            raise SignerUnusable(NO_KEY)
        self._account = account
        self.address = str(account.address)

    def __repr__(self) -> str:
        return f"<Signer {self.address}>"

    def sign(  # noqa: PLR0913, PLR0917  (a transaction's own parts)
        self,
        chain_id: int,
        nonce: int,
        to: str | None,
        data: bytes,
        gas_limit: int,
        fees: Fees,
        value: int = 0,
    ) -> SignedTransaction:
        """Sign a transaction; without `to` it deploys."""
        signed = self._account.sign_transaction(
            {
                "type": DYNAMIC_FEE,
                "chainId": chain_id,
                "nonce": nonce,
                "to": b"" if to is None else bytes.fromhex(to.removeprefix("0x")),
                "data": data,
                "gas": gas_limit,
                "maxFeePerGas": fees.dearest,
                "maxPriorityFeePerGas": fees.priority,
                "value": value,
            }
        )
        return SignedTransaction(bytes(signed.raw_transaction), f"0x{bytes(signed.hash).hex()}")

    def sign_digest(self, digest: bytes) -> bytes:
        """A signature of 65 bytes; only for digests that were made here."""
        return bytes(self._account.unsafe_sign_hash(Hash32(digest)).signature)


def open_signer(key: str, keystore: str = "", password: str = "") -> Signer:
    """The signer of the settings SIGNER_KEY, or SIGNER_KEYSTORE and SIGNER_PASSWORD."""
    given = bool(key), bool(keystore), bool(password)
    refusal = REFUSALS.get(given, "")
    if keystore and not refusal:
        key = _opened(keystore, password)
        refusal = "" if key else "SIGNER_KEYSTORE cannot be opened with SIGNER_PASSWORD."
    if not refusal and _account(key) is None:
        refusal = NO_KEY
    if refusal:
        del key, keystore, password
        raise SignerUnusable(refusal)
    return Signer(key)


def _account(key: str) -> LocalAccount | None:
    told = re.fullmatch("(?:0x)?([0-9a-fA-F]{64})", key.strip())
    try:
        return None if told is None else Account.from_key(bytes.fromhex(told[1]))
    except Exception:  # noqa: BLE001  (whichever it is, it may hold the key)
        return None  # zero, or beyond the curve's order


def _opened(keystore: str, password: str) -> str:
    """The key, or no text where the keystore cannot be opened."""
    try:
        return bytes(Account.decrypt(json.loads(keystore), password)).hex()
    except Exception:  # noqa: BLE001  (a keystore may be wrong in any way)
        return ""
