"""Checks a bundle: what it proves if its blocks' hashes are right, or why it is refused.

Headers, proofs and requested facts are read and checked. The file is then written again from
them, and must be the same byte for byte, so every byte of it is checked.
"""

import json
import re
from collections import Counter, defaultdict
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
    FactKind,
    account_members,
    canonical,
    other_members,
)
from queries.proving.errors import BundleRefused, BundleTooLarge, ProofError
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
from queries.proving.witnesses import AccountField, AccountRequest

# 1,000 accounts and 5,000 slots, as a batch may have, come to some 80 MiB and 150,000 values.
# A service that takes larger batches makes larger files; the caller says how large.
MOST_MIB = 128
VALUES_OF_A_MIB = 2**13  # a file takes up to eight times its bytes of memory
KINDS = ("native", "optimism", "output", "attested")  # of registries
_MANY = 1_000_000
_MOST_ARGUMENTS = 65_536  # bytes
_MOST_TIMES = 255  # that one call proves of a block
_ID = re.compile("[0-7][0-9A-HJKMNP-TV-Z]{25}")
_NUMBER = re.compile("0|[1-9][0-9]{0,18}")
_TOP = ("batch", "blocks", "destinationChainId", "digest", "format", "version")
_BLOCK = (
    "accounts", "block", "blockHash", "calls", "facts", "header", "nextHeader", "originChainId",
    "registry", "transactions",
)  # fmt: skip


def check_bundle(content: bytes, most_mib: int = MOST_MIB) -> Bundle:
    """What the file proves; `BundleRefused`, which names the place, where it does not."""
    top = _members(_parsed(content, most_mib), "the proof", _TOP)
    if top["format"] != FORMAT:
        _refuse("format", f"is {describe(top['format'])}, and a proof's is {FORMAT}")
    if type(top["version"]) is not int or top["version"] != VERSION:
        _refuse("version", f"is not {VERSION}, the one that is known here")
    rest = {key: value for key, value in top.items() if key != "digest"}
    digest = f"0x{sha256(canonical(rest).encode()).hexdigest()}"
    if top["digest"] != digest:
        _refuse("digest", "is of another content: the file was changed or damaged on its way")
    batch = _text(top["batch"], "batch")
    if not _ID.fullmatch(batch):
        _refuse("batch", f"is {describe(batch)}, which is no id of a batch")
    destination = _number(top["destinationChainId"], "destinationChainId")
    with _at("blocks"):
        items = read_list(top["blocks"], "the list", _MANY)
    if not items:
        _refuse("blocks", "are none: nothing is proven")
    blocks = [_block(each, destination, f"blocks[{at}]") for at, each in enumerate(items)]
    _ascending([(each.chain, each.header.number) for each in blocks], "blocks")
    if f"{canonical(top)}\n".encode() != content:
        raise BundleRefused("The file is not written as proofs are: jq -cS writes it so.")
    return Bundle(batch, destination, tuple(blocks))


def _block(content: object, destination: int, place: str) -> BlockProof:
    members = _members(content, place, _BLOCK)
    with _at(f"{place}.blockHash"):
        block_hash = read_fixed_bytes(members["blockHash"], "the hash", HASH_BYTES)
    header = _header(members["header"], f"{place}.header", block_hash)
    fields, header_fields, times = _asked(members["facts"], f"{place}.facts")
    registry = _registry(members["registry"], f"{place}.registry")
    following = None
    if times:
        following = _header(members["nextHeader"], f"{place}.nextHeader")
        _check_times(header, following, times, place)
    _check_horizon(registry, following or header, place)
    accounts = _accounts(members["accounts"], header.state_root, fields, f"{place}.accounts")
    if not (accounts or header_fields or times):
        _refuse(f"{place}.facts", "are none: nothing is proven")
    block = BlockProof(
        _number(members["originChainId"], f"{place}.originChainId"),
        destination,
        header,
        following,
        header_fields,
        times,
        accounts,
        registry,
        _transactions(members["transactions"], f"{place}.transactions"),
    )
    if block.registry.kind == "native" and block.chain != destination:
        _refuse(f"{place}.registry.kind", "is native, and the block is of another chain")
    with _at(place):
        derived = other_members(block)
    _compare({name: members[name] for name in derived}, derived, place)
    return block


def _header(content: object, place: str, expected_hash: bytes | None = None) -> Header:
    with _at(place):
        return decode_header(read_bytes(content, "the RLP", MAX_HEADER_BYTES), expected_hash)


def _check_horizon(registry: ClaimedRegistry, newest: Header, place: str) -> None:
    """All constructors are given the horizon first."""
    horizon = int.from_bytes(registry.arguments[:HASH_BYTES])
    if registry.arguments and newest.timestamp >= horizon:
        _refuse(place, f"is of {newest.timestamp}; its registry takes no header from {horizon} on")


def _check_times(header: Header, following: Header, times: tuple[int, ...], place: str) -> None:
    if following.parent_hash != header.hash or following.number != header.number + 1:
        _refuse(f"{place}.nextHeader", "is not of the block after this one")
    for seconds in times:
        if not header.timestamp <= seconds < following.timestamp:
            _refuse(
                f"{place}.facts",
                f"say that the block was the last one at {seconds}; its time goes from "
                f"{header.timestamp} to before {following.timestamp}",
            )


Asked = tuple[Mapping[bytes, frozenset[AccountField]], frozenset[HeaderField], tuple[int, ...]]


def _asked(content: object, place: str) -> Asked:
    """What the facts are of. Their words, and those of slots, are compared with the proofs."""
    fields: dict[bytes, set[AccountField]] = defaultdict(set)
    header_fields: set[HeaderField] = set()
    times: set[int] = set()
    with _at(place):
        facts = read_list(content, "the list", _MANY)
    for at, each in enumerate(facts):
        here = f"{place}[{at}]"
        fact = _members(each, here, ("account", "kind", "name", "word"))
        kind, name = fact["kind"], _text(fact["name"], f"{here}.name")
        if kind == FactKind.BLOCK_AT_TIME:
            times.add(_number(name, f"{here}.name"))
        elif kind == FactKind.HEADER_FIELD and name in HeaderField.__members__:
            header_fields.add(HeaderField[name])
        elif kind == FactKind.ACCOUNT_FIELD and name in AccountField.__members__:
            with _at(f"{here}.account"):
                account = read_fixed_bytes(fact["account"], "the address", ADDRESS_BYTES)
            fields[account].add(AccountField[name])
        elif kind != FactKind.STORAGE_SLOT:
            _refuse(here, f"is of {describe(kind)} {describe(name)}, which no registry keeps")
    if len(times) > _MOST_TIMES:
        _refuse(place, f"are of {len(times)} times; one call proves {_MOST_TIMES}")
    found = {account: frozenset(each) for account, each in fields.items()}
    return found, frozenset(header_fields), tuple(sorted(times))


def _accounts(
    content: object, state_root: bytes, fields: Mapping[bytes, frozenset[AccountField]], place: str
) -> tuple[AccountRequest, ...]:
    checked = CheckedNodes()
    requests = []
    with _at(place):
        items = read_list(content, "the list", _MANY)
    for at, each in enumerate(items):
        with _at(f"{place}[{at}]"):
            answer = read_object(each, "an account")
            address = read_fixed_bytes(answer.get("address"), "address", ADDRESS_BYTES)
            stated = read_list(answer.get("storageProof"), "storageProof", _MANY)
            keys = [read_object(slot, "storageProof").get("key") for slot in stated]
            slots = [int.from_bytes(read_fixed_bytes(key, "key", HASH_BYTES)) for key in keys]
            proof = check_account_proof(answer, state_root, address, slots, checked)
        _ascending(slots, f"{place}[{at}].storageProof")
        _compare(answer, account_members(proof), f"{place}[{at}]")
        requests.append(AccountRequest(proof, fields.get(address, frozenset())))
        if not (requests[-1].fields or slots):
            _refuse(f"{place}[{at}]", "is shown, and no fact is of it")
    _ascending([each.proof.address for each in requests], place)
    return tuple(requests)


def _registry(content: object, place: str) -> ClaimedRegistry:
    members = _members(content, place, ("address", "arguments", "chainId", "kind"))
    if members["kind"] not in KINDS:
        _refuse(f"{place}.kind", f"is {describe(members['kind'])}, which is no kind of registry")
    with _at(f"{place}.address"):
        address = read_fixed_bytes(members["address"], "the address", ADDRESS_BYTES)
    with _at(f"{place}.arguments"):
        arguments = read_bytes(members["arguments"], "the bytes", _MOST_ARGUMENTS)
    return ClaimedRegistry(str(members["kind"]), address, arguments)


def _transactions(content: object, place: str) -> tuple[ClaimedTransaction, ...]:
    with _at(place):
        items = read_list(content, "the list", _MANY)
    found = []
    for at, each in enumerate(items):
        fields = _members(each, f"{place}[{at}]", ("block", "hash"))
        with _at(f"{place}[{at}].hash"):
            transaction_hash = read_fixed_bytes(fields["hash"], "the hash", HASH_BYTES)
        number = _number(fields["block"], f"{place}[{at}].block")
        found.append(ClaimedTransaction(transaction_hash, number))
    return tuple(found)


def _parsed(content: bytes, most_mib: int) -> object:
    if len(content) > most_mib * 2**20:
        raise BundleTooLarge(f"The file has more than {most_mib:,} MiB.")
    most_values = most_mib * VALUES_OF_A_MIB
    if has_too_many_values(content, most_values):
        raise BundleTooLarge(f"The file has more than {most_values:,} values.")
    try:
        return json.loads(content.decode("ascii"), object_pairs_hook=_once)
    except UnicodeDecodeError as fault:
        raise BundleRefused(f"The file is no proof: byte {fault.start} is not ASCII.") from None
    except json.JSONDecodeError as fault:
        raise BundleRefused(
            f"The file is not JSON: {fault.msg[0].lower()}{fault.msg[1:]} at byte {fault.pos}."
        ) from None
    except (RecursionError, ValueError):
        raise BundleRefused("The file holds what no proof does: too deep, or too long.") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        count = Counter(name for name, _ in pairs)
        twice = next(name for name in count if count[name] > 1)
        raise BundleRefused(f"One object has the key {describe(twice)} twice.")
    return members


def _members(content: object, place: str, names: tuple[str, ...]) -> dict[str, object]:
    """An object with these keys and no other."""
    if not isinstance(content, dict):
        _refuse(place, f"must be an object, not {describe(content)}")
    for name in names:
        if name not in content:
            _refuse(place, f"has no {name}")
    for name in content:
        if name not in names:
            _refuse(place, f"has {describe(name)}, which is not known")
    return content


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        _refuse(place, f"must be text, not {describe(value)}")
    return value


def _number(value: object, place: str) -> int:
    text = _text(value, place)
    if not _NUMBER.fullmatch(text):
        _refuse(place, f"is {describe(text)}, and should be a number in decimal text")
    return int(text)


def _ascending(values: Sequence[Any], place: str) -> None:
    if any(after <= before for before, after in pairwise(values)):
        _refuse(place, "are out of order, or one is there twice")


def _compare(given: object, derived: object, place: str) -> None:
    """Refuse the first place where the file says something else than what it proves."""
    if isinstance(given, dict) and isinstance(derived, dict):
        _members(given, place, tuple(derived))
        for name, value in derived.items():
            _compare(given[name], value, f"{place}.{name}")
    elif isinstance(given, list) and isinstance(derived, list) and len(given) == len(derived):
        for at, (one, other) in enumerate(zip(given, derived, strict=True)):
            _compare(one, other, f"{place}[{at}]")
    elif isinstance(given, list) and isinstance(derived, list):
        _refuse(place, f"has a length of {len(given)}; from what is proven follows {len(derived)}")
    elif type(given) is not type(derived) or given != derived:
        _refuse(place, f"is {describe(given)}; from what is proven follows {describe(derived)}")


@contextmanager
def _at(place: str) -> Iterator[None]:
    try:
        yield
    except ProofError as fault:
        _refuse(place, f"is refused: {fault}")


def _refuse(place: str, sentence: str) -> NoReturn:
    raise BundleRefused(f"{place[0].upper()}{place[1:]} {sentence}.") from None
