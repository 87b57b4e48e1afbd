"""Receipts, transactions and withdrawals of a block are complete, whatever a node answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import rlp
from trie.hexary import HexaryTrie

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.block_contents import BlockContent
from queries.chain.client import ChainClient
from queries.chain.errors import (
    BlockUnknownError,
    ChainError,
    EventNotFoundError,
    HistoryPrunedError,
    InvalidAnswersError,
    MethodMissingError,
    NoQuorumError,
)
from queries.config.limits import Limits
from queries.proving.block_items import Receipt
from queries.proving.headers import Header, HeaderField, decode_header, header_from_json
from queries.proving.keccak import keccak256
from tests.queries.chain.recorded_node import block_answers, recorded_node
from tests.queries.contracts.live_chain import LiveChain
from tests.queries.contracts.recorded_events import block_with, recorded_block, recorded_blocks
from tests.rigs.deployed_contracts import LOGGING_CODE
from tests.rigs.faulty_node import Change, RequestLog, chain_with_nodes, refusal, relay

pytestmark = pytest.mark.no_database

BLOCK_RECEIPTS, RECEIPT, BLOCK = (
    "eth_getBlockReceipts",
    "eth_getTransactionReceipt",
    "eth_getBlockByHash",
)
RAW, DEBUG_RAW = "eth_getRawTransactionByHash", "debug_getRawTransaction"
RAW_METHODS = (RAW, DEBUG_RAW)
Answer = dict[str, Any]


def client(*urls: str, **limits: Any) -> ChainClient:
    return ChainClient(chain_with_nodes(*urls, limits=Limits(**limits)))


# Recorded blocks


def test_real_blocks_are_read_whole() -> None:
    kinds, with_receipts = set(), 0
    for block in recorded_blocks():
        with recorded_node(block_answers(block)) as url:
            node = client(url)
            transactions = BlockContent(node, block.header).transactions
            assert transactions == list(block.transactions)
            assert BlockContent(node, block.header).withdrawals == list(block.withdrawals)
            if block.answers:
                assert BlockContent(node, block.header).receipts == list(block.receipts)
                with_receipts += 1
        kinds |= {0 if envelope[0] >= 0xC0 else envelope[0] for envelope in transactions}
    assert (kinds, with_receipts) == ({0, 1, 2, 3, 4}, 2)


def test_receipts_before_byzantium_have_state_roots() -> None:
    answers = [
        {
            "root": f"0x{bytes([index + 1] * 32).hex()}",
            "cumulativeGasUsed": hex(21_000 * (index + 1)),
            "logs": [],
        }
        for index in range(3)
    ]
    trie = HexaryTrie({})
    for index in range(3):
        gas = 21_000 * (index + 1)
        trie[rlp.encode(index)] = rlp.encode([bytes([index + 1] * 32), gas, bytes(256), []])
    header = block_with(HeaderField.RECEIPTS_ROOT, trie.root_hash).header
    with recorded_node({BLOCK_RECEIPTS: lambda _: answers}) as url:
        receipts = BlockContent(client(url), header).receipts
    assert receipts == [Receipt(0, bytes([n] * 32), 21_000 * n, ()) for n in (1, 2, 3)]


# Block 274 of an OP-stack chain after Canyon: a deposit with the attributes of an L1 block.
DEPOSIT: dict[str, Any] = {
    "from": "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001",
    "gas": "0xf4240",
    "gasPrice": "0x0",
    "input": "0x015d8eb90000000000000000000000000000000000000000000000000000000001267f33"
    "0000000000000000000000000000000000000000000000000000000065da6073"
    "000000000000000000000000000000000000000000000000000000075d3f8610"
    "97c24796a4f639846a6a3ea3a59c11de8d89e11f551bae8feca9271a78926d42"
    "0000000000000000000000000000000000000000000000000000000000000004"
    "000000000000000000000000415c8893d514f9bc5211d36eeda4183226b84aa7"
    "00000000000000000000000000000000000000000000000000000000000000bc"
    "00000000000000000000000000000000000000000000000000000000000a6fe0",
    "nonce": "0x111",
    "to": "0x4200000000000000000000000000000000000015",
    "value": "0x0",
    "type": "0x7e",
    "v": "0x0",
    "r": "0x0",
    "s": "0x0",
    "sourceHash": "0x5a1b66228a26547e2ce6fe1aa734d2c34e062e42ccd5710463e6987890f1ad5d",
    "mint": "0x0",
    "depositReceiptVersion": "0x1",
}
DEPOSIT_HASH = "13a644af4f64ce801dcd57faa823e8952f2290b810fdd31995dda62977ed3df1"
DEPOSIT_RECEIPT: dict[str, Any] = {
    "type": "0x7e",
    "status": "0x1",
    "cumulativeGasUsed": "0xb76d",
    "logs": [],
    "depositNonce": "0x111",
    "depositReceiptVersion": "0x1",
}
OPTIMISM_BLOCK: dict[str, Any] = {
    "baseFeePerGas": "0x1418f329",
    "difficulty": "0x0",
    "extraData": "0x",
    "gasLimit": "0x1c9c380",
    "gasUsed": "0xb76d",
    "hash": "0xfc70e073ec6e1bb7f387698e4be418d7b1ff2216f625cdf41e1b80fb08029ef5",
    "logsBloom": f"0x{bytes(256).hex()}",
    "miner": "0x4200000000000000000000000000000000000011",
    "mixHash": "0x8bc8a48326d9309959f2452206c1c842be9fcc9840c789845caab9d290a9700c",
    "nonce": "0x0000000000000000",
    "number": "0x112",
    "parentHash": "0xcfbc479d5f63476538db9ff15295167a6e91ecc9d6cf54be471eded689c251c9",
    "receiptsRoot": "0x8c303881b3e408cc739f55ef3e5133075d552cbec9ee987aff6b71f58cf291ee",
    "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    "stateRoot": "0x86be45fb7a22b8c12cbce8d538372b800377cc589de590b6d88f5f65dde97df8",
    "timestamp": "0x65da607b",
    "transactions": [DEPOSIT],
    "transactionsRoot": "0xb01a2ad2c1ceb76f2edcdc02f2e0453c52e24c421fb04132cdfc0da5b70a593e",
    "withdrawals": [],
    "withdrawalsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
}


def optimism_node(transaction: Answer, receipt: Answer) -> Any:
    block = OPTIMISM_BLOCK | {"transactions": [transaction]}
    return recorded_node({BLOCK: lambda *_: block, BLOCK_RECEIPTS: lambda _: [receipt]})


def test_a_block_of_an_op_stack_chain_is_read_whole() -> None:
    header = header_from_json(OPTIMISM_BLOCK)
    with optimism_node(DEPOSIT, DEPOSIT_RECEIPT) as url:
        node = client(url)
        (transaction,) = BlockContent(node, header).transactions
        (receipt,) = BlockContent(node, header).receipts
        assert BlockContent(node, header).withdrawals == []
    assert keccak256(transaction).hex() == DEPOSIT_HASH
    assert (receipt.transaction_type, receipt.status, receipt.logs) == (0x7E, 1, ())


def test_a_deposit_with_a_mint_is_encoded() -> None:
    """Of a system transaction before Regolith, and of a deposit that creates a contract."""
    for flag, to in ((True, DEPOSIT["to"]), (False, None)):
        values = DEPOSIT | {"isSystemTx": flag, "to": to, "mint": "0x1c6bf52634000"}
        fields = [
            bytes.fromhex(values["sourceHash"][2:]),
            bytes.fromhex(values["from"][2:]),
            bytes.fromhex(to[2:]) if to else b"",
            0x1C6BF52634000,
            0,
            0xF4240,
            int(flag),
            bytes.fromhex(values["input"][2:]),
        ]
        trie = HexaryTrie({})
        trie[rlp.encode(0)] = encoded = b"\x7e" + rlp.encode(fields)
        header = optimism_header(HeaderField.TRANSACTIONS_ROOT, trie.root_hash)
        with optimism_node(values, DEPOSIT_RECEIPT) as url:
            assert BlockContent(client(url), header).transactions == [encoded]


def optimism_header(field: HeaderField, root: bytes) -> Header:
    """The block's header with another root."""
    items = rlp.decode(header_from_json(OPTIMISM_BLOCK).rlp)
    items[field] = root
    return decode_header(rlp.encode(items))


def test_a_deposit_receipt_before_canyon_has_no_nonce() -> None:
    """Nodes state the nonce, to which the root does not commit."""
    receipt = {key: DEPOSIT_RECEIPT[key] for key in DEPOSIT_RECEIPT if key[-7:] != "Version"}
    trie = HexaryTrie({})
    trie[rlp.encode(0)] = b"\x7e" + rlp.encode([1, 0xB76D, bytes(256), []])
    header = optimism_header(HeaderField.RECEIPTS_ROOT, trie.root_hash)
    with optimism_node(DEPOSIT, receipt) as url:
        assert len(BlockContent(client(url), header).receipts) == 1
    with optimism_node(DEPOSIT, DEPOSIT_RECEIPT) as url, pytest.raises(InvalidAnswersError):
        _ = BlockContent(client(url), header).receipts


@pytest.mark.parametrize("kind", [6, 0x6A, 0x80])
def test_the_error_names_types_whose_receipts_may_be_encoded_in_another_way(kind: int) -> None:
    header = header_from_json(OPTIMISM_BLOCK)
    node = optimism_node(DEPOSIT, DEPOSIT_RECEIPT | {"type": hex(kind)})
    with node as url, pytest.raises(InvalidAnswersError) as caught:
        _ = BlockContent(client(url), header).receipts
    is_possible = kind < 0x80
    assert (f"type {kind:#x} may be encoded in another way" in caught.value.sentence) is is_possible


def test_an_optimism_block_since_isthmus_has_no_withdrawals() -> None:
    """Its header has the storage root of a contract in the place of the list's."""
    header = optimism_header(HeaderField.WITHDRAWALS_ROOT, bytes(range(32)))
    with optimism_node(DEPOSIT, DEPOSIT_RECEIPT) as url, pytest.raises(EventNotFoundError):
        _ = BlockContent(client(url), header).withdrawals


# A real node


@dataclass(frozen=True)
class BusyBlock:
    """A block with eight transactions of three types and five logs, and an empty one after it."""

    node: LocalNode
    header: Header
    empty: Header
    hashes: list[str]

    def assert_complete(self, receipts: list[Receipt]) -> None:
        assert [receipt.transaction_type for receipt in receipts] == [0, 1, 2, 2, 2, 2, 2, 2]
        assert [len(receipt.logs) for receipt in receipts] == [0, 0, 0, 1, 1, 1, 1, 1]
        assert receipts[3].logs[0].topics == ((0xFF).to_bytes(32),)


@pytest.fixture(scope="module")
def busy() -> Iterator[BusyBlock]:
    with local_node() as node:
        node.rpc.ask("evm_setAutomine", False)
        transfer: Answer = {"from": node.payer, "to": node.payer, "value": "0x1", "gas": "0xffff"}
        access = [{"address": node.payer, "storageKeys": [f"0x{7:064x}"]}]
        creation = {"from": node.payer, "data": f"0x{LOGGING_CODE.hex()}", "gas": "0x1ffff"}
        transactions: list[dict[str, Any]] = [
            transfer | {"gasPrice": hex(10**10)},
            transfer | {"gasPrice": hex(10**10), "accessList": access},
            transfer | {"accessList": access, "maxFeePerGas": hex(10**10)},
            *[creation | {"maxFeePerGas": hex(10**10)}] * 5,
        ]
        for nonce, transaction in enumerate(transactions):
            node.rpc.ask("eth_sendTransaction", transaction | {"nonce": hex(nonce)})
        node.rpc.ask("evm_mine")
        node.rpc.ask("evm_mine")
        chain = LiveChain(node)
        hashes = node.block("0x1")["transactions"]
        yield BusyBlock(node, chain.header(1), chain.header(2), hashes)


def without(*methods: str, then: Change | None = None) -> Change:
    """A node that lacks methods."""

    def change(method: str, params: list[Any], answer: Answer) -> Answer:
        if method in methods:
            return refusal(f"the method {method} does not exist/is not available", -32601)
        return then(method, params, answer) if then else answer

    return change


def test_all_receipts_and_transactions_of_a_block_are_read(busy: BusyBlock) -> None:
    node = client(busy.node.url)
    busy.assert_complete(BlockContent(node, busy.header).receipts)
    transactions = BlockContent(node, busy.header).transactions
    assert [f"0x{keccak256(envelope).hex()}" for envelope in transactions] == busy.hashes


def test_an_empty_block_needs_no_request(busy: BusyBlock) -> None:
    log = RequestLog()
    with relay(busy.node.url, asked=log) as url:
        node = client(url)
        assert BlockContent(node, busy.empty).receipts == []
        assert BlockContent(node, busy.empty).transactions == []
        assert BlockContent(node, busy.empty).withdrawals == []
    assert log.methods == []


def change_list(method: str, change: Callable[[Any], object]) -> Change:
    """Change the answers to a method in place."""

    def changed(called: str, _: list[Any], answer: Answer) -> Answer:
        if called == method:
            change(answer["result"])
        return answer

    return changed


RECEIPT_LIES: dict[str, Callable[[Any], object]] = {
    "a hidden log": lambda receipts: receipts[4]["logs"].clear(),
    "another log": lambda receipts: receipts[4]["logs"][0].update(data="0x2b"),
    "another topic": lambda receipts: receipts[4]["logs"][0].update(topics=[f"0x{1:064x}"]),
    "another emitter": lambda receipts: receipts[4]["logs"][0].update(address="0x" + "11" * 20),
    "a log twice": lambda receipts: receipts[4].update(logs=receipts[4]["logs"] * 2),
    "another status": lambda receipts: receipts[0].update(status="0x0"),
    "other gas": lambda receipts: receipts[0].update(cumulativeGasUsed="0x1"),
    "another type": lambda receipts: receipts[0].update(type="0x2"),
    "a hidden receipt": lambda receipts: receipts.pop(),
    "another order": lambda receipts: receipts.reverse(),
    "no receipts": lambda receipts: receipts.clear(),
    "a null": lambda receipts: receipts.append(None),
}


@pytest.mark.parametrize("lie", RECEIPT_LIES)
def test_receipts_that_do_not_match_are_requested_from_the_next_node(
    busy: BusyBlock, lie: str
) -> None:
    with relay(busy.node.url, change_list(BLOCK_RECEIPTS, RECEIPT_LIES[lie])) as liar:
        busy.assert_complete(BlockContent(client(liar, busy.node.url), busy.header).receipts)
        with pytest.raises(InvalidAnswersError) as caught:
            _ = BlockContent(client(liar), busy.header).receipts
    assert BLOCK_RECEIPTS in caught.value.sentence


TRANSACTION_LIES: dict[str, Callable[[Any], object]] = {
    "another value": lambda block: block["transactions"][0].update(value="0x2"),
    "another access list": lambda block: block["transactions"][1].update(accessList=[]),
    "another type": lambda block: block["transactions"][1].update(type="0x2"),
    "no recipient": lambda block: block["transactions"][0].update(to=None),
    "a hidden transaction": lambda block: block["transactions"].pop(),
    "no transactions": lambda block: block.pop("transactions"),
    "hashes": lambda block: block.update(transactions=[t["hash"] for t in block["transactions"]]),
}


@pytest.mark.parametrize("lie", TRANSACTION_LIES)
def test_transactions_that_do_not_match_are_requested_from_the_next_node(
    busy: BusyBlock, lie: str
) -> None:
    with relay(busy.node.url, change_list(BLOCK, TRANSACTION_LIES[lie])) as liar:
        transactions = BlockContent(client(liar, busy.node.url), busy.header).transactions
        assert [f"0x{keccak256(envelope).hex()}" for envelope in transactions] == busy.hashes
        with pytest.raises(InvalidAnswersError):
            _ = BlockContent(client(liar), busy.header).transactions


def test_withdrawals_that_do_not_match_are_requested_from_the_next_node() -> None:
    block = recorded_block(22017690)
    honest = block_answers(block)
    contents = honest[BLOCK](f"0x{block.header.hash.hex()}", False)
    lies = {**contents, "withdrawals": contents["withdrawals"][:-1]}
    with recorded_node(honest) as url, recorded_node({BLOCK: lambda *_: lies}) as liar:
        assert BlockContent(client(liar, url), block.header).withdrawals == list(block.withdrawals)
        with pytest.raises(InvalidAnswersError):
            _ = BlockContent(client(liar), block.header).withdrawals


# Transactions of unknown types


STRANGE = (3, 6)  # places of transactions that the node states with an unknown type


def with_unknown_types(then: Change | None = None, *offered: str) -> Change:
    """A node that states two transactions so, and offers only these methods for their bytes."""

    def change(method: str, params: list[Any], answer: Answer) -> Answer:
        if method in RAW_METHODS and method not in offered:
            return refusal(f"the method {method} does not exist/is not available", -32601)
        if (method, params[1:]) == (BLOCK, [True]):
            for place in STRANGE:
                stated = answer["result"]["transactions"]
                stated[place] = {"type": "0x6a", "hash": stated[place]["hash"]}
        return then(method, params, answer) if then else answer

    return change


@pytest.mark.parametrize("method", RAW_METHODS)
def test_transactions_of_unknown_types_are_requested_as_bytes(busy: BusyBlock, method: str) -> None:
    """One request for the block, and one for the bytes of both."""
    log = RequestLog()
    with relay(busy.node.url, with_unknown_types(None, method), log) as url:
        content = BlockContent(client(url), busy.header)
        assert [f"0x{keccak256(item).hex()}" for item in content.transactions] == busy.hashes
        assert content.indexes[busy.hashes[7]] == 7
    expected = [["eth_chainId"], [BLOCK], *([[RAW] * 2] if method != RAW else []), [method] * 2]
    assert log.requests == expected


def test_bytes_that_do_not_match_are_requested_from_the_next_node(busy: BusyBlock) -> None:
    def lie(method: str, _: list[Any], answer: Answer) -> Answer:
        return {"result": "0x6a01"} if method == RAW else answer

    with (
        relay(busy.node.url, with_unknown_types(lie, RAW)) as liar,
        relay(busy.node.url, with_unknown_types(None, RAW)) as honest,
    ):
        transactions = BlockContent(client(liar, honest), busy.header).transactions
        assert [f"0x{keccak256(item).hex()}" for item in transactions] == busy.hashes
        with pytest.raises(InvalidAnswersError, match=RAW):
            _ = BlockContent(client(liar), busy.header).transactions


@pytest.mark.parametrize("dropped", [None, "0x"])
def test_a_node_without_an_index_of_transactions_still_finds_their_positions(
    busy: BusyBlock, dropped: str | None
) -> None:
    def drop(method: str, _: list[Any], answer: Answer) -> Answer:
        return {"result": dropped} if method in {RAW, DEBUG_RAW} else answer

    with relay(busy.node.url, with_unknown_types(drop, RAW)) as url:
        content = BlockContent(client(url), busy.header)
        with pytest.raises(MethodMissingError):
            _ = content.transactions
        assert list(content.indexes) == busy.hashes


def test_without_bytes_two_nodes_must_agree_on_an_index(busy: BusyBlock) -> None:
    def reverse(method: str, params: list[Any], answer: Answer) -> Answer:
        if (method, params[1:]) == (BLOCK, [False]):
            answer["result"]["transactions"].reverse()
        return answer

    with (
        relay(busy.node.url, with_unknown_types(reverse)) as liar,
        relay(busy.node.url, with_unknown_types()) as first,
        relay(busy.node.url, with_unknown_types()) as second,
    ):
        assert BlockContent(client(liar, first, second), busy.header).indexes[busy.hashes[7]] == 7
        with pytest.raises(NoQuorumError):
            _ = BlockContent(client(liar, first), busy.header).indexes
        with pytest.raises(MethodMissingError, match=f"do not offer {RAW} or {DEBUG_RAW}"):
            _ = BlockContent(client(first, second), busy.header).transactions


# Nodes that lack something


def test_a_node_that_takes_no_block_hash_gets_the_number(busy: BusyBlock) -> None:
    asked: list[str] = []

    def change(method: str, params: list[Any], answer: Answer) -> Answer:
        if method == BLOCK_RECEIPTS:
            asked.append(params[0])
            if len(params[0]) == 66:
                return refusal("invalid argument 0: hex number > 64 bits", -32602)
        return answer

    with relay(busy.node.url, change) as url:
        busy.assert_complete(BlockContent(client(url), busy.header).receipts)
    assert asked == [f"0x{busy.header.hash.hex()}", "0x1"]


def test_without_block_receipts_each_receipt_is_requested(busy: BusyBlock) -> None:
    log = RequestLog()
    with relay(busy.node.url, without(BLOCK_RECEIPTS), log) as url:
        busy.assert_complete(BlockContent(client(url, max_batch_calls=3), busy.header).receipts)
    assert log.methods.count(RECEIPT) == 8
    assert max(map(len, log.requests)) == 3


def test_single_receipts_that_do_not_match_are_requested_from_the_next_node(
    busy: BusyBlock,
) -> None:
    def hide(method: str, params: list[Any], answer: Answer) -> Answer:
        if (method, params) == (RECEIPT, [busy.hashes[4]]):
            answer["result"]["logs"] = []
        return answer

    with (
        relay(busy.node.url, without(BLOCK_RECEIPTS, then=hide)) as liar,
        relay(busy.node.url, without(BLOCK_RECEIPTS)) as honest,
    ):
        busy.assert_complete(BlockContent(client(liar, honest), busy.header).receipts)
        with pytest.raises(InvalidAnswersError, match=RECEIPT):
            _ = BlockContent(client(liar), busy.header).receipts


def test_a_node_with_single_receipts_makes_up_for_one_that_lies(busy: BusyBlock) -> None:
    lie = change_list(BLOCK_RECEIPTS, RECEIPT_LIES["a hidden log"])
    with relay(busy.node.url, without(BLOCK_RECEIPTS)) as old, relay(busy.node.url, lie) as liar:
        for nodes in ((old, liar), (liar, old)):
            busy.assert_complete(BlockContent(client(*nodes), busy.header).receipts)


def test_a_node_without_receipts_is_named_by_the_missing_method(busy: BusyBlock) -> None:
    with relay(busy.node.url, without(BLOCK_RECEIPTS, RECEIPT)) as bare:
        with pytest.raises(MethodMissingError, match=f"do not offer {RECEIPT}"):
            _ = BlockContent(client(bare), busy.header).receipts
        busy.assert_complete(BlockContent(client(bare, busy.node.url), busy.header).receipts)


def pruned(method: str, _: list[Any], answer: Answer) -> Answer:
    return refusal("pruned history unavailable", 4444) if method == BLOCK_RECEIPTS else answer


def no_receipt(method: str, _: list[Any], answer: Answer) -> Answer:
    return {"result": None} if method == RECEIPT else answer


def no_block(method: str, _: list[Any], answer: Answer) -> Answer:
    return {"result": None} if method in {BLOCK_RECEIPTS, BLOCK} else answer


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (pruned, HistoryPrunedError),
        (without(BLOCK_RECEIPTS, then=no_receipt), HistoryPrunedError),
        (no_block, BlockUnknownError),
        (without(BLOCK_RECEIPTS, then=no_block), BlockUnknownError),
    ],
)
def test_a_node_that_dropped_the_receipts_says_so(
    busy: BusyBlock, change: Change, error: type[ChainError]
) -> None:
    with relay(busy.node.url, change) as url:
        with pytest.raises(error):
            _ = BlockContent(client(url), busy.header).receipts
        busy.assert_complete(BlockContent(client(url, busy.node.url), busy.header).receipts)
