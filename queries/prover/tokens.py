"""Symbols and decimals of tokens, so that pages show amounts as people write them. Not proven."""

from collections.abc import Iterable, Mapping

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError

from queries.chain import CallRevertedError, ChainClient, ChainError
from queries.contracts.abi import call_data
from queries.models import Token
from queries.planning.events import FoundEvent
from queries.proving import keccak256

MAX_ASKED = 5  # contracts in a pass
MAX_SYMBOL_LENGTH = 16
MAX_DECIMALS = 36
WORD = 32  # bytes
# Transfers and approvals of amounts; those of ERC-721 have one topic more.
_SIGNATURES = ("Transfer(address,address,uint256)", "Approval(address,address,uint256)")
TOPIC_COUNT = 3
_TOPICS = {f"0x{keccak256(signature.encode()).hex()}" for signature in _SIGNATURES}


def store_tokens(source: ChainClient, events: Iterable[FoundEvent]) -> Mapping[str, Token]:
    """The tokens whose amounts these events name, by the events' names.

    Each contract is asked once, whatever it answers. If no node answers, a later event asks again.
    """
    emitters = {
        event["name"]: event["address"]
        for event in events
        if len(event.get("topics", ())) == TOPIC_COUNT and event["topics"][0] in _TOPICS
    }
    rows = Token.objects.filter(chain=source.chain.id, address__in=set(emitters.values()))
    tokens = {row.address: row for row in rows}
    for address in sorted(set(emitters.values()) - tokens.keys())[:MAX_ASKED]:
        try:
            symbol, decimals = source.call_contracts(
                [(address, call_data("symbol()")), (address, call_data("decimals()"))],
                gas=source.chain.gas_cap,
            )
        except ChainError:
            break
        tokens[address], _ = Token.objects.get_or_create(
            chain=source.chain.id,
            address=address,
            defaults={"symbol": _read_symbol(symbol), "decimals": _read_decimals(decimals)},
        )
    return {name: tokens[address] for name, address in emitters.items() if address in tokens}


def _read_symbol(answer: bytes | CallRevertedError) -> str:
    """Empty if it is not a short text. Some old tokens answer with 32 bytes instead of a string."""
    if isinstance(answer, CallRevertedError):
        return ""
    try:
        content = answer.rstrip(b"\0") if len(answer) == WORD else decode(["bytes"], answer)[0]
        text = content.decode()
    except (DecodingError, OverflowError, UnicodeDecodeError):  # a stranger chooses the answer
        return ""
    return text if text.isprintable() and 0 < len(text) <= MAX_SYMBOL_LENGTH else ""


def _read_decimals(answer: bytes | CallRevertedError) -> int | None:
    if isinstance(answer, CallRevertedError) or len(answer) != WORD:
        return None
    decimals = int.from_bytes(answer)
    return decimals if decimals <= MAX_DECIMALS else None
