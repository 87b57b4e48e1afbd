"""Read a block's receipts, transactions and withdrawals, checked by the roots in its header."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from queries.chain.errors import (
    BlockUnknownError,
    HistoryPrunedError,
    InvalidAnswersError,
    MethodMissingError,
    NodeError,
    NodesRefuseError,
    ParametersRejectedError,
)
from queries.chain.node_pool import NodePool
from queries.proving.block_items import Receipt, Withdrawal, receipt_from_json, withdrawal_from_json
from queries.proving.block_transactions import transaction_from_json
from queries.proving.errors import ProofError, RootMismatchError
from queries.proving.headers import Header, HeaderField
from queries.proving.index_tries import IndexTrie
from queries.proving.json_values import (
    MAX_VALUES,
    encode_hex,
    read_fixed_bytes,
    read_list,
    read_object,
)
from queries.proving.keccak import EMPTY_TRIE_ROOT, HASH_BYTES

SINGLE_RECEIPT = "eth_getTransactionReceipt"

Item = TypeVar("Item")


class BlockContents(NodePool):
    """The lists in blocks. Each is complete, because its root is that of the block's header."""

    def receipts(self, header: Header) -> list[Receipt]:
        if header.payload(HeaderField.RECEIPTS_ROOT) == EMPTY_TRIE_ROOT:
            return []
        return self.request_receipts(header)

    def request_receipts(self, header: Header) -> list[Receipt]:
        """Like `receipts`, but request an empty list too."""
        # Node by node, because single receipts can be checked only together.
        return self.poll(BlockContents._receipts_of_first_node, header).first()

    def transactions(self, header: Header) -> list[bytes]:
        """The block's transactions, encoded as in its trie (EIP-2718)."""
        field = HeaderField.TRANSACTIONS_ROOT
        return self._list_in_block(header, "transactions", field, transaction_from_json, bytes)

    def withdrawals(self, header: Header) -> list[Withdrawal]:
        """The block's withdrawals. Raises `HeaderFieldMissingError` before Shanghai."""
        field, encode = HeaderField.WITHDRAWALS_ROOT, Withdrawal.encode
        return self._list_in_block(header, "withdrawals", field, withdrawal_from_json, encode)

    def _list_in_block(
        self,
        header: Header,
        key: str,
        field: HeaderField,
        read: Callable[[object], Item],
        encode: Callable[[Item], bytes],
    ) -> list[Item]:
        if header.payload(field) == EMPTY_TRIE_ROOT:
            return []

        def check(block: object) -> list[Item]:
            return _check_list(header, field, read, encode, _read_member(key, block))

        with_transactions = key == "transactions"
        params = (encode_hex(header.hash), with_transactions)
        return self.fetch("eth_getBlockByHash", params, check)

    def _receipts_of_first_node(self, header: Header) -> list[Receipt]:
        field, encode = HeaderField.RECEIPTS_ROOT, _encode_receipt
        check = partial(_check_list, header, field, receipt_from_json, encode)
        block_hash = encode_hex(header.hash)
        for block in (block_hash, hex(header.number)):  # some nodes take a number only
            with suppress(MethodMissingError, NodesRefuseError, ParametersRejectedError):
                return self.fetch("eth_getBlockReceipts", (block,), check)
        hashes = self.fetch("eth_getBlockByHash", (block_hash, False), _read_transaction_hashes)
        answers = self.fetch_many(SINGLE_RECEIPT, [(hash_,) for hash_ in hashes], _read_kept)
        try:
            return check(answers)
        except ProofError as error:
            chain, why = self.chain.name, f" {error.summary}"
            raise InvalidAnswersError.create(chain, SINGLE_RECEIPT, why) from None


def _check_list(
    header: Header,
    field: HeaderField,
    read: Callable[[object], Item],
    encode: Callable[[Item], bytes],
    answer: object,
) -> list[Item]:
    """Read a list, and compare its root with this field of the header."""
    if answer is None:
        raise NodeError(BlockUnknownError)
    items = [read(entry) for entry in read_list(answer, "the answer", MAX_VALUES)]
    if IndexTrie([encode(item) for item in items]).root != header.payload(field):
        raise RootMismatchError(f"the list of block {header.number} has another {field.name}")
    return items


def _encode_receipt(receipt: Receipt) -> bytes:
    return receipt.encoded


def _read_member(key: str, block: object) -> object:
    return None if block is None else read_object(block, "a block").get(key, ())


def _read_transaction_hashes(block: object) -> list[str]:
    hashes = read_list(_read_member("transactions", block), "transactions", MAX_VALUES)
    return [encode_hex(read_fixed_bytes(entry, "transactions", HASH_BYTES)) for entry in hashes]


def _read_kept(receipt: object) -> object:
    if receipt is None:
        raise NodeError(HistoryPrunedError)
    return receipt
