"""Requests as existing clients send them; words in capitals stand for values."""

from dataclasses import dataclass
from enum import Enum


class KeyPlace(Enum):
    """Where a client puts its key."""

    URL = "in the URL"
    HEADER = "in the header"
    BOTH = "in both"


@dataclass(frozen=True)
class RecordedRequest:
    name: str
    key: KeyPlace
    body: str


ALIASES = ("STARKNET", "SN_SEPOLIA", "SN_GOERLI")

RECORDED_REQUESTS = (
    RecordedRequest(
        "the specification's example",
        KeyPlace.URL,
        """
        { "destinationChainId": "CHAIN", "fee": "0",
          "data": { "CHAIN": { "block:BLOCK": {
            "accounts": { "HOLDER": { "props": ["BALANCE"], "slots": [] } } } } } }
        """,
    ),
    RecordedRequest(
        "everything that clients send",
        KeyPlace.BOTH,
        """
        { "destinationChainId": "CHAIN",
          "fee": "0",
          "data": {
            "CHAIN": {
              "block:BLOCK":    { "header": ["PARENT_HASH"],
                                  "accounts": { "HOLDER": { "props": ["BALANCE"], "slots": [] } } },
              "timestamp:TIME": { "accounts": { "CONTRACT": { "slots": ["0x1"] } } } } },
          "webhook": { "url": "HOOK", "headers": { "Content-Type": "application/json" } } }
        """,
    ),
    RecordedRequest(
        "header fields only",
        KeyPlace.HEADER,
        """
        { "destinationChainId": "CHAIN", "fee": "0",
          "data": { "CHAIN": { "block:BLOCK": { "header": ["STATE_ROOT", "PROPOSER"] } } } }
        """,
    ),
    RecordedRequest(
        "slots at a time, without props",
        KeyPlace.HEADER,
        """
        { "destinationChainId": "CHAIN", "fee": "0",
          "data": { "CHAIN": { "timestamp:TIME": {
            "accounts": { "CONTRACT": { "slots": ["0x0", "0x1", "0x06"] } } } } } }
        """,
    ),
    RecordedRequest(
        "all props, without slots",
        KeyPlace.URL,
        """
        { "destinationChainId": "CHAIN", "fee": "0",
          "data": { "CHAIN": { "block:BLOCK": { "header": [], "accounts": {
            "CONTRACT": { "props": ["NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH"] } } } } } }
        """,
    ),
    RecordedRequest(
        "a destination by name",
        KeyPlace.URL,
        """
        { "destinationChainId": "STARKNET", "fee": "0",
          "data": { "CHAIN": { "block:BLOCK": {
            "accounts": { "HOLDER": { "props": ["NONCE"], "slots": [] } } } } } }
        """,
    ),
    RecordedRequest(
        "both chains by name",
        KeyPlace.BOTH,
        """
        { "destinationChainId": "SN_SEPOLIA", "fee": "0",
          "data": { "SN_GOERLI": { "timestamp:TIME": {
            "accounts": { "HOLDER": { "props": ["BALANCE"] } } } } } }
        """,
    ),
    RecordedRequest(
        "unknown fields at the top level",
        KeyPlace.HEADER,
        """
        { "destinationChainId": "CHAIN", "fee": "0", "chainId": "1", "type": "batch",
          "data": { "CHAIN": { "block:BLOCK": {
            "accounts": { "HOLDER": { "props": ["BALANCE"], "slots": [] } } } } } }
        """,
    ),
    RecordedRequest(
        "an address with a wrong checksum",
        KeyPlace.URL,
        """
        { "destinationChainId": "CHAIN", "fee": "0",
          "data": { "CHAIN": { "block:BLOCK": {
            "accounts": { "MISSPELLED": { "props": ["BALANCE"], "slots": [] } } } } } }
        """,
    ),
    RecordedRequest(
        "padded slots, one of them never set",
        KeyPlace.BOTH,
        """
        { "destinationChainId": "CHAIN", "fee": "0",
          "data": { "CHAIN": { "block:BLOCK": { "accounts": { "CONTRACT": { "props": [], "slots": [
            "0x0000000000000000000000000000000000000000000000000000000000000001",
            "0x000000000000000000000000000000000000000000000000000000000000ffff" ] } } } } } }
        """,
    ),
)
