"""Wallets: which key or contract signs for an address, and whether a signature is valid.

A key is the same on every chain. A contract wallet belongs to one chain: at its address on another
chain, a stranger may deploy another contract. Only nodes of its chain can say what it accepts. So a
key and a contract wallet at one address are two accounts. A contract wallet is asked by a function
that `explorer` passes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from eth_account.messages import defunct_hash_message
from eth_utils.address import is_checksum_address, to_checksum_address

from accounts.shared.errors import REQUEST_MALFORMED, SIGNATURE_REFUSED, WALLET_UNREACHABLE, Refusal

SHORTEST_CUT = 16
GREATEST_CHAIN_ID = 2**63 - 1  # that the database keeps


@dataclass(frozen=True, slots=True)
class Wallet:
    """`chain_id` is None where the address's own key signs, which needs no node."""

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
    """A chain id as wallets give it (0x-hex), or in decimal."""
    if isinstance(given, str) and re.fullmatch("0x[0-9a-fA-F]{1,16}|[1-9][0-9]{0,18}", given):
        chain_id = int(given, 0)
        if 1 <= chain_id <= GREATEST_CHAIN_ID:
            return chain_id
    raise Refusal(
        REQUEST_MALFORMED, "A network's chain id is a text such as 0x1 or 1.", path="chainId"
    )


class WalletAnswer(Enum):
    ACCEPTED = auto()
    REFUSED = auto()
    NO_CONTRACT = auto()  # nor one that the signature says how to make
    NODE_UNREACHABLE = auto()  # or another query is running, or the nodes disagree


class ChainNotConfiguredError(Exception):
    """Raised by an `AskWallet`; its text lists the chains that are configured."""


# (chain id, checksummed address, digest that was signed, signature, a function that is called
# before a node is asked and may raise a Refusal)
AskWallet = Callable[[int, str, bytes, bytes, Callable[[], None]], WalletAnswer]


ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141  # of secp256k1
PLAIN_BYTES = 65
# Bytes. A wallet that does not exist yet brings along what makes it (EIP-6492).
LONGEST_SIGNATURE = 16_384
RECOVERY = {0, 1, 27, 28}


def check_signature(
    message: Any, text: str, written: str, ask: AskWallet, before: Callable[[], None]
) -> int | None:
    """The chain whose nodes say that the signature is good.

    None if it is by the account's key, which is the same on every chain. Only otherwise is a wallet
    asked; `before` is called first, and may raise.
    """
    signature = _bytes_of(written)
    plain = len(signature) == PLAIN_BYTES
    if plain and _is_by(message, signature):
        if int.from_bytes(signature[32:64]) > ORDER // 2:
            raise _refused("The signature's s is in the upper half (EIP-2).")
        return None
    digest = bytes(defunct_hash_message(text=text))
    try:
        answer = ask(message.chain_id, message.address, digest, signature, before)
    except ChainNotConfiguredError as configured:
        raise _refused(
            f"The signature is not by the key of {message.address}. If that is a contract wallet: "
            f"its chain {message.chain_id}, which the message names, is not configured on this "
            "server, so its signature cannot be checked there. Configured chains: "
            f"{str(configured) or 'none'}."
        ) from None
    if answer is not WalletAnswer.ACCEPTED:
        raise _refusal(answer, message, plain=plain)
    return int(message.chain_id)


def _bytes_of(written: str) -> bytes:
    if len(written) > 2 + 2 * LONGEST_SIGNATURE:
        raise _refused(f"The signature has more than {LONGEST_SIGNATURE:,} bytes.")
    # Empty if the wallet stores its owners' approvals on chain.
    if not re.fullmatch("0x(?:[0-9a-fA-F]{2})*", written):
        raise _refused("The signature is not 0x and an even number of hex digits.")
    return bytes.fromhex(written[2:])


def _is_by(message: Any, signature: bytes) -> bool:
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    if not (0 < r < ORDER and 0 < s < ORDER and signature[64] in RECOVERY):
        return False
    try:
        message.verify(f"0x{signature.hex()}")
    except Exception:  # noqa: BLE001  (its own, and those of the libraries under it)
        return False
    return True


def _refusal(answer: WalletAnswer, message: Any, *, plain: bool) -> Refusal:
    if answer is WalletAnswer.REFUSED:
        return _refused("The contract wallet does not accept this signature.")
    if answer is WalletAnswer.NODE_UNREACHABLE:
        return Refusal(
            WALLET_UNREACHABLE,
            "The contract wallet could not be queried: another query is running, or no trustworthy "
            f"node of network {message.chain_id} answers. Try again in a minute.",
            headers={"Retry-After": "60"},
        )
    if not plain:
        return _refused(
            f"The signature is not {PLAIN_BYTES} bytes long, and there is no contract wallet at "
            "the address."
        )
    return _refused(f"The signature is not of {message.address}. Sign with the account you chose.")


def _refused(sentence: str) -> Refusal:
    return Refusal(SIGNATURE_REFUSED, sentence, path="signature")
