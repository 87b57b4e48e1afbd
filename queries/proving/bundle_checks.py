"""Check a proof file. Returns what it proves, given that its block hashes are correct.

Headers, proofs and requested facts are read and checked. Everything else in the file is derived
from them again and compared, so every byte is checked.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import pairwise
from typing import Any, NoReturn

from queries.proving.accounts import ADDRESS_BYTES, check_account_proof
from queries.proving.bundles import (
    BUNDLE_FORMAT,
    BUNDLE_VERSION,
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
from queries.proving.facts.fact import BlockFact
from queries.proving.facts.groups import FactGroups, group_facts
from queries.proving.facts.kinds import parse_fact
from queries.proving.headers import MAX_HEADER_BYTES, Header, decode_header
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
from queries.proving.witnesses import AccountToStore

# The largest batch by default, of 1,000 accounts and 5,000 slots, has some 80 MiB and 150,000
# values. A service that accepts larger batches makes larger files, so callers can raise the limit.
MAX_BUNDLE_MIB = 128
VALUES_PER_MIB = 2**13  # so parsing takes at most eight times the file's size in memory
REGISTRY_KINDS = ("native", "optimism", "output", "arbitrum", "beacon", "attested")
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
    """Return the checked content. Raises `BundleRefusedError`, which names the faulty path."""
    top = _check_members(_parse_json(content, max_mib), "", _TOP_KEYS)
    if top["format"] != BUNDLE_FORMAT:
        _refuse("format", f"is {describe(top['format'])}, not {BUNDLE_FORMAT}")
    if type(top["version"]) is not int or top["version"] != BUNDLE_VERSION:
        _refuse("version", f"is not {BUNDLE_VERSION}, the only known version")
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
    blocks = [_check_block(item, destination, f"blocks[{i}]") for i, item in enumerate(items)]
    _check_ascending([(block.chain, block.header.number) for block in blocks], "blocks")
    if f"{canonical_json(top)}\n".encode() != content:  # such as keys that are listed twice
        raise BundleRefusedError("The file is not in canonical form; `jq -cS` writes it.")
    return Bundle(batch, destination, tuple(blocks))


def _check_block(content: object, destination: int, path: str) -> BlockProof:
    has_events = isinstance(content, dict) and "events" in content
    members = _check_members(content, path, _BLOCK_KEYS + _EVENT_KEYS * has_events)
    block_hash = _read_fixed(members["blockHash"], HASH_BYTES, f"{path}.blockHash")
    header = _read_header(members["header"], f"{path}.header", block_hash)
    facts = _read_facts(members["facts"], f"{path}.facts")
    registry = _read_registry(members["registry"], f"{path}.registry")
    next_header = None
    if facts.timestamps:
        next_header = _read_header(members["nextHeader"], f"{path}.nextHeader")
        _check_times(header, next_header, facts.timestamps, path)
    _check_horizon(registry, next_header or header, path)
    accounts = _check_accounts(members["accounts"], header.state_root, facts, f"{path}.accounts")
    events = _check_events(members.get("events", []), header, facts.events, f"{path}.events")
    if not (accounts or facts.header_fields or facts.timestamps or facts.events):
        _refuse(f"{path}.facts", "is empty: nothing is proven")
    block = BlockProof(
        _read_number(members["originChainId"], f"{path}.originChainId"),
        destination,
        header,
        next_header,
        facts.header_fields,
        facts.timestamps,
        accounts,
        registry,
        _read_transactions(members["transactions"], f"{path}.transactions"),
        events,
        frozenset(facts.events),
    )
    if block.registry.kind == "native" and block.chain != destination:
        _refuse(f"{path}.registry.kind", "is native, and the block is of another chain")
    with _refuse_at(path):
        derived_members = block_members(block)
    _check_equal({key: members[key] for key in members if key != "accounts"}, derived_members, path)
    return block


def _read_header(content: object, path: str, expected_hash: bytes | None = None) -> Header:
    with _refuse_at(path):
        return decode_header(read_bytes(content, "the RLP", MAX_HEADER_BYTES), expected_hash)


def _check_horizon(registry: ClaimedRegistry, last_header: Header, path: str) -> None:
    """Refuse headers at or after the horizon, which is the first argument of all constructors."""
    horizon = int.from_bytes(registry.arguments[:HASH_BYTES])
    if registry.arguments and last_header.timestamp >= horizon:
        _refuse(
            path,
            f"has the timestamp {last_header.timestamp}; its registry refuses {horizon} and later",
        )


def _check_times(
    header: Header, next_header: Header, timestamps: tuple[int, ...], path: str
) -> None:
    if next_header.parent_hash != header.hash or next_header.number != header.number + 1:
        _refuse(f"{path}.nextHeader", "is not the header of the next block")
    for timestamp in timestamps:
        if not header.timestamp <= timestamp < next_header.timestamp:
            _refuse(
                f"{path}.facts",
                f"state that the block was the latest one at {timestamp}; it was the latest "
                f"one from {header.timestamp} until before {next_header.timestamp}",
            )


def _read_facts(content: object, path: str) -> FactGroups:
    """Read what is requested. Words and slots are compared with the proofs later."""
    facts = list[BlockFact]()
    for index, item in enumerate(_read_list(content, path)):
        fact_path = f"{path}[{index}]"
        members = _check_members(item, fact_path, ("account", "kind", "name", "word"))
        kind, name = members["kind"], _read_text(members["name"], f"{fact_path}.name")
        account = b""
        if members["account"] is not None:
            account = _read_fixed(members["account"], ADDRESS_BYTES, f"{fact_path}.account")
        fact = parse_fact(name, account)
        if fact is None or fact.kind != kind:
            _refuse(fact_path, f"is {describe(kind)} {describe(name)}, which no registry stores")
        facts.append(fact)
    groups = group_facts(facts)
    if (count := len(groups.timestamps)) > _MAX_TIMESTAMPS:
        _refuse(path, f"has {count} times; a call proves at most {_MAX_TIMESTAMPS}")
    return groups


def _check_accounts(
    content: object, state_root: bytes, facts: FactGroups, path: str
) -> tuple[AccountToStore, ...]:
    checked_nodes = CheckedNodes()
    accounts = []
    for index, item in enumerate(_read_list(content, path)):
        account_path = f"{path}[{index}]"
        with _refuse_at(account_path):
            entry = read_object(item, "an account")
            address = read_fixed_bytes(entry.get("address"), "address", ADDRESS_BYTES)
            storage_entries = read_list(entry.get("storageProof"), "storageProof", _MAX_ENTRIES)
            keys = [read_object(slot, "storageProof").get("key") for slot in storage_entries]
            slots = [int.from_bytes(read_fixed_bytes(key, "key", HASH_BYTES)) for key in keys]
            proof = check_account_proof(entry, state_root, address, slots, checked_nodes)
        _check_ascending(slots, f"{account_path}.storageProof")
        _check_equal(entry, account_members(proof), account_path)
        fields, _ = facts.accounts.get(address, (frozenset(), ()))
        accounts.append(AccountToStore(proof, fields))
        if not (accounts[-1].fields or slots):
            _refuse(account_path, "has no facts")
    _check_ascending([account.proof.address for account in accounts], path)
    return tuple(accounts)


def _check_events(
    content: object, header: Header, requested_events: Sequence[BlockFact], path: str
) -> tuple[EventGroups, ...]:
    witnesses = []
    items = _read_list(content, path)
    for index, item in enumerate(items):
        item_path = f"{path}[{index}]"
        with _refuse_at(item_path):
            groups = read_event_witness(read_bytes(item, "the witness", _MAX_WITNESS_BYTES))
        _check_ascending([group.field for group in groups], item_path)
        for group in groups:
            if not group.matches(header):
                _refuse(item_path, f"does not match the header's {group.field.name}")
            if group.words.keys().isdisjoint(requested_events):
                _refuse(item_path, f"has no facts under the header's {group.field.name}")
        witnesses.append(groups)
    _check_ascending(items, path)
    return tuple(witnesses)


def _read_registry(content: object, path: str) -> ClaimedRegistry:
    members = _check_members(content, path, ("address", "arguments", "chainId", "kind"))
    if members["kind"] not in REGISTRY_KINDS:
        _refuse(f"{path}.kind", f"is {describe(members['kind'])}, which is not a kind of registry")
    address = _read_fixed(members["address"], ADDRESS_BYTES, f"{path}.address")
    with _refuse_at(f"{path}.arguments"):
        arguments = read_bytes(members["arguments"], "the bytes", _MAX_ARGUMENT_BYTES)
    return ClaimedRegistry(str(members["kind"]), address, arguments)


def _read_transactions(content: object, path: str) -> tuple[ClaimedTransaction, ...]:
    transactions = []
    for index, item in enumerate(_read_list(content, path)):
        fields = _check_members(item, f"{path}[{index}]", ("block", "hash"))
        transaction_hash = _read_fixed(fields["hash"], HASH_BYTES, f"{path}[{index}].hash")
        number = _read_number(fields["block"], f"{path}[{index}].block")
        transactions.append(ClaimedTransaction(transaction_hash, number))
    return tuple(transactions)


def _parse_json(content: bytes, max_mib: int) -> object:
    if len(content) > max_mib * 2**20:
        raise BundleTooLargeError(f"The file is larger than {max_mib:,} MiB.")
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


def _check_members(content: object, path: str, names: tuple[str, ...]) -> dict[str, object]:
    """Return the content if it is an object with exactly these keys."""
    if not isinstance(content, dict):
        _refuse(path, f"must be an object, not {describe(content)}")
    for name in names:
        if name not in content:
            _refuse(path, f"has no {name}")
    for name in content:
        if name not in names:
            _refuse(path, f"has the unknown key {describe(name)}")
    return content


def _read_list(value: object, path: str) -> list[object]:
    with _refuse_at(path):
        return read_list(value, "the list", _MAX_ENTRIES)


def _read_fixed(value: object, width: int, path: str) -> bytes:
    with _refuse_at(path):
        return read_fixed_bytes(value, "it", width)


def _read_text(value: object, path: str) -> str:
    if not isinstance(value, str):
        _refuse(path, f"must be text, not {describe(value)}")
    return value


def _read_number(value: object, path: str) -> int:
    text = _read_text(value, path)
    if not _NUMBER.fullmatch(text):
        _refuse(path, f"is {describe(text)}, not a number in decimal text")
    return int(text)


def _check_ascending(values: Sequence[Any], path: str) -> None:
    if any(second <= first for first, second in pairwise(values)):
        _refuse(path, "is out of order, or has an entry twice")


def _check_equal(content: object, derived_content: object, path: str) -> None:
    """Refuse the first value in which the file differs from what it proves."""
    if isinstance(content, dict) and isinstance(derived_content, dict):
        _check_members(content, path, tuple(derived_content))
        for name, value in derived_content.items():
            _check_equal(content[name], value, f"{path}.{name}")
    elif isinstance(content, list) and isinstance(derived_content, list):
        if len(content) != len(derived_content):
            _refuse(path, f"has {len(content)} entries; the proofs give {len(derived_content)}")
        for index, (value, derived_value) in enumerate(zip(content, derived_content, strict=True)):
            _check_equal(value, derived_value, f"{path}[{index}]")
    elif type(content) is not type(derived_content) or content != derived_content:
        _refuse(path, f"is {describe(content)}; the proofs give {describe(derived_content)}")


@contextmanager
def _refuse_at(path: str) -> Iterator[None]:
    try:
        yield
    except ProofError as error:
        _refuse(path, f"is refused: {error}")


def _refuse(path: str, problem: str) -> NoReturn:
    subject = f"The file's `{path}`" if path else "The file"
    raise BundleRefusedError(f"{subject} {problem}.") from None
