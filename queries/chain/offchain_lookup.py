"""Follow an OffchainLookup to a gateway, as wallets and front ends do (ERC-3668)."""

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError

from queries.config.limits import Limits
from queries.http.bounded import REQUEST_ERRORS, BoundedSession

READ_RECENT = "readRecent(address,uint8,uint256,string[])"
READ_HEADER_RECENT = "readHeaderRecent(uint8,uint256,string[])"
ERROR_TYPES = ("address", "string[]", "bytes", "bytes4", "bytes")


class GatewayError(Exception):
    """The gateway gave no proof; the sentence says why."""


def follow_lookup(error: bytes, limits: Limits) -> bytes:
    """The calldata of the callback, with the proof of the first gateway that the error names.

    Raises `GatewayError`.
    """
    try:
        sender, (url, *_), request, callback, extra = decode(ERROR_TYPES, error[4:])
    except (DecodingError, ValueError):
        raise GatewayError("The contract does not ask a gateway.") from None
    address = url.replace("{sender}", sender).replace("{data}", f"0x{request.hex()}")
    try:
        content = BoundedSession(url, limits).get(address).json()
        if "data" in content:
            proof = bytes.fromhex(content["data"][2:])
            return bytes(callback) + encode(["bytes", "bytes"], [proof, extra])
        sentence = "".join(filter(str.isprintable, content["message"]))
    except (*REQUEST_ERRORS, KeyError, TypeError):
        raise GatewayError("The gateway did not return a valid answer.") from None
    raise GatewayError(sentence)
