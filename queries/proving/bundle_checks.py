"""Check a bundle: what it proves if its block hashes are correct, or why it is invalid.

Headers, proofs and requested facts are read and checked. Everything else in the file is derived
from them again and compared, so every byte is checked.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import pairwise
from typing import Any, NoReturn

from queries.proving.accounts import ADDRESS_BYTES, check_account_proof
from queries.proving.bundles import (
    FORMAT,
    VERSION,
    BlockProof,
    Bundle,
    ClaimedRegistry,
    ClaimedTransaction,
    account_members,
    block_members,
    canonical_json,
)
from queries.proving.errors import BundleRefusedError, BundleTooLargeError, ProofError
from queries.proving.event_witness import EventGroups, read_event_witness
from queries.proving.facts import EventFact, FactKind
from queries.proving.headers import MAX_HEADER_BYTES, Header, HeaderField, decode_header
from queries.proving.json_values import (
    describe,
    has_too_many_values,
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
)
from queries.proving.keccak import HASH_BYTES
from queries.proving.tries import CheckedNodes
from queries.proving.witnesses import AccountField, AccountToStore

# The largest batch by default, of 1,000 accounts and 5,000 slots, has some 80 MiB and 150,000
# values. A service that accepts larger batches makes larger files, so callers can raise the limit.
MAX_BUNDLE_MIB = 128
VALUES_PER_MIB = 2**13  # so parsing takes at most eight times the file's size in memory
REGISTRY_KINDS = ("native", "optimism", "output", "attested")
_MAX_ENTRIES = 1_000_000
_MAX_ARGUMENT_BYTES = 65_536
_MAX_WITNESS_BYTES = 2**17  # that a node accepts in a transaction
_MAX_TIMESTAMPS = 255  # that a call can prove of a block
_ID = re.compile("[0-7][0-9A-HJKMNP-TV-Z]{25}")
_NUMBER = re.compile("0|[1-9][0-9]{0,18}")
_TOP_KEYS = ("batch", "blocks", "destinationChainId", "digest", "format", "version")
_BLOCK_KEYS = (
    "accounts", "block", "blockHash", "calls", "facts", "header", "nextHeader", "originChainId",
    "registry", "transactions",
)  # fmt: skip
_EVENT_KEYS = ("eventCalls", "events")


def check_bundle(content: bytes, max_mib: int = MAX_BUNDLE_MIB) -> Bundle:
    """Return the checked content. Raises `BundleRefusedError`, which names the place."""
    top = _read_members(_parse_json(content, max_mib), "the proof", _TOP_KEYS)
    if top["format"] != FORMAT:
        _refuse("format", f"is {describe(top['format'])}, not {FORMAT}")
    if type(top["version"]) is not int or top["version"] != VERSION:
        _refuse("version", f"is not {VERSION}, the only known version")
    rest = {key: value for key, value in top.items() if key != "digest"}
    digest = f"0x{sha256(canonical_json(rest).encode()).hexdigest()}"
    if top["digest"] != digest:
        _refuse("digest", "does not match: the file was changed or damaged")
    batch = _read_text(top["batch"], "batch")
    if not _ID.fullmatch(batch):
        _refuse("batch", f"is {describe(batch)}, which is not the id of a batch")
    destination = _read_number(top["destinationChainId"], "destinationChainId")
    items = _read_list(top["blocks"], "blocks")
    if not items:
        _refuse("blocks", "is empty: nothing is proven")
    blocks = [_read_block(item, destination, f"blocks[{i}]") for i, item in enumerate(items)]
    _check_ascending([(block.chain, block.header.number) for block in blocks], "blocks")
    if f"{canonical_json(top)}\n".encode() != content:  # such as keys that are listed twice
        raise BundleRefusedError("The file is not in canonical form; `jq -cS` writes it.")
    return Bundle(batch, destination, tuple(blocks))


def _read_block(content: object, destination: int, place: str) -> BlockProof:
    has_events = isinstance(content, dict) and "events" in content
    members = _read_members(content, place, _BLOCK_KEYS + _EVENT_KEYS * has_events)
    block_hash = _read_fixed(members["blockHash"], HASH_BYTES, f"{place}.blockHash")
    header = _read_header(members["header"], f"{place}.header", block_hash)
    fields, header_fields, timestamps, event_facts = _read_facts(members["facts"], f"{place}.facts")
    registry = _read_registry(members["registry"], f"{place}.registry")
    next_header = None
    if timestamps:
        next_header = _read_header(members["nextHeader"], f"{place}.nextHeader")
        _check_times(header, next_header, timestamps, place)
    _check_horizon(registry, next_header or header, place)
    accounts = _read_accounts(members["accounts"], header.state_root, fields, f"{place}.accounts")
    events = _read_events(members.get("events", []), header, event_facts, f"{place}.events")
    if not (accounts or header_fields or timestamps or event_facts):
        _refuse(f"{place}.facts", "is empty: nothing is proven")
    block = BlockProof(
        _read_number(members["originChainId"], f"{place}.originChainId"),
        destination,
        header,
        next_header,
        header_fields,
        timestamps,
        accounts,
        registry,
        _read_transactions(members["transactions"], f"{place}.transactions"),
        events,
        event_facts,
    )
    if block.registry.kind == "native" and block.chain != destination:
        _refuse(f"{place}.registry.kind", "is native, and the block is of another chain")
    with _refuse_at(place):
        expected = block_members(block)
    _check_equal({key: members[key] for key in members if key != "accounts"}, expected, place)
    return block


def _read_header(content: object, place: str, expected_hash: bytes | None = None) -> Header:
    with _refuse_at(place):
        return decode_header(read_bytes(content, "the RLP", MAX_HEADER_BYTES), expected_hash)


def _check_horizon(registry: ClaimedRegistry, last_header: Header, place: str) -> None:
    """Refuse headers after the horizon, which is the first argument of all constructors."""
    horizon = int.from_bytes(registry.arguments[:HASH_BYTES])
    if registry.arguments and last_header.timestamp >= horizon:
        _refuse(
            place,
            f"has the timestamp {last_header.timestamp}; its registry refuses {horizon} and later",
        )


def _check_times(
    header: Header, next_header: Header, timestamps: tuple[int, ...], place: str
) -> None:
    if next_header.parent_hash != header.hash or next_header.number != header.number + 1:
        _refuse(f"{place}.nextHeader", "is not the header of the next block")
    for seconds in timestamps:
        if not header.timestamp <= seconds < next_header.timestamp:
            _refuse(
                f"{place}.facts",
                f"state that the block was the latest one at {seconds}; it was that from "
                f"{header.timestamp} to before {next_header.timestamp}",
            )


RequestedFacts = tuple[
    Mapping[bytes, frozenset[AccountField]],
    frozenset[HeaderField],
    tuple[int, ...],
    frozenset[EventFact],
]


def _read_facts(content: object, place: str) -> RequestedFacts:
    """Read what is requested. Words and slots are compared with the proofs later."""
    fields: dict[bytes, set[AccountField]] = defaultdict(set)
    header_fields: set[HeaderField] = set()
    timestamps: set[int] = set()
    events: set[EventFact] = set()
    for index, item in enumerate(_read_list(content, place)):
        fact_place = f"{place}[{index}]"
        fact = _read_members(item, fact_place, ("account", "kind", "name", "word"))
        kind, name = fact["kind"], _read_text(fact["name"], f"{fact_place}.name")
        if kind == FactKind.BLOCK_AT_TIME:
            timestamps.add(_read_number(name, f"{fact_place}.name"))
        elif kind == FactKind.HEADER_FIELD and name in HeaderField.__members__:
            header_fields.add(HeaderField[name])
        elif kind == FactKind.ACCOUNT_FIELD and name in AccountField.__members__:
            account = _read_fixed(fact["account"], ADDRESS_BYTES, f"{fact_place}.account")
            fields[account].add(AccountField[name])
        elif (event := EventFact.parse(name)) and kind == event.kind:
            events.add(event)
        elif kind != FactKind.STORAGE_SLOT:
            _refuse(fact_place, f"is {describe(kind)} {describe(name)}, which no registry stores")
    if len(timestamps) > _MAX_TIMESTAMPS:
        _refuse(place, f"has {len(timestamps)} times; a call proves at most {_MAX_TIMESTAMPS}")
    by_account = {account: frozenset(names) for account, names in fields.items()}
    return by_account, frozenset(header_fields), tuple(sorted(timestamps)), frozenset(events)


def _read_accounts(
    content: object, state_root: bytes, fields: Mapping[bytes, frozenset[AccountField]], place: str
) -> tuple[AccountToStore, ...]:
    checked = CheckedNodes()
    requests = []
    for index, item in enumerate(_read_list(content, place)):
        account_place = f"{place}[{index}]"
        with _refuse_at(account_place):
            answer = read_object(item, "an account")
            address = read_fixed_bytes(answer.get("address"), "address", ADDRESS_BYTES)
            stated = read_list(answer.get("storageProof"), "storageProof", _MAX_ENTRIES)
            keys = [read_object(slot, "storageProof").get("key") for slot in stated]
            slots = [int.from_bytes(read_fixed_bytes(key, "key", HASH_BYTES)) for key in keys]
            proof = check_account_proof(answer, state_root, address, slots, checked)
        _check_ascending(slots, f"{account_place}.storageProof")
        _check_equal(answer, account_members(proof), account_place)
        requests.append(AccountToStore(proof, fields.get(address, frozenset())))
        if not (requests[-1].fields or slots):
            _refuse(account_place, "has no facts")
    _check_ascending([request.proof.address for request in requests], place)
    return tuple(requests)


def _read_events(
    content: object, header: Header, requested: frozenset[EventFact], place: str
) -> tuple[EventGroups, ...]:
    witnesses = []
    items = _read_list(content, place)
    for index, item in enumerate(items):
        item_place = f"{place}[{index}]"
        with _refuse_at(item_place):
            groups = read_event_witness(read_bytes(item, "the witness", _MAX_WITNESS_BYTES))
        _check_ascending([group.field for group in groups], item_place)
        for group in groups:
            if not group.matches(header):
                _refuse(item_place, f"does not match the header's {group.field.name}")
            if requested.isdisjoint(group.words):
                _refuse(item_place, f"has no facts under the header's {group.field.name}")
        witnesses.append(groups)
    _check_ascending(items, place)
    return tuple(witnesses)


def _read_registry(content: object, place: str) -> ClaimedRegistry:
    members = _read_members(content, place, ("address", "arguments", "chainId", "kind"))
    if members["kind"] not in REGISTRY_KINDS:
        _refuse(f"{place}.kind", f"is {describe(members['kind'])}, which is not a kind of registry")
    address = _read_fixed(members["address"], ADDRESS_BYTES, f"{place}.address")
    with _refuse_at(f"{place}.arguments"):
        arguments = read_bytes(members["arguments"], "the bytes", _MAX_ARGUMENT_BYTES)
    return ClaimedRegistry(str(members["kind"]), address, arguments)


def _read_transactions(content: object, place: str) -> tuple[ClaimedTransaction, ...]:
    transactions = []
    for index, item in enumerate(_read_list(content, place)):
        fields = _read_members(item, f"{place}[{index}]", ("block", "hash"))
        transaction_hash = _read_fixed(fields["hash"], HASH_BYTES, f"{place}[{index}].hash")
        number = _read_number(fields["block"], f"{place}[{index}].block")
        transactions.append(ClaimedTransaction(transaction_hash, number))
    return tuple(transactions)


def _parse_json(content: bytes, max_mib: int) -> object:
    if len(content) > max_mib * 2**20:
        raise BundleTooLargeError(f"The file has more than {max_mib:,} MiB.")
    max_values = max_mib * VALUES_PER_MIB
    if has_too_many_values(content, max_values):
        raise BundleTooLargeError(f"The file has more than {max_values:,} values.")
    try:
        return json.loads(content.decode("ascii"))
    except UnicodeDecodeError as error:
        raise BundleRefusedError(f"The file is not ASCII at byte {error.start}.") from None
    except json.JSONDecodeError as error:
        raise BundleRefusedError(
            f"The file is not JSON: {error.msg[0].lower()}{error.msg[1:]} at byte {error.pos}."
        ) from None
    except (RecursionError, ValueError):
        raise BundleRefusedError("The file is nested too deeply, or has a huge number.") from None


def _read_members(content: object, place: str, names: tuple[str, ...]) -> dict[str, object]:
    """Read an object that has exactly these keys."""
    if not isinstance(content, dict):
        _refuse(place, f"must be an object, not {describe(content)}")
    for name in names:
        if name not in content:
            _refuse(place, f"has no {name}")
    for name in content:
        if name not in names:
            _refuse(place, f"has the unknown key {describe(name)}")
    return content


def _read_list(value: object, place: str) -> list[object]:
    with _refuse_at(place):
        return read_list(value, "the list", _MAX_ENTRIES)


def _read_fixed(value: object, width: int, place: str) -> bytes:
    with _refuse_at(place):
        return read_fixed_bytes(value, "it", width)


def _read_text(value: object, place: str) -> str:
    if not isinstance(value, str):
        _refuse(place, f"must be text, not {describe(value)}")
    return value


def _read_number(value: object, place: str) -> int:
    text = _read_text(value, place)
    if not _NUMBER.fullmatch(text):
        _refuse(place, f"is {describe(text)}, not a number in decimal text")
    return int(text)


def _check_ascending(values: Sequence[Any], place: str) -> None:
    if any(second <= first for first, second in pairwise(values)):
        _refuse(place, "is out of order, or has an entry twice")


def _check_equal(stated: object, expected: object, place: str) -> None:
    """Refuse the first place where the file differs from what it proves."""
    if isinstance(stated, dict) and isinstance(expected, dict):
        _read_members(stated, place, tuple(expected))
        for name, value in expected.items():
            _check_equal(stated[name], value, f"{place}.{name}")
    elif isinstance(stated, list) and isinstance(expected, list):
        if len(stated) != len(expected):
            _refuse(place, f"has {len(stated)} entries; the proofs give {len(expected)}")
        for index, (value, expected_value) in enumerate(zip(stated, expected, strict=True)):
            _check_equal(value, expected_value, f"{place}[{index}]")
    elif type(stated) is not type(expected) or stated != expected:
        _refuse(place, f"is {describe(stated)}; the proofs give {describe(expected)}")


@contextmanager
def _refuse_at(place: str) -> Iterator[None]:
    try:
        yield
    except ProofError as error:
        _refuse(place, f"is refused: {error}")


def _refuse(place: str, sentence: str) -> NoReturn:
    raise BundleRefusedError(f"{place[0].upper()}{place[1:]} {sentence}.") from None
