"""The private key that pays for transactions. No `repr`, message or traceback shows it."""

import json
import re
from dataclasses import dataclass

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_typing import Hash32
from eth_utils.address import to_checksum_address
from hexbytes import HexBytes


class SignerUnusableError(Exception):
    """No signer is configured, or its key cannot be read."""


@dataclass(frozen=True, slots=True)
class Fees:
    """Fees that a transaction offers, in wei per gas."""

    max_fee: int  # maxFeePerGas
    tip: int  # maxPriorityFeePerGas
    next_block_fee: int = 0  # a maxFeePerGas that the next block accepts, whatever its base fee


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """A contract call without ether, as it is signed."""

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
    """Holds a private key, given in hex."""

    address = ""  # until the key is read

    def __init__(self, key: str) -> None:
        account = _parse_key(key)
        if account is None:
            del key  # error pages show local variables
            raise SignerUnusableError("SIGNER_KEY is not a private key (32 bytes in hex).")
        self._account = account
        self.address = str(account.address)

    def __repr__(self) -> str:
        return f"<Signer {self.address}>"

    def sign(self, transaction: UnsignedTransaction) -> SignedTransaction:
        result = self._account.sign_transaction(
            {
                "type": 2,  # EIP-1559
                "chainId": transaction.chain_id,
                "nonce": transaction.nonce,
                "to": bytes.fromhex(transaction.to.removeprefix("0x")),
                "data": transaction.data,
                "gas": transaction.gas_limit,
                "maxFeePerGas": transaction.fees.max_fee,
                "maxPriorityFeePerGas": transaction.fees.tip,
                "value": 0,
            }
        )
        return SignedTransaction(bytes(result.raw_transaction), f"0x{bytes(result.hash).hex()}")

    def sign_digest(self, digest: bytes) -> bytes:
        """Sign a digest that our own code computed. Returns 65 bytes."""
        return bytes(self._account.unsafe_sign_hash(Hash32(digest)).signature)


def open_signer(key: str, keystore: str = "", password: str = "") -> Signer:
    """The signer from the settings SIGNER_KEY, or SIGNER_KEYSTORE and SIGNER_PASSWORD."""
    settings = {"SIGNER_KEY": key, "SIGNER_KEYSTORE": keystore, "SIGNER_PASSWORD": password}
    names = [name for name, value in settings.items() if value]
    try:
        if not names:
            raise SignerUnusableError("There is no signer: set SIGNER_KEY, or SIGNER_KEYSTORE.")
        if names == ["SIGNER_KEYSTORE", "SIGNER_PASSWORD"]:
            key = _decrypt(keystore, password)
            if not key:
                raise SignerUnusableError("SIGNER_KEYSTORE cannot be opened with SIGNER_PASSWORD.")
        elif names != ["SIGNER_KEY"]:
            raise SignerUnusableError(
                "Set SIGNER_KEY alone, or SIGNER_KEYSTORE and SIGNER_PASSWORD; now set: "
                f"{', '.join(names)}."
            )
        return Signer(key)
    finally:
        del key, keystore, password, settings  # error pages show local variables


def _parse_key(key: str) -> LocalAccount | None:
    digits = re.fullmatch("(?:0x)?([0-9a-fA-F]{64})", key.strip())
    try:
        return None if digits is None else Account.from_key(bytes.fromhex(digits[1]))
    except Exception:  # noqa: BLE001  (any error may hold the key)
        return None  # zero, or not below the curve's order


def _decrypt(keystore: str, password: str) -> str:
    """The keystore's key, or an empty text if it cannot be opened."""
    try:
        return bytes(Account.decrypt(json.loads(keystore), password)).hex()
    except Exception:  # noqa: BLE001  (a keystore may be wrong in any way)
        return ""


def decode_transaction(raw: bytes) -> UnsignedTransaction:
    """The transaction that was signed."""
    fields = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    return UnsignedTransaction(
        int(fields["chainId"]),
        int(fields["nonce"]),
        to_checksum_address(bytes(fields["to"])),  # as rows have it
        bytes(fields["data"]),
        int(fields["gas"]),
        Fees(int(fields["maxFeePerGas"]), int(fields["maxPriorityFeePerGas"])),
    )
