"""The contracts' views that return facts, and how to call them."""

from collections.abc import Sequence

from queries.proving.facts import ABSENCE_KINDS, EventFact, FactKind
from queries.proving.keccak import HASH_BYTES, keccak256, number_word

# Event facts are read from the events verifier, all others from the registry.
VIEWS = {
    FactKind.ACCOUNT_FIELD: "accountField(address,uint256,uint8)",
    FactKind.STORAGE_SLOT: "accountStorageSlotValues(address,uint256,bytes32)",
    FactKind.HEADER_FIELD: "headerField(uint256,uint8)",
    FactKind.BLOCK_AT_TIME: "blockNumberAt(uint256)",
    FactKind.LOG: "logHash(uint256,uint256,uint256)",
    FactKind.RECEIPT: "receiptOf(uint256,uint256)",
    FactKind.TRANSACTION: "transactionHash(uint256,uint256)",
    FactKind.WITHDRAWAL: "withdrawalOf(uint256,uint256)",
    FactKind.ABSENT_TRANSACTION: "isIndexAbsent(uint256,uint8,uint256)",
    FactKind.ABSENT_WITHDRAWAL: "isIndexAbsent(uint256,uint8,uint256)",
    FactKind.ABSENT_LOG: "isLogAbsent(uint256,uint256,address,uint8,bytes32[])",
    FactKind.SILENT_BLOCK: "isBlockSilent(uint256,bool,bytes32)",
}
Argument = int | bytes | list[bytes]


def try_view(kind: FactKind) -> str:
    """The view that returns whether the fact is proven and, unless it is an absence, its value."""
    view = VIEWS[kind]
    return view if kind in ABSENCE_KINDS else f"try{view[0].upper()}{view[1:]}"


def view_arguments(
    kind: FactKind, key: int, block: int, account: bytes, event: EventFact | None = None
) -> tuple[Argument, ...]:
    """The arguments of a fact's view. `key`: a field's number, a slot, or Unix time."""
    if event:
        return block, *_event_arguments(event)
    match kind:
        case FactKind.ACCOUNT_FIELD:
            return account, block, key
        case FactKind.STORAGE_SLOT:
            return account, block, number_word(key)
        case FactKind.HEADER_FIELD:
            return block, key
        case FactKind.BLOCK_AT_TIME:
            return (key,)
    raise ValueError(f"no contract stores a {kind}")


def _event_arguments(event: EventFact) -> tuple[Argument, ...]:
    match event.kind:
        case FactKind.LOG:
            return event.index, event.log
        case FactKind.ABSENT_TRANSACTION | FactKind.ABSENT_WITHDRAWAL:
            return int(event.field), event.index
        case FactKind.ABSENT_LOG if event.filter:
            topics = [topic for topic in event.filter.topics if topic is not None]
            return event.index, event.filter.emitter, event.filter.mask, topics
        case FactKind.SILENT_BLOCK:
            return len(event.item) == HASH_BYTES, event.item.rjust(HASH_BYTES, b"\0")
    return (event.index,)


def encode_view_call(signature: str, arguments: Sequence[Argument]) -> bytes:
    """The calldata; only lists have a dynamic type."""
    heads, tails = b"", b""
    for argument in arguments:
        if isinstance(argument, list):
            heads += number_word(HASH_BYTES * len(arguments) + len(tails))
            tails += number_word(len(argument)) + b"".join(argument)
        elif isinstance(argument, bytes):
            heads += argument.rjust(HASH_BYTES, b"\0")
        else:
            heads += number_word(argument)
    return keccak256(signature.encode())[:4] + heads + tails
