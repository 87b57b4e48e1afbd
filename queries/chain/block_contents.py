"""Read a block's receipts, transactions and withdrawals, checked by the roots in its header."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

from queries.chain.client import ChainClient
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
from queries.proving import (
    EMPTY_TRIE_ROOT,
    MAX_JSON_VALUES,
    BlockItem,
    Header,
    HeaderField,
    IndexTrie,
    Receipt,
    RootMismatchError,
    TransactionTypeUnknownError,
    Withdrawal,
    encode_hex,
    keccak256,
    read_list,
    read_object,
    receipt_from_json,
    transaction_from_json,
    withdrawal_from_json,
)

GET_BLOCK_BY_HASH, SINGLE_RECEIPT = "eth_getBlockByHash", "eth_getTransactionReceipt"

Item = TypeVar("Item")


@dataclass
class BlockContent:
    """A block's lists. Each is fetched when needed, and complete: its root is in the header."""

    source: ChainClient
    header: Header

    @cached_property
    def receipts(self) -> list[Receipt]:
        is_empty = self.header.payload(HeaderField.RECEIPTS_ROOT) == EMPTY_TRIE_ROOT
        return [] if is_empty else fetch_receipts(self.source, self.header)

    @cached_property
    def transactions(self) -> list[bytes]:
        """The block's transactions, encoded as in its trie (EIP-2718)."""
        return self._fetch_items(HeaderField.TRANSACTIONS_ROOT, _read_transactions)

    @cached_property
    def withdrawals(self) -> list[Withdrawal]:
        if not self.header.has_field(HeaderField.WITHDRAWALS_ROOT):
            raise EventNotFoundError("the block is older than withdrawals")
        return self._fetch_items(HeaderField.WITHDRAWALS_ROOT, _read_withdrawals)

    def items(self, field: HeaderField) -> Sequence[BlockItem]:
        """The list to whose trie this header field commits."""
        if field is HeaderField.TRANSACTIONS_ROOT:
            return self.transactions
        return self.receipts if field is HeaderField.RECEIPTS_ROOT else self.withdrawals

    @cached_property
    def indexes(self) -> dict[str, int]:
        """The transactions' indexes, by their hashes."""
        hashes = map(keccak256, self.transactions)
        return {f"0x{digest.hex()}": index for index, digest in enumerate(hashes)}

    @property
    def bloom(self) -> bytes:
        return self.header.payload(HeaderField.LOGS_BLOOM)

    def _fetch_items(
        self, field: HeaderField, read: Callable[[Header, object], list[Item]]
    ) -> list[Item]:
        if self.header.payload(field) == EMPTY_TRIE_ROOT:
            return []
        params = encode_hex(self.header.hash), field is HeaderField.TRANSACTIONS_ROOT
        return self.source.fetch(GET_BLOCK_BY_HASH, params, partial(read, self.header))


def fetch_receipts(source: ChainClient, header: Header) -> list[Receipt]:
    """Fetch the block's receipts node by node, because single ones can be checked only together."""
    return source.poll(_receipts_of_one_node, header).first()


def _receipts_of_one_node(node: ChainClient, header: Header) -> list[Receipt]:
    block_hash = encode_hex(header.hash)
    for block in (block_hash, hex(header.number)):  # some nodes take a number only
        with suppress(MethodMissingError, NodesRefuseError, ParametersRejectedError):
            return node.fetch("eth_getBlockReceipts", (block,), partial(_read_receipts, header))
    read_hashes = partial(_read_list, "transactions")
    hashes = node.fetch(GET_BLOCK_BY_HASH, (block_hash, False), read_hashes)
    receipts = node.fetch_many(SINGLE_RECEIPT, [(entry,) for entry in hashes], _read_receipt)
    try:
        return _check_receipts(header, receipts)
    except RootMismatchError as error:
        chain, detail = node.chain.name, f" {error.summary}"
        raise InvalidAnswersError.create(chain, SINGLE_RECEIPT, detail) from None


def _read_receipts(header: Header, answer: object) -> list[Receipt]:
    if answer is None:
        raise NodeError(BlockUnknownError)
    receipts = read_list(answer, "receipts", MAX_JSON_VALUES)
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
    return read_list(read_object(block, "a block").get(key), key, MAX_JSON_VALUES)


def _check_root(header: Header, field: HeaderField, items: Sequence[bytes]) -> None:
    if IndexTrie(items).root != header.payload(field):
        raise RootMismatchError(f"the list does not have the {field.name} of block {header.number}")
