// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

/// @notice A log that a transaction emitted.
struct LogFact {
    uint256 blockNumber;
    uint256 transactionIndex;
    uint256 logIndex; // within its receipt, not within its block
    address emitter;
    bytes32[] topics;
    bytes data;
    bytes32 logHash; // keccak256 of the log's RLP
}

/// @notice The fields of a receipt, without its logs.
struct ReceiptFact {
    uint256 blockNumber;
    uint256 transactionIndex;
    uint8 status; // 0 failed, 1 succeeded, 2 unknown: before Byzantium, receipts have a state root instead
    uint8 transactionType;
    uint64 cumulativeGasUsed; // of the transactions of the block up to this one
    uint16 logCount;
}

/// @notice The hash of a transaction. Its sender is not proven.
struct TransactionFact {
    uint256 blockNumber;
    uint256 transactionIndex;
    uint8 transactionType;
    bytes32 transactionHash;
}

/// @notice A withdrawal from the beacon chain.
struct WithdrawalFact {
    uint256 blockNumber;
    uint256 position; // in the block
    uint64 withdrawalIndex; // since the first withdrawal ever
    uint64 validatorIndex;
    address recipient;
    uint64 amount; // in Gwei
}

/// @notice A list of the block has no item at this index or beyond.
struct AbsentIndexFact {
    uint256 blockNumber;
    uint8 field; // the header field of the list's root
    uint256 index;
}

/// @notice The receipt has no log of this emitter with these topics.
struct AbsentLogFact {
    uint256 blockNumber;
    uint256 transactionIndex;
    address emitter;
    uint8 topicMask; // bit i: the log's topic i has to equal the next one of `topics`
    bytes32[] topics;
}

/// @notice The block has no log of this emitter, or no log with this topic at any position.
struct SilentBlockFact {
    uint256 blockNumber;
    bool isTopic;
    bytes32 item; // the topic, or the emitter as a number
}

/// @notice All facts of a witness, in the order of the witness.
struct EventFacts {
    LogFact[] logs;
    ReceiptFact[] receipts;
    TransactionFact[] transactions;
    WithdrawalFact[] withdrawals;
    AbsentIndexFact[] absentIndexes;
    AbsentLogFact[] absentLogs;
    SilentBlockFact[] silentBlocks;
}

/// @title Logs, receipts, transactions and withdrawals of another chain's blocks, and their absence
/// @notice A verifier belongs to a registry. The registry proves the roots in a block's header, and the
/// verifier proves the items of the block under these roots. It trusts only that registry, which its CREATE2
/// address commits to. Anyone can prove; there is no owner, no pause and no upgrade.
interface IEventsVerifier {
    /// @notice This log is not proven.
    error LogNotProven(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex);
    /// @notice This receipt is not proven.
    error ReceiptNotProven(uint256 blockNumber, uint256 transactionIndex);
    /// @notice This transaction is not proven.
    error TransactionNotProven(uint256 blockNumber, uint256 transactionIndex);
    /// @notice This withdrawal is not proven.
    error WithdrawalNotProven(uint256 blockNumber, uint256 position);
    /// @notice Another value is stored for this fact. This happens only if the registry's source of block
    /// hashes contradicts itself.
    /// @param key The fact's key in storage.
    error FactContradicted(bytes32 key);

    event LogProven(
        uint256 indexed blockNumber,
        uint256 indexed transactionIndex,
        address indexed emitter,
        uint256 logIndex,
        bytes32 logHash
    );
    event ReceiptProven(
        uint256 indexed blockNumber,
        uint256 indexed transactionIndex,
        uint8 status,
        uint8 transactionType,
        uint64 cumulativeGasUsed,
        uint16 logCount
    );
    event TransactionProven(
        uint256 indexed blockNumber,
        uint256 indexed transactionIndex,
        bytes32 indexed transactionHash,
        uint8 transactionType
    );
    event WithdrawalProven(
        uint256 indexed blockNumber,
        uint256 indexed position,
        address indexed recipient,
        uint64 withdrawalIndex,
        uint64 validatorIndex,
        uint64 amount
    );
    event IndexAbsent(uint256 indexed blockNumber, uint8 indexed field, uint256 index);
    event LogAbsent(
        uint256 indexed blockNumber,
        uint256 indexed transactionIndex,
        address indexed emitter,
        uint8 topicMask,
        bytes32[] topics
    );
    event BlockSilent(uint256 indexed blockNumber, bytes32 indexed item, bool isTopic);

    /// @notice Verify a witness and return its facts, without storing them.
    /// @param section A proof for the registry's `verify` that states one header field for each group of
    /// the witness, in the same order: TRANSACTIONS_ROOT, RECEIPTS_ROOT, LOGS_BLOOM or WITHDRAWALS_ROOT.
    /// Empty if the registry already stores these fields.
    /// @param witness The items of the block.
    /// @return facts All facts that the witness proves.
    function verify(bytes calldata section, bytes calldata witness)
        external
        view
        returns (EventFacts memory facts);

    /// @notice Verify a witness and store its facts. Facts that are already stored are not written again.
    /// @param section As for `verify`.
    /// @param witness As for `verify`.
    function prove(bytes calldata section, bytes calldata witness) external;

    /// @notice The registry whose header fields this verifier uses.
    function REGISTRY() external view returns (address);

    // Read facts. These functions revert if the fact is not proven; `try…` returns false instead.

    /// @notice Whether exactly this log is proven. False does not mean that the block lacks it.
    /// @param logIndex Its index within its receipt.
    function isLog(
        uint256 blockNumber,
        uint256 transactionIndex,
        uint256 logIndex,
        address emitter,
        bytes32[] calldata topics,
        bytes calldata data
    ) external view returns (bool proven);

    /// @notice The keccak256 of a log's RLP.
    function logHash(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex)
        external
        view
        returns (bytes32 hash);

    function tryLogHash(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex)
        external
        view
        returns (bool proven, bytes32 hash);

    function receiptOf(uint256 blockNumber, uint256 transactionIndex)
        external
        view
        returns (ReceiptFact memory receipt);

    function tryReceiptOf(uint256 blockNumber, uint256 transactionIndex)
        external
        view
        returns (bool proven, ReceiptFact memory receipt);

    function transactionHash(uint256 blockNumber, uint256 transactionIndex)
        external
        view
        returns (bytes32 hash);

    function tryTransactionHash(uint256 blockNumber, uint256 transactionIndex)
        external
        view
        returns (bool proven, bytes32 hash);

    function withdrawalOf(uint256 blockNumber, uint256 position)
        external
        view
        returns (WithdrawalFact memory withdrawal);

    function tryWithdrawalOf(uint256 blockNumber, uint256 position)
        external
        view
        returns (bool proven, WithdrawalFact memory withdrawal);

    // Read absence. True is proven; false only means that the absence is not proven.

    /// @notice Whether the list under this root is proven to have no item at `index`. For transactions and
    /// receipts, a proof under either root counts, because both lists have the same length.
    /// @param field The header field of the list's root.
    function isIndexAbsent(uint256 blockNumber, uint8 field, uint256 index)
        external
        view
        returns (bool absent);

    /// @notice Whether a receipt is proven to have no log of `emitter` with these topics.
    /// @param topicMask Bit i: topic i has to equal the next one of `topics`.
    function isLogAbsent(
        uint256 blockNumber,
        uint256 transactionIndex,
        address emitter,
        uint8 topicMask,
        bytes32[] calldata topics
    ) external view returns (bool absent);

    /// @notice Whether a block is proven to have no log of an emitter, or with a topic at any position.
    /// @param isTopic Whether `item` is a topic.
    /// @param item The topic, or the emitter as a number: bytes32(uint256(uint160(emitter))).
    function isBlockSilent(uint256 blockNumber, bool isTopic, bytes32 item)
        external
        view
        returns (bool silent);
}
