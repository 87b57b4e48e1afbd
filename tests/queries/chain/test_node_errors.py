"""How error messages of each node software are classified."""

import pytest

from queries.chain.errors import (
    AlreadyKnownError,
    BlockUnknownError,
    CallRevertedError,
    ChainError,
    HistoryPrunedError,
    InsufficientFundsError,
    MethodMissingError,
    NodesRefuseError,
    NonceUsedError,
    ParametersRejectedError,
    ProofWindowExceededError,
    RateLimitedError,
    RpcBatchTooLargeError,
    StateNotAvailableError,
    TooMuchGasError,
    TransactionRefusedError,
    UnderpricedError,
    WrongChainIdError,
    classify_node_error,
    redact,
    revert_data,
)
from queries.chain.json_rpc import JsonRpcError

pytestmark = pytest.mark.no_database

HASH = "a1b2" * 16
MESSAGES: list[tuple[type[ChainError], int, str]] = [
    # geth
    (StateNotAvailableError, -32000, f"missing trie node {HASH} (path ) state 0x1 unavailable"),
    (StateNotAvailableError, -32000, f"historical state {HASH} is not available"),
    (StateNotAvailableError, -32000, "required historical state unavailable (reexec=128)"),
    (HistoryPrunedError, 4444, "pruned history unavailable"),
    (BlockUnknownError, -32000, "header not found"),
    (BlockUnknownError, -32000, "header for hash not found"),
    (BlockUnknownError, -32000, "hash 0xabc is not currently canonical"),
    (BlockUnknownError, -39001, "finalized block not found"),
    (NonceUsedError, -32000, "nonce too low: next nonce 5, tx nonce 4"),
    (AlreadyKnownError, -32000, "already known"),
    (UnderpricedError, -32000, "replacement transaction underpriced"),
    (UnderpricedError, -32000, "transaction underpriced: gas tip cap 0, minimum needed 1"),
    (UnderpricedError, -32000, "max fee per gas less than block base fee: address 0x0"),
    (InsufficientFundsError, -32000, "insufficient funds for gas * price + value: balance 0"),
    (TransactionRefusedError, -32000, "intrinsic gas too low: gas 20000, minimum needed 21000"),
    (TooMuchGasError, -32000, "exceeds block gas limit"),
    (TooMuchGasError, -32000, "transaction gas limit too high (cap: 16777216, tx: 16777217)"),
    (TransactionRefusedError, -32000, "oversized data: transaction size 200000, limit 131072"),
    (TransactionRefusedError, -32000, "tx fee (2 ether) exceeds the configured cap (1 ether)"),
    (TransactionRefusedError, -32000, "invalid sender"),
    (WrongChainIdError, -32000, "invalid chain id for signer: have 1 want 5"),
    (TransactionRefusedError, -32000, "transaction type not supported"),
    (RateLimitedError, -32000, "txpool is full"),
    (CallRevertedError, 3, "execution reverted: no"),
    (CallRevertedError, -32000, "execution reverted"),
    (TooMuchGasError, -32000, "gas required exceeds allowance (16777216)"),
    (CallRevertedError, -32000, "out of gas"),
    (CallRevertedError, -32000, "invalid opcode: INVALID"),
    (MethodMissingError, -32601, "the method eth_getProof does not exist/is not available"),
    (ParametersRejectedError, -32602, "invalid argument 2: json: cannot unmarshal object"),
    (RpcBatchTooLargeError, -32600, "batch too large"),
    # reth
    (ProofWindowExceededError, -32602, "distance to target block exceeds maximum proof window"),
    (StateNotAvailableError, -32000, "state at block #100 is pruned"),
    (StateNotAvailableError, -32000, "no state found for block number 100"),
    (BlockUnknownError, -32001, "block not found: hash 0xabc"),
    (BlockUnknownError, -32000, "unknown block"),
    (TooMuchGasError, -32000, "out of gas: gas required exceeds: 30000000"),
    (TooMuchGasError, -32000, "transaction gas limit (17) is greater than the cap (16)"),
    (TransactionRefusedError, -32000, "call gas cost (21000) exceeds the gas limit (20000)"),
    # nethermind
    (TooMuchGasError, -32000, "gas spent exceeded transaction and block gas limit"),
    (StateNotAvailableError, -32002, "No state available for block 0xabc"),
    (BlockUnknownError, -32001, "0x5 could not be found"),
    (NonceUsedError, -32010, "OldNonce, Current nonce: 5, nonce of rejected tx: 4"),
    (AlreadyKnownError, -32010, "AlreadyKnown"),
    (UnderpricedError, -32010, "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7"),
    (UnderpricedError, -32010, "FeeTooLowToCompete"),
    (UnderpricedError, -32010, "ReplacementNotAllowed"),
    (InsufficientFundsError, -32010, "InsufficientFunds, Account balance: 0, cumulative cost: 1"),
    (TooMuchGasError, -32010, "GasLimitExceeded"),
    (CallRevertedError, -32015, "VM execution error."),
    # erigon
    (
        ProofWindowExceededError,
        -32000,
        "requested block is too old, block must be within 100000 blocks of the head block number",
    ),
    (ProofWindowExceededError, -32000, "proofs are available only for the 'latest' block"),
    (StateNotAvailableError, -32000, "old data not available due to pruning"),
    (AlreadyKnownError, -32000, "INTERNAL_ERROR: existing tx with same hash"),
    (UnderpricedError, -32000, "could not replace existing tx"),
    # besu
    (StateNotAvailableError, -32000, "World state unavailable"),
    (AlreadyKnownError, -32000, "Known transaction"),
    (NonceUsedError, -32001, "Transaction nonce 4 below sender account nonce 5"),
    (UnderpricedError, -32009, "Gas price below configured minimum gas price"),
    (InsufficientFundsError, -32004, "Upfront cost exceeds account balance"),
    # anvil
    (BlockUnknownError, -32602, "BlockOutOfRangeError: block height is 10 but requested was 153"),
    (StateNotAvailableError, -32602, "BlockOutOfRangeError: block height is 9 but requested was 5"),
    (BlockUnknownError, -32001, "Resource not found"),
    (AlreadyKnownError, -32003, "transaction already imported"),
    (CallRevertedError, -32603, "EVM error InvalidFEOpcode"),
    # gateways
    (RateLimitedError, -32005, "daily request count exceeded, request rate limited"),
    (RateLimitedError, 429, "Your app has exceeded its compute units per second capacity."),
    (RateLimitedError, -32005, "Too Many Requests"),
    (RateLimitedError, -32016, "over the line"),
    (RateLimitedError, -32000, "monthly quota reached"),
    (StateNotAvailableError, -32000, "Archive requests require a paid plan"),
    (MethodMissingError, -32000, "method eth_getProof is not whitelisted"),
    (RpcBatchTooLargeError, -32000, "Batch of more than 3 requests are not allowed"),
    (RpcBatchTooLargeError, -32000, "maximum batch size exceeded"),
    (RpcBatchTooLargeError, -32000, "too many requests in one batch"),
    (MethodMissingError, -32000, "Unsupported method: eth_getProof"),
    (ParametersRejectedError, -32000, "failed to parse request"),
    # by code
    (RateLimitedError, 429, "slow down"),
    (RateLimitedError, -32005, "slow down"),
    (MethodMissingError, -32601, "never heard of it"),
    (ParametersRejectedError, -32602, "expected three values"),
    (BlockUnknownError, -32001, "no such thing"),
    (StateNotAvailableError, -32002, "gone"),
    (HistoryPrunedError, 4444, "gone"),
    # unknown
    (NodesRefuseError, -32000, "the moon is full"),
    (NodesRefuseError, -32603, "Internal error"),
    (NodesRefuseError, 0, "we operate and generate"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "code", "message"), MESSAGES)
def test_node_errors_are_classified(kind: type[ChainError], code: int, message: str) -> None:
    assert classify_node_error("eth_call", message, code) is kind


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        ("0x0102", b"\x01\x02"), ("Reverted 0x0102", b"\x01\x02"), ("0x", b""), ("0x1", b""),
        ("", b""), ("0xzz", b""), ({"data": "0x01"}, b""), (None, b""),
    ],
)  # fmt: skip
def test_revert_data_is_decoded(data: object, decoded: bytes) -> None:
    assert revert_data(JsonRpcError("eth_call", "reverted", data, 3).data) == decoded


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("intrinsic gas too low: gas 20000, minimum needed 21000",) * 2,
        ("insufficient funds for gas * price + value",) * 2,
        ("see https://node.example/v3/hunter2", "see …"),
        ("key c0ffee12deadbeef is invalid.", "key … is invalid"),
        ("Invalid key: abcdefghijklmnopqrstuvwx", "Invalid key: …"),
        ("host node.example:8545 said no", "host … said no"),
        ("a\nb\x1b[31m c", "a … c"),
        ("", ""),
    ],
)
def test_only_plain_words_and_numbers_are_quoted(message: str, quoted: str) -> None:
    assert redact(message) == quoted
