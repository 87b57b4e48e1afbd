"""Headers, lists and states that others have recorded or made up, proven to the contracts."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import rlp
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.proving.accounts import AccountProof, check_account_proof
from queries.proving.block_items import Log, Receipt
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256
from queries.proving.registry_calls import SectionHeader, headers_section, prove_call
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.header_forgeries import read_header, set_hash
from tests.queries.attacks.witness_parts import ChosenTrie
from tests.queries.contracts.recorded_events import (
    RECEIPTS,
    TRANSACTIONS,
    WITHDRAWALS,
    RecordedBlock,
    Verifier,
    recorded_blocks,
)
from tests.queries.contracts.test_differential import ACCEPTED, compare, read
from tests.queries.events.groups import (
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
)
from tests.recordings import CORPUS, read_json
from tests.rigs.deployed_contracts import DeployedContract

pytestmark = pytest.mark.no_database

LISTS = CORPUS / "eras" / "lists"
FIELDS = frozenset(AccountField)
ABSENT_LEAF = rlp.encode([0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH])
LISTED = sorted(int(file.name.split("_")[1].split(".")[0]) for file in LISTS.iterdir())


@pytest.fixture(scope="module")
def headers(corpus_folder: Path) -> dict[int, Header]:
    rows = json.loads((corpus_folder / "eras" / "headers.json").read_text())["headers"]
    return {row["number"]: decode_header(bytes.fromhex(row["rlp"][2:])) for row in rows}


def test_headers_of_each_era_lead_to_their_parents(
    shared_node: LocalNode, headers: dict[int, Header]
) -> None:
    """From a known hash, over the Merge and each later fork, with every field that they have."""
    arguments = encode(["bool", "bool"], [False, False])
    registry, count = DeployedContract(shared_node, "SettableRegistry", arguments), 0
    for number, child in headers.items():
        if not (parent := headers.get(number - 1)):
            continue
        steps = [
            SectionHeader(
                header,
                accumulate=True,
                fields=frozenset(field for field in HeaderField if header.has_field(field)),
            )
            for header in (parent, child)
        ]
        questions = {
            (header.number, field): header.word(field) if header.has_field(field) else None
            for header in (parent, child)
            for field in HeaderField
        }
        calls = [set_hash(number, child.hash), prove_call([headers_section(steps)])]
        calls += itertools.starmap(read_header, questions)
        _, proof, *answers = registry.simulate(calls)
        assert proof.success, proof.data.hex()
        for answer, word in zip(answers, questions.values(), strict=True):
            value = answer.value_if_proven()
            assert value == (None if word is None else int.from_bytes(word))
        count += 1
    assert count == 6


def decode_receipt(encoded: bytes) -> Receipt:
    """By the `rlp` package."""
    kind = encoded[0] if encoded[0] < 0xC0 else 0
    status, gas, _, logs = rlp.decode(encoded[1:] if kind else encoded)
    return Receipt(
        kind,
        int.from_bytes(status),
        int.from_bytes(gas),
        tuple(Log(emitter, tuple(topics), data) for emitter, topics, data in logs),
    )


def earlier_block(number: int) -> tuple[RecordedBlock, Sequence[bytes]]:
    """A block, and its receipts as they were encoded."""
    document = read_json(LISTS / f"mainnet_{number}.json.gz")
    encoded = [bytes.fromhex(receipt[2:]) for receipt in document["encoded_receipts"]]
    block = next(block for block in recorded_blocks(LISTS) if block.number == number)
    return replace(block, receipts=tuple(map(decode_receipt, encoded))), encoded


@pytest.mark.parametrize("number", LISTED)
def test_each_item_of_an_earlier_block_is_proven(shared_node: LocalNode, number: int) -> None:
    block, encoded = earlier_block(number)
    assert [receipt.encoding for receipt in block.receipts] == encoded
    has_withdrawals = block.header.has_field(WITHDRAWALS)
    assert has_withdrawals == bool(block.withdrawals)
    fields = [TRANSACTIONS, RECEIPTS, *[WITHDRAWALS] * has_withdrawals]
    assert all(block.tries[field].root == block.header.payload(field) for field in fields)
    verifier = Verifier(shared_node)
    verifier.know(block)
    requests = {
        index: ReceiptRequest(True, frozenset(range(len(receipt.logs))))
        for index, receipt in enumerate(block.receipts)
    }
    groups: list[Group] = [
        TransactionGroup(block.transactions, range(len(block.transactions))),
        ReceiptGroup(block.receipts, requests),
    ]
    if has_withdrawals:
        groups.append(WithdrawalGroup(block.withdrawals, range(len(block.withdrawals))))
    logs, receipts, transactions, withdrawals, *_ = verifier.facts(block, *groups)
    assert {index: hash_ for _, index, _, hash_ in transactions} == {
        index: keccak256(envelope) for index, envelope in enumerate(block.transactions)
    }
    assert {index: tuple(rest) for _, index, *rest in receipts} == {
        index: (receipt.status, receipt.transaction_type, receipt.cumulative_gas, len(receipt.logs))
        for index, receipt in enumerate(block.receipts)
    }
    assert {(index, place): tuple(rest)[-1] for _, index, place, *rest in logs} == {
        (index, place): log.hash
        for index, receipt in enumerate(block.receipts)
        for place, log in enumerate(receipt.logs)
    }
    assert len(withdrawals) == len(block.withdrawals)


STATES = json.loads((CORPUS / "vectors" / "hex_encoded_securetrie_test.json").read_text())
ABSENT = keccak256(b"an account that no vector has")


def account_proof(trie: ChosenTrie, key: bytes) -> AccountProof:
    """The account with this trie key, as a node would answer."""
    nonce, balance, *hashes = rlp.decode(trie.value(key) or ABSENT_LEAF)
    storage_root, code_hash = (f"0x{hash_.hex()}" for hash_ in hashes)
    answer = {
        "nonce": hex(int.from_bytes(nonce)),
        "balance": hex(int.from_bytes(balance)),
        "storageHash": storage_root,
        "codeHash": code_hash,
        "accountProof": [f"0x{node.hex()}" for node in trie.proof(key)],
        "storageProof": [],
    }
    return check_account_proof(answer, trie.root, key)


@pytest.mark.parametrize("name", STATES)
def test_accounts_of_the_test_vectors_are_read(registry: DeployedContract, name: str) -> None:
    """All in one witness, and each alone, with an account that does not exist."""
    vector = STATES[name]
    trie = ChosenTrie(
        {
            keccak256(bytes.fromhex(address[2:])): bytes.fromhex(leaf[2:])
            for address, leaf in vector["in"].items()
        }
    )
    assert trie.root.hex() == vector["root"][2:]
    keys = [keccak256(bytes.fromhex(address[2:])) for address in vector["in"]]
    for part in ([*keys, ABSENT], *([key] for key in keys), [ABSENT]):
        proofs = [account_proof(trie, key) for key in part]
        assert [proof.exists for proof in proofs] == [key != ABSENT for key in part]
        witness = build_witness([AccountToStore(proof, FIELDS) for proof in proofs])
        reading = read(witness)
        assert reading
        assert reading.state_root == trie.root
        assert compare(registry, witness, reading) == ACCEPTED
