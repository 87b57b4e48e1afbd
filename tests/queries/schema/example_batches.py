"""Batches as clients send them, and the limits and routes of these tests."""

import copy
from collections.abc import Mapping

from queries.config.chains import Chain
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.checked_batch import CheckedBatch
from queries.sources.native import NativeRegistry
from queries.sources.routes import Routes

SEPOLIA = 11155111
OTHER = 10
LONELY = 137

LIMITS = BatchLimits(
    blocks=4,
    accounts=5,
    slots=6,
    events=7,
    webhook_headers=3,
    webhook_header_bytes=100,
    body_bytes=20_000,
)
ROUTES = Routes(
    {
        SEPOLIA: Chain(SEPOLIA, "Sepolia", (), ("SN_SEPOLIA",), ens_registry="0x" + 40 * "1"),
        OTHER: Chain(OTHER, "Other", (), ("0x-like",)),
        LONELY: Chain(LONELY, "Lonely", ()),
    },
    {
        (source, to): NativeRegistry(source, to)
        for source, to in ((SEPOLIA, SEPOLIA), (SEPOLIA, OTHER), (OTHER, SEPOLIA))
    },
)

# The example of the specification: one balance, source and destination the same chain.
SPECIFICATION = """
{ "destinationChainId": "11155111",
  "fee": "0",
  "data": {
    "11155111": {
      "block:5186021": {
        "accounts": {
          "0xd8da6bf26964af9d7eed9e03e53415d37aa96045": {
            "props": ["BALANCE"], "slots": [] } } } } } }
"""

# The example of what clients in the field send, to the letter.
LEGACY = """
{ "destinationChainId": "11155111",
  "fee": "0",
  "data": {
    "11155111": {
      "block:5186021":        { "header": ["PARENT_HASH"],
                                "accounts": { "0xd8da6bf26964af9d7eed9e03e53415d37aa96045": { "props": ["BALANCE"], "slots": [] } } },
      "timestamp:1703799420": { "accounts": { "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b": { "slots": ["0x1"] } } } } },
  "webhook": { "url": "https://example.org/hook", "headers": { "Content-Type": "application/json" } } }
"""  # noqa: E501

ADDRESS = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
CHECKSUMMED = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
BALANCE = {"props": ["BALANCE"]}
LONG = "9" * 100_000
NOT_NUMBERS = ["", "01", "-1", "+1", " 1", "1.0", "1e18", "0x1", "1_000", "\u0661", "1\n", LONG]


def batch(data: object, **members: object) -> dict[str, object]:
    """A batch that is valid except for these members."""
    return {"destinationChainId": "11155111", "fee": "0", "data": data} | members


def block_batch(block: object, selector: str = "block:5") -> dict[str, object]:
    return batch({"11155111": {selector: block}})


def account_batch(entry: object, account: str = ADDRESS) -> dict[str, object]:
    return block_batch({"accounts": {account: entry}})


def without(members: Mapping[str, object], name: str) -> dict[str, object]:
    return {key: copy.deepcopy(value) for key, value in members.items() if key != name}


def read(content: object) -> CheckedBatch:
    return read_batch(content, ROUTES, LIMITS)
