"""Placeholders in the arguments of a delivery, such as `$block`: values of the batch's block, which
are known when its facts are proven.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from eth_abi.grammar import ABIType, BasicType
from eth_utils.address import to_checksum_address

from accounts.http.errors import InvalidValueError
from accounts.wording import format_count, join_names, quote_text
from queries.error_codes import RequestCode
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.schema.bodies import ADDRESS, SLOT, slot_word
from queries.schema.checked_batch import CheckedBlock
from queries.schema.paths import JsonPath

_PLACEHOLDER = re.compile(r"\$([A-Za-z]+)(?:\(([^()]*)\))?")
_ADDRESS = re.compile(ADDRESS)
_MIN_NUMBER_BITS = 32
_MAX_LISTED = 5


def _is_number(kind: ABIType) -> bool:
    return _base(kind) == "uint" and _size(kind) >= _MIN_NUMBER_BITS


def _is_word(kind: ABIType) -> bool:
    return is_type("bytes32")(kind) or _base(kind) in {"address", "bool", "int", "uint"}


def _base(kind: ABIType) -> str:
    """The base of a type that is not an array or a tuple, such as `uint`."""
    return str(kind.base) if isinstance(kind, BasicType) and not kind.is_array else ""


def _size(kind: ABIType) -> int:
    size = kind.sub if isinstance(kind, BasicType) else 0
    return size if isinstance(size, int) else 0


def is_type(*names: str) -> Callable[[ABIType], bool]:
    return lambda kind: kind.to_type_str() in names


class PlaceholderKind(Enum):
    """A placeholder as it is written, the types that it fits, and what these are called."""

    BLOCK = "$block", _is_number, "an unsigned integer of at least 32 bits"
    TIMESTAMP = "$timestamp", _is_number, "an unsigned integer of at least 32 bits"
    BLOCK_HASH = "$blockHash", is_type("bytes32"), "bytes32"
    REGISTRY = "$registry", is_type("address"), "an address"
    VALUE = "$value(NAME)", _is_word, "an integer, bytes32, an address or a bool"
    HEADER = "$header", is_type("bytes"), "bytes"
    ACCOUNT_PROOF = "$accountProof(ACCOUNT)", is_type("bytes", "bytes[]"), "bytes or bytes[]"
    STORAGE_PROOF = (
        "$storageProof(ACCOUNT, SLOT, …)",
        is_type("bytes", "bytes[]"),
        "bytes, or with one slot bytes[]",
    )
    PROOF = "$proof(ACCOUNT, SLOT, …)", is_type("bytes"), "bytes"
    WITNESS = "$witness", is_type("bytes"), "bytes"

    def __init__(self, form: str, fits: Callable[[ABIType], bool], types: str) -> None:
        self.form, self.fits, self.types = form, fits, types

    @property
    def takes_arguments(self) -> bool:
        return "(" in self.form


_KINDS = {kind.form[1:].partition("(")[0]: kind for kind in PlaceholderKind}
_VALUE_EXAMPLES = (
    "$value(0xACCOUNT.BALANCE), $value(0xACCOUNT.0xSLOT), $value(name.eth.NONCE) or "
    "$value(BASE_FEE_PER_GAS)"
)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A value to fill in. Equal ones need the same values, however they are written."""

    kind: PlaceholderKind
    account: str = ""  # its checksummed address, or its ENS name
    fact: str = ""  # VALUE: its name, as `BlockFact.name`
    slots: tuple[bytes, ...] = ()  # of proofs
    text: str = field(default="", compare=False)

    @property
    def is_slot_value(self) -> bool:
        return self.fact.startswith("0x")

    def fits(self, kind: ABIType) -> bool:
        if self.kind is PlaceholderKind.STORAGE_PROOF and len(self.slots) > 1:
            return is_type("bytes")(kind)
        return self.kind.fits(kind)


def is_placeholder(value: object) -> bool:
    """Whether a JSON value is a placeholder; `$$` begins a text that begins with `$`."""
    return isinstance(value, str) and value.startswith("$") and not value.startswith("$$")


def placeholders_for(kind: ABIType) -> str:
    """The forms that fit a type, for a sentence; empty if none does."""
    return ", ".join(known.form for known in PlaceholderKind if known.fits(kind))


def read_placeholder(text: str, path: JsonPath) -> Placeholder:
    """Parse a placeholder. Raises `InvalidValueError`."""
    match = _PLACEHOLDER.fullmatch(text)
    kind = _KINDS.get(match[1]) if match else None
    if not match or not kind:
        raise _unknown(
            text,
            path,
            "which is not a placeholder; the placeholders are "
            f"{join_names(known.form for known in PlaceholderKind)}. A text that begins with $ is "
            "written with $$",
        )
    if kind.takes_arguments != (match[2] is not None):
        raise _unknown(text, path, f"but this placeholder is written {kind.form}")
    if not kind.takes_arguments:
        return Placeholder(kind, text=text)
    arguments = [argument.strip() for argument in match[2].split(",")]
    if kind is PlaceholderKind.VALUE:
        return _read_value(text, arguments, path)
    account, *slot_texts = arguments
    if not account or bool(slot_texts) != (kind is not PlaceholderKind.ACCOUNT_PROOF):
        raise _unknown(text, path, f"but this placeholder is written {kind.form}")
    slots = tuple(_read_slot(slot, text, path) for slot in slot_texts)
    return Placeholder(kind, _account_name(account), slots=slots, text=text)


def _read_value(text: str, arguments: list[str], path: JsonPath) -> Placeholder:
    name = arguments[0] if len(arguments) == 1 else ""
    account, dot, item = name.rpartition(".")
    fact = ""
    if not dot and item in HeaderField.__members__:
        fact = HeaderField[item].name
    elif account and item in AccountField.__members__:
        fact = item
    elif account and SLOT.fullmatch(item):
        fact = slot_name(_read_slot(item, text, path))
    if not fact:
        raise _unknown(text, path, f"which does not name a fact; write it like {_VALUE_EXAMPLES}")
    return Placeholder(PlaceholderKind.VALUE, _account_name(account), fact, text=text)


def _account_name(text: str) -> str:
    return to_checksum_address(text) if _ADDRESS.fullmatch(text) else text


def _read_slot(slot: str, text: str, path: JsonPath) -> bytes:
    if not SLOT.fullmatch(slot):
        raise _unknown(
            text, path, f"in which {quote_text(slot)} is not a slot: 0x and 1 to 64 hex digits"
        )
    return slot_word(slot)


def _unknown(text: str, path: JsonPath, reason: str) -> InvalidValueError:
    return path.refusal(RequestCode.UNKNOWN_PLACEHOLDER, f"is {quote_text(text)}, {reason}.")


@dataclass(frozen=True, slots=True)
class RequestedFacts:
    """The facts that a batch asks for: placeholders may name no others."""

    blocks: Sequence[CheckedBlock]
    is_proven: bool = True  # in a registry

    def check(self, placeholder: Placeholder, path: JsonPath) -> None:
        """Refuse a placeholder without one value in this batch."""
        text = placeholder.text
        sources = {block.source for block in self.blocks}
        if placeholder.kind in _OF_REGISTRIES and not self.is_proven:
            raise _unknown(
                text, path, "but with `prove` false no registry has the facts. Leave `prove` out"
            )
        if placeholder.kind is PlaceholderKind.REGISTRY:
            if len(sources) != 1:
                raise _unknown(
                    text,
                    path,
                    f"but the batch has {format_count(len(sources), 'source chain')}, each with a "
                    "registry. Submit one batch for each chain",
                )
            return
        if len(self.blocks) != 1:
            raise _unknown(
                text,
                path,
                f"which stands for a value of one block, but the batch has {len(self.blocks):,} "
                "blocks. Submit one batch for each block",
            )
        if placeholder.kind in _OF_ACCOUNTS or placeholder.account:
            self._check_account(placeholder, path)
        elif placeholder.fact:
            self._check_header(placeholder, path)

    def _check_account(self, placeholder: Placeholder, path: JsonPath) -> None:
        name = placeholder.account
        accounts = {account.account: account for account in self.blocks[0].accounts}
        if name not in accounts:
            reason = f"but the batch does not ask for the account {quote_text(name)}"
            raise _unknown(placeholder.text, path, f"{reason}; {_listed('accounts', accounts)}")
        account = accounts[name]
        facts = [*(prop.name for prop in account.props), *map(slot_name, account.slots)]
        needed = [*map(slot_name, placeholder.slots), *filter(None, [placeholder.fact])]
        for fact in needed:
            if fact not in facts:
                reason = f"but the batch does not ask for {_short_name(fact)} of {name}"
                listed = _listed("facts of it", map(_short_name, facts))
                raise _unknown(placeholder.text, path, f"{reason}; {listed}")

    def _check_header(self, placeholder: Placeholder, path: JsonPath) -> None:
        names = self.blocks[0].header_fields
        if placeholder.fact not in {HeaderField[name].name for name in names}:
            reason = "but the batch does not ask for this field of the header"
            listed = _listed("fields of the header", names)
            raise _unknown(placeholder.text, path, f"{reason}; {listed}")


_OF_REGISTRIES = {PlaceholderKind.REGISTRY, PlaceholderKind.WITNESS}
_OF_ACCOUNTS = {PlaceholderKind.ACCOUNT_PROOF, PlaceholderKind.STORAGE_PROOF, PlaceholderKind.PROOF}


def slot_name(slot: bytes) -> str:
    """The name of a slot's fact."""
    return f"0x{slot.hex()}"


def _short_name(fact: str) -> str:
    return f"slot {int(fact, 16):#x}" if fact.startswith("0x") else fact


def _listed(noun: str, names: Iterable[str]) -> str:
    """The end of a sentence: which of these the batch asks for."""
    listed = list(names)
    if not listed:
        return f"it asks for no {noun}"
    more = len(listed) - _MAX_LISTED
    shown = listed[:_MAX_LISTED] + ([f"{more:,} more"] if more > 0 else [])
    return f"it asks for these {noun}: {join_names(shown)}"
