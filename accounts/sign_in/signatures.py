"""Checks that a wallet signed a message: by its key, or by asking the contract wallet."""

import re
from collections.abc import Callable
from typing import Any

from eth_account.messages import defunct_hash_message

from accounts.http.errors import PageCode, RefusalError
from accounts.wallets import AskWallet, ChainNotConfiguredError, WalletAnswer

CURVE_ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141  # secp256k1
KEY_SIGNATURE_BYTES = 65
# A wallet that is not deployed yet sends its deployment along (ERC-6492).
MAX_SIGNATURE_BYTES = 16_384
RECOVERY_IDS = {0, 1, 27, 28}


def check_signature(
    message: Any, text: str, signature_hex: str, ask: AskWallet, before_call: Callable[[], None]
) -> int | None:
    """The chain whose nodes accept the signature, after `before_call`; None if the key signed."""
    signature = _signature_bytes(signature_hex)
    has_key_length = len(signature) == KEY_SIGNATURE_BYTES
    if has_key_length and _is_signed_by_key(message, signature):
        if int.from_bytes(signature[32:64]) > CURVE_ORDER // 2:
            raise _signature_refusal("The signature's s is in the upper half (EIP-2).")
        return None
    digest = bytes(defunct_hash_message(text=text))
    try:
        answer = ask(message.chain_id, message.address, digest, signature, before_call)
    except ChainNotConfiguredError as error:
        raise _signature_refusal(
            f"The signature is not by the key of {message.address}. If that is a contract wallet: "
            f"its chain {message.chain_id}, which the message names, is not configured on this "
            f"server. Configured chains: {str(error) or 'none'}."
        ) from None
    match answer:
        case WalletAnswer.ACCEPTED:
            return int(message.chain_id)
        case WalletAnswer.REFUSED:
            raise _signature_refusal("The contract wallet does not accept this signature.")
        case WalletAnswer.NODE_UNREACHABLE:
            raise RefusalError(
                PageCode.WALLET_UNREACHABLE,
                "The contract wallet could not be queried: another query is running, or no "
                f"trustworthy node of network {message.chain_id} answers. Try again in a minute.",
                headers={"Retry-After": "60"},
            )
    if has_key_length:
        raise _signature_refusal(
            f"The signature is not of {message.address}. Sign with the account you chose."
        )
    raise _signature_refusal(
        f"The signature is not {KEY_SIGNATURE_BYTES} bytes long, and there is no contract wallet "
        "at the address."
    )


def _signature_bytes(signature_hex: str) -> bytes:
    if len(signature_hex) > 2 + 2 * MAX_SIGNATURE_BYTES:
        raise _signature_refusal(f"The signature has more than {MAX_SIGNATURE_BYTES:,} bytes.")
    # Empty if the wallet stores its owners' approvals on chain.
    if not re.fullmatch("0x(?:[0-9a-fA-F]{2})*", signature_hex):
        raise _signature_refusal("The signature is not 0x and an even number of hex digits.")
    return bytes.fromhex(signature_hex[2:])


def _is_signed_by_key(message: Any, signature: bytes) -> bool:
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    if not (0 < r < CURVE_ORDER and 0 < s < CURVE_ORDER and signature[64] in RECOVERY_IDS):
        return False
    try:
        message.verify(f"0x{signature.hex()}")
    except Exception:  # noqa: BLE001  (siwe's own, and those of the libraries below it)
        return False
    return True


def _signature_refusal(sentence: str) -> RefusalError:
    return RefusalError(PageCode.SIGNATURE_REFUSED, sentence, path="signature")
