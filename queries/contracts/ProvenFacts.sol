// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {uint16At, uint64At, wordAt} from "./Calldata.sol";
import {
    AccountFact,
    Facts,
    HeaderFact,
    SlotFact,
    TimestampFact
} from "./interfaces/IFactsRegistry.sol";
import {ANSWERS, ASKED, FLAGS, Header, NUMBER, PARENT, PREVIOUS} from "./Header.sol";
import {wordIn} from "./Memory.sol";
import {ProofReader} from "./ProofReader.sol";

/// @title What a proof states, as typed lists
abstract contract ProvenFacts is ProofReader {
    /// @dev How many facts of each kind.
    struct Counts {
        uint256 accounts;
        uint256 slots;
        uint256 headerFields;
        uint256 timestamps;
    }

    /// @dev The facts of the list of headers that ends with `last`, in the order of the proof.
    function _factsOf(Header last) internal view returns (Facts memory facts) {
        unchecked {
            Counts memory counts;
            for (Header header = last; Header.unwrap(header) != 0; header = _before(header)) {
                _count(header, counts);
            }
            facts.accounts = new AccountFact[](counts.accounts);
            facts.slots = new SlotFact[](counts.slots);
            facts.headerFields = new HeaderFact[](counts.headerFields);
            facts.timestamps = new TimestampFact[](counts.timestamps);
            // The list leads from the last header to the first, so the facts are put from the end.
            for (Header header = last; Header.unwrap(header) != 0; header = _before(header)) {
                Counts memory own;
                _count(header, own);
                counts.accounts -= own.accounts;
                counts.slots -= own.slots;
                counts.headerFields -= own.headerFields;
                counts.timestamps -= own.timestamps;
                if (_hasWitness(header)) _putWitness(header, facts, counts.accounts, counts.slots);
                if (own.headerFields > 0) _putFields(header, facts, counts.headerFields);
                if (own.timestamps > 0) _putTimestamps(header, facts, counts.timestamps);
            }
        }
    }

    function _before(Header header) private pure returns (Header) {
        return Header.wrap(header.get(PREVIOUS));
    }

    function _count(Header header, Counts memory counts) private view {
        unchecked {
            if (_hasWitness(header)) {
                uint256 cursor = header.get(ASKED);
                uint256 count = uint16At(cursor - 2);
                counts.accounts += count;
                for (; count > 0; --count) {
                    uint256 slots = uint16At(cursor + _nameLength() + 1);
                    counts.slots += slots;
                    cursor += _nameLength() + 3 + 32 * slots;
                }
            }
            if ((header.get(FLAGS) & FIELDS) != 0) {
                for (uint256 mask = _fieldMask(header); mask > 0; mask >>= 1) {
                    counts.headerFields += mask & 1;
                }
            }
            if ((header.get(FLAGS) & TIMESTAMPS) != 0) {
                (uint256 cursor, uint256 end) = _timestamps(header);
                counts.timestamps += (end - cursor) / 8;
            }
        }
    }

    function _putWitness(Header header, Facts memory facts, uint256 next, uint256 nextSlot)
        private
        view
    {
        unchecked {
            _checkState(header);
            uint256 number = header.get(NUMBER);
            uint256 cursor = header.get(ASKED);
            uint256 answer = header.get(ANSWERS);
            for (uint256 count = uint16At(cursor - 2); count > 0; --count) {
                address account = address(bytes20(wordAt(cursor)));
                facts.accounts[next++] = AccountFact(
                    account,
                    number,
                    uint64(wordIn(answer)),
                    wordIn(answer + 32),
                    bytes32(wordIn(answer + 64)),
                    bytes32(wordIn(answer + 96))
                );
                cursor += _nameLength();
                uint256 slots = uint16At(cursor + 1);
                (cursor, answer) = (cursor + 3, answer + 32 * ACCOUNT_WORDS);
                for (; slots > 0; --slots) {
                    facts.slots[nextSlot++] =
                        SlotFact(account, number, wordAt(cursor), bytes32(wordIn(answer)));
                    (cursor, answer) = (cursor + 32, answer + 32);
                }
            }
        }
    }

    function _putFields(Header header, Facts memory facts, uint256 next) private pure {
        unchecked {
            uint256 mask = _fieldMask(header);
            (uint8 field, uint256 cursor) = _firstField(header, mask);
            for (mask >>= field; mask > 0; mask >>= 1) {
                bytes32 value;
                (value, cursor) = _fieldAt(header, cursor);
                if ((mask & 1) != 0) {
                    facts.headerFields[next++] = HeaderFact(header.get(NUMBER), field, value);
                }
                ++field;
            }
        }
    }

    function _putTimestamps(Header header, Facts memory facts, uint256 next) private pure {
        unchecked {
            (uint256 cursor, uint256 end) = _timestamps(header);
            for (; cursor < end; cursor += 8) {
                facts.timestamps[next++] = TimestampFact(uint64At(cursor), header.get(PARENT));
            }
        }
    }
}
