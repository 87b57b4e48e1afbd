"""A wallet's address and chain, and the possible answers of a contract wallet.

A key is the same on every chain. A contract wallet belongs to one chain: at its address on another
chain, a stranger may deploy another contract. So a key and a contract wallet at the same address
are two accounts.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from eth_utils.address import is_checksum_address, to_checksum_address

from accounts.http.errors import PageCode, RefusalError

MIN_ABBREVIATED = 16
MAX_CHAIN_ID = 2**63 - 1  # that the database can store


@dataclass(frozen=True, slots=True)
class Wallet:
    """`chain_id` is None if the address's own key signs, which needs no node."""

    address: str  # checksummed
    chain_id: int | None = None

    def __str__(self) -> str:
        """The form that the setting OPERATORS uses."""
        return self.address if self.chain_id is None else f"{self.chain_id}:{self.address}"


def short_hash(text: str) -> str:
    """Abbreviate an address or hash to both ends, such as 0xd8dA…6045."""
    return text if len(text) < MIN_ABBREVIATED else f"{text[:6]}…{text[-4:]}"


def wallet_address(value: object) -> str:
    """Checksum an address of any letter case; a wrong checksum means that it was mistyped."""
    if isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{40}", value):
        digits = value[2:]
        if digits in {digits.lower(), digits.upper()} or is_checksum_address(value):
            return to_checksum_address(value)
    raise RefusalError(
        PageCode.REQUEST_MALFORMED,
        "An account's address is 0x and 40 hex digits, with the right checksum if it is in mixed "
        "case.",
        path="address",
    )


def wallet_chain_id(value: object) -> int:
    """Parse a chain id in 0x-hex, as wallets send it, or in decimal."""
    if isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{1,16}|[1-9][0-9]{0,18}", value):
        chain_id = int(value, 0)
        if 1 <= chain_id <= MAX_CHAIN_ID:
            return chain_id
    raise RefusalError(
        PageCode.REQUEST_MALFORMED,
        "A network's chain id is a text such as 0x1 or 1.",
        path="chainId",
    )


class WalletAnswer(Enum):
    ACCEPTED = auto()
    REFUSED = auto()
    NO_CONTRACT = auto()  # and the signature does not say how to deploy one (ERC-6492)
    NODE_UNREACHABLE = auto()  # or another query is running, or the nodes disagree


class ChainNotConfiguredError(Exception):
    """Raised by an `AskWallet`; its text lists the configured chains."""


# Arguments: chain id, checksummed address, signed digest, signature, and a function that is called
# before a node is asked and may raise RefusalError. `explorer` passes one, because nodes belong to
# `queries.chain`.
AskWallet = Callable[[int, str, bytes, bytes, Callable[[], None]], WalletAnswer]
