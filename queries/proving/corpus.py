"""Recorded blocks and proofs in files: what the contracts are measured on.

A file holds one block and accounts proven under its state root:
`{block: {number?, hash?, stateRoot, headerRlp?}, accounts: [{address?, addressHash,
accountProof, account: {nonce, balance, storageHash, codeHash} | null,
storageProof?: [{key, value, proof}]}]}`, all values 0x-hex. Nothing of it is believed: headers are
hashed and proofs are checked as a node's answers are.
"""

from dataclasses import dataclass

from .account_proofs import ADDRESS_BYTES, AccountProof, check_account_proof
from .errors import HeaderMalformed
from .headers import MAX_HEADER_BYTES, Header, decode_header
from .json_values import read_bytes, read_fixed_bytes, read_list, read_object, read_quantity
from .keccak import HASH_BYTES
from .trie_proofs import CheckedNodes

_MANY = 100_000


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """One file's block, its header where it was recorded, and its checked proofs."""

    state_root: bytes
    number: int | None
    header: Header | None
    accounts: tuple[AccountProof, ...]


def read_recorded_block(document: object) -> RecordedBlock:
    """Check a file's content, as JSON gives it."""
    fields = read_object(document, "a corpus file")
    block = read_object(fields.get("block"), "block")
    state_root = read_fixed_bytes(block.get("stateRoot"), "stateRoot", HASH_BYTES)
    checked = CheckedNodes()
    accounts = tuple(
        check_recorded_account(account, state_root, checked)
        for account in read_list(fields.get("accounts", []), "accounts", _MANY)
    )
    number = None
    if block.get("number") is not None:
        number = read_quantity(block["number"], "number")
    header = None
    if block.get("headerRlp") is not None:
        header = _recorded_header(block, state_root, number)
    return RecordedBlock(state_root, number, header, accounts)


def _recorded_header(block: dict[str, object], state_root: bytes, number: int | None) -> Header:
    """The header, of which the file's block must say the same as far as it says anything."""
    expected = None
    if block.get("hash") is not None:
        expected = read_fixed_bytes(block["hash"], "hash", HASH_BYTES)
    encoded = read_bytes(block["headerRlp"], "headerRlp", MAX_HEADER_BYTES)
    header = decode_header(encoded, expected)
    if header.state_root != state_root or number not in (None, header.number):
        raise HeaderMalformed(
            f"the header is of block {header.number} with the state root "
            f"0x{header.state_root.hex()}; the file states another"
        )
    return header


def check_recorded_account(
    recorded: object, state_root: bytes, checked: CheckedNodes | None = None
) -> AccountProof:
    """Undo the corpus's own shape, and check it as an `eth_getProof` answer."""
    account = read_object(recorded, "an account")
    slots = [
        read_quantity(read_object(entry, "a slot").get("key"), "key")
        for entry in read_list(account.get("storageProof", []), "storageProof", _MANY)
    ]
    answer = {**account, "storageProof": account.get("storageProof", [])}
    # An absent account is stated as geth does.
    absent = {"nonce": "0x0", "balance": "0x0", "storageHash": "0x0", "codeHash": "0x0"}
    answer |= read_object(account.get("account") or absent, "account")
    if account.get("address") is not None:
        name = read_fixed_bytes(account["address"], "address", ADDRESS_BYTES)
    else:
        name = read_fixed_bytes(account.get("addressHash"), "addressHash", HASH_BYTES)
    return check_account_proof(answer, state_root, name, slots, checked)
