"""Events of ERC-20, ERC-721 and ERC-1155 tokens, which are known without asking for an ABI."""

from collections.abc import Callable, Sequence
from typing import Any

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from queries.proving.keccak import keccak256

MAX_DIGITS = 40  # a longer number is shown in hex
# Declarations, indexed parameters first, and sentences with the parameters' names.
_EVENTS = {
    "Transfer(address indexed from,address indexed to,uint256 value)":
        "Transfer of {value} (raw units) of token {token} from {from} to {to}",
    "Transfer(address indexed from,address indexed to,uint256 indexed tokenId)":
        "Transfer of token {tokenId} of {token} from {from} to {to}",
    "TransferSingle(address indexed operator,address indexed from,address indexed to,uint256 id,"
    "uint256 value)": "Transfer of {value} of token {id} of {token} from {from} to {to}",
    "TransferBatch(address indexed operator,address indexed from,address indexed to,uint256[] ids,"
    "uint256[] values)": "Transfer of {values} of tokens {ids} of {token} from {from} to {to}",
    "Approval(address indexed owner,address indexed spender,uint256 value)":
        "Approval of {spender} for {value} (raw units) of token {token}, by {owner}",
    "Approval(address indexed owner,address indexed approved,uint256 indexed tokenId)":
        "Approval of {approved} for token {tokenId} of {token}, by {owner}",
    "ApprovalForAll(address indexed owner,address indexed operator,bool approved)":
        "Approval of {operator} for all tokens of {token}, by {owner}: {approved}",
}  # fmt: skip


def known_event(topics: Sequence[str], data: str) -> tuple[str, str, dict[str, str]] | None:
    """Its signature, its sentence with names in braces, and its parameters as texts by name.

    None if the event is not known, or encoded otherwise than its signature says.
    """
    event = _KNOWN.get((topics[0], len(topics) - 1)) if topics else None
    if event is None:
        return None
    signature, sentence, names, types = event
    indexed, others, content = types[: len(topics) - 1], types[len(topics) - 1 :], data[2:]
    try:
        in_topics = decode(indexed, bytes.fromhex("".join(topic[2:] for topic in topics[1:])))
        in_data = decode(others, bytes.fromhex(content))
    except DecodingError:
        return None
    if encode(others, in_data).hex() != content:
        return None
    texts = map(_text, (*in_topics, *in_data))
    return signature, sentence, dict(zip(names, texts, strict=True))


def known_sentence(
    emitter: str, topics: Sequence[str], data: str, abbreviate: Callable[[str], str] = str
) -> str:
    """Such as `Transfer of 5 (raw units) of token 0x… from 0x… to 0x…`; empty if not known."""
    if (known := known_event(topics, data)) is None:
        return ""
    _, sentence, parameters = known
    texts = {
        name: abbreviate(text) if text.startswith("0x") else text
        for name, text in parameters.items()
    }
    return sentence.format_map({**texts, "token": abbreviate(emitter)})


def _text(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}" if value < 10**MAX_DIGITS else hex(value)
        case str():
            return to_checksum_address(value)
    return " + ".join(map(_text, value)) or "none"


def _parse(declaration: str, sentence: str) -> Any:
    """What `known_event` looks up, by the first topic and the number of other topics."""
    name, _, rest = declaration.removesuffix(")").partition("(")
    parameters = [parameter.split() for parameter in rest.split(",")]
    types, names = [words[0] for words in parameters], [words[-1] for words in parameters]
    signature = f"{name}({','.join(types)})"
    indexed_count = sum("indexed" in words for words in parameters)
    key = f"0x{keccak256(signature.encode()).hex()}", indexed_count
    return key, (signature, sentence, names, types)


_KNOWN = dict(_parse(*event) for event in _EVENTS.items())
