"""The endpoint of proofs, what it answers, and an example of that."""

from queries import errors
from queries.api.endpoint import ID_PATTERN, OF_THE_KEY, Endpoint, Parameter
from queries.api.request_schema import DECIMAL, Schema
from queries.proving.bundle_checks import KINDS
from queries.proving.bundles import FORMAT, VERSION, FactKind
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT

OF_PROOFS = (
    errors.BATCH_NOT_DONE,
    errors.BATCH_REJECTED,
    errors.PROOF_UNAVAILABLE,
    errors.PROOFS_BUSY,
)

PROOF_ENDPOINT = Endpoint(
    "GET",
    "/batch-queries/{batch}/proof",
    "batchProof",
    "All that proves the facts of a batch that is DONE, in a file that is checked without this "
    "service: manage.py verify_proof does it with no database and no network, and "
    "manage.py publish_proof brings the facts to a registry from any key. Headers are RLP and "
    "accounts are as eth_getProof answers them, so that other tools can check them too; `calls` "
    "is calldata of prove(). Any batch's proof may be had by whoever knows its id; its page has "
    "the same file without a key.",
    "Proof",
    (
        Parameter(
            "batch",
            "The internalId that submitting answered; in the address.",
            {"type": "string", "pattern": ID_PATTERN},
            place="path",
            required=True,
        ),
    ),
    refusals=(*OF_THE_KEY, errors.BATCH_UNKNOWN, *OF_PROOFS),
)

_HASH, _ADDRESS = "0x[0-9a-f]{64}", "0x[0-9a-f]{40}"
_NUMBER: Schema = {"type": "string", "pattern": DECIMAL}
_TEXT: Schema = {"type": "string"}
_HEX: Schema = {"type": "array", "items": _TEXT}


def _text(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _object(properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "required": list(properties),
        "properties": properties,
        "additionalProperties": False,
    }


def _list(properties: dict[str, Schema]) -> Schema:
    return {"type": "array", "items": _object(properties)}


_SLOTS = _list({"key": _text(_HASH), "proof": _HEX, "value": _TEXT})
_ACCOUNTS = _list(
    {
        "accountProof": _HEX,
        "address": _text(_ADDRESS),
        "balance": _TEXT,
        "codeHash": _text(_HASH),
        "nonce": _TEXT,
        "storageHash": _text(_HASH),
        "storageProof": _SLOTS,
    }
)
_FACTS = _list(
    {
        "account": {"type": ["string", "null"], "pattern": f"^{_ADDRESS}$"},
        "kind": {"enum": [each.value for each in FactKind]},
        "name": _TEXT,
        "word": _text(_HASH),
    }
)
_BLOCKS = _list(
    {
        "accounts": _ACCOUNTS,
        "block": _NUMBER,
        "blockHash": _text(_HASH),
        "calls": _HEX,
        "facts": _FACTS,
        "header": _TEXT,
        "nextHeader": {"type": ["string", "null"]},
        "originChainId": _NUMBER,
        "registry": _object(
            {"address": _text(_ADDRESS), "chainId": _NUMBER, "kind": {"enum": list(KINDS)}}
        ),
        "transactions": _list({"block": _NUMBER, "hash": _text(_HASH)}),
    }
)


def proof_schema() -> Schema:
    return _object(
        {
            "batch": {"type": "string", "pattern": ID_PATTERN},
            "blocks": _BLOCKS,
            "destinationChainId": _NUMBER,
            "digest": _text(_HASH),
            "format": {"enum": [FORMAT]},
            "version": {"enum": [VERSION]},
        }
    )


PROOF_PARTS = {
    "format, version": f"{FORMAT}, {VERSION}: another version is another format.",
    "batch": "Its id.",
    "destinationChainId": "Where its facts can be read.",
    "blocks": "One for each block, by source chain and number:",
    "originChainId, block, blockHash": "Which it is.",
    "header": "Its header as RLP.",
    "nextHeader": "The header after it, where facts are of a time, or null.",
    "registry": "Where the facts are: address, chainId and kind.",
    "accounts": "Each as eth_getProof answers, with the slots that were asked for.",
    "facts": "What is proven: kind, account (or null), name, and the word that the registry holds.",
    "calls": "Calldata of prove(). Each stands alone; all of them prove the facts.",
    "transactions": "Hash and block of those that the service proved them with.",
    "digest": "Finds damage. Whoever forges a file makes it anew, so nothing rests on it.",
}

_WHOSE = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
PROOF_EXAMPLE: dict[str, object] = {
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
