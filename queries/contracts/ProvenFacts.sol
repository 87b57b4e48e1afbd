// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {uint16At, uint64At, wordAt} from "./Calldata.sol";
import {ACCOUNTS, FLAGS, Header, NUMBER, PARENT, PREVIOUS, VALUES} from "./Header.sol";
import {freeMemory, putWord, reserve, wordIn} from "./Memory.sol";
import {ProofReader} from "./ProofReader.sol";

/// @title What a proof states, as `verify` returns it
/// @notice `Facts` is written in its ABI encoding, word by word: through lists of structs, twenty fields of
/// a header would take twice the gas.
abstract contract ProvenFacts is ProofReader {
    // How many words a fact of each kind has.
    uint256 private constant ACCOUNT_FACT_WORDS = 6;
    uint256 private constant SLOT_FACT_WORDS = 4;
    uint256 private constant HEADER_FACT_WORDS = 3;
    uint256 private constant TIMESTAMP_FACT_WORDS = 2;

    /// @dev Of each kind of fact how many there are, and then where the next one is written.
    struct Lists {
        uint256 accounts;
        uint256 slots;
        uint256 headerFields;
        uint256 timestamps;
    }

    /// @dev Returns the facts of the list of headers that ends with `last`, in the order of the proof, from
    /// the calling function: ABI-encoded as `Facts`.
    function _returnFacts(Header last) internal view {
        unchecked {
            Lists memory lists;
            // The list leads from the last header to the first: turn it round.
            Header first = Header.wrap(0);
            while (Header.unwrap(last) != 0) {
                _count(last, lists);
                Header before = Header.wrap(last.get(PREVIOUS));
                last.set(PREVIOUS, Header.unwrap(first));
                (first, last) = (last, before);
            }
            uint256 start = reserve(32 + 32 * 4);
            putWord(start, 32); // where the struct begins
            uint256 facts = start + 32;
            lists.accounts = _openList(facts, 0, lists.accounts, ACCOUNT_FACT_WORDS);
            lists.slots = _openList(facts, 1, lists.slots, SLOT_FACT_WORDS);
            lists.headerFields = _openList(facts, 2, lists.headerFields, HEADER_FACT_WORDS);
            lists.timestamps = _openList(facts, 3, lists.timestamps, TIMESTAMP_FACT_WORDS);
            uint256 length = freeMemory() - start;
            for (; Header.unwrap(first) != 0; first = Header.wrap(first.get(PREVIOUS))) {
                if (_hasWitness(first)) _putWitness(first, lists);
                if ((first.get(FLAGS) & FIELDS) != 0) _putFields(first, lists);
                if ((first.get(FLAGS) & TIMESTAMPS) != 0) _putTimestamps(first, lists);
            }
            assembly ("memory-safe") {
                return(start, length)
            }
        }
    }

    /// @dev Makes room for a list, as member `index` of the struct; returns where its first entry goes.
    function _openList(uint256 facts, uint256 index, uint256 count, uint256 words)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 list = reserve(32 + 32 * words * count);
            putWord(facts + 32 * index, list - facts);
            putWord(list, count);
            return list + 32;
        }
    }

    function _count(Header header, Lists memory lists) private view {
        unchecked {
            if (_hasWitness(header)) {
                uint256 cursor = header.get(ACCOUNTS);
                uint256 count = uint16At(cursor - 2);
                lists.accounts += count;
                for (; count > 0; --count) {
                    uint256 slots = uint16At(cursor + _nameLength() + 1);
                    lists.slots += slots;
                    cursor += _nameLength() + 3 + 32 * slots;
                }
            }
            if ((header.get(FLAGS) & FIELDS) != 0) {
                // Each step takes the lowest bit away.
                for (uint256 mask = _fieldMask(header); mask > 0; mask &= mask - 1) {
                    ++lists.headerFields;
                }
            }
            if ((header.get(FLAGS) & TIMESTAMPS) != 0) {
                (uint256 cursor, uint256 end) = _timestamps(header);
                lists.timestamps += (end - cursor) / 8;
            }
        }
    }

    function _putWitness(Header header, Lists memory lists) private view {
        unchecked {
            _checkState(header);
            uint256 number = header.get(NUMBER);
            uint256 cursor = header.get(ACCOUNTS);
            uint256 answer = header.get(VALUES);
            (uint256 target, uint256 slotTarget) = (lists.accounts, lists.slots);
            for (uint256 count = uint16At(cursor - 2); count > 0; --count) {
                uint256 account = uint256(wordAt(cursor)) >> 96;
                putWord(target, account);
                putWord(target + 32, number);
                for (uint256 i = 0; i < 32 * ACCOUNT_WORDS; i += 32) {
                    putWord(target + 64 + i, wordIn(answer + i));
                }
                target += 32 * ACCOUNT_FACT_WORDS;
                cursor += _nameLength();
                uint256 slots = uint16At(cursor + 1);
                (cursor, answer) = (cursor + 3, answer + 32 * ACCOUNT_WORDS);
                for (; slots > 0; --slots) {
                    putWord(slotTarget, account);
                    putWord(slotTarget + 32, number);
                    putWord(slotTarget + 64, uint256(wordAt(cursor)));
                    putWord(slotTarget + 96, wordIn(answer));
                    slotTarget += 32 * SLOT_FACT_WORDS;
                    (cursor, answer) = (cursor + 32, answer + 32);
                }
            }
            (lists.accounts, lists.slots) = (target, slotTarget);
        }
    }

    function _putFields(Header header, Lists memory lists) private pure {
        unchecked {
            uint256 target = lists.headerFields;
            uint256 number = header.get(NUMBER);
            uint256 mask = _fieldMask(header);
            (uint256 field, uint256 cursor, uint256 end) = _firstField(header, mask);
            for (mask >>= field; mask > 0; mask >>= 1) {
                (uint256 start, uint256 next) = _item(cursor, end);
                if ((mask & 1) != 0) {
                    putWord(target, number);
                    putWord(target + 32, field);
                    putWord(target + 64, _fieldWord(start, next));
                    target += 32 * HEADER_FACT_WORDS;
                }
                cursor = next;
                ++field;
            }
            lists.headerFields = target;
        }
    }

    function _putTimestamps(Header header, Lists memory lists) private pure {
        unchecked {
            uint256 target = lists.timestamps;
            (uint256 cursor, uint256 end) = _timestamps(header);
            for (; cursor < end; cursor += 8) {
                putWord(target, uint64At(cursor));
                putWord(target + 32, header.get(PARENT));
                target += 32 * TIMESTAMP_FACT_WORDS;
            }
            lists.timestamps = target;
        }
    }
}
