"""From what stands in the form to the JSON of a batch, and from a refusal back to a field."""

import pytest
from django.http import QueryDict

from explorer.pages.new_batch import path_of
from explorer.pages.new_batch_form import (
    NewBatch,
    Part,
    read_form,
    selector_of,
    write,
)
from queries.schema.batch_rules import BatchLimits

pytestmark = pytest.mark.no_database

ALICE, BOB = "0x" + 40 * "a", "0x" + 40 * "b"


LIMITS = BatchLimits(
    blocks=9, accounts=9, slots=8, webhook_headers=9, webhook_header_bytes=99, body_bytes=999
)


def _read(form: str) -> NewBatch:
    return read_form(QueryDict(form), LIMITS)


def _batch(*parts: Part, **more: str) -> NewBatch:
    return NewBatch(parts, destination="10", **more)


@pytest.mark.parametrize(
    ("typed", "selector"),
    [
        ("5186021", "block:5186021"),
        (" 5,186,021 ", "block:5186021"),
        ("5 186 021", "block:5186021"),
        ("5,18", "block:5,18"),
        ("block:7", "block:7"),
        ("timestamp:7", "timestamp:7"),
        ("2023-12-28 19:57 UTC", "timestamp:1703793420"),
        ("2023-12-28T19:57:01Z", "timestamp:1703793421"),
        ("2023-12-28 19:57", "timestamp:1703793420"),
        ("2023-13-28 19:57", "2023-13-28 19:57"),
        ("\u0665", "block:\u0665"),
        ("", "block:"),
    ],
)
def test_a_block_is_a_number_or_a_time(typed: str, selector: str) -> None:
    assert selector_of(typed) == selector


def test_one_part_is_one_entry() -> None:
    part = Part(0, "1", "5", account=f" {ALICE} ", props=("BALANCE",), slots="0x0, 0x1\n0x0")
    assert write(_batch(part, fee=" 7 ", webhook="https://example.org")).content == {
        "destinationChainId": "10",
        "fee": "7",
        "data": {
            "1": {"block:5": {"accounts": {ALICE: {"props": ["BALANCE"], "slots": ["0x0", "0x1"]}}}}
        },
        "webhook": {"url": "https://example.org"},
    }


def test_parts_of_one_block_and_of_one_account_become_one() -> None:
    content = write(
        _batch(
            Part(0, "1", "5", account=ALICE, props=("BALANCE",), slots="0x1"),
            Part(3, "1", "5", account=ALICE, props=("NONCE", "BALANCE"), slots="0x2 0x1"),
            Part(4, "1", "block:5", account=BOB, props=("NONCE",), header=("TIMESTAMP",)),
            Part(5, "2", "5", header=("TIMESTAMP",), props=("BALANCE",)),
        )
    ).content
    assert content["data"] == {
        "1": {
            "block:5": {
                "accounts": {
                    ALICE: {"props": ["BALANCE", "NONCE"], "slots": ["0x1", "0x2"]},
                    BOB: {"props": ["NONCE"]},
                },
                "header": ["TIMESTAMP"],
            }
        },
        "2": {"block:5": {"header": ["TIMESTAMP"]}},
    }
    assert (content["fee"], "webhook" in content) == ("0", False)


def test_slots_of_nobody_are_not_dropped() -> None:
    content = write(_batch(Part(0, "1", "5", slots="0x1"))).content
    assert content["data"] == {"1": {"block:5": {"accounts": {"": {"slots": ["0x1"]}}}}}


@pytest.mark.parametrize(
    ("path", "code", "field"),
    [
        ("destinationChainId", "chain_unsupported", "destination"),
        ("fee", "fee_too_low", "fee"),
        ("webhook.url", "webhook_malformed", "webhook"),
        ("api-key", "key_revoked", "key"),
        ("data.1", "route_unsupported", "source-0"),
        ("data.1.block:5", "block_beyond_head", "block-0"),
        ("data.1.block:5", "nothing_asked", "account-0"),
        ("data.1.block:5.header[0]", "unknown_header_field", "header-7"),
        (f"data.1.block:5.accounts.{ALICE}", "account_malformed", "account-0"),
        (f"data.1.block:5.accounts.{ALICE}", "nothing_asked", "props-0"),
        (f"data.1.block:5.accounts.{ALICE}.props[0]", "unknown_prop", "props-0"),
        (f"data.1.block:5.accounts.{ALICE}.slots[0]", "slot_malformed", "slots-0"),
        (f"data.1.block:5.accounts.{ALICE}.slots[1]", "slot_malformed", "slots-7"),
        (f"data.1.block:5.accounts.{ALICE}.slots[2]", "slot_malformed", "slots-7"),
        (f"data.1.block:5.accounts.{ALICE}.slots[3]", "slot_malformed", "slots-8"),
        (f"data.1.block:5.accounts.{ALICE}.slots", "too_many_slots", "slots-0"),
        ("data.1.block:55", "selector_malformed", "source-0"),
        ("", "body_too_large", ""),
        ("Idempotency-Key", "idempotency_key_reused", ""),
    ],
)
def test_a_refusal_is_about_a_field(path: str, code: str, field: str) -> None:
    written = write(
        _batch(
            Part(0, "1", "5", account=ALICE, props=("BALANCE",), slots="0x0"),
            Part(7, "1", "5", account=ALICE, slots="1 2", header=("HASH",)),
            Part(8, "1", "5", account=ALICE, slots="3"),
            webhook="x",
        )
    )
    assert written.field_at(path, code, path_of) == field
