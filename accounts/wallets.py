"""Who a wallet is: an address, and on whose word.

A key is the same on every chain. A contract wallet is not: at its address another chain may have
another contract, or one that a stranger can put there, and what a contract says is known from the
nodes of its chain alone. So the two are never taken for each other.
"""

import re
from dataclasses import dataclass

from eth_utils.address import is_checksum_address, to_checksum_address

from accounts.errors import REQUEST_MALFORMED, Refusal

SHORTEST_CUT = 16
GREATEST_CHAIN_ID = 2**63 - 1  # that the database keeps


@dataclass(frozen=True, slots=True)
class Wallet:
    """`chain_id` is None where the address's own key signs, which needs nobody's word."""

    address: str  # checksummed
    chain_id: int | None = None

    def __str__(self) -> str:
        """As the setting OPERATORS names one."""
        return self.address if self.chain_id is None else f"{self.chain_id}:{self.address}"


def shortened(text: str) -> str:
    """0xd8dA…6045: enough of both ends of an address, or a hash, to know it again."""
    return text if len(text) < SHORTEST_CUT else f"{text[:6]}…{text[-4:]}"


def wallet_address(given: object) -> str:
    """An address in any letter case, checksummed; a wrong checksum is a mistyped address."""
    if isinstance(given, str) and re.fullmatch("0x[0-9a-fA-F]{40}", given):
        digits = given[2:]
        if digits in {digits.lower(), digits.upper()} or is_checksum_address(given):
            return to_checksum_address(given)
    raise Refusal(
        REQUEST_MALFORMED,
        "An account's address is 0x and 40 hex digits, with the right checksum if it is in mixed "
        "case.",
        path="address",
    )


def wallet_chain_id(given: object) -> int:
    """A chain id as wallets tell it (0x-hex), or in decimal."""
    if isinstance(given, str) and re.fullmatch("0x[0-9a-fA-F]{1,16}|[1-9][0-9]{0,18}", given):
        chain_id = int(given, 0)
        if 1 <= chain_id <= GREATEST_CHAIN_ID:
            return chain_id
    raise Refusal(
        REQUEST_MALFORMED, "A network's chain id is a text such as 0x1 or 1.", path="chainId"
    )
