"""Whose signature it is: an account's own, or one that a contract wallet takes for its own."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from eth_account.messages import defunct_hash_message

from accounts import sign_in_refusals as refusals
from accounts.contract_wallets import AskWallet, WalletAnswer

if TYPE_CHECKING:
    from siwe import SiweMessage

ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141  # of secp256k1
PLAIN_BYTES = 65
# Bytes. A wallet that does not exist yet brings along what makes it (EIP-6492).
LONGEST_SIGNATURE = 16_384
RECOVERY = {0, 1, 27, 28}


def signature_bytes(text: str) -> bytes:
    if len(text) > 2 + 2 * LONGEST_SIGNATURE:
        raise refusals.SignatureTooLong(
            f"The signature has more than {LONGEST_SIGNATURE:,} bytes.", path="signature"
        )
    # Of no bytes where a wallet keeps on chain what its owners signed.
    if not re.fullmatch("0x(?:[0-9a-fA-F]{2})*", text):
        raise refusals.SignatureMalformed("The signature is not 0x and bytes.", path="signature")
    return bytes.fromhex(text[2:])


def check_signature(
    message: "SiweMessage", text: str, signature: bytes, ask: AskWallet, before: Callable[[], None]
) -> int | None:
    """On the word of which chain's nodes the signature is good.

    Whoever has the account's key needs no chain, which is None; only else is the wallet asked,
    and `before` that it is counted.
    """
    plain = len(signature) == PLAIN_BYTES
    if plain and _is_by(message, signature):
        if int.from_bytes(signature[32:64]) > ORDER // 2:
            raise refusals.SignatureHigh(
                "The signature's s is in the upper half (EIP-2).", path="signature"
            )
        return None
    digest = bytes(defunct_hash_message(text=text))
    answer = ask(message.chain_id, message.address, digest, signature, before)
    if answer is not WalletAnswer.ACCEPTED:
        raise _refusal(answer, message, plain=plain)
    return int(message.chain_id)


def _is_by(message: "SiweMessage", signature: bytes) -> bool:
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    if not (0 < r < ORDER and 0 < s < ORDER and signature[64] in RECOVERY):
        return False
    try:
        message.verify(f"0x{signature.hex()}")
    except Exception:  # noqa: BLE001  (its own, and those of the libraries under it)
        return False
    return True


def _refusal(
    answer: WalletAnswer, message: "SiweMessage", *, plain: bool
) -> refusals.SignInRefused:
    if answer is WalletAnswer.REFUSED:
        return refusals.WalletSaysNo(
            "The contract wallet does not take this signature for its own.", path="signature"
        )
    if answer in {WalletAnswer.NODE_UNREACHABLE, WalletAnswer.NODES_DISAGREE}:
        return refusals.WalletUnreachable(
            "The contract wallet could not be asked: another one is being asked, or no trustworthy "
            f"node of network {message.chain_id} answers. Try again in a minute.",
            headers={"Retry-After": "60"},
        )
    if answer is WalletAnswer.CHAIN_UNKNOWN and not plain:
        return refusals.WalletNotAsked(
            f"This looks like the signature of a contract wallet on network {message.chain_id}, "
            "which this service cannot ask. Switch to another network, or take another wallet.",
            path="signature",
        )
    if not plain:
        return refusals.SignatureMalformed(
            f"The signature is not {PLAIN_BYTES} bytes, and at its address is no contract wallet.",
            path="signature",
        )
    return refusals.SignatureOfAnother(
        f"The signature is not of {message.address}. Sign with the account you chose.",
        path="signature",
    )
