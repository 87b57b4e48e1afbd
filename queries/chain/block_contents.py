"""Read a block's receipts, transactions and withdrawals, checked by the roots in its header."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

from queries.chain.answers import read_hex
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
)
from queries.proving import (
    EMPTY_TRIE_ROOT,
    HASH_BYTES,
    MAX_JSON_VALUES,
    TRANSACTION_FIELDS,
    BlockItem,
    Header,
    HeaderField,
    IndexTrie,
    Receipt,
    RootMismatchError,
    Withdrawal,
    encode_hex,
    keccak256,
    read_fixed_bytes,
    read_list,
    read_object,
    receipt_from_json,
    transaction_from_json,
    withdrawal_from_json,
)

GET_BLOCK_BY_HASH, SINGLE_RECEIPT = "eth_getBlockByHash", "eth_getTransactionReceipt"
# The second is of nodes without the first.
RAW_TRANSACTION_METHODS = ("eth_getRawTransactionByHash", "debug_getRawTransaction")


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
        is_empty = self.header.payload(HeaderField.TRANSACTIONS_ROOT) == EMPTY_TRIE_ROOT
        return [] if is_empty else fetch_transactions(self.source, self.header)

    @cached_property
    def withdrawals(self) -> list[Withdrawal]:
        if not self.header.has_field(HeaderField.WITHDRAWALS_ROOT):
            raise EventNotFoundError("the block is older than withdrawals")
        if self.header.payload(HeaderField.WITHDRAWALS_ROOT) == EMPTY_TRIE_ROOT:
            return []
        params = encode_hex(self.header.hash), False
        return self.source.fetch(GET_BLOCK_BY_HASH, params, partial(_read_withdrawals, self.header))

    def items(self, field: HeaderField) -> Sequence[BlockItem]:
        """The list to whose trie this header field commits."""
        if field is HeaderField.TRANSACTIONS_ROOT:
            return self.transactions
        return self.receipts if field is HeaderField.RECEIPTS_ROOT else self.withdrawals

    @cached_property
    def indexes(self) -> dict[str, int]:
        """The transactions' indexes, by their hashes."""
        try:
            hashes = [encode_hex(keccak256(encoding)) for encoding in self.transactions]
        except MethodMissingError:  # no node gives the bytes of a type that is not known
            hashes = self.source.ask_quorum(_fetch_hashes, self.header)
        return {digest: index for index, digest in enumerate(hashes)}

    @property
    def bloom(self) -> bytes:
        return self.header.payload(HeaderField.LOGS_BLOOM)


def fetch_receipts(source: ChainClient, header: Header) -> list[Receipt]:
    """Fetch the block's receipts node by node, because single ones can be checked only together."""
    return source.poll(_receipts_of_one_node, header).first()


def _receipts_of_one_node(node: ChainClient, header: Header) -> list[Receipt]:
    for block in (encode_hex(header.hash), hex(header.number)):  # some nodes take a number only
        with suppress(MethodMissingError, NodesRefuseError, ParametersRejectedError):
            return node.fetch("eth_getBlockReceipts", (block,), partial(_read_receipts, header))
    params = [(digest,) for digest in _fetch_hashes(node, header)]
    receipts = node.fetch_many(SINGLE_RECEIPT, params, _read_receipt)
    try:
        return _check_receipts(header, receipts)
    except RootMismatchError as error:
        raise _invalid_answers(node, SINGLE_RECEIPT, error) from None


def fetch_transactions(source: ChainClient, header: Header) -> list[bytes]:
    """Fetch the block's transactions node by node, as for receipts: some may be requested singly.

    Only the root shows whether they are right: a transaction's hash may not be that of its bytes,
    as for state syncs of Polygon.
    """
    return source.poll(_transactions_of_one_node, header).first()


def _transactions_of_one_node(node: ChainClient, header: Header) -> list[bytes]:
    params = encode_hex(header.hash), True
    items = node.fetch(GET_BLOCK_BY_HASH, params, partial(_read_transactions, header))
    hashes = [item for item in items if isinstance(item, str)]
    if not hashes:
        return [item for item in items if isinstance(item, bytes)]
    method, encodings = _fetch_encodings(node, hashes)
    remaining = iter(encodings)
    transactions = [next(remaining) if isinstance(item, str) else item for item in items]
    try:
        _check_root(header, HeaderField.TRANSACTIONS_ROOT, transactions)
    except RootMismatchError as error:
        raise _invalid_answers(node, method, error) from None
    return transactions


def _fetch_encodings(node: ChainClient, hashes: Sequence[str]) -> tuple[str, list[bytes]]:
    """Fetch transactions as bytes; return the method that the node offers, too."""
    params = [(digest,) for digest in hashes]
    for method in RAW_TRANSACTION_METHODS:
        # A node without an index of transactions answers null, although it has the block.
        with suppress(MethodMissingError, NodesRefuseError, HistoryPrunedError):
            return method, node.fetch_many(method, params, _read_encoding)
    raise MethodMissingError.create(node.chain.name, " or ".join(RAW_TRANSACTION_METHODS))


def _fetch_hashes(node: ChainClient, header: Header) -> list[str]:
    """Fetch the hashes of the block's transactions; nothing shows whether they are right."""
    return node.fetch(GET_BLOCK_BY_HASH, (encode_hex(header.hash), False), _read_hashes)


def _invalid_answers(
    node: ChainClient, method: str, error: RootMismatchError
) -> InvalidAnswersError:
    return InvalidAnswersError.create(node.chain.name, method, f" {error.summary}")


def _read_receipts(header: Header, answer: object) -> list[Receipt]:
    if answer is None:
        raise NodeError(BlockUnknownError)
    receipts = read_list(answer, "receipts", MAX_JSON_VALUES)
    return _check_receipts(header, list(map(receipt_from_json, receipts)))


def _read_receipt(answer: object) -> Receipt:
    if answer is None:
        raise NodeError(HistoryPrunedError)
    return receipt_from_json(answer)


def _check_receipts(header: Header, receipts: list[Receipt]) -> list[Receipt]:
    try:
        _check_root(header, HeaderField.RECEIPTS_ROOT, [receipt.encoding for receipt in receipts])
    except RootMismatchError as error:
        other_types = {receipt.transaction_type for receipt in receipts} - set(TRANSACTION_FIELDS)
        if other_types:
            names = ", ".join(map(hex, sorted(other_types)))
            error.summary += f" Receipts of type {names} may be encoded in another way."
        raise
    return receipts


def _read_transactions(header: Header, block: object) -> list[bytes | str]:
    """Read the transactions, encoded; or the hash of one whose type is not known."""
    items = list(map(_read_transaction, _read_list("transactions", block)))
    encodings = [item for item in items if isinstance(item, bytes)]
    if len(encodings) == len(items):
        _check_root(header, HeaderField.TRANSACTIONS_ROOT, encodings)
    return items


def _read_transaction(entry: object) -> bytes | str:
    encoding = transaction_from_json(entry)
    if encoding is None:
        return _read_hash(read_object(entry, "a transaction").get("hash"))
    return encoding


def _read_encoding(answer: object) -> bytes:
    if answer is None or answer == "0x":  # clients answer either
        raise NodeError(HistoryPrunedError)
    return read_hex(answer)


def _read_hashes(block: object) -> list[str]:
    return list(map(_read_hash, _read_list("transactions", block)))


def _read_hash(value: object) -> str:
    return encode_hex(read_fixed_bytes(value, "a transaction's hash", HASH_BYTES))


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
