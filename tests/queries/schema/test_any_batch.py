"""Any body is read or refused."""

import copy
import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.http.errors import RefusalError
from queries.schema.paths import MAX_PATH_LENGTH
from tests.queries.schema.example_batches import LEGACY, read

pytestmark = pytest.mark.no_database

# Values that are valid elsewhere in a batch find more faults than random ones.
PIECES = [
    "11155111", "0", "-1", "1", "0x1", "0x", "block:1", "timestamp:1", "BALANCE", "PROPOSER", "url",
    "header", "accounts", "props", "slots", "headers", "data", "fee", "webhook", "vitalik.eth",
    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "https://example.org", "\ud800", "\x00", "",
    "9" * 5_000, ".", "destinationChainId", "10", "deliver", "args", "unless", "function", "$block",
    "$value(0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045.BALANCE)", "$witness", "f(bytes,(uint8)[])",
]  # fmt: skip
texts = st.sampled_from(PIECES) | st.text(max_size=8)
plain = st.none() | st.booleans() | st.integers() | st.just(10**4_000) | st.floats()
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
DELIVERIES = [
    {
        "to": WALLET,
        "function": "f(bytes,(uint8,bool)[])",
        "args": ["0x12", [["1", True]]],
        "gas": "200000",
        "unless": {"function": "f(address) view returns (bool)", "args": ["$registry"]},
    }
]
anything = st.recursive(
    plain | texts,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(texts, parts, max_size=3),
    max_leaves=6,
)


def check(content: object) -> None:
    try:
        request = read(content)
    except RefusalError as refusal:
        sentence = refusal.sentence
        assert sentence.encode().decode() == sentence
        assert sentence.endswith(".")
        assert len(sentence) < 1_500
        assert len(refusal.path) <= MAX_PATH_LENGTH
        assert refusal.status in (400, 413)
    else:
        assert all(
            block.header_fields or block.accounts or block.events for block in request.blocks
        )


@given(anything)
def test_any_json_is_read_or_refused(content: object) -> None:
    check(content)


def places_in(content: object) -> Iterator[tuple[dict[str, object] | list[object], str | int]]:
    if isinstance(content, dict | list):
        for step in list(content) if isinstance(content, dict) else range(len(content)):
            yield content, step
            yield from places_in(content[step])


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_any_change_of_a_valid_batch_is_read_or_refused(data: st.DataObject) -> None:
    content = json.loads(LEGACY) | {"deliver": copy.deepcopy(DELIVERIES)}
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
