// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {NumberTooLong, numberAt, uint8At, uint16At, uint64At, wordAt} from "./Calldata.sol";
import {CompactHeader} from "./CompactHeader.sol";
import {FactStore} from "./FactStore.sol";
import {newList} from "./Memory.sol";
import {lengthOf, putByte, putHash, putNumber} from "./Rlp.sol";
import {newFullBranch} from "./TrieNodes.sol";
import {TrieWitness} from "./TrieWitness.sol";

/// @title What was true on the source chain, proven to this chain
/// @notice Anyone may write, nobody is trusted, nothing written can be changed: a fact is stored
/// only where it follows from a block hash that the registry knows, and it follows only one way.
/// Repeating a proof succeeds and writes nothing. There is no owner, no pause and no upgrade.
abstract contract FactsRegistry is FactStore, CompactHeader, TrieWitness {
    /// @notice The header's hash is not known for its number, and it is not accumulated.
    error BlockNotKnown(uint256 blockNumber, bytes32 blockHash);
    /// @notice The four words given, with the rebuilt state root, are not those accumulated.
    error BlockNotAccumulated(uint256 blockNumber, bytes32 blockHash, bytes32 stateRoot);
    /// @notice Another header of this number is accumulated; the first one stays.
    error AnotherBlockAccumulated(uint256 blockNumber, bytes32 blockHash);
    /// @notice The time does not lie between the two headers.
    error TimestampOutside(uint256 timestamp, uint256 from, uint256 to);
    /// @notice A time needs two neighbouring headers; this is the first one.
    error NoParentShown(uint256 blockNumber);
    /// @notice The byte at `position` of the calldata begins no section.
    error UnknownSection(uint256 kind, uint256 position);
    /// @notice The last section ends at `read`, the calldata at `length`.
    error CalldataLength(uint256 read, uint256 length);

    /// @notice A block's header is accumulated: the block can be proven against for ever.
    event HeaderAccumulated(uint256 indexed blockNumber, bytes32 blockHash);
    /// @notice Something new is proven of an account: fields, or slots of its storage.
    event AccountProven(address indexed account, uint256 indexed blockNumber);
    /// @notice A field of a header is proven.
    event HeaderFieldProven(uint256 indexed blockNumber, uint8 indexed field);
    /// @notice It is proven that `blockNumber` was the last block at `timestamp`.
    event TimestampProven(uint256 indexed timestamp, uint256 indexed blockNumber);

    // Sections of a proof
    uint256 private constant ACCUMULATED_BLOCK = 1;
    uint256 private constant HEADERS = 2;

    /// @notice Block number → keccak256(number, timestamp, hash, state root), or zero.
    mapping(uint256 blockNumber => bytes32) public accumulated;

    // Proving

    /// @notice Proves what the sections behind the selector show, all of it or nothing.
    /// @dev The calldata is packed, because its bytes are the price of a proof:
    ///
    ///   selector, then sections until the end
    ///   section ACCUMULATED_BLOCK: uint8 1, uint64 number, uint64 timestamp, 32 hash, witness
    ///   section HEADERS: uint8 2, uint16 count, count times a header, each the parent of the next,
    ///     the last one known or accumulated. Behind each header, as its flags say:
    ///     WITNESS     a witness under its state root
    ///     FIELDS      uint32 mask of the header's fields to store
    ///     TIMESTAMPS  uint8 count, count times uint64: the parent was the last block then
    ///     ACCUMULATE  nothing: its four words are kept
    ///   witness: uint16 count of accounts, each 20 address, uint8 mask of fields to store,
    ///     uint16 count of slots, 32 each; then the nodes of the trie (see TrieWitness). Accounts
    ///     and slots ascend by their hashes. At an account's leaf: uint8 length of the balance,
    ///     plus 64 with a storage root and 128 with a code hash that are not those of an empty
    ///     account; uint8 length of the nonce; balance; nonce; [32 storage root, or where slots
    ///     are asked for the nodes of its storage trie]; [32 code hash].
    function prove() external {
        uint256 cursor = 4;
        while (cursor < msg.data.length) {
            uint256 kind = uint8At(cursor);
            if (kind == ACCUMULATED_BLOCK) cursor = _proveAccumulated(cursor + 1);
            else if (kind == HEADERS) cursor = _proveHeaders(cursor + 1);
            else revert UnknownSection(kind, cursor);
        }
        if (cursor != msg.data.length) revert CalldataLength(cursor, msg.data.length);
    }

    /// @notice Makes several calls of this registry in one transaction, all of them or none.
    function multicall(bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory answer) = address(this).delegatecall(calls[i]);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }

    function _proveAccumulated(uint256 cursor) private returns (uint256) {
        unchecked {
            uint256 number = uint64At(cursor);
            uint256 timestamp = uint64At(cursor + 8);
            bytes32 hash = wordAt(cursor + 16);
            bytes32 stateRoot;
            (stateRoot, cursor) = _proveWitness(cursor + 48, number);
            if (accumulated[number] != _leafOf(number, timestamp, hash, stateRoot)) {
                revert BlockNotAccumulated(number, hash, stateRoot);
            }
            return cursor;
        }
    }

    /// @dev Facts are written as they are read and undone with the transaction if the last header
    /// is not anchored. Leaves, by which it may be anchored, are written after that.
    function _proveHeaders(uint256 cursor) private returns (uint256) {
        unchecked {
            uint256 count = uint16At(cursor);
            cursor += 2;
            uint256[] memory kept = newList(count); // headers, by their place in memory
            uint256 keptCount;
            Header memory header;
            for (uint256 i = 0; i < count; ++i) {
                uint256 flags = uint8At(cursor);
                Header memory parent = header;
                (header, cursor) = _readHeader(cursor + 1, flags, parent.hash);
                if (flags & WITNESS != 0) {
                    (header.stateRoot, cursor) = _proveWitness(cursor, header.number);
                }
                _seal(header);
                if (flags & FIELDS != 0) cursor = _proveFields(cursor, header);
                if (flags & TIMESTAMPS != 0) {
                    if (i == 0) revert NoParentShown(header.number);
                    cursor = _proveTimestamps(cursor, parent, header);
                }
                if (flags & ACCUMULATE != 0) {
                    uint256 place;
                    assembly ("memory-safe") {
                        place := header
                    }
                    kept[keptCount++] = place;
                }
            }
            if (
                accumulated[header.number] != _leaf(header)
                    && (header.hash == 0 || _knownHash(header.number) != header.hash)
            ) revert BlockNotKnown(header.number, header.hash);
            for (uint256 i = 0; i < keptCount; ++i) {
                uint256 place = kept[i];
                assembly ("memory-safe") {
                    header := place
                }
                _accumulate(header);
            }
            return cursor;
        }
    }

    /// @dev The first header of a number stays. A second one could only come where the source of
    /// hashes contradicts itself.
    function _accumulate(Header memory header) private {
        bytes32 leaf = _leaf(header);
        bytes32 present = accumulated[header.number];
        if (present == leaf) return;
        if (present != 0) revert AnotherBlockAccumulated(header.number, header.hash);
        accumulated[header.number] = leaf;
        emit HeaderAccumulated(header.number, header.hash);
    }

    function _proveFields(uint256 cursor, Header memory header) private returns (uint256) {
        uint256 mask = uint256(wordAt(cursor)) >> 224;
        for (uint8 field = 0; mask > 0; mask >>= 1) {
            if (mask & 1 != 0) {
                bytes32 value = _field(header, field);
                if (_remember(_headerKey(header.number, field), value)) {
                    emit HeaderFieldProven(header.number, field);
                }
            }
            ++field;
        }
        return cursor + 4;
    }

    function _proveTimestamps(uint256 cursor, Header memory parent, Header memory header)
        private
        returns (uint256)
    {
        unchecked {
            uint256 count = uint8At(cursor++);
            for (uint256 i = 0; i < count; ++i) {
                uint256 timestamp = uint64At(cursor);
                cursor += 8;
                if (timestamp < parent.timestamp || timestamp >= header.timestamp) {
                    revert TimestampOutside(timestamp, parent.timestamp, header.timestamp);
                }
                if (_remember(_timestampKey(timestamp), bytes32(parent.number))) {
                    emit TimestampProven(timestamp, parent.number);
                }
            }
            return cursor;
        }
    }

    // Accounts and slots

    /// @dev Stores what the witness at `cursor` shows of the block; the root that it shows is the
    /// caller's to compare, and all is undone if it differs.
    function _proveWitness(uint256 cursor, uint256 blockNumber)
        private
        returns (bytes32 stateRoot, uint256)
    {
        unchecked {
            uint256 count = uint16At(cursor);
            cursor += 2;
            Walk memory walk;
            walk.blockNumber = blockNumber;
            (walk.keys, walk.entries) = (newList(count), newList(count));
            for (uint256 i = 0; i < count; ++i) {
                _enter(walk, i, _accountTrieKey(cursor), cursor);
                uint256 mask = cursor + _nameLength();
                cursor = mask + 3 + 32 * uint16At(mask + 1);
            }
            walk.cursor = cursor;
            walk.fullBranch = newFullBranch();
            stateRoot = _root(walk);
            return (stateRoot, walk.cursor);
        }
    }

    /// @dev Follows the slots that `entry` asks for through the account's storage trie.
    function _proveStorage(Walk memory state, uint256 entry, address account, uint256 count)
        private
        returns (bytes32 storageRoot, bool written)
    {
        unchecked {
            Walk memory walk;
            walk.blockNumber = state.blockNumber;
            walk.account = account;
            walk.inStorage = true;
            (walk.keys, walk.entries) = (newList(count), newList(count));
            for (uint256 i = 0; i < count; ++i) {
                uint256 cursor = entry + 32 * i;
                _enter(walk, i, _slotTrieKey(wordAt(cursor)), cursor);
            }
            walk.cursor = state.cursor;
            walk.fullBranch = state.fullBranch;
            storageRoot = _root(walk);
            state.cursor = walk.cursor;
            written = walk.written;
        }
    }

    function _enter(Walk memory walk, uint256 index, uint256 key, uint256 entry) private pure {
        unchecked {
            if (index > 0 && key <= walk.keys[index - 1]) revert KeysNotAscending(index);
            walk.keys[index] = key;
            walk.entries[index] = entry;
        }
    }

    function _leafValue(Walk memory walk, uint256 index, uint256 target)
        internal
        override
        returns (uint256)
    {
        return walk.inStorage
            ? _slotValue(walk, index, target)
            : _accountValue(walk, index, target);
    }

    function _slotValue(Walk memory walk, uint256 index, uint256 target)
        private
        returns (uint256)
    {
        unchecked {
            uint256 length = uint8At(walk.cursor);
            uint256 value = numberAt(walk.cursor + 1, length);
            walk.cursor += 1 + length;
            _storeSlot(walk, index, value);
            // The trie holds the RLP of the number, and a leaf that as a string. No chain has a leaf
            // of zero, but a development node keeps one where a slot was set back to it.
            if (value == 0) target = putByte(target, 0x81);
            else if (value >= 0x80) target = putByte(target, 0x81 + lengthOf(value));
            return putNumber(target, value);
        }
    }

    function _accountValue(Walk memory walk, uint256 index, uint256 target)
        private
        returns (uint256 end)
    {
        unchecked {
            (address account, uint256 mask, uint256 slots, uint256 slotsAt) = _asked(walk, index);
            uint256 cursor = walk.cursor;
            uint256 form = uint8At(cursor);
            uint256 balance = numberAt(cursor + 2, form & 0x3f);
            cursor += 2 + (form & 0x3f);
            uint256 length = uint8At(walk.cursor + 1);
            if (length > 8) revert NumberTooLong(cursor, length);
            uint256 nonce = numberAt(cursor, length);
            walk.cursor = cursor + length;

            bool written;
            bytes32 storageRoot = EMPTY_TRIE_ROOT;
            if (slots > 0) {
                (storageRoot, written) = _proveStorage(walk, slotsAt, account, slots);
            } else if (form & 0x40 != 0) {
                storageRoot = wordAt(walk.cursor);
                walk.cursor += 32;
            }
            bytes32 codeHash = EMPTY_CODE_HASH;
            if (form & 0x80 != 0) {
                codeHash = wordAt(walk.cursor);
                walk.cursor += 32;
            }
            if (
                _storeAccount(account, walk.blockNumber, mask, nonce, balance, storageRoot, codeHash)
                    || written
            ) emit AccountProven(account, walk.blockNumber);

            // Two hashes and two numbers: a list of 68 to 108 bytes, so both heads have two bytes.
            end = putNumber(putNumber(target + 4, nonce), balance);
            end = putHash(putHash(end, storageRoot), codeHash);
            putByte(putByte(target, 0xb8), end - target - 2);
            putByte(putByte(target + 2, 0xf8), end - target - 4);
        }
    }

    function _absent(Walk memory walk, uint256 index) internal override {
        if (walk.inStorage) {
            _storeSlot(walk, index, 0);
            return;
        }
        (address account, uint256 mask, uint256 slots, uint256 slotsAt) = _asked(walk, index);
        bool written =
            _storeAccount(account, walk.blockNumber, mask, 0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH);
        for (uint256 i = 0; i < slots; ++i) {
            bytes32 key = _slotKey(account, walk.blockNumber, wordAt(slotsAt + 32 * i));
            if (_remember(key, 0)) written = true;
        }
        if (written) emit AccountProven(account, walk.blockNumber);
    }

    function _storeSlot(Walk memory walk, uint256 index, uint256 value) private {
        bytes32 slot = wordAt(walk.entries[index]);
        if (_remember(_slotKey(walk.account, walk.blockNumber, slot), bytes32(value))) {
            walk.written = true;
        }
    }

    /// @dev What the witness asks for about account `index`.
    function _asked(Walk memory walk, uint256 index)
        private
        view
        returns (address account, uint256 mask, uint256 slots, uint256 slotsAt)
    {
        unchecked {
            uint256 cursor = walk.entries[index];
            account = address(bytes20(wordAt(cursor)));
            cursor += _nameLength();
            (mask, slots, slotsAt) = (uint8At(cursor), uint16At(cursor + 1), cursor + 3);
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

    function _leaf(Header memory header) private pure returns (bytes32) {
        return _leafOf(header.number, header.timestamp, header.hash, header.stateRoot);
    }

    function _leafOf(uint256 number, uint256 timestamp, bytes32 hash, bytes32 stateRoot)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(number, timestamp, hash, stateRoot));
    }
}
