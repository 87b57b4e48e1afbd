// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {BlockItems} from "./BlockItems.sol";
import {isSilent} from "./Bloom.sol";
import {uint8At, uint16At, uint64At, wordAt} from "./Calldata.sol";
import {
    AbsentIndexFact,
    AbsentLogFact,
    EventFacts,
    IEventsVerifier,
    LogFact,
    ReceiptFact,
    SilentBlockFact,
    TransactionFact,
    WithdrawalFact
} from "./interfaces/IEventsVerifier.sol";
import {HeaderField, IFactsRegistry} from "./interfaces/IFactsRegistry.sol";
import {freeMemory, wordIn} from "./Memory.sol";

/// @title What blocks contain, proven under the roots that a registry proves
/// @notice See IEventsVerifier. A witness is packed:
///
///   7 × uint16     how many facts there are in each list of `EventFacts`
///   groups, until the end of the witness; each is about one root:
///   uint8 field    the header field: 4 transactions, 5 receipts, 6 logs bloom, 16 withdrawals
///   uint64 block   only if there is no section: the registry has to store the field of this block
///   4, 5, 16:      uint16 count of indexes, uint16 each, the nodes of the trie (see IndexTrie)
///   6:             256 logs bloom, uint16 count of items, each uint8 0 and 20 emitter, or 1 and 32 topic
contract EventsVerifier is BlockItems, IEventsVerifier {
    /// @notice The root that a group's witness rebuilds is not the one in the header.
    /// @param blockNumber The block.
    /// @param field The header field.
    /// @param root The root rebuilt.
    error RootMismatch(uint256 blockNumber, uint256 field, bytes32 root);
    /// @notice A group is about another header field than the section states next, or than any that this
    /// contract can read.
    /// @param field The group's header field.
    error FieldMismatch(uint256 field);
    /// @notice The section must state as many header fields as the witness has groups.
    /// @param groups How many groups the witness has.
    /// @param fields How many header fields the section states.
    error GroupsMismatch(uint256 groups, uint256 fields);
    /// @notice The last group must end where the witness ends.
    /// @param end Where in the calldata it ends.
    /// @param expected Where in the calldata the witness ends.
    error WitnessEndMismatch(uint256 end, uint256 expected);
    /// @notice The bloom cannot show that this emitter or topic is absent.
    /// @param item The topic, or the emitter as a number.
    error NotSilent(bytes32 item);
    /// @notice At this address is no contract.
    /// @param registry The address.
    error NoContract(address registry);

    /// @dev The header fields that a group can be about, as a mask.
    uint256 private constant FIELDS = 1 << HeaderField.TRANSACTIONS_ROOT
        | 1 << HeaderField.RECEIPTS_ROOT | 1 << HeaderField.LOGS_BLOOM
        | 1 << HeaderField.WITHDRAWALS_ROOT;

    /// @inheritdoc IEventsVerifier
    address public immutable REGISTRY;

    mapping(bytes32 key => bytes32) private _facts;

    /// @param registry The registry whose header fields this verifier rests on.
    constructor(address registry) {
        if (registry.code.length == 0) revert NoContract(registry);
        REGISTRY = registry;
    }

    /// @inheritdoc IEventsVerifier
    function verify(bytes calldata section, bytes calldata witness)
        external
        view
        returns (EventFacts memory)
    {
        return _read(section, witness);
    }

    /// @inheritdoc IEventsVerifier
    function prove(bytes calldata section, bytes calldata witness) external {
        EventFacts memory facts = _read(section, witness);
        for (uint256 i = 0; i < facts.logs.length; ++i) _storeLog(facts.logs[i]);
        for (uint256 i = 0; i < facts.receipts.length; ++i) _storeReceipt(facts.receipts[i]);
        for (uint256 i = 0; i < facts.transactions.length; ++i) {
            _storeTransaction(facts.transactions[i]);
        }
        for (uint256 i = 0; i < facts.withdrawals.length; ++i) {
            _storeWithdrawal(facts.withdrawals[i]);
        }
        for (uint256 i = 0; i < facts.absentIndexes.length; ++i) {
            _storeAbsentIndex(facts.absentIndexes[i]);
        }
        for (uint256 i = 0; i < facts.absentLogs.length; ++i) _storeAbsentLog(facts.absentLogs[i]);
        for (uint256 i = 0; i < facts.silentBlocks.length; ++i) {
            SilentBlockFact memory fact = facts.silentBlocks[i];
            bytes32 key = _silentKey(fact.blockNumber, fact.isTopic, fact.item);
            if (_remember(key, bytes32(uint256(1)))) {
                emit BlockSilent(fact.blockNumber, fact.item, fact.isTopic);
            }
        }
    }

    // Verifying

    function _read(bytes calldata section, bytes calldata witness)
        private
        view
        returns (EventFacts memory)
    {
        unchecked {
            (uint256 stated, uint256 fields) = _statedFields(section);
            IndexWalk memory walk;
            uint256 end;
            uint256 cursor;
            assembly ("memory-safe") {
                cursor := witness.offset
                end := add(cursor, witness.length)
            }
            walk.cursor = cursor;
            _makeLists(walk);
            uint256 groups = 0;
            for (; walk.cursor < end; ++groups) {
                uint256 field = uint8At(walk.cursor);
                ++walk.cursor;
                bytes32 expected;
                if ((FIELDS >> field) & 1 == 0) revert FieldMismatch(field);
                if (section.length > 0) {
                    if (groups == fields || wordIn(stated + 32) != field) {
                        revert FieldMismatch(field);
                    }
                    (walk.blockNumber, expected) = (wordIn(stated), bytes32(wordIn(stated + 64)));
                    stated += 96;
                } else {
                    walk.blockNumber = uint64At(walk.cursor);
                    walk.cursor += 8;
                    expected =
                        IFactsRegistry(REGISTRY).headerField(walk.blockNumber, uint8(field));
                }
                walk.field = field;
                bytes32 root = field == HeaderField.LOGS_BLOOM ? _readBloom(walk) : _root(walk);
                if (root != expected) revert RootMismatch(walk.blockNumber, field, root);
            }
            if (walk.cursor != end) revert WitnessEndMismatch(walk.cursor, end);
            if (section.length > 0 && groups != fields) revert GroupsMismatch(groups, fields);
            return _allFacts(walk);
        }
    }

    /// @dev The header fields that the registry's `verify` states: where in memory the first is, of three words
    /// each, and how many there are. Its answer is not decoded as a whole, which would cost more than the
    /// walk: it is from the contract that this one rests on.
    function _statedFields(bytes calldata section)
        private
        view
        returns (uint256 stated, uint256 count)
    {
        if (section.length == 0) return (0, 0);
        (bool success, bytes memory answer) =
            REGISTRY.staticcall(abi.encodeCall(IFactsRegistry.verify, (section)));
        assembly ("memory-safe") {
            if iszero(success) { revert(add(answer, 32), mload(answer)) }
            let facts := add(add(answer, 32), mload(add(answer, 32)))
            let list := add(facts, mload(add(facts, 64)))
            count := mload(list)
            stated := add(list, 32)
        }
    }

    /// @dev Reads a logs bloom and what it shows to be absent; returns its hash, which is how the registry
    /// states this field.
    function _readBloom(IndexWalk memory walk) private pure returns (bytes32 hash) {
        unchecked {
            uint256 bloom = walk.cursor;
            uint256 cursor = bloom + 258;
            for (uint256 count = uint16At(cursor - 2); count > 0; --count) {
                bool isTopic = uint8At(cursor) != 0;
                (uint256 length, uint256 shift) = isTopic ? (32, 0) : (20, 96);
                uint256 item = uint256(wordAt(cursor + 1)) >> shift;
                cursor += 1 + length;
                bytes32 digest;
                assembly ("memory-safe") {
                    mstore(0, shl(shift, item))
                    digest := keccak256(0, length)
                }
                if (!isSilent(bloom, digest)) revert NotSilent(bytes32(item));
                SilentBlockFact memory fact =
                    SilentBlockFact(walk.blockNumber, isTopic, bytes32(item));
                uint256 pointer;
                assembly ("memory-safe") {
                    pointer := fact
                }
                _keep(walk, SILENT_BLOCKS, pointer);
            }
            walk.cursor = cursor;
            uint256 free = freeMemory();
            assembly ("memory-safe") {
                calldatacopy(free, bloom, 256)
                hash := keccak256(free, 256)
            }
        }
    }

    // Storing

    /// @dev Stores a value other than zero; returns whether it was not stored before.
    function _remember(bytes32 key, bytes32 value) private returns (bool) {
        bytes32 present = _facts[key];
        if (present == value) return false;
        if (present != 0) revert FactContradicted(key);
        _facts[key] = value;
        return true;
    }

    function _storeLog(LogFact memory fact) private {
        (uint256 number, uint256 index) = (fact.blockNumber, fact.transactionIndex);
        if (_remember(_key(LOGS, number, index, fact.logIndex), fact.logHash)) {
            emit LogProven(number, index, fact.emitter, fact.logIndex, fact.logHash);
        }
    }

    /// @dev A receipt in one word: bits 0-7 a mark that it is proven, 8-15 the status, 16-23 the type,
    /// 24-39 how many logs, 40-103 the cumulative gas.
    function _storeReceipt(ReceiptFact memory fact) private {
        uint256 word = 1 | uint256(fact.status) << 8 | uint256(fact.transactionType) << 16
            | uint256(fact.logCount) << 24 | uint256(fact.cumulativeGasUsed) << 40;
        (uint256 number, uint256 index) = (fact.blockNumber, fact.transactionIndex);
        if (_remember(_key(RECEIPTS, number, index, 0), bytes32(word))) {
            emit ReceiptProven(
                number,
                index,
                fact.status,
                fact.transactionType,
                fact.cumulativeGasUsed,
                fact.logCount
            );
        }
    }

    function _storeTransaction(TransactionFact memory fact) private {
        (uint256 number, uint256 index) = (fact.blockNumber, fact.transactionIndex);
        bytes32 hash = fact.transactionHash;
        if (_remember(_key(TRANSACTIONS, number, index, 0), hash)) {
            emit TransactionProven(number, index, hash, fact.transactionType);
        }
    }

    /// @dev A withdrawal in two words: bits 0-7 a mark that it is proven, 8-71 the amount, 96-255 the
    /// recipient; and its two indexes.
    function _storeWithdrawal(WithdrawalFact memory fact) private {
        (uint256 number, uint256 position) = (fact.blockNumber, fact.position);
        uint256 word = 1 | uint256(fact.amount) << 8 | uint256(uint160(fact.recipient)) << 96;
        bytes32 key = _key(WITHDRAWALS, number, position, 0);
        if (_remember(key, bytes32(word))) {
            emit WithdrawalProven(
                number,
                position,
                fact.recipient,
                fact.withdrawalIndex,
                fact.validatorIndex,
                fact.amount
            );
        }
        word = 1 | uint256(fact.validatorIndex) << 64 | uint256(fact.withdrawalIndex) << 128;
        _remember(_following(key), bytes32(word));
    }

    function _storeAbsentIndex(AbsentIndexFact memory fact) private {
        bytes32 key = _absentIndexKey(fact.blockNumber, fact.field, fact.index);
        if (_remember(key, bytes32(uint256(1)))) {
            emit IndexAbsent(fact.blockNumber, fact.field, fact.index);
        }
    }

    function _storeAbsentLog(AbsentLogFact memory fact) private {
        (uint256 number, uint256 index) = (fact.blockNumber, fact.transactionIndex);
        bytes32 key = _absentLogKey(number, index, fact.emitter, fact.topicMask, fact.topics);
        if (_remember(key, bytes32(uint256(1)))) {
            emit LogAbsent(number, index, fact.emitter, fact.topicMask, fact.topics);
        }
    }

    // Keys

    function _key(uint256 kind, uint256 number, uint256 index, uint256 inner)
        private
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(kind, number, index, inner));
    }

    /// @dev The key of a fact's second word.
    function _following(bytes32 key) private pure returns (bytes32) {
        unchecked {
            return bytes32(uint256(key) + 1);
        }
    }

    /// @dev A block has as many receipts as transactions, so both roots say the same.
    function _absentIndexKey(uint256 number, uint256 field, uint256 index)
        private
        pure
        returns (bytes32)
    {
        if (field == HeaderField.RECEIPTS_ROOT) field = HeaderField.TRANSACTIONS_ROOT;
        return _key(ABSENT_INDEXES, number, index, field);
    }

    function _absentLogKey(
        uint256 number,
        uint256 index,
        address emitter,
        uint8 mask,
        bytes32[] memory topics
    ) private pure returns (bytes32) {
        return keccak256(abi.encode(ABSENT_LOGS, number, index, emitter, mask, topics));
    }

    function _silentKey(uint256 number, bool isTopic, bytes32 item) private pure returns (bytes32) {
        return _key(SILENT_BLOCKS, number, uint256(item), isTopic ? 1 : 0);
    }

    // Reading

    /// @inheritdoc IEventsVerifier
    function isLog(
        uint256 blockNumber,
        uint256 transactionIndex,
        uint256 logIndex,
        address emitter,
        bytes32[] calldata topics,
        bytes calldata data
    ) external view returns (bool proven) {
        LogParts memory parts;
        (parts.emitter, parts.topics, parts.dataLength) = (emitter, topics.length, data.length);
        (uint256 topicsAt, uint256 dataAt) = (0, 0);
        assembly ("memory-safe") {
            topicsAt := topics.offset
            dataAt := data.offset
        }
        (parts.topicsAt, parts.dataAt) = (topicsAt, dataAt);
        uint256 start = freeMemory();
        uint256 end = _putLog(start, parts, 0);
        bytes32 hash;
        assembly ("memory-safe") {
            hash := keccak256(start, sub(end, start))
        }
        (, bytes32 present) = tryLogHash(blockNumber, transactionIndex, logIndex);
        return present == hash;
    }

    /// @inheritdoc IEventsVerifier
    function logHash(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex)
        external
        view
        returns (bytes32 hash)
    {
        bool proven;
        (proven, hash) = tryLogHash(blockNumber, transactionIndex, logIndex);
        if (!proven) revert LogNotProven(blockNumber, transactionIndex, logIndex);
    }

    /// @inheritdoc IEventsVerifier
    function tryLogHash(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex)
        public
        view
        returns (bool proven, bytes32 hash)
    {
        hash = _facts[_key(LOGS, blockNumber, transactionIndex, logIndex)];
        return (hash != 0, hash);
    }

    /// @inheritdoc IEventsVerifier
    function receiptOf(uint256 blockNumber, uint256 transactionIndex)
        external
        view
        returns (ReceiptFact memory receipt)
    {
        bool proven;
        (proven, receipt) = tryReceiptOf(blockNumber, transactionIndex);
        if (!proven) revert ReceiptNotProven(blockNumber, transactionIndex);
    }

    /// @inheritdoc IEventsVerifier
    function tryReceiptOf(uint256 blockNumber, uint256 transactionIndex)
        public
        view
        returns (bool proven, ReceiptFact memory receipt)
    {
        uint256 word = uint256(_facts[_key(RECEIPTS, blockNumber, transactionIndex, 0)]);
        if (word == 0) return (false, receipt);
        return (
            true,
            ReceiptFact(
                blockNumber,
                transactionIndex,
                uint8(word >> 8),
                uint8(word >> 16),
                uint64(word >> 40),
                uint16(word >> 24)
            )
        );
    }

    /// @inheritdoc IEventsVerifier
    function transactionHash(uint256 blockNumber, uint256 transactionIndex)
        external
        view
        returns (bytes32 hash)
    {
        bool proven;
        (proven, hash) = tryTransactionHash(blockNumber, transactionIndex);
        if (!proven) revert TransactionNotProven(blockNumber, transactionIndex);
    }

    /// @inheritdoc IEventsVerifier
    function tryTransactionHash(uint256 blockNumber, uint256 transactionIndex)
        public
        view
        returns (bool proven, bytes32 hash)
    {
        hash = _facts[_key(TRANSACTIONS, blockNumber, transactionIndex, 0)];
        return (hash != 0, hash);
    }

    /// @inheritdoc IEventsVerifier
    function withdrawalOf(uint256 blockNumber, uint256 position)
        external
        view
        returns (WithdrawalFact memory withdrawal)
    {
        bool proven;
        (proven, withdrawal) = tryWithdrawalOf(blockNumber, position);
        if (!proven) revert WithdrawalNotProven(blockNumber, position);
    }

    /// @inheritdoc IEventsVerifier
    function tryWithdrawalOf(uint256 blockNumber, uint256 position)
        public
        view
        returns (bool proven, WithdrawalFact memory withdrawal)
    {
        bytes32 key = _key(WITHDRAWALS, blockNumber, position, 0);
        uint256 word = uint256(_facts[key]);
        if (word == 0) return (false, withdrawal);
        uint256 indexes = uint256(_facts[_following(key)]);
        return (
            true,
            WithdrawalFact(
                blockNumber,
                position,
                uint64(indexes >> 128),
                uint64(indexes >> 64),
                address(uint160(word >> 96)),
                uint64(word >> 8)
            )
        );
    }

    /// @inheritdoc IEventsVerifier
    function isIndexAbsent(uint256 blockNumber, uint8 field, uint256 index)
        external
        view
        returns (bool absent)
    {
        return _facts[_absentIndexKey(blockNumber, field, index)] != 0;
    }

    /// @inheritdoc IEventsVerifier
    function isLogAbsent(
        uint256 blockNumber,
        uint256 transactionIndex,
        address emitter,
        uint8 topicMask,
        bytes32[] calldata topics
    ) external view returns (bool absent) {
        bytes32 key = _absentLogKey(blockNumber, transactionIndex, emitter, topicMask, topics);
        return _facts[key] != 0;
    }

    /// @inheritdoc IEventsVerifier
    function isBlockSilent(uint256 blockNumber, bool isTopic, bytes32 item)
        external
        view
        returns (bool silent)
    {
        return _facts[_silentKey(blockNumber, isTopic, item)] != 0;
    }
}
