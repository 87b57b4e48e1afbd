// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CompactHeader} from "./CompactHeader.sol";

/// @title What was true on the source chain, proven to this chain
/// @notice Anyone may write, nobody is trusted, nothing written can be changed: a fact is stored
/// only where it follows from a block hash that the registry knows, and it follows only one way.
/// Repeating a proof succeeds and writes nothing. There is no owner, no pause and no upgrade.
abstract contract FactsRegistry is CompactHeader {
    /// @notice Nothing is proven of this account, block and field.
    error AccountFieldNotProven(address account, uint256 blockNumber, uint8 field);
    /// @notice Nothing is proven of this storage slot at this block.
    error StorageSlotNotProven(address account, uint256 blockNumber, bytes32 slot);
    /// @notice Nothing is proven of this field of the block's header.
    error HeaderFieldNotProven(uint256 blockNumber, uint8 field);
    /// @notice It is not proven which block was the last one at this time.
    error TimestampNotProven(uint256 timestamp);
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

    // Fields of an account
    uint8 internal constant NONCE = 0;
    uint8 internal constant BALANCE = 1;
    uint8 internal constant STORAGE_ROOT = 2;
    uint8 internal constant CODE_HASH = 3;

    bytes32 internal constant EMPTY_TRIE_ROOT =
        0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421;
    bytes32 internal constant EMPTY_CODE_HASH =
        0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470;

    // Sections of a proof
    uint256 private constant ACCUMULATED_BLOCK = 1;
    uint256 private constant HEADERS = 2;

    // An account's record: nonce in the upper 64 bits, then 184 of the balance, then these.
    uint256 private constant PROVEN = 1;
    uint256 private constant LARGE_BALANCE = 2; // all of it is a fact of its own
    uint256 private constant EMPTY_STORAGE = 4;
    uint256 private constant EMPTY_CODE = 8;

    // Kinds of facts, part of their keys
    uint256 private constant ACCOUNT_FACT = 1;
    uint256 private constant SLOT_FACT = 2;
    uint256 private constant HEADER_FACT = 3;
    uint256 private constant TIMESTAMP_FACT = 4;

    /// @notice Block number → keccak256(number, timestamp, hash, state root) of its header, or zero.
    mapping(uint256 blockNumber => bytes32) public accumulated;

    mapping(uint256 blockNumber => mapping(address account => uint256)) private _records;
    /// @dev A fact's value plus one, so that zero means unproven; the greatest value wraps to
    /// zero and is marked beside.
    mapping(bytes32 key => uint256) private _facts;
    mapping(bytes32 key => bool) private _isGreatest;

    // Reading

    /// @notice A field of an account at the end of a block: 0 nonce, 1 balance, 2 storage root,
    /// 3 code hash. Reverts while it is not proven.
    function accountField(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bytes32 value)
    {
        bool proven;
        (proven, value) = tryAccountField(account, blockNumber, field);
        if (!proven) revert AccountFieldNotProven(account, blockNumber, field);
    }

    /// @notice As `accountField`; says whether it is proven instead of reverting.
    function tryAccountField(address account, uint256 blockNumber, uint8 field)
        public
        view
        returns (bool proven, bytes32 value)
    {
        uint256 record = _records[blockNumber][account];
        if (record != 0) {
            if (field == NONCE) return (true, bytes32(record >> 192));
            if (field == BALANCE && record & LARGE_BALANCE == 0) {
                return (true, bytes32(record << 64 >> 72));
            }
            if (field == STORAGE_ROOT && record & EMPTY_STORAGE != 0) return (true, EMPTY_TRIE_ROOT);
            if (field == CODE_HASH && record & EMPTY_CODE != 0) return (true, EMPTY_CODE_HASH);
        }
        return _recall(_accountKey(account, blockNumber, field));
    }

    /// @notice The value of a storage slot at the end of a block. Reverts while it is not proven.
    function accountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bytes32 value)
    {
        bool proven;
        (proven, value) = tryAccountStorageSlotValues(account, blockNumber, slot);
        if (!proven) revert StorageSlotNotProven(account, blockNumber, slot);
    }

    /// @notice As `accountStorageSlotValues`; says whether it is proven instead of reverting.
    function tryAccountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        public
        view
        returns (bool proven, bytes32 value)
    {
        return _recall(_slotKey(account, blockNumber, slot));
    }

    /// @notice A field of a block's header, by its place in the header: 0 parent hash … 20 requests
    /// hash. Up to 32 bytes as a number, longer ones as their keccak256. Reverts while unproven.
    function headerField(uint256 blockNumber, uint8 field) external view returns (bytes32 value) {
        bool proven;
        (proven, value) = tryHeaderField(blockNumber, field);
        if (!proven) revert HeaderFieldNotProven(blockNumber, field);
    }

    /// @notice As `headerField`; says whether it is proven instead of reverting.
    function tryHeaderField(uint256 blockNumber, uint8 field)
        public
        view
        returns (bool proven, bytes32 value)
    {
        return _recall(_headerKey(blockNumber, field));
    }

    /// @notice The last block whose timestamp is at most `timestamp`. Reverts while unproven.
    function blockNumberAt(uint256 timestamp) external view returns (uint256 blockNumber) {
        bool proven;
        (proven, blockNumber) = tryBlockNumberAt(timestamp);
        if (!proven) revert TimestampNotProven(timestamp);
    }

    /// @notice As `blockNumberAt`; says whether it is proven instead of reverting.
    function tryBlockNumberAt(uint256 timestamp)
        public
        view
        returns (bool proven, uint256 blockNumber)
    {
        bytes32 value;
        (proven, value) = _recall(_timestampKey(timestamp));
        return (proven, uint256(value));
    }

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
            uint256 kind = _uint8(cursor);
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
            uint256 number = _uint64(cursor);
            uint256 timestamp = _uint64(cursor + 8);
            bytes32 hash = _word(cursor + 16);
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
            uint256 count = _uint16(cursor);
            cursor += 2;
            uint256[] memory kept = _newList(count); // headers, by their place in memory
            uint256 keptCount;
            Header memory header;
            for (uint256 i = 0; i < count; ++i) {
                uint256 flags = _uint8(cursor);
                Header memory parent = header;
                (header, cursor) = _readHeader(cursor + 1, flags, parent.hash);
                if (flags & WITNESS != 0) (header.stateRoot, cursor) = _proveWitness(cursor, header.number);
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
        uint256 mask = uint256(_word(cursor)) >> 224;
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
            uint256 count = _uint8(cursor++);
            for (uint256 i = 0; i < count; ++i) {
                uint256 timestamp = _uint64(cursor);
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

    /// @dev Stores what the witness at `at` shows of the block; the root that it shows is the
    /// caller's to compare, and all is undone if it differs.
    function _proveWitness(uint256 cursor, uint256 blockNumber)
        private
        returns (bytes32 stateRoot, uint256)
    {
        unchecked {
            uint256 count = _uint16(cursor);
            cursor += 2;
            Walk memory walk;
            walk.blockNumber = blockNumber;
            (walk.keys, walk.entries) = (_newList(count), _newList(count));
            for (uint256 i = 0; i < count; ++i) {
                _enter(walk, i, _accountTrieKey(cursor), cursor);
                uint256 mask = cursor + _nameLength();
                cursor = mask + 3 + 32 * _uint16(mask + 1);
            }
            walk.cursor = cursor;
            walk.fullBranch = _newFullBranch();
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
            (walk.keys, walk.entries) = (_newList(count), _newList(count));
            for (uint256 i = 0; i < count; ++i) {
                uint256 cursor = entry + 32 * i;
                _enter(walk, i, _slotTrieKey(_word(cursor)), cursor);
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

    function _slotValue(Walk memory walk, uint256 index, uint256 target) private returns (uint256) {
        unchecked {
            uint256 length = _uint8(walk.cursor);
            uint256 value = _number(walk.cursor + 1, length);
            walk.cursor += 1 + length;
            _storeSlot(walk, index, value);
            // The trie holds the RLP of the number, and a leaf that as a string.
            if (value >= 0x80) target = _putByte(target, 0x81 + _lengthOf(value));
            return _putNumber(target, value);
        }
    }

    function _accountValue(Walk memory walk, uint256 index, uint256 target)
        private
        returns (uint256 end)
    {
        unchecked {
            (address account, uint256 mask, uint256 slots, uint256 slotsAt) = _asked(walk, index);
            uint256 cursor = walk.cursor;
            uint256 form = _uint8(cursor);
            uint256 balance = _number(cursor + 2, form & 0x3f);
            cursor += 2 + (form & 0x3f);
            uint256 length = _uint8(walk.cursor + 1);
            if (length > 8) revert NumberTooLong(cursor, length);
            uint256 nonce = _number(cursor, length);
            walk.cursor = cursor + length;

            bool written;
            bytes32 storageRoot = EMPTY_TRIE_ROOT;
            if (slots > 0) {
                (storageRoot, written) = _proveStorage(walk, slotsAt, account, slots);
            } else if (form & 0x40 != 0) {
                storageRoot = _word(walk.cursor);
                walk.cursor += 32;
            }
            bytes32 codeHash = EMPTY_CODE_HASH;
            if (form & 0x80 != 0) {
                codeHash = _word(walk.cursor);
                walk.cursor += 32;
            }
            if (
                _storeAccount(account, walk.blockNumber, mask, nonce, balance, storageRoot, codeHash)
                    || written
            ) emit AccountProven(account, walk.blockNumber);

            // Two hashes and two numbers: a list of 68 to 108 bytes, so both heads have two bytes.
            end = _putNumber(_putNumber(target + 4, nonce), balance);
            end = _putHash(_putHash(end, storageRoot), codeHash);
            _putByte(_putByte(target, 0xb8), end - target - 2);
            _putByte(_putByte(target + 2, 0xf8), end - target - 4);
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
            bytes32 key = _slotKey(account, walk.blockNumber, _word(slotsAt + 32 * i));
            if (_remember(key, 0)) written = true;
        }
        if (written) emit AccountProven(account, walk.blockNumber);
    }

    function _storeSlot(Walk memory walk, uint256 index, uint256 value) private {
        bytes32 slot = _word(walk.entries[index]);
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
            account = address(bytes20(_word(cursor)));
            cursor += _nameLength();
            (mask, slots, slotsAt) = (_uint8(cursor), _uint16(cursor + 1), cursor + 3);
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

    function _storeAccount(
        address account,
        uint256 blockNumber,
        uint256 mask,
        uint256 nonce,
        uint256 balance,
        bytes32 storageRoot,
        bytes32 codeHash
    ) private returns (bool written) {
        // The constants of an empty account are part of the record; others are facts of their own.
        uint256 record = PROVEN | nonce << 192;
        uint256 own = mask & (1 << STORAGE_ROOT | 1 << CODE_HASH);
        if (storageRoot == EMPTY_TRIE_ROOT) (record, own) = (record | EMPTY_STORAGE, own & ~uint256(4));
        if (codeHash == EMPTY_CODE_HASH) (record, own) = (record | EMPTY_CODE, own & ~uint256(8));
        if (mask != own) {
            if (balance >> 184 == 0) {
                record |= balance << 8;
            } else {
                record |= LARGE_BALANCE;
                written = _remember(_accountKey(account, blockNumber, BALANCE), bytes32(balance));
            }
            if (_records[blockNumber][account] != record) {
                _records[blockNumber][account] = record;
                written = true;
            }
        }
        if (own & 1 << STORAGE_ROOT != 0) {
            if (_remember(_accountKey(account, blockNumber, STORAGE_ROOT), storageRoot)) written = true;
        }
        if (own & 1 << CODE_HASH != 0) {
            if (_remember(_accountKey(account, blockNumber, CODE_HASH), codeHash)) written = true;
        }
    }

    // Facts by key

    function _remember(bytes32 key, bytes32 value) private returns (bool written) {
        unchecked {
            uint256 stored = uint256(value) + 1;
            if (stored == 0) {
                if (_isGreatest[key]) return false;
                _isGreatest[key] = true;
            } else {
                if (_facts[key] == stored) return false;
                _facts[key] = stored;
            }
            return true;
        }
    }

    function _recall(bytes32 key) private view returns (bool proven, bytes32 value) {
        unchecked {
            uint256 stored = _facts[key];
            if (stored != 0) return (true, bytes32(stored - 1));
            if (_isGreatest[key]) return (true, bytes32(type(uint256).max));
        }
    }

    function _accountKey(address account, uint256 blockNumber, uint8 field)
        private
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(ACCOUNT_FACT, account, blockNumber, field));
    }

    function _slotKey(address account, uint256 blockNumber, bytes32 slot)
        private
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(SLOT_FACT, account, blockNumber, slot));
    }

    function _headerKey(uint256 blockNumber, uint8 field) private pure returns (bytes32) {
        return keccak256(abi.encode(HEADER_FACT, blockNumber, field));
    }

    function _timestampKey(uint256 timestamp) private pure returns (bytes32) {
        return keccak256(abi.encode(TIMESTAMP_FACT, timestamp));
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
