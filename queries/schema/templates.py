"""Placeholders in the JSON of a batch: `$name` or `$name(ARGUMENT, …)`, in two scopes.

RUN_KINDS     are filled in when a feed's run is due, in any text and key of its batch.
PROOF_KINDS   are filled in when a batch is delivered. Each is a whole argument of a function, and
              gives a value of the parameter's type.

`$$` stands for a `$`. Arguments may have placeholders of runs: the proof of an entry of a Solidity
mapping is `$storageProof(ACCOUNT, $keccak(KEY, SLOT))`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from eth_abi.grammar import ABIType, BasicType
from eth_utils.address import to_checksum_address

from accounts.http.errors import BodyCode, InvalidValueError
from accounts.wording import join_names, quote_text
from queries.error_codes import RequestCode
from queries.proving import AccountField, Header, HeaderField, keccak256
from queries.schema.bodies import ADDRESS, SLOT, slot_word
from queries.schema.paths import WHOLE_BODY, JsonPath

MAX_NESTED = 8  # of `$keccak`
_MIN_NUMBER_BITS = 32
_ADDRESS = re.compile(ADDRESS)
_WORD = re.compile("0x([0-9a-fA-F]{1,64})|([0-9]{1,77})")
_VALUE_EXAMPLES = (
    "$value(0xACCOUNT.BALANCE), $value(0xACCOUNT.0xSLOT), $value(name.eth.NONCE) or "
    "$value(BASE_FEE_PER_GAS)"
)

Values = Mapping[str, Any]  # JSON values of a run, by placeholder


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A value to fill in. Equal ones stand for the same value, however they are written."""

    name: str
    arguments: tuple[str, ...] = ()  # as written, or as `ProofKind.read_arguments` returns them
    addend: int = 0
    text: str = field(default="", compare=False)

    @property
    def account(self) -> str:
        """A checksummed address or an ENS name; empty without one."""
        return self.arguments[0] if self.arguments else ""

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts of the account or the header, by `BlockFact.name`."""
        return self.arguments[1:]


# Runs


@dataclass(frozen=True, slots=True)
class RunKind:
    """A placeholder of runs: how it is written, and what it stands for."""

    form: str
    meaning: str
    pattern: str  # of its name
    # The value of its arguments; without it, the feed's trigger gives the value.
    compute: Callable[[Placeholder, JsonPath], str] | None = None


def _keccak(placeholder: Placeholder, path: JsonPath) -> str:
    words = [_WORD.fullmatch(word) for word in placeholder.arguments]
    if not all(words):
        problem = "but takes words: numbers, or 0x and hex digits."
        raise _unknown(path, f"has {quote_text(placeholder.text)}, {problem}")
    numbers = [int(word[1], 16) if word[1] else int(word[2]) for word in words if word]
    digest = keccak256(b"".join((number % 2**256).to_bytes(32) for number in numbers))
    return f"0x{(int.from_bytes(digest) + placeholder.addend) % 2**256:064x}"


DUE, LOG_BLOCK = "$due", "$log.block"
RUN_KINDS = (
    RunKind("`$due`", "the block or the time that was due; of a log, its block", "due"),
    RunKind("`$topic1` to `$topic3`", "the event's indexed parameters", "topic[0-9]+"),
    RunKind("`$data[0]`, `$data[1]`, …", "its other parameters", r"data\[[0-9]+\]"),
    RunKind("`$log.block`", "the log's block, the same as `$due`", r"log\.block"),
    RunKind(
        "`$keccak(A, B, …)`",
        "the hash of 32-byte words: `$keccak(KEY, SLOT)` is the slot of a mapping's entry, and "
        "`$keccak(KEY, SLOT)+1` the next one",
        "keccak",
        _keccak,
    ),
)
_FUNCTIONS = {kind.pattern: kind.compute for kind in RUN_KINDS if kind.compute}


# Proofs


class CallValues(Protocol):
    """The values of a batch's block. Only those that a call needs are read; None: not known.

    An account is a checksummed address or an ENS name, as in `CheckedAccount`.
    """

    def block_number(self) -> int | None: ...

    def header(self) -> Header | None: ...

    def registry(self) -> str | None:
        """The address of the registry that has the facts."""

    def word(self, account: str, fact: str) -> bytes | None:
        """The word of a fact, by its name; `account` is empty for a field of the header."""

    def account_nodes(self, account: str) -> Sequence[bytes] | None:
        """The encoded nodes of the account's proof, root first.

        Contracts want embedded nodes as well, as `ProvenPath.nodes` has them.
        """

    def slot_nodes(self, account: str, slot: bytes) -> Sequence[bytes] | None:
        """The encoded nodes of a slot's proof, in the same way; none for an empty trie."""

    def witness(self) -> bytes | None:
        """The proof that POST /witness returns."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """The types of parameters that a value fits, and what these are called."""

    name: str
    fits: Callable[[ABIType], bool]


@dataclass(frozen=True, slots=True)
class ProofKind:
    """A placeholder of proofs: how it is written, what it stands for, its type and its value."""

    form: str
    meaning: str
    type: ValueType
    value: Callable[[CallValues, Placeholder], Any]  # None: not known; of proofs, a list of nodes
    # Its account and the names of facts. Raises `InvalidValueError`.
    read_arguments: Callable[[Placeholder, JsonPath], tuple[str, ...]] | None = None
    needs_registry: bool = False
    is_of_block: bool = True  # otherwise of the batch's one source chain


def _is_type(*names: str) -> Callable[[ABIType], bool]:
    return lambda kind: kind.to_type_str() in names


def _is_number(kind: ABIType) -> bool:
    return _base(kind) == "uint" and _size(kind) >= _MIN_NUMBER_BITS


def _is_word(kind: ABIType) -> bool:
    return _is_type("bytes32")(kind) or _base(kind) in {"address", "bool", "int", "uint"}


def _base(kind: ABIType) -> str:
    """The base of a type that is not an array or a tuple, such as `uint`."""
    return str(kind.base) if isinstance(kind, BasicType) and not kind.is_array else ""


def _size(kind: ABIType) -> int:
    size = kind.sub if isinstance(kind, BasicType) else 0
    return size if isinstance(size, int) else 0


NUMBER = ValueType("an unsigned integer of at least 32 bits", _is_number)
HASH = ValueType("bytes32", _is_type("bytes32"))
REGISTRY = ValueType("an address", _is_type("address"))
WORD = ValueType("an integer, bytes32, an address or a bool", _is_word)
BYTES = ValueType("bytes", _is_type("bytes"))
NODES = ValueType("bytes or bytes[]", _is_type("bytes", "bytes[]"))
SLOT_NODES = replace(NODES, name="bytes, or with one slot bytes[]")


def _header_value(name: str) -> Callable[[CallValues, Placeholder], Any]:
    return lambda values, _: getattr(values.header(), name, None)


def _account_nodes(values: CallValues, placeholder: Placeholder) -> list[Any]:
    return [values.account_nodes(placeholder.account)]


def _slot_nodes(values: CallValues, placeholder: Placeholder) -> list[Any]:
    account = placeholder.account
    return [values.slot_nodes(account, slot_word(slot)) for slot in placeholder.facts]


def _all_nodes(values: CallValues, placeholder: Placeholder) -> list[Any]:
    return _account_nodes(values, placeholder) + _slot_nodes(values, placeholder)


def _read_fact(placeholder: Placeholder, path: JsonPath) -> tuple[str, ...]:
    name = placeholder.arguments[0] if len(placeholder.arguments) == 1 else ""
    account, dot, item = name.rpartition(".")
    if not dot and item in HeaderField.__members__:
        return "", HeaderField[item].name
    if account and item in AccountField.__members__:
        return _account_name(account), item
    if account and SLOT.fullmatch(item):
        return _account_name(account), slot_name(slot_word(item))
    problem = f"which does not name a fact; write it like {_VALUE_EXAMPLES}"
    raise unknown_placeholder(placeholder, path, problem)


def _read_account(placeholder: Placeholder, path: JsonPath) -> tuple[str, ...]:
    account, *others = placeholder.arguments
    if not account or others:
        raise _misspelled(placeholder, path)
    return (_account_name(account),)


def _read_slots(placeholder: Placeholder, path: JsonPath) -> tuple[str, ...]:
    account, *slots = placeholder.arguments
    if not account or not slots:
        raise _misspelled(placeholder, path)
    for slot in slots:
        if not SLOT.fullmatch(slot):
            problem = f"in which {quote_text(slot)} is not a slot: 0x and 1 to 64 hex digits"
            raise unknown_placeholder(placeholder, path, problem)
    return _account_name(account), *(slot_name(slot_word(slot)) for slot in slots)


def _account_name(text: str) -> str:
    return to_checksum_address(text) if _ADDRESS.fullmatch(text) else text


def slot_name(slot: bytes) -> str:
    """The name of a slot's fact."""
    return f"0x{slot.hex()}"


PROOF_KINDS = {
    "block": ProofKind(
        "$block", "the block's number", NUMBER, lambda values, _: values.block_number()
    ),
    "timestamp": ProofKind(
        "$timestamp", "its time, in Unix seconds", NUMBER, _header_value("timestamp")
    ),
    "blockHash": ProofKind("$blockHash", "its hash", HASH, _header_value("hash")),
    "registry": ProofKind(
        "$registry",
        "the registry that has the facts",
        REGISTRY,
        lambda values, _: values.registry(),
        needs_registry=True,
        is_of_block=False,
    ),
    "value": ProofKind(
        "$value(NAME)",
        "a proven value, such as `$value(0xACCOUNT.BALANCE)`, `$value(0xACCOUNT.0xSLOT)` or "
        "`$value(BASE_FEE_PER_GAS)`",
        WORD,
        lambda values, placeholder: values.word(*placeholder.arguments),
        _read_fact,
    ),
    "header": ProofKind(
        "$header",
        "the block's header in RLP, whose hash is `$blockHash`",
        BYTES,
        _header_value("rlp"),
    ),
    "accountProof": ProofKind(
        "$accountProof(ACCOUNT)",
        "the nodes of the account's Merkle proof from the state root on: a list, or an RLP list as "
        "`bytes`",
        NODES,
        _account_nodes,
        _read_account,
    ),
    "storageProof": ProofKind(
        "$storageProof(ACCOUNT, SLOT, …)",
        "the same of a slot, from the storage root on; of several slots, an RLP list with a list "
        "for each",
        SLOT_NODES,
        _slot_nodes,
        _read_slots,
    ),
    "proof": ProofKind(
        "$proof(ACCOUNT, SLOT, …)",
        "an RLP list: the account's list of nodes, then a list for each slot",
        BYTES,
        _all_nodes,
        _read_slots,
    ),
    "witness": ProofKind(
        "$witness",
        "what `POST /witness` returns for the batch, for the registry's `verify`",
        BYTES,
        lambda values, _: values.witness(),
        needs_registry=True,
    ),
}


# The parser

# A name that has its value in a run's values, and any other placeholder.
_RUN_VALUE = re.compile(
    rf"(?<!\$)\$(?:{'|'.join(kind.pattern for kind in RUN_KINDS if not kind.compute)})(?!\w)",
    re.ASCII,
)
_PLACEHOLDER = re.compile(
    rf"(?<!\$)\$({'|'.join([*_FUNCTIONS, *PROOF_KINDS])})(?!\w)"
    r"(?:\(([^()]*)\)(?:\+([0-9]{1,9}))?)?",
    re.ASCII,
)


def _placeholder(match: re.Match[str]) -> Placeholder:
    name, arguments, addend = match.groups()
    words = () if arguments is None else tuple(map(str.strip, arguments.split(",")))
    return Placeholder(name, words, int(addend or 0), match[0])


def fill_in(content: Any, values: Values, path: JsonPath = WHOLE_BODY) -> Any:
    """The JSON with the values of a run, also in keys. Raises `RefusalError`."""
    if isinstance(content, str):
        return _fill_text(content, values, path)
    if isinstance(content, list):
        return [fill_in(item, values, path.child(index)) for index, item in enumerate(content)]
    if not isinstance(content, dict):
        return content
    filled: dict[str, Any] = {}
    for key, value in content.items():
        new_key = str(_fill_text(key, values, path.child(key)))
        if new_key in filled:
            problem = f"is {quote_text(new_key)} in this run, which is there already."
            raise path.child(key).refusal(BodyCode.DUPLICATE_KEY, problem)
        filled[new_key] = fill_in(value, values, path.child(key))
    return filled


def _fill_text(text: str, values: Values, path: JsonPath) -> Any:
    """A text that is just a placeholder becomes its value, which may be a list or a bool."""
    if "$" not in text:
        return text
    if _RUN_VALUE.fullmatch(text):
        return _run_value(text, values, path)
    text = _RUN_VALUE.sub(lambda match: _run_word(match[0], values, path), text)
    for _ in range(MAX_NESTED):  # the innermost first
        text = _PLACEHOLDER.sub(lambda match: _compute(_placeholder(match), path), text)
    return text


def _compute(placeholder: Placeholder, path: JsonPath) -> str:
    """The value of a function, once its arguments are filled in; the text of others."""
    compute = _FUNCTIONS.get(placeholder.name)
    is_filled = bool(placeholder.arguments) and "$" not in placeholder.text[1:]
    return compute(placeholder, path) if compute and is_filled else placeholder.text


def _run_value(text: str, values: Values, path: JsonPath) -> Any:
    if text not in values:
        problem = f"has {quote_text(text)}; this feed's placeholders are {', '.join(values)}."
        raise _unknown(path, problem)
    return values[text]


def _run_word(text: str, values: Values, path: JsonPath) -> str:
    value = _run_value(text, values, path)
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise _unknown(path, f"has {quote_text(text)} within a text, but it is not one word.")
    return value


def is_placeholder(value: object) -> bool:
    """Whether a JSON value is a placeholder; `$$` begins a text that begins with `$`."""
    return isinstance(value, str) and value.startswith("$") and not value.startswith("$$")


def read_placeholder(text: str, path: JsonPath) -> Placeholder:
    """Parse a placeholder of proofs. Raises `InvalidValueError`."""
    match = _PLACEHOLDER.fullmatch(text)
    placeholder = _placeholder(match) if match else Placeholder("", text=text)
    kind = PROOF_KINDS.get(placeholder.name)
    if kind is None or placeholder.addend:
        forms = join_names(known.form for known in PROOF_KINDS.values())
        problem = f"which is not a placeholder; the placeholders are {forms}"
        problem += ". A text that begins with $ is written with $$"
        raise unknown_placeholder(placeholder, path, problem)
    if bool(placeholder.arguments) != ("(" in kind.form):
        raise _misspelled(placeholder, path)
    if kind.read_arguments is None:
        return placeholder
    return replace(placeholder, arguments=kind.read_arguments(placeholder, path))


def _misspelled(placeholder: Placeholder, path: JsonPath) -> InvalidValueError:
    form = PROOF_KINDS[placeholder.name].form
    return unknown_placeholder(placeholder, path, f"but this placeholder is written {form}")


def unknown_placeholder(placeholder: Placeholder, path: JsonPath, reason: str) -> InvalidValueError:
    return _unknown(path, f"is {quote_text(placeholder.text)}, {reason}.")


def _unknown(path: JsonPath, problem: str) -> InvalidValueError:
    return path.refusal(RequestCode.UNKNOWN_PLACEHOLDER, problem)
