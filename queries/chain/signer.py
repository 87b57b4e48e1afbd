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
class UnsignedTransaction:
    """A call, as it is signed; it sends no ether."""

    chain_id: int
    nonce: int
    to: str
    data: bytes
    gas_limit: int
    fees: Fees


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
            raise SignerUnusable("SIGNER_KEY is not a private key (32 bytes in hex).")
        self._account = account
        self.address = str(account.address)

    def __repr__(self) -> str:
        return f"<Signer {self.address}>"

    def sign(self, one: UnsignedTransaction) -> SignedTransaction:
        signed = self._account.sign_transaction(
            {
                "type": 2,  # EIP-1559's
                "chainId": one.chain_id,
                "nonce": one.nonce,
                "to": bytes.fromhex(one.to.removeprefix("0x")),
                "data": one.data,
                "gas": one.gas_limit,
                "maxFeePerGas": one.fees.dearest,
                "maxPriorityFeePerGas": one.fees.priority,
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


def parts_of(raw: bytes) -> UnsignedTransaction:
    """What was signed."""
    parts = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    return UnsignedTransaction(
        int(parts["chainId"]),
        int(parts["nonce"]),
        f"0x{bytes(parts['to']).hex()}",
        bytes(parts["data"]),
        int(parts["gas"]),
        Fees(int(parts["maxFeePerGas"]), int(parts["maxPriorityFeePerGas"])),
    )
