"""Examples of requests, by the names of their models; a test sends them."""

from typing import Any

from queries.attestations import AttestationBody
from queries.schema.json_schema import example_of

SPECIFICATION: dict[str, Any] = {
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
_EVERYTHING: dict[str, Any] = {
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


_LATER = {"destination_chain_id": "11155111", "data": SPECIFICATION["data"]}

BODIES: dict[str, dict[str, dict[str, Any]]] = {
    "BatchRequest": {"One balance": SPECIFICATION, "All that can be asked for": _EVERYTHING},
    "LaterRequest": {"One balance": _LATER},
    "AttestationBody": {"A signer's attestation": example_of(AttestationBody, "validation")},
}
