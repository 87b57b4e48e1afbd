"""The private key that pays for transactions, and the transactions that it signs.

No representation, message or traceback shows the key.
"""

import json
import re
from dataclasses import dataclass

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_typing import Hash32
from hexbytes import HexBytes


class SignerUnusable(Exception):  # noqa: N818
    """No signer is set, or its key cannot be read. The sentence does not contain the key."""


@dataclass(frozen=True, slots=True)
class Fees:
    """What a transaction offers, in wei per gas."""

    dearest: int  # maxFeePerGas
    priority: int  # maxPriorityFeePerGas
    enough: int = 0  # a maxFeePerGas that the next block takes, whatever its base fee


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """The bytes to broadcast, and their hash."""

    raw: bytes
    hash: str


class Signer:
    """Holds a private key, given as 32 bytes of hex."""

    address = ""  # until the key is read

    def __init__(self, key: str) -> None:
        account = _account(key)
        if account is None:
            del key  # error pages show local variables
            raise SignerUnusable("SIGNER_KEY is no private key: that is 32 bytes in hex.")
        self._account = account
        self.address = str(account.address)

    def __repr__(self) -> str:
        return f"<Signer {self.address}>"

    def sign(  # noqa: PLR0913, PLR0917  (a transaction's own parts)
        self,
        chain_id: int,
        nonce: int,
        to: str,
        data: bytes,
        gas_limit: int,
        fees: Fees,
    ) -> SignedTransaction:
        """Sign a transaction."""
        signed = self._account.sign_transaction(
            {
                "type": 2,  # EIP-1559's
                "chainId": chain_id,
                "nonce": nonce,
                "to": bytes.fromhex(to.removeprefix("0x")),
                "data": data,
                "gas": gas_limit,
                "maxFeePerGas": fees.dearest,
                "maxPriorityFeePerGas": fees.priority,
                "value": 0,
            }
        )
        return SignedTransaction(bytes(signed.raw_transaction), f"0x{bytes(signed.hash).hex()}")

    def sign_digest(self, digest: bytes) -> bytes:
        """A signature of 65 bytes. The digest must have been computed here."""
        return bytes(self._account.unsafe_sign_hash(Hash32(digest)).signature)


def open_signer(key: str, keystore: str = "", password: str = "") -> Signer:
    """The signer of the settings SIGNER_KEY, or SIGNER_KEYSTORE and SIGNER_PASSWORD."""
    settings = {"SIGNER_KEY": key, "SIGNER_KEYSTORE": keystore, "SIGNER_PASSWORD": password}
    given = [name for name, value in settings.items() if value]
    try:
        if not given:
            raise SignerUnusable("There is no signer: set SIGNER_KEY, or SIGNER_KEYSTORE.")
        if given == ["SIGNER_KEYSTORE", "SIGNER_PASSWORD"]:
            key = _opened(keystore, password)
            if not key:
                raise SignerUnusable("SIGNER_KEYSTORE cannot be opened with SIGNER_PASSWORD.")
        elif given != ["SIGNER_KEY"]:
            raise SignerUnusable(
                "Set SIGNER_KEY alone, or SIGNER_KEYSTORE and SIGNER_PASSWORD; now set: "
                f"{', '.join(given)}."
            )
        return Signer(key)
    finally:
        del key, keystore, password, settings  # error pages show local variables


def _account(key: str) -> LocalAccount | None:
    digits = re.fullmatch("(?:0x)?([0-9a-fA-F]{64})", key.strip())
    try:
        return None if digits is None else Account.from_key(bytes.fromhex(digits[1]))
    except Exception:  # noqa: BLE001  (any error may hold the key)
        return None  # zero, or beyond the curve's order


def _opened(keystore: str, password: str) -> str:
    """The key, or an empty text where the keystore cannot be opened."""
    try:
        return bytes(Account.decrypt(json.loads(keystore), password)).hex()
    except Exception:  # noqa: BLE001  (a keystore may be wrong in any way)
        return ""


@dataclass(frozen=True, slots=True)
class SignedParts:
    """A transaction without its fees and signature."""

    chain_id: int
    nonce: int
    to: str
    data: bytes
    gas_limit: int


def priority_of(raw: bytes) -> int:
    """The tip of a signed transaction, in wei."""
    return int(TypedTransaction.from_bytes(HexBytes(raw)).as_dict()["maxPriorityFeePerGas"])


def parts_of(raw: bytes) -> SignedParts:
    parts = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    return SignedParts(
        int(parts["chainId"]),
        int(parts["nonce"]),
        f"0x{bytes(parts['to']).hex()}",
        bytes(parts["data"]),
        int(parts["gas"]),
    )
