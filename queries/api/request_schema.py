"""A batch's body as JSON Schema, for the API's own description.

It tells clients what to send; what is taken is decided by `queries.schema` alone. A test has both
read the same bodies.
"""

from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField
from queries.schema.batch_rules import BatchLimits
from queries.schema.webhook_schema import MOST_URL_CHARACTERS

Schema = dict[str, object]

DECIMAL = "^(0|[1-9][0-9]*)$"

SPECIFICATION_EXAMPLE: dict[str, object] = {
    "destinationChainId": "11155111",
    "fee": "0",
    "data": {
        "11155111": {
            "block:5186021": {
                "accounts": {
                    "0xd8da6bf26964af9d7eed9e03e53415d37aa96045": {
                        "props": ["BALANCE"],
                        "slots": [],
                    }
                }
            }
        }
    },
}
EVERYTHING_EXAMPLE: dict[str, object] = {
    "destinationChainId": "11155111",
    "fee": "2000000000000000",
    "data": {
        "11155111": {
            "block:5186021": {
                "header": ["STATE_ROOT", "TIMESTAMP"],
                "accounts": {
                    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045": {
                        "props": ["NONCE", "BALANCE"],
                        "slots": ["0x0", "0x1"],
                    }
                },
            },
            "timestamp:1703799420": {"header": ["BLOCK_NUMBER"]},
        }
    },
    "webhook": {
        "url": "https://example.org/hook",
        "headers": {"Authorization": "Bearer of-your-choice"},
    },
}


LATER_EXAMPLE = {"destination_chain_id": "11155111", "data": SPECIFICATION_EXAMPLE["data"]}


def request_schemas(limits: BatchLimits) -> dict[str, Schema]:
    """By the names under which the document holds them."""
    return {
        "LaterRequest": {
            "type": "object",
            "required": ["destination_chain_id", "data"],
            "properties": {
                "destination_chain_id": _text("As destinationChainId of a batch."),
                "data": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {"$ref": "#/components/schemas/Blocks"},
                },
                "webhook": {"$ref": "#/components/schemas/Webhook"},
            },
        },
        "BatchRequest": {
            "type": "object",
            "required": ["destinationChainId", "fee", "data"],
            "description": (
                f"At most {limits.body_bytes:,} bytes, {limits.blocks:,} blocks, "
                f"{limits.accounts:,} accounts and {limits.slots:,} slots in all. Fields that are "
                "not known are ignored, with a warning."
            ),
            "properties": {
                "destinationChainId": _text(
                    "The chain on which the facts are to be read: its id in decimal, or an alias "
                    "that the operator gave it."
                ),
                "fee": _text(
                    'The most that may be spent on the batch, in wei. "0" is taken where the '
                    "destination is free.",
                    DECIMAL,
                ),
                "data": {
                    "type": "object",
                    "minProperties": 1,
                    "description": "What to prove: blocks by their source chain's id.",
                    "additionalProperties": {"$ref": "#/components/schemas/Blocks"},
                },
                "webhook": {"$ref": "#/components/schemas/Webhook"},
            },
        },
        "Blocks": {
            "type": "object",
            "minProperties": 1,
            "description": (
                "What to prove, by block: `block:` and a number, or `timestamp:` and Unix seconds, "
                "which is the last block that is not younger."
            ),
            "patternProperties": {
                "^(block:(0|[1-9][0-9]{0,19})|timestamp:(0|[1-9][0-9]{0,9}))$": {
                    "$ref": "#/components/schemas/Block"
                }
            },
            "additionalProperties": False,
        },
        "Block": _block(),
        "Account": _account(),
        "Webhook": _webhook(limits),
    }


def _block() -> Schema:
    return {
        "type": "object",
        "description": "At least one field of the header, or one account.",
        "properties": {
            "header": {"type": "array", "items": {"enum": list(HeaderField.__members__)}},
            "accounts": {
                "type": "object",
                "description": (
                    "By address in letters of any case, or by ENS name where the source chain has "
                    "names. What is proven is the state of the address that the nodes say the name "
                    "stood for at the block; that it stood for it is not proven."
                ),
                "additionalProperties": {"$ref": "#/components/schemas/Account"},
            },
        },
        "additionalProperties": False,
    }


def _account() -> Schema:
    return {
        "type": "object",
        "description": "At least one prop or one slot.",
        "properties": {
            "props": {"type": "array", "items": {"enum": list(AccountField.__members__)}},
            "slots": {
                "type": "array",
                "items": _text("A storage slot, at most 32 bytes.", "^0x[0-9a-fA-F]{1,64}$"),
            },
        },
        "additionalProperties": False,
    }


def _webhook(limits: BatchLimits) -> Schema:
    return {
        "type": "object",
        "required": ["url"],
        "description": (
            f"Where to tell that the batch is decided, with at most {limits.webhook_headers:,} "
            f"headers of {limits.webhook_header_bytes:,} bytes together."
        ),
        "properties": {
            "url": {"type": "string", "maxLength": MOST_URL_CHARACTERS, "pattern": "^https?://"},
            "headers": {
                "type": "object",
                "maxProperties": limits.webhook_headers,
                "additionalProperties": {"type": "string"},
            },
        },
        "additionalProperties": False,
    }


def _text(description: str, pattern: str = "") -> Schema:
    schema: Schema = {"type": "string", "description": description}
    return schema | {"pattern": pattern} if pattern else schema
