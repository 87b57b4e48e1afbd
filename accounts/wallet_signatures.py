"""Whose signature it is: an account's own, or one that a contract wallet accepts."""

import re
from collections.abc import Callable
from typing import Any

from eth_account.messages import defunct_hash_message

from accounts.contract_wallets import AskWallet, WalletAnswer
from accounts.errors import SIGNATURE_REFUSED, WALLET_UNREACHABLE, Refusal

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
    answer = ask(message.chain_id, message.address, digest, signature, before)
    if answer is not WalletAnswer.ACCEPTED:
        raise _refusal(answer, message, plain=plain)
    return int(message.chain_id)


def _bytes_of(written: str) -> bytes:
    if len(written) > 2 + 2 * LONGEST_SIGNATURE:
        raise _refused(f"The signature has more than {LONGEST_SIGNATURE:,} bytes.")
    # Of no bytes where a wallet keeps on chain what its owners signed.
    if not re.fullmatch("0x(?:[0-9a-fA-F]{2})*", written):
        raise _refused("The signature is not 0x and bytes.")
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
            "The contract wallet could not be asked: another one is being asked, or no trustworthy "
            f"node of network {message.chain_id} answers. Try again in a minute.",
            headers={"Retry-After": "60"},
        )
    if answer is WalletAnswer.CHAIN_UNKNOWN and not plain:
        return _refused(
            f"This looks like the signature of a contract wallet on network {message.chain_id}, "
            "which this service cannot ask. Switch to another network, or take another wallet."
        )
    if not plain:
        return _refused(
            f"The signature is not {PLAIN_BYTES} bytes, and at its address is no contract wallet."
        )
    return _refused(f"The signature is not of {message.address}. Sign with the account you chose.")


def _refused(sentence: str) -> Refusal:
    return Refusal(SIGNATURE_REFUSED, sentence, path="signature")
