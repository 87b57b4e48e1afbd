// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {addToBloom} from "./Bloom.sol";
import {numberAt, uint8At, uint16At, uint24At, uint64At, wordAt} from "./Calldata.sol";
import {IndexTrie} from "./IndexTrie.sol";
import {HeaderField} from "./interfaces/IFactsRegistry.sol";
import {
    AbsentIndexFact,
    AbsentLogFact,
    EventFacts,
    LogFact,
    ReceiptFact,
    TransactionFact,
    WithdrawalFact
} from "./interfaces/IEventsVerifier.sol";
import {putWord, reserve, setFreeMemory, wordIn} from "./Memory.sol";
import {
    headBefore,
    headLength,
    numberBefore,
    putByte,
    putBytes,
    putHead,
    wordBefore
} from "./Rlp.sol";

/// @title Encodes receipts, transactions and withdrawals as the tries of a block hold them
/// @notice Each is written from its parts, so that it has one encoding only: a witness has no RLP, except in
/// a transaction, which is hashed as it is. Parts that no item can have, such as a fifth topic or a status of
/// 3, are not refused by name: they give another root.
///
///   receipt      uint8 type, uint8 form, uint8 how many bytes the gas has, the cumulative gas, [32 state
///                root], [256 bloom], uint16 count of logs, these, uint8 count of absent logs, these. Of the
///                form, bits 0 and 1 are the status, 2 if a state root follows instead; with bit 6 the bloom
///                is sent, which for many logs is cheaper than to derive it; with bit 7 the receipt is a fact
///   log          uint8 form, uint24 length of the data, 20 emitter, 32 for each topic, the data. Of the
///                form, bits 0 to 6 are how many topics it has; with bit 7 the log is a fact
///   absent log   20 emitter, uint8 mask of the topics that are named, 32 each: no log of the receipt is by
///                this emitter and has these topics in these places
///   transaction  uint24 length, the bytes that its hash is of
///   withdrawal   uint64 withdrawal index, uint64 validator index, 20 recipient, uint64 amount in Gwei
abstract contract BlockItems is IndexTrie {
    /// @notice This type is younger than the verifier, which may not know how it is encoded.
    /// @param index The transaction's index.
    /// @param transactionType Its type.
    error TransactionTypeUnknown(uint256 index, uint256 transactionType);
    /// @notice A log is claimed to be absent, but the receipt holds it.
    /// @param index The transaction's index.
    /// @param logIndex The log's index in the receipt.
    error LogNotAbsent(uint256 index, uint256 logIndex);
    /// @notice Of one kind of fact the witness has not as many as it says.
    error CountsMismatch();

    uint256 private constant NEWEST_TYPE = 4;
    uint256 private constant STATE_ROOT_STATUS = 2;
    uint256 private constant BLOOM_SENT = 0x40;
    uint256 private constant IS_FACT = 0x80;
    uint256 private constant LOG_HEAD = 24; // form, length of the data, emitter

    uint256 private constant BLOOM_LENGTH = 256;
    /// @dev Before a receipt's logs: what stands before them in its encoding.
    uint256 private constant RECEIPT_HEAD_SPACE = LEAF_HEAD_SPACE + 320;

    // The lists of `EventFacts`, by their position in it
    uint256 internal constant LOGS = 0;
    uint256 internal constant RECEIPTS = 1;
    uint256 internal constant TRANSACTIONS = 2;
    uint256 internal constant WITHDRAWALS = 3;
    uint256 internal constant ABSENT_INDEXES = 4;
    uint256 internal constant ABSENT_LOGS = 5;
    uint256 internal constant SILENT_BLOCKS = 6;
    uint256 internal constant LISTS = 7;

    /// @dev A log's parts in the calldata.
    struct LogParts {
        uint256 form;
        address emitter;
        uint256 topics; // how many
        uint256 topicsAt;
        uint256 dataAt;
        uint256 dataLength;
    }

    function _keepAbsent(IndexWalk memory walk, uint256 index) internal pure override {
        AbsentIndexFact memory fact = AbsentIndexFact(walk.blockNumber, uint8(walk.field), index);
        uint256 pointer;
        assembly ("memory-safe") {
            pointer := fact
        }
        _keep(walk, ABSENT_INDEXES, pointer);
    }

    function _readValue(IndexWalk memory walk, uint256 index)
        internal
        pure
        override
        returns (uint256 start, uint256 end)
    {
        if (walk.field == HeaderField.RECEIPTS_ROOT) return _readReceipt(walk, index);
        if (walk.field == HeaderField.TRANSACTIONS_ROOT) return _readTransaction(walk, index);
        return _readWithdrawal(walk, index);
    }

    function _readTransaction(IndexWalk memory walk, uint256 index)
        private
        pure
        returns (uint256 start, uint256 end)
    {
        (start, end) = _copyValue(walk);
        bytes32 hash;
        uint256 transactionType;
        assembly ("memory-safe") {
            hash := keccak256(start, sub(end, start))
            transactionType := byte(0, mload(start))
        }
        // Without a type the first byte is that of a list.
        if (transactionType >= 0xc0) transactionType = 0;
        else if (transactionType == 0 || transactionType > NEWEST_TYPE) {
            revert TransactionTypeUnknown(index, transactionType);
        }
        TransactionFact memory fact =
            TransactionFact(walk.blockNumber, index, uint8(transactionType), hash);
        uint256 pointer;
        assembly ("memory-safe") {
            pointer := fact
        }
        _keep(walk, TRANSACTIONS, pointer);
    }

    function _readWithdrawal(IndexWalk memory walk, uint256 index)
        private
        pure
        returns (uint256 start, uint256 end)
    {
        unchecked {
            uint256 cursor = walk.cursor;
            WithdrawalFact memory fact = WithdrawalFact(
                walk.blockNumber,
                index,
                uint64(uint64At(cursor)),
                uint64(uint64At(cursor + 8)),
                address(bytes20(wordAt(cursor + 16))),
                uint64(uint64At(cursor + 36))
            );
            walk.cursor = cursor + 44;
            uint256 pointer;
            assembly ("memory-safe") {
                pointer := fact
            }
            _keep(walk, WITHDRAWALS, pointer);
            end = reserve(LEAF_HEAD_SPACE + 64) + LEAF_HEAD_SPACE + 64;
            start = numberBefore(end, fact.amount);
            start = wordBefore(start, (0x94 << 160) | uint160(fact.recipient), 21);
            start = numberBefore(start, fact.validatorIndex);
            start = numberBefore(start, fact.withdrawalIndex);
            start = headBefore(start, end - start, 0xc0);
        }
    }

    // Receipts

    function _readReceipt(IndexWalk memory walk, uint256 index)
        private
        pure
        returns (uint256 start, uint256 end)
    {
        unchecked {
            uint256 cursor = walk.cursor;
            ReceiptFact memory fact;
            (fact.blockNumber, fact.transactionIndex) = (walk.blockNumber, index);
            uint256 number = uint8At(cursor);
            if (number > NEWEST_TYPE) revert TransactionTypeUnknown(index, number);
            fact.transactionType = uint8(number);
            uint256 form = uint8At(cursor + 1);
            fact.status = uint8(form & 0x3f);
            number = uint8At(cursor + 2);
            fact.cumulativeGasUsed = uint64(numberAt(cursor + 3, number));
            cursor += 3 + number;
            bytes32 stateRoot;
            if (fact.status == STATE_ROOT_STATUS) {
                stateRoot = wordAt(cursor);
                cursor += 32;
            }
            uint256 bloom = reserve(BLOOM_LENGTH);
            // What lies behind the calldata reads as zeros.
            uint256 bloomAt = msg.data.length;
            if ((form & BLOOM_SENT) != 0) {
                bloomAt = cursor;
                cursor += BLOOM_LENGTH;
            }
            assembly ("memory-safe") {
                calldatacopy(bloom, bloomAt, 256)
            }
            fact.logCount = uint16(uint16At(cursor));
            if ((form & IS_FACT) != 0) {
                uint256 pointer;
                assembly ("memory-safe") {
                    pointer := fact
                }
                _keep(walk, RECEIPTS, pointer);
            }
            walk.cursor = cursor + 2;

            LogParts memory parts; // before the space that has no end yet
            start = reserve(RECEIPT_HEAD_SPACE) + RECEIPT_HEAD_SPACE;
            end = _readLogs(walk, fact, parts, start, (form & BLOOM_SENT) != 0 ? 0 : bloom);
            start = headBefore(start, end - start, 0xc0);
            start -= BLOOM_LENGTH;
            assembly ("memory-safe") {
                mcopy(start, bloom, 256)
            }
            start = wordBefore(start, 0xb90100, 3);
            start = numberBefore(start, fact.cumulativeGasUsed);
            if (fact.status == STATE_ROOT_STATUS) {
                start = wordBefore(start, uint256(stateRoot), 32);
                start = wordBefore(start, 0xa0, 1);
            } else {
                start = numberBefore(start, fact.status);
            }
            start = headBefore(start, end - start, 0xc0);
            if (fact.transactionType != 0) start = wordBefore(start, fact.transactionType, 1);
        }
    }

    /// @dev Writes the logs to `target`, where free memory begins, adds them to the bloom, and keeps the
    /// facts among them: in a second pass, because how much memory the logs take is not known before.
    function _readLogs(
        IndexWalk memory walk,
        ReceiptFact memory receipt,
        LogParts memory parts,
        uint256 target,
        uint256 bloom
    ) private pure returns (uint256 end) {
        unchecked {
            uint256 cursor = walk.cursor;
            uint256 start = target;
            uint256 forms = 0;
            for (uint256 i = 0; i < receipt.logCount; ++i) {
                cursor = _readLog(cursor, parts);
                target = _putLog(target, parts, bloom);
                forms |= parts.form;
            }
            end = target;
            setFreeMemory((end + 63) & ~uint256(31));
            if ((forms & IS_FACT) != 0) _keepLogs(walk, receipt, start);
            walk.cursor = _readAbsentLogs(walk, receipt, cursor);
        }
    }

    function _readLog(uint256 cursor, LogParts memory parts) private pure returns (uint256)
    {
        unchecked {
            parts.form = uint8At(cursor);
            parts.dataLength = uint24At(cursor + 1);
            parts.emitter = address(bytes20(wordAt(cursor + 4)));
            parts.topics = parts.form & ~IS_FACT;
            parts.topicsAt = cursor + LOG_HEAD;
            parts.dataAt = parts.topicsAt + 32 * parts.topics;
            return parts.dataAt + parts.dataLength;
        }
    }

    /// @dev Writes a log's RLP to `target`, and adds its emitter and topics to a bloom, if there is one.
    function _putLog(uint256 target, LogParts memory parts, uint256 bloom)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            uint256 topicsLength = 33 * parts.topics;
            uint256 dataLength = parts.dataLength;
            // A single byte below 0x80 is its own encoding.
            uint256 dataHead =
                dataLength == 1 && uint8At(parts.dataAt) < 0x80 ? 0 : headLength(dataLength);
            target = putHead(
                target,
                21 + headLength(topicsLength) + topicsLength + dataHead + dataLength,
                0xc0
            );
            target = putByte(target, 0x94);
            address emitter = parts.emitter;
            assembly ("memory-safe") {
                mstore(target, shl(96, emitter))
            }
            addToBloom(bloom, target, 20, 1);
            target = putHead(target + 20, topicsLength, 0xc0);
            uint256 cursor = parts.topicsAt;
            assembly ("memory-safe") {
                for { let end := add(target, topicsLength) } lt(target, end) {} {
                    mstore8(target, 0xa0)
                    mstore(add(target, 1), calldataload(cursor))
                    target := add(target, 33)
                    cursor := add(cursor, 32)
                }
            }
            addToBloom(bloom, target - topicsLength + 1, 32, parts.topics);
            if (dataHead != 0) target = putHead(target, dataLength, 0x80);
            return putBytes(target, parts.dataAt, dataLength);
        }
    }

    /// @dev Keeps the logs that are facts. The RLP of the receipt's logs begins at `start`.
    function _keepLogs(IndexWalk memory walk, ReceiptFact memory receipt, uint256 start)
        private
        pure
    {
        unchecked {
            uint256 cursor = walk.cursor;
            LogParts memory parts;
            for (uint256 i = 0; i < receipt.logCount; ++i) {
                cursor = _readLog(cursor, parts);
                uint256 length = _itemLength(start);
                if ((parts.form & IS_FACT) != 0) {
                    bytes32 hash;
                    assembly ("memory-safe") {
                        hash := keccak256(start, length)
                    }
                    LogFact memory fact = LogFact(
                        receipt.blockNumber,
                        receipt.transactionIndex,
                        i,
                        parts.emitter,
                        _words(parts.topicsAt, parts.topics),
                        _bytes(parts.dataAt, parts.dataLength),
                        hash
                    );
                    uint256 pointer;
                    assembly ("memory-safe") {
                        pointer := fact
                    }
                    _keep(walk, LOGS, pointer);
                }
                start += length;
            }
        }
    }

    /// @dev The length of the list at `start`, which `_putLog` wrote.
    function _itemLength(uint256 start) private pure returns (uint256 length) {
        assembly ("memory-safe") {
            let word := mload(start)
            length := sub(byte(0, word), 0xbf)
            if gt(length, 56) {
                let size := sub(length, 56)
                length := add(shr(sub(256, shl(3, size)), shl(8, word)), add(size, 1))
            }
        }
    }

    /// @dev Keeps that the receipt has none of the logs named at `cursor`; returns where these end.
    function _readAbsentLogs(IndexWalk memory walk, ReceiptFact memory receipt, uint256 cursor)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 count = uint8At(cursor);
            ++cursor;
            for (; count > 0; --count) {
                uint256 topics = 0;
                for (uint256 mask = uint8At(cursor + 20); mask > 0; mask &= mask - 1) ++topics;
                AbsentLogFact memory fact = AbsentLogFact(
                    receipt.blockNumber,
                    receipt.transactionIndex,
                    address(bytes20(wordAt(cursor))),
                    uint8(uint8At(cursor + 20)),
                    _words(cursor + 21, topics)
                );
                cursor += 21 + 32 * topics;
                _refuseMatch(walk.cursor, receipt, fact);
                uint256 pointer;
                assembly ("memory-safe") {
                    pointer := fact
                }
                _keep(walk, ABSENT_LOGS, pointer);
            }
            return cursor;
        }
    }

    /// @dev Reverts if one of the receipt's logs, which begin at `cursor`, is the one claimed to be absent.
    function _refuseMatch(
        uint256 cursor,
        ReceiptFact memory receipt,
        AbsentLogFact memory absent
    ) private pure {
        unchecked {
            LogParts memory parts;
            for (uint256 i = 0; i < receipt.logCount; ++i) {
                cursor = _readLog(cursor, parts);
                bool equal = parts.emitter == absent.emitter;
                uint256 named = 0;
                for (uint256 place = 0; equal && absent.topicMask >> place != 0; ++place) {
                    if (((absent.topicMask >> place) & 1) == 0) continue;
                    equal = place < parts.topics
                        && wordAt(parts.topicsAt + 32 * place) == absent.topics[named];
                    ++named;
                }
                if (equal) revert LogNotAbsent(receipt.transactionIndex, i);
            }
        }
    }

    // Lists in memory

    function _words(uint256 cursor, uint256 count) private pure returns (bytes32[] memory list) {
        unchecked {
            uint256 start = reserve(32 + 32 * count);
            assembly ("memory-safe") {
                list := start
                mstore(list, count)
                calldatacopy(add(list, 32), cursor, shl(5, count))
            }
        }
    }

    function _bytes(uint256 cursor, uint256 length) private pure returns (bytes memory content) {
        unchecked {
            uint256 start = reserve(64 + ((length + 31) & ~uint256(31)));
            assembly ("memory-safe") {
                content := start
                mstore(content, length)
                calldatacopy(add(content, 32), cursor, length)
            }
        }
    }

    /// @dev Makes room for as many facts as the calldata says at `walk.cursor`, uint16 for each list of
    /// `EventFacts`. The word before a list is how many it will have.
    function _makeLists(IndexWalk memory walk) internal pure {
        uint256 counts = uint256(wordAt(walk.cursor));
        uint256 facts = reserve(0);
        uint256 total = 0;
        uint256 list;
        assembly ("memory-safe") {
            list := add(facts, 256)
            for { let place := facts } lt(place, add(facts, 224)) { place := add(place, 32) } {
                let count := shr(240, counts)
                counts := shl(16, counts)
                total := add(total, count)
                mstore(place, list)
                mstore(sub(list, 32), count)
                mstore(list, 0)
                list := add(list, add(64, shl(5, count)))
            }
        }
        unchecked {
            setFreeMemory(list - 32);
            walk.cursor += 2 * LISTS;
        }
        (walk.facts, walk.missing) = (facts, total);
    }

    /// @dev Adds a fact, by its position in memory, to its list.
    function _keep(IndexWalk memory walk, uint256 kind, uint256 fact) internal pure {
        unchecked {
            uint256 list = wordIn(walk.facts + 32 * kind);
            uint256 length = wordIn(list) + 1;
            if (length > wordIn(list - 32)) revert CountsMismatch();
            putWord(list, length);
            putWord(list + 32 * length, fact);
            --walk.missing;
        }
    }

    /// @dev The facts, once every list is full.
    function _allFacts(IndexWalk memory walk) internal pure returns (EventFacts memory facts) {
        if (walk.missing != 0) revert CountsMismatch();
        uint256 start = walk.facts;
        assembly ("memory-safe") {
            facts := start
        }
    }
}
