"""Read a block's receipts, transactions and withdrawals, checked by the roots in its header."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from queries.chain.errors import (
    BlockUnknownError,
    EventNotFoundError,
    HistoryPrunedError,
    InvalidAnswersError,
    MethodMissingError,
    NodeError,
    NodesRefuseError,
    ParametersRejectedError,
    TransactionTypeError,
)
from queries.chain.node_pool import NodePool
from queries.proving.block_items import (
    Receipt,
    Withdrawal,
    receipt_from_json,
    transaction_from_json,
    withdrawal_from_json,
)
from queries.proving.errors import RootMismatchError, TransactionTypeUnknownError
from queries.proving.headers import Header, HeaderField
from queries.proving.index_tries import IndexTrie
from queries.proving.json_values import MAX_VALUES, encode_hex, read_list, read_object
from queries.proving.keccak import EMPTY_TRIE_ROOT

GET_BLOCK_BY_HASH, SINGLE_RECEIPT = "eth_getBlockByHash", "eth_getTransactionReceipt"

Item = TypeVar("Item")


class BlockContents(NodePool):
    """The lists in blocks. Each is complete, because its root is that of the block's header."""

    def receipts(self, header: Header, *, ask_if_empty: bool = False) -> list[Receipt]:
        if not ask_if_empty and header.payload(HeaderField.RECEIPTS_ROOT) == EMPTY_TRIE_ROOT:
            return []
        # Node by node, because single receipts can be checked only together.
        return self.poll(BlockContents._receipts_of_one_node, header).first()

    def transactions(self, header: Header) -> list[bytes]:
        """The block's transactions, encoded as in its trie (EIP-2718)."""
        if header.payload(HeaderField.TRANSACTIONS_ROOT) == EMPTY_TRIE_ROOT:
            return []
        check = partial(_read_transactions, header)
        return self.fetch(GET_BLOCK_BY_HASH, (encode_hex(header.hash), True), check)

    def withdrawals(self, header: Header) -> list[Withdrawal]:
        """The block's withdrawals. Raises `HeaderFieldMissingError` before Shanghai."""
        if header.payload(HeaderField.WITHDRAWALS_ROOT) == EMPTY_TRIE_ROOT:
            return []
        check = partial(_read_withdrawals, header)
        return self.fetch(GET_BLOCK_BY_HASH, (encode_hex(header.hash), False), check)

    def _receipts_of_one_node(self, header: Header) -> list[Receipt]:
        block_hash = encode_hex(header.hash)
        for block in (block_hash, hex(header.number)):  # some nodes take a number only
            with suppress(MethodMissingError, NodesRefuseError, ParametersRejectedError):
                return self.fetch("eth_getBlockReceipts", (block,), partial(_read_receipts, header))
        read_hashes = partial(_read_list, "transactions")
        hashes = self.fetch(GET_BLOCK_BY_HASH, (block_hash, False), read_hashes)
        receipts = self.fetch_many(SINGLE_RECEIPT, [(entry,) for entry in hashes], _read_receipt)
        try:
            return _check_receipts(header, receipts)
        except RootMismatchError as error:
            chain, detail = self.chain.name, f" {error.summary}"
            raise InvalidAnswersError.create(chain, SINGLE_RECEIPT, detail) from None


def _read_receipts(header: Header, answer: object) -> list[Receipt]:
    if answer is None:
        raise NodeError(BlockUnknownError)
    receipts = read_list(answer, "receipts", MAX_VALUES)
    return _check_receipts(header, _read_items(receipt_from_json, receipts))


def _read_receipt(answer: object) -> Receipt:
    if answer is None:
        raise NodeError(HistoryPrunedError)
    (receipt,) = _read_items(receipt_from_json, [answer])
    return receipt


def _read_items(read: Callable[[object], Item], answers: Iterable[object]) -> list[Item]:
    try:
        return list(map(read, answers))
    except TransactionTypeUnknownError as error:
        raise NodeError(TransactionTypeError, error.summary) from None


def _check_receipts(header: Header, receipts: list[Receipt]) -> list[Receipt]:
    _check_root(header, HeaderField.RECEIPTS_ROOT, [receipt.encoding for receipt in receipts])
    return receipts


def _read_transactions(header: Header, block: object) -> list[bytes]:
    transactions = _read_items(transaction_from_json, _read_list("transactions", block))
    _check_root(header, HeaderField.TRANSACTIONS_ROOT, transactions)
    return transactions


def _read_withdrawals(header: Header, block: object) -> list[Withdrawal]:
    withdrawals = list(map(withdrawal_from_json, _read_list("withdrawals", block)))
    if not withdrawals:  # of an OP-stack chain, whose headers have another root here since Isthmus
        raise NodeError(EventNotFoundError)
    _check_root(header, HeaderField.WITHDRAWALS_ROOT, list(map(Withdrawal.encode, withdrawals)))
    return withdrawals


def _read_list(key: str, block: object) -> list[object]:
    if block is None:
        raise NodeError(BlockUnknownError)
    return read_list(read_object(block, "a block").get(key), key, MAX_VALUES)


def _check_root(header: Header, field: HeaderField, items: Sequence[bytes]) -> None:
    if IndexTrie(items).root != header.payload(field):
        raise RootMismatchError(f"the list does not have the {field.name} of block {header.number}")
