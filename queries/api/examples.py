"""Examples of requests and answers, by the names of their models; a test checks them all."""

from typing import Any

from queries.proving.bundles import FORMAT, VERSION
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT

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

_ATTESTATION: dict[str, object] = {
    "originChainId": "11155111",
    "destinationChainId": "10",
    "registry": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    "block": "5186021",
    "blockHash": "0x" + 64 * "1",
    "signature": f"0x{64 * '2'}{64 * '3'}1b",
}

BODIES: dict[str, dict[str, dict[str, Any]]] = {
    "BatchRequest": {"One balance": SPECIFICATION, "All that can be asked for": _EVERYTHING},
    "LaterRequest": {"One balance": _LATER},
    "AttestationBody": {"A signer's attestation": _ATTESTATION},
}

_WHOSE = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
_PROOF: dict[str, object] = {
    "batch": "01J2VM6JSA6VKKZ0ENWGYYPR18",
    "blocks": [
        {
            "accounts": [
                {
                    "accountProof": ["0xf90211a0…", "0xf8718080…"],
                    "address": _WHOSE,
                    "balance": "0xde0b6b3a7640000",
                    "codeHash": f"0x{EMPTY_CODE_HASH.hex()}",
                    "nonce": "0x5",
                    "storageHash": f"0x{EMPTY_TRIE_ROOT.hex()}",
                    "storageProof": [],
                }
            ],
            "block": "5186021",
            "blockHash": f"0x{64 * '1'}",
            "calls": ["0x45152ae302…"],
            "facts": [
                {
                    "account": _WHOSE,
                    "kind": "ACCOUNT_FIELD",
                    "name": "BALANCE",
                    "word": f"0x{10**18:064x}",
                }
            ],
            "header": "0xf90254a0…",
            "nextHeader": None,
            "originChainId": "11155111",
            "registry": {
                "address": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
                "chainId": "11155111",
                "kind": "native",
            },
            "transactions": [
                {
                    "block": "5186049",
                    "hash": "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
                }
            ],
        }
    ],
    "destinationChainId": "11155111",
    "digest": f"0x{64 * '2'}",
    "format": FORMAT,
    "version": VERSION,
}

_BATCH: dict[str, object] = {
    "queryStatus": "DONE",
    "internalId": "01J2VM6JSA6VKKZ0ENWGYYPR18",
    "status": "DONE",
    "destinationChainId": "11155111",
    "fee": "0",
    "spent": "170480000000000",
    "submitted": "2026-11-20T07:41:03.204Z",
    "ended": "2026-11-20T07:41:31.870Z",
    "waitsFor": None,
    "waitCode": None,
}
_WAITING: dict[str, object] = {
    **_BATCH,
    "queryStatus": "IN_PROGRESS",
    "internalId": "01J2VM7D0ZB6M2T4KQ8N1XW5RC",
    "status": "IN_PROGRESS",
    "spent": "0",
    "ended": None,
    "waitsFor": "Block 5,186,047 is not final yet: the last final one is 5,186,040.",
    "waitCode": "block_not_final",
}


def _step(name: str, started: str, completed: str, **transaction: str) -> dict[str, object]:
    return {
        "step": name,
        "status": "COMPLETED",
        "started": f"2026-11-20T07:41:{started}Z",
        "completed": f"2026-11-20T07:41:{completed}Z",
        "transactionHash": None,
        "transactionBlock": None,
        "gasUsed": None,
        "error": None,
        **transaction,
    }


_TRANSACTION = {
    "transactionHash": "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
    "transactionBlock": "5186049",
    "gasUsed": "170480",
}
_QUERY: dict[str, object] = {
    "originChainId": "11155111",
    "selector": "block:5186021",
    "block": "5186021",
    "account": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    "name": None,
    "props": ["BALANCE"],
    "slots": [],
    "header": [],
    "steps": [
        _step("INITIAL_STATE", "03.204", "03.311"),
        _step("BLOCKHASH_AVAILABLE", "03.311", "03.902"),
        _step("HEADER_ACCUMULATED", "03.902", "16.240", **_TRANSACTION),
        _step("ACCOUNT_ACCUMULATED", "03.902", "31.870", **_TRANSACTION),
    ],
    "waitsFor": None,
    "waitCode": None,
    "values": {"BALANCE": f"0x{10**18:064x}"},
    "registry": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    "cost": "170480000000000",
}

_PRICE: dict[str, object] = {
    "transactions": 1,
    "bytes": 4_100,
    "gas": "170480",
    "gasPrice": "2000000000",
    "cost": "340960000000001",
}

_DELIVERY: dict[str, object] = {
    "event": "01J2VM7B5T3Q1Y8ZC4N6W0XKDE",
    "batchQueryId": _BATCH["internalId"],
    "url": "https://example.org/hook",
    "state": "DELIVERED",
    "created": "2026-11-20T07:41:31.870Z",
    "delivered": "2026-11-20T07:41:37.101Z",
    "nextAttempt": None,
    "attempts": [
        {
            "made": "2026-11-20T07:41:37.101Z",
            "answered": 200,
            "fault": None,
            "milliseconds": 84,
        },
        {
            "made": "2026-11-20T07:41:31.902Z",
            "answered": None,
            "fault": "The address does not answer (NewConnectionError).",
            "milliseconds": 12,
        },
    ],
}
EVENT: dict[str, object] = {
    "event": _DELIVERY["event"],
    "batchQueryId": _BATCH["internalId"],
    "queryStatus": "DONE",
    "destinationChainId": "11155111",
    "error": None,
    "facts": [
        {name: _QUERY[name] for name in ("originChainId", "block", "account", "name", "values")}
    ],
    "nextQuery": None,
}

ANSWERS: dict[str, dict[str, Any]] = {
    "Submitted": {
        "internalId": _BATCH["internalId"],
        "page": f"https://proofs.example.org/explorer/query/{_BATCH['internalId']}",
        "warnings": [],
    },
    "Estimate": {
        "destinationChainId": "11155111",
        "free": False,
        "feeNeeded": "340960000000001",
        "complete": True,
        **_PRICE,
        "warnings": [],
        "blocks": [
            {
                "originChainId": "11155111",
                "selectors": ["block:5186021"],
                "block": "5186021",
                "lastFinalBlock": "5186040",
                "readiness": "READY",
                "waitsFor": None,
                "error": None,
                "code": None,
                "distance": None,
                "proven": [],
                "price": _PRICE,
            }
        ],
    },
    "StatusAnswer": {**_BATCH, "queries": [_QUERY], "nextQuery": None},
    "BatchAnswer": {
        **_BATCH,
        "queries": [_QUERY],
        "nextQuery": None,
        "batchQuery": {"id": _BATCH["internalId"], "status": "DONE", "data": [_QUERY]},
    },
    "Batch": _WAITING
    | {
        "status": "REJECTED",
        "queryStatus": "REJECTED",
        "ended": _BATCH["ended"],
        "waitsFor": None,
        "waitCode": None,
        "rejection": {
            "code": "cancelled",
            "message": "Its owner cancelled it.",
            "step": "INITIAL_STATE",
            "retryable": False,
        },
        "info": ["Its owner cancelled it."],
    },
    "Batches": {"batches": [_WAITING, _BATCH], "cursor": None},
    "Deliveries": {"deliveries": [_DELIVERY], "cursor": None},
    "Delivery": _DELIVERY,
    "WebhookSecret": {"secret": "whsec_bxwNWrfpTzKI0aBb4sR6k9DhbxwNWrfpTzKI0aBb4sQ="},
    "Event": EVENT,
    "Proof": _PROOF,
    "Connections": {
        "connections": [
            {
                "originChainId": "11155111",
                "destinationChainId": "11155111",
                "origin": {"name": "Sepolia", "aliases": ["SEPOLIA"]},
                "destination": {"name": "Sepolia", "aliases": ["SEPOLIA"]},
                "kind": "native",
                "registry": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
                "verifiable": True,
            }
        ]
    },
    "RequestTaken": {"status": "RECEIVED", "request_id": _BATCH["internalId"]},
    "LaterQueries": {
        "queries": [
            {
                "internal_id": f"{_BATCH['internalId']}-0",
                "status": "COMPLETED",
                "typ": "ACCOUNT",
                "created_at": "2026-11-20T07:41:03.204Z",
                "completed_at": "2026-11-20T07:41:31.870Z",
            }
        ]
    },
    "LaterActions": {
        "actions": [
            {
                "internal_id": f"{_BATCH['internalId']}-0-HEADER_ACCUMULATED",
                "status": "COMPLETED",
                "typ": "HEADER_ACCUMULATED",
                "created_at": "2026-11-20T07:41:03.902Z",
                "completed_at": "2026-11-20T07:41:16.240Z",
                "transaction_hash": _TRANSACTION["transactionHash"],
            }
        ]
    },
    "Alive": {"message": "Alive!"},
    "AttestationTaken": {
        "signer": "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b",
        "block": "5186021",
    },
    "WantedAttestations": {
        "wanted": [
            {
                "originChainId": "11155111",
                "destinationChainId": "10",
                "registry": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
                "blocks": ["5186021"],
            }
        ]
    },
    "ApiKeyAnswer": {
        "id": "qok33gj3fx",
        "name": "Bridge",
        "owner": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
        "ownerChainId": None,
        "created": "2026-11-01T12:00:00Z",
        "limits": {"requests": 600, "seconds": 60},
        "use": {"today": 1, "total": 41, "last": "2026-11-20T07:41:03Z"},
    },
    "Error": {
        "error": "fee is missing: the most that may be spent on the batch, in wei.",
        "code": "missing_field",
        "path": "fee",
        "retryable": False,
    },
}
