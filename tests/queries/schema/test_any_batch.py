"""Whatever is sent, it is read or refused; and what is right is read as it was meant."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import pytest
from eth_utils.address import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.errors import Refusal
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.registries import Registry, RegistryKind
from queries.routes import Chain, Routes
from queries.schema.addresses import Address, EnsName
from queries.schema.batch_request import (
    AccountRequest,
    BatchRequest,
    BlockNumber,
    BlockRequest,
    BlockTimestamp,
    WebhookRequest,
    canonical,
)
from queries.schema.batch_rules import BatchLimits
from queries.schema.batch_schema import read_batch
from queries.schema.places import MOST_PATH
from queries.schema.strict_json import read_json
from tests.queries.schema.example_batches import LEGACY

pytestmark = pytest.mark.no_database

ENS = "0x" + 40 * "1"
CHAINS = {
    1: Chain(1, "One", (), ens_registry=ENS),
    11155111: Chain(11155111, "Sepolia", (), ("SN_SEPOLIA",), ens_registry=ENS),
}
ROUTES = Routes(
    CHAINS,
    {(source, to): Registry(RegistryKind.NATIVE, source, to) for source in CHAINS for to in CHAINS},
)
LIMITS = BatchLimits(100, 100, 1_000, 10, 1_000, 100_000)
# What was right at some other place is wrong in more telling ways than what never was.
PIECES = [
    "11155111", "0", "-1", "1", "0x1", "0x", "block:1", "timestamp:1", "BALANCE", "PROPOSER", "url",
    "header", "accounts", "props", "slots", "headers", "data", "fee", "webhook", "vitalik.eth",
    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "https://example.org", "\ud800", "\x00", "",
    "9" * 5_000, ".", "destinationChainId",
]  # fmt: skip
texts = st.sampled_from(PIECES) | st.text(max_size=8)
plain = st.none() | st.booleans() | st.integers() | st.just(10**4_000) | st.floats()
anything = st.recursive(
    plain | texts,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(texts, parts, max_size=3),
    max_leaves=6,
)


def check(content: object) -> None:
    try:
        request = read_batch(content, ROUTES, LIMITS)
    except Refusal as refusal:
        said = refusal.sentence
        assert said.encode().decode() == said
        assert said.endswith(".")
        assert len(said) < 1_500
        assert len(refusal.path) <= MOST_PATH  # noqa: PT017
        assert refusal.status in (400, 413)  # noqa: PT017
    else:
        body = canonical(request)
        again = read_batch(read_json(body, 100_000), ROUTES, LIMITS)
        assert canonical(again) == body
        assert not again.warnings


@given(anything)
def test_any_json(content: object) -> None:
    check(content)


def places_in(content: object) -> Iterator[tuple[dict[str, object] | list[object], str | int]]:
    if isinstance(content, dict | list):
        for step in list(content) if isinstance(content, dict) else range(len(content)):
            yield content, step
            yield from places_in(content[step])


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_any_change_of_a_right_batch(data: st.DataObject) -> None:
    content = json.loads(LEGACY)
    for _ in range(data.draw(st.integers(1, 3))):
        places = list(places_in(content))
        if not places:
            break
        holder, step = data.draw(st.sampled_from(places))
        change = data.draw(st.sampled_from(["replace", "remove", "rename", "add"]))
        if isinstance(holder, list) or change == "replace":
            holder[step] = data.draw(anything)  # type: ignore[index]
        elif change == "add":
            holder[data.draw(texts)] = data.draw(anything)
        else:
            value = holder.pop(str(step))
            if change == "rename":
                holder[data.draw(texts)] = value
    check(content)


Part = TypeVar("Part")


def unique(part: st.SearchStrategy[Part]) -> st.SearchStrategy[tuple[Part, ...]]:
    return st.lists(part, max_size=3, unique=True).map(tuple)


labels = st.from_regex(r"[a-z0-9][a-z0-9-]{0,5}", fullmatch=True).filter(
    lambda label: label[2:4] != "--"
)
names = st.lists(labels, min_size=2, max_size=3).map(".".join)
account_names = st.binary(min_size=20, max_size=20).map(Address) | names.map(EnsName)
numbers, times = st.integers(0, 2**64 - 1), st.integers(0, 10**10 - 1)
selectors = numbers.map(BlockNumber) | times.map(BlockTimestamp)
fields = unique(st.sampled_from(list(HeaderField.__members__)))
asked = st.tuples(
    unique(st.sampled_from(AccountField)), unique(st.binary(min_size=32, max_size=32))
).filter(any)
values = st.from_regex(r"[!-~]([ -~\t]{0,5}[!-~])?", fullmatch=True)
webhooks = st.builds(
    WebhookRequest,
    st.sampled_from(["https://example.org/hook", "http://[::1]:8000/?a=b"]),
    st.dictionaries(st.from_regex(r"x-[a-z!~]{1,5}", fullmatch=True), values, max_size=3).map(
        lambda headers: tuple(headers.items())
    ),
)


@st.composite
def requests(draw: st.DrawFn) -> BatchRequest:
    blocks = []
    for source in draw(st.lists(st.sampled_from([1, 11155111]), min_size=1, unique=True)):
        for selector in draw(st.lists(selectors, min_size=1, max_size=3, unique=True)):
            header = draw(fields)
            least = 0 if header else 1
            keys = draw(st.lists(account_names, min_size=least, max_size=3, unique=True))
            accounts = tuple(AccountRequest(key, *draw(asked)) for key in keys)
            blocks.append(BlockRequest(source, selector, header, accounts))
    destination = draw(st.sampled_from([1, 11155111]))
    fee = draw(st.integers(0, 2**256 - 1))
    return BatchRequest(destination, fee, tuple(blocks), draw(st.none() | webhooks), ())


def there(parts: tuple[object, ...]) -> st.SearchStrategy[bool]:
    """Whether a field is sent; where it is empty it may be left out."""
    return st.just(value=True) if parts else st.booleans()


@st.composite
def ways_to_send(draw: st.DrawFn, request: BatchRequest) -> dict[str, object]:
    spelled = {1: "1", 11155111: draw(st.sampled_from(["11155111", "SN_SEPOLIA"]))}
    data: dict[str, dict[str, object]] = {}
    for block in request.blocks:
        entry: dict[str, object] = {}
        if draw(there(block.header_fields)):
            entry["header"] = [*block.header_fields, *block.header_fields[:1]]
        if draw(there(block.accounts)):
            entry["accounts"] = {
                spelled_account(each, draw): account_as_sent(each, draw) for each in block.accounts
            }
        data.setdefault(spelled[block.source], {})[str(block.selector)] = entry
    content: dict[str, object] = {
        "destinationChainId": spelled[request.destination],
        "fee": str(request.fee),
        "data": data,
    }
    if request.webhook:
        headers = dict(request.webhook.headers)
        return content | {"webhook": {"url": request.webhook.url, "headers": headers}}
    return content


def spelled_account(request: AccountRequest, draw: st.DrawFn) -> str:
    if isinstance(request.account, EnsName):
        return request.account.name
    digits = request.account.value.hex()
    return draw(
        st.sampled_from([f"0x{digits}", f"0x{digits.upper()}", to_checksum_address(f"0x{digits}")])
    )


def account_as_sent(request: AccountRequest, draw: st.DrawFn) -> dict[str, object]:
    entry: dict[str, object] = {}
    if draw(there(request.props)):
        entry["props"] = [prop.name for prop in (*request.props, *request.props[:1])]
    if draw(there(request.slots)):
        numbers = [int.from_bytes(slot, "big") for slot in request.slots]
        entry["slots"] = [
            draw(st.sampled_from([f"0x{number:x}", f"0x{number:064X}"])) for number in numbers
        ]
    return entry


@settings(deadline=None)
@given(st.data(), requests())
def test_a_right_batch_is_read_as_it_was_meant(data: st.DataObject, request: BatchRequest) -> None:
    body = json.dumps(data.draw(ways_to_send(request))).encode()
    read = read_batch(read_json(body, 100_000), ROUTES, LIMITS)
    assert read == request
    assert canonical(read) == canonical(request)
    again = read_batch(read_json(canonical(request), 100_000), ROUTES, LIMITS)
    assert canonical(again) == canonical(turned_round(request)) == canonical(request)


def turned_round(request: BatchRequest) -> BatchRequest:
    """The same, asked for in the opposite order."""
    blocks = [
        replace(
            block,
            header_fields=block.header_fields[::-1],
            accounts=tuple(
                replace(each, props=each.props[::-1], slots=each.slots[::-1])
                for each in block.accounts[::-1]
            ),
        )
        for block in request.blocks[::-1]
    ]
    return replace(request, blocks=tuple(blocks))
