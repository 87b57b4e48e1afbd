// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {NumberTooLong, numberAt, uint8At, uint16At, uint64At, wordAt} from "./Calldata.sol";
import {CompactHeader} from "./CompactHeader.sol";
import {
    ACCOUNTS,
    EXTRAS,
    FLAGS,
    HASH,
    Header,
    newHeader,
    NUMBER,
    PARENT,
    PREVIOUS,
    STATE_ROOT,
    TIMESTAMP,
    VALUES
} from "./Header.sol";
import {IFactsRegistry} from "./interfaces/IFactsRegistry.sol";
import {newList, putWord, reserve, wordIn} from "./Memory.sol";
import {lengthOf, putByte, putHash, putNumber} from "./Rlp.sol";
import {EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, newFullBranch} from "./TrieNodes.sol";
import {TrieWitness} from "./TrieWitness.sol";

/// @title Verifies the sections of a proof and leaves what they prove in memory
/// @notice Nothing is stored here. A section's blocks are returned only after the section was
/// anchored: to a hash that the registry knows, to an accumulated block, or to the
/// target of the preceding hop.
abstract contract ProofReader is CompactHeader, TrieWitness {
    /// @notice A section has no header.
    /// @param position Where in the calldata its count stands.
    error NoHeader(uint256 position);
    /// @notice The time does not lie between the two headers.
    /// @param timestamp The time claimed.
    /// @param from The parent's time (inclusive bound).
    /// @param to The header's time (exclusive bound).
    error TimestampOutside(uint256 timestamp, uint256 from, uint256 to);
    /// @notice A time needs the parent's header in the same section; this is the section's first.
    /// @param blockNumber The header's number.
    error NoParentProvided(uint256 blockNumber);
    /// @notice A hop's witness must be of exactly one slot of the history contract, and of nothing else.
    /// @param blockNumber The block from which the hop starts.
    error HopMalformed(uint256 blockNumber);
    /// @notice The history contract holds no hash in this slot at this block.
    /// @param blockNumber The block from which the hop starts.
    /// @param slot The slot.
    error HopToNothing(uint256 blockNumber, uint256 slot);
    /// @notice Evidence against a header's state root must be one section of headers. Of those of which
    /// anything is requested, the last two count: the later one must have a witness of two slots of the
    /// history contract, and of nothing else.
    error EvidenceMalformed();
    /// @notice The two slots do not show that the header's state root is not that of the state after it.
    /// @param blockNumber The later header's number.
    error StateNotContradicted(uint256 blockNumber);
    /// @notice No kind of section has this number.
    /// @param kind The byte.
    /// @param position Where in the calldata it stands.
    error UnknownSection(uint256 kind, uint256 position);
    /// @notice The last section must end where the proof ends.
    /// @param end Where in the calldata the last section ends.
    /// @param expected Where in the calldata the proof ends.
    error ProofEndMismatch(uint256 end, uint256 expected);

    // Sections of a proof
    uint256 private constant ACCUMULATED_BLOCK = 1;
    uint256 private constant HEADERS = 2;
    uint256 private constant ACCUMULATED_HOP = 3;

    /// @dev EIP-2935: its slots hold the hashes of the blocks before: of 8,191 on Ethereum, of 393,168 on
    /// Arbitrum. Nobody else writes to it.
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;

    // Of an account in `answers`: nonce, balance, storage root, code hash; then its slots' values.
    uint256 internal constant ACCOUNT_WORDS = 4;

    /// @inheritdoc IFactsRegistry
    mapping(uint256 blockNumber => bytes32) public accumulated;
    /// @inheritdoc IFactsRegistry
    uint256 public stateHorizon;

    constructor() {
        stateHorizon = HORIZON;
    }

    /// @dev Whether the registry's own source of hashes has this header's hash.
    function _isKnown(Header header) internal view virtual returns (bool) {
        return _knownHash(header.get(NUMBER)) == bytes32(header.get(HASH));
    }

    /// @dev Reads the section at `cursor`. Headers that have facts or are to be accumulated are kept in
    /// a list, whose newest entry is `last`, or zero while the list is empty. `hop` is the hash to which
    /// a section before it has hopped, or zero: a section HEADERS may end with its header. Returns the
    /// list's newest entry after this section, the section's end, and the hop for the next section. A
    /// section HEADERS replaces the hop by its own, or clears it; ACCUMULATED_BLOCK keeps it.
    function _readSection(uint256 cursor, bytes32 hop, Header last)
        internal
        view
        returns (Header, uint256, bytes32)
    {
        unchecked {
            uint256 kind = uint8At(cursor);
            if (kind == HEADERS) return _readHeaders(cursor + 1, hop, last);
            if (kind == ACCUMULATED_BLOCK) return _readAccumulated(cursor + 1, hop, last, WITNESS);
            if (kind == ACCUMULATED_HOP) {
                return _readAccumulated(cursor + 1, hop, last, WITNESS | HOP);
            }
            revert UnknownSection(kind, cursor);
        }
    }

    function _readAccumulated(uint256 cursor, bytes32 hop, Header last, uint256 flags)
        private
        view
        returns (Header, uint256, bytes32)
    {
        unchecked {
            Header header = newHeader(flags);
            uint256 number = uint64At(cursor);
            header.set(NUMBER, number);
            header.set(TIMESTAMP, uint64At(cursor + 8));
            header.set(HASH, uint256(wordAt(cursor + 16)));
            cursor = _readWitness(cursor + 48, header);
            if (accumulated[number] != header.leaf()) {
                revert BlockNotAccumulated(
                    number, bytes32(header.get(HASH)), bytes32(header.get(STATE_ROOT))
                );
            }
            if ((flags & HOP) != 0) return (last, cursor, _hopOf(header));
            header.set(PREVIOUS, Header.unwrap(last));
            return (header, cursor, hop);
        }
    }

    function _readHeaders(uint256 cursor, bytes32 hop, Header last)
        private
        view
        returns (Header, uint256, bytes32)
    {
        unchecked {
            uint256 count = uint16At(cursor);
            if (count == 0) revert NoHeader(cursor);
            cursor += 2;
            bytes32 nextHop = 0;
            Header header = Header.wrap(0);
            for (uint256 i = 0; i < count; ++i) {
                uint256 flags = uint8At(cursor);
                Header parent = header;
                bytes32 parentHash = i == 0 ? bytes32(0) : bytes32(parent.get(HASH));
                (header, cursor) = _readHeader(cursor + 1, flags, parentHash);
                if ((flags & (WITNESS | HOP)) != 0) cursor = _readWitness(cursor, header);
                _seal(header);
                if ((flags & HOP) != 0) nextHop = _hopOf(header);
                if ((flags & (ACCUMULATE | WITNESS | FIELDS | TIMESTAMPS)) != 0) {
                    header.set(EXTRAS, cursor);
                    header.set(PREVIOUS, Header.unwrap(last));
                    last = header;
                    if ((flags & FIELDS) != 0) cursor += 4;
                    if ((flags & TIMESTAMPS) != 0) {
                        if (i == 0) revert NoParentProvided(header.get(NUMBER));
                        cursor = _checkTimestamps(parent, header);
                    }
                }
            }
            uint256 number = header.get(NUMBER);
            bytes32 hash = bytes32(header.get(HASH));
            if (hop != hash && !_isKnown(header) && accumulated[number] != header.leaf()) {
                revert BlockNotKnown(number, hash);
            }
            return (last, cursor, nextHop);
        }
    }

    /// @dev Checks the times claimed; returns where they end in the calldata.
    function _checkTimestamps(Header parent, Header header) private pure returns (uint256) {
        unchecked {
            header.set(PARENT, parent.get(NUMBER));
            (uint256 from, uint256 until) = (parent.get(TIMESTAMP), header.get(TIMESTAMP));
            (uint256 cursor, uint256 end) = _timestamps(header);
            for (; cursor < end; cursor += 8) {
                uint256 timestamp = uint64At(cursor);
                if (timestamp < from || timestamp >= until) {
                    revert TimestampOutside(timestamp, from, until);
                }
            }
            return end;
        }
    }

    /// @dev The hash in the slot of the history contract that the witness of `header` is of: that of a
    /// block before it.
    function _hopOf(Header header) private view returns (bytes32 hash) {
        (bool found, uint256 cursor, uint256 answers) = _historySlots(header, 1);
        if (!found) revert HopMalformed(header.get(NUMBER));
        hash = bytes32(wordIn(answers));
        if (hash == 0) revert HopToNothing(header.get(NUMBER), uint256(wordAt(cursor)));
    }

    /// @dev Whether the witness of `header` is of `count` slots of the history contract, and of nothing
    /// else; where in the calldata these slots are named, and where in memory their values are.
    function _historySlots(Header header, uint256 count)
        private
        view
        returns (bool found, uint256 cursor, uint256 answers)
    {
        unchecked {
            uint256 entry = header.get(ACCOUNTS);
            cursor = entry + _nameLength(); // a mask, the count of slots, the slots
            found = uint16At(entry - 2) == 1 && address(bytes20(wordAt(entry))) == HISTORY
                && uint16At(cursor + 1) == count;
            cursor += 3;
            answers = header.get(VALUES) + 32 * ACCOUNT_WORDS;
        }
    }

    /// @dev Reverts unless the witness of `header` shows that its state root is not that of the state
    /// after it. Let `first`, a header before it, be that of block n. If a slot holds the hash of block
    /// n - 1, the history contract wrote it and then, in a block after n, the hash of block n into the slot
    /// behind it, whatever the size of its ring; unless its ring ends there, and the slot behind holds
    /// nothing. So another hash there is from a state before the block after n.
    function _checkContradiction(Header header) internal view {
        unchecked {
            if (Header.unwrap(header) == 0) revert EvidenceMalformed();
            Header first = Header.wrap(header.get(PREVIOUS));
            if (Header.unwrap(first) == 0 || !_hasWitness(header)) revert EvidenceMalformed();
            (bool found, uint256 cursor, uint256 answers) = _historySlots(header, 2);
            // Slots ascend by their hashes, so either of the two may be named first.
            uint256 slot = uint256(wordAt(cursor));
            uint256 other = uint256(wordAt(cursor + 32));
            if (!found || (other != slot + 1 && slot != other + 1)) revert EvidenceMalformed();
            uint256 offset = slot < other ? 0 : 32;
            uint256 held = wordIn(answers + offset);
            uint256 next = wordIn(answers + (offset ^ 32));
            if (
                held == 0 || held != uint256(_parentHash(first)) || next == 0
                    || next == first.get(HASH)
            ) revert StateNotContradicted(header.get(NUMBER));
        }
    }

    /// @dev Reverts if the state root of `header` may not be that of the state after it.
    function _checkState(Header header) internal view {
        uint256 timestamp = header.get(TIMESTAMP);
        if (timestamp >= stateHorizon) revert BeyondHorizon(header.get(NUMBER), timestamp);
    }

    /// @dev Whether it has a witness of facts, not of a hop.
    function _hasWitness(Header header) internal pure returns (bool) {
        return (header.get(FLAGS) & (WITNESS | HOP)) == WITNESS;
    }

    /// @dev With FIELDS: which of the header's fields are asked for.
    function _fieldMask(Header header) internal pure returns (uint256) {
        return uint256(wordAt(header.get(EXTRAS))) >> 224;
    }

    /// @dev With TIMESTAMPS: where in the calldata they begin and end.
    function _timestamps(Header header) internal pure returns (uint256 cursor, uint256 end) {
        unchecked {
            cursor = header.get(EXTRAS) + ((header.get(FLAGS) & FIELDS) != 0 ? 4 : 0);
            end = cursor + 1 + 8 * uint8At(cursor);
            ++cursor;
        }
    }

    // Accounts and slots

    /// @dev Rebuilds the state root of `header` from the witness at `cursor`, and keeps the
    /// answers in memory. The root is not checked here.
    function _readWitness(uint256 cursor, Header header) private view returns (uint256) {
        unchecked {
            uint256 count = uint16At(cursor);
            cursor += 2;
            header.set(ACCOUNTS, cursor);
            Walk memory walk;
            (walk.keys, walk.entries) = (newList(count), reserve(32 * count));
            uint256 words = 0; // before the answer to account i
            for (uint256 i = 0; i < count; ++i) {
                _enter(walk.keys, i, _accountTrieKey(cursor));
                putWord(walk.entries + 32 * i, (words << 128) | cursor);
                cursor += _nameLength();
                uint256 slots = uint16At(cursor + 1);
                words += ACCOUNT_WORDS + slots;
                cursor += 3 + 32 * slots;
            }
            walk.answers = reserve(32 * words);
            header.set(VALUES, walk.answers);
            walk.cursor = cursor;
            walk.fullBranch = newFullBranch();
            header.set(STATE_ROOT, uint256(_root(walk)));
            return walk.cursor;
        }
    }

    /// @dev Follows the slots listed at `asked` through the account's storage trie.
    function _readStorage(Walk memory state, uint256 asked, uint256 count, uint256 answers)
        private
        view
        returns (bytes32 storageRoot)
    {
        unchecked {
            Walk memory walk;
            walk.inStorage = true;
            walk.answers = answers;
            walk.level = state.level;
            walk.keys = newList(count);
            for (uint256 i = 0; i < count; ++i) {
                _enter(walk.keys, i, _slotTrieKey(wordAt(asked + 32 * i)));
            }
            walk.cursor = state.cursor;
            walk.fullBranch = state.fullBranch;
            storageRoot = _root(walk);
            state.cursor = walk.cursor;
        }
    }

    function _enter(uint256[] memory keys, uint256 index, uint256 key) private pure {
        unchecked {
            if (index > 0 && key <= keys[index - 1]) revert KeysNotAscending(index);
            keys[index] = key;
        }
    }

    function _leafValue(Walk memory walk, uint256 index, uint256 target)
        internal
        view
        override
        returns (uint256)
    {
        return walk.inStorage
            ? _slotValue(walk, index, target)
            : _accountValue(walk, index, target);
    }

    function _slotValue(Walk memory walk, uint256 index, uint256 target)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 length = uint8At(walk.cursor);
            uint256 value = numberAt(walk.cursor + 1, length);
            walk.cursor += 1 + length;
            putWord(walk.answers + 32 * index, value);
            // The trie's value is the RLP of the number; the leaf holds that as an RLP string. No chain
            // has a leaf of zero, but a development node keeps one where a slot was set back to it.
            if (value == 0) target = putByte(target, 0x81);
            else if (value >= 0x80) target = putByte(target, 0x81 + lengthOf(value));
            return putNumber(target, value);
        }
    }

    function _accountValue(Walk memory walk, uint256 index, uint256 target)
        private
        view
        returns (uint256 end)
    {
        unchecked {
            (uint256 slots, uint256 slotsAt, uint256 answer) = _asked(walk, index);
            uint256 cursor = walk.cursor;
            uint256 form = uint8At(cursor);
            uint256 balance = numberAt(cursor + 2, form & 0x3f);
            cursor += 2 + (form & 0x3f);
            uint256 length = uint8At(walk.cursor + 1);
            if (length > 8) revert NumberTooLong(cursor, length);
            uint256 nonce = numberAt(cursor, length);
            walk.cursor = cursor + length;

            bytes32 storageRoot = EMPTY_TRIE_ROOT;
            if (slots > 0) {
                storageRoot =
                    _readStorage(walk, slotsAt, slots, answer + 32 * ACCOUNT_WORDS);
            } else if ((form & 0x40) != 0) {
                storageRoot = wordAt(walk.cursor);
                walk.cursor += 32;
            }
            bytes32 codeHash = EMPTY_CODE_HASH;
            if ((form & 0x80) != 0) {
                codeHash = wordAt(walk.cursor);
                walk.cursor += 32;
            }
            _putAccount(answer, nonce, balance, storageRoot, codeHash);

            // Two hashes and two numbers: a list of 68 to 108 bytes, so both heads have two bytes.
            end = putNumber(putNumber(target + 4, nonce), balance);
            end = putHash(putHash(end, storageRoot), codeHash);
            putByte(putByte(target, 0xb8), end - target - 2);
            putByte(putByte(target + 2, 0xf8), end - target - 4);
        }
    }

    function _absent(Walk memory walk, uint256 index) internal view override {
        unchecked {
            if (walk.inStorage) {
                putWord(walk.answers + 32 * index, 0);
                return;
            }
            (uint256 slots,, uint256 answer) = _asked(walk, index);
            _putAccount(answer, 0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH);
            for (uint256 i = 0; i < slots; ++i) {
                putWord(answer + 32 * (ACCOUNT_WORDS + i), 0);
            }
        }
    }

    /// @dev The slots that the witness asks for of account `index`, and where its answer goes.
    function _asked(Walk memory walk, uint256 index)
        private
        view
        returns (uint256 slots, uint256 slotsAt, uint256 answer)
    {
        unchecked {
            uint256 entry = wordIn(walk.entries + 32 * index);
            uint256 cursor = (entry & type(uint128).max) + _nameLength();
            return (uint16At(cursor + 1), cursor + 3, walk.answers + 32 * (entry >> 128));
        }
    }

    function _putAccount(
        uint256 answer,
        uint256 nonce,
        uint256 balance,
        bytes32 storageRoot,
        bytes32 codeHash
    ) private pure {
        unchecked {
            putWord(answer, nonce);
            putWord(answer + 32, balance);
            putWord(answer + 64, uint256(storageRoot));
            putWord(answer + 96, uint256(codeHash));
        }
    }

    /// @dev The key in the state trie of the account named at `cursor`.
    function _accountTrieKey(uint256 cursor) internal view virtual returns (uint256 key) {
        assembly ("memory-safe") {
            mstore(0, calldataload(cursor))
            key := keccak256(0, 20)
        }
    }

    /// @dev How many bytes name an account.
    function _nameLength() internal view virtual returns (uint256) {
        return 20;
    }

    /// @dev The key of a slot in a storage trie.
    function _slotTrieKey(bytes32 slot) internal view virtual returns (uint256 key) {
        assembly ("memory-safe") {
            mstore(0, slot)
            key := keccak256(0, 32)
        }
    }
}
