"""Events of ERC-20, ERC-721 and ERC-1155 tokens, which are known without asking for an ABI."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from queries.proving.keccak import keccak256

MAX_DIGITS = 40  # a longer number is shown in hex
MAX_UINT256 = 2**256 - 1
_FROM_TO = "from {from} to {to}"
_RAW = "{value} (raw units)"
# Each with its name, the parameters in topics, those in the data, and a sentence.
_EVENTS = (
    ("Transfer", "address from,address to", "uint256 value",
     f"Transfer of {_RAW} of token {{token}} {_FROM_TO}"),
    ("Transfer", "address from,address to,uint256 tokenId", "",
     f"Transfer of token {{tokenId}} of {{token}} {_FROM_TO}"),
    ("TransferSingle", "address operator,address from,address to", "uint256 id,uint256 value",
     f"Transfer of {{value}} of token {{id}} of {{token}} {_FROM_TO}"),
    ("TransferBatch", "address operator,address from,address to", "uint256[] ids,uint256[] values",
     f"Transfer of {{values}} of tokens {{ids}} of {{token}} {_FROM_TO}"),
    ("Approval", "address owner,address spender", "uint256 value",
     f"Approval of {{spender}} for {_RAW} of token {{token}}, by {{owner}}"),
    ("Approval", "address owner,address approved,uint256 tokenId", "",
     "Approval of {approved} for token {tokenId} of {token}, by {owner}"),
    ("ApprovalForAll", "address owner,address operator", "bool approved",
     "Approval of {operator} for all tokens of {token}, by {owner}: {approved}"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownLog:
    """A log of a known event."""

    signature: str
    sentence: str  # with the names of parameters in braces
    parameters: Mapping[str, str]  # as texts, topics first


def known_log(topics: list[str], data: str) -> KnownLog | None:
    """None if the event is not known, or encoded otherwise than its signature says."""
    key, content = (topics[0] if topics else "", len(topics)), bytes.fromhex(data[2:])
    if key not in _KNOWN:
        return None
    signature, names, types, data_types, sentence = _KNOWN[key]
    try:
        values = [
            *decode(types, bytes.fromhex("".join(topic[2:] for topic in topics[1:]))),
            *(in_data := decode(data_types, content)),
        ]
    except DecodingError:
        return None
    if encode(data_types, in_data) != content:
        return None
    return KnownLog(signature, sentence, dict(zip(names, map(_text, values), strict=True)))


def _text(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int() if value == MAX_UINT256:
            return "2^256 - 1"
        case int():
            return f"{value:,}" if value < 10**MAX_DIGITS else hex(value)
        case str():
            return to_checksum_address(value)
    return " + ".join(map(_text, value)) or "none"


def _known(name: str, topics: str, data: str, sentence: str) -> Any:
    parameters = [parameter.split() for parameter in f"{topics},{data}".strip(",").split(",")]
    types, count = [kind for kind, _ in parameters], len(topics.split(","))
    signature = f"{name}({','.join(types)})"
    key = f"0x{keccak256(signature.encode()).hex()}", count + 1
    names = [name for _, name in parameters]
    return key, (signature, names, types[:count], types[count:], sentence)


_KNOWN = dict(_known(*event) for event in _EVENTS)
