// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccountField, IFactsRegistry} from "./interfaces/IFactsRegistry.sol";
import {wordIn} from "./Memory.sol";
import {EMPTY_CODE_HASH, EMPTY_TRIE_ROOT} from "./TrieNodes.sol";

/// @title The facts of a registry: how they are stored and read
/// @notice A fact is stored once the deriving contract has proven it, and never changes.
abstract contract FactStore is IFactsRegistry {
    // An account's record: bits 192-255 the nonce, 8-191 the balance, 0-7 these flags.
    uint256 private constant PROVEN = 1;
    uint256 private constant LARGE_BALANCE = 2; // the balance is a fact of its own
    uint256 private constant EMPTY_STORAGE = STORAGE_ROOT_BIT;
    uint256 private constant EMPTY_CODE = CODE_HASH_BIT;

    // Bits of a mask of fields
    uint256 private constant NUMBER_BITS = 1 << AccountField.NONCE | 1 << AccountField.BALANCE;
    uint256 private constant STORAGE_ROOT_BIT = 1 << AccountField.STORAGE_ROOT;
    uint256 private constant CODE_HASH_BIT = 1 << AccountField.CODE_HASH;

    bytes32 private constant GREATEST = bytes32(type(uint256).max);

    // Kinds of facts, part of their keys
    uint256 private constant ACCOUNT_FACT = 1;
    uint256 private constant SLOT_FACT = 2;
    uint256 private constant HEADER_FACT = 3;
    uint256 private constant TIMESTAMP_FACT = 4;

    mapping(uint256 blockNumber => mapping(address account => uint256)) private _records;
    /// @dev Stores value + 1; zero means unproven. 2^256-1 would wrap: it is stored like 2^256-2 and
    /// flagged in `_isGreatest`.
    mapping(bytes32 key => uint256) private _facts;
    mapping(bytes32 key => bool) private _isGreatest;

    // Reading

    /// @inheritdoc IFactsRegistry
    function accountField(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bytes32 value)
    {
        bool proven;
        (proven, value) = tryAccountField(account, blockNumber, field);
        if (!proven) revert AccountFieldNotProven(account, blockNumber, field);
    }

    /// @inheritdoc IFactsRegistry
    function tryAccountField(address account, uint256 blockNumber, uint8 field)
        public
        view
        returns (bool proven, bytes32 value)
    {
        uint256 record = _records[blockNumber][account];
        if (record != 0) {
            if (field == AccountField.NONCE) return (true, bytes32(record >> 192));
            if (field == AccountField.BALANCE && (record & LARGE_BALANCE) == 0) {
                return (true, bytes32((record << 64) >> 72));
            }
            if (field == AccountField.STORAGE_ROOT && (record & EMPTY_STORAGE) != 0) {
                return (true, EMPTY_TRIE_ROOT);
            }
            if (field == AccountField.CODE_HASH && (record & EMPTY_CODE) != 0) {
                return (true, EMPTY_CODE_HASH);
            }
        }
        return _recall(_accountKey(account, blockNumber, field));
    }

    /// @inheritdoc IFactsRegistry
    function accountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bytes32 value)
    {
        bool proven;
        (proven, value) = tryAccountStorageSlotValues(account, blockNumber, slot);
        if (!proven) revert StorageSlotNotProven(account, blockNumber, slot);
    }

    /// @inheritdoc IFactsRegistry
    function tryAccountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        public
        view
        returns (bool proven, bytes32 value)
    {
        return _recall(_slotKey(account, blockNumber, slot));
    }

    /// @inheritdoc IFactsRegistry
    function headerField(uint256 blockNumber, uint8 field) external view returns (bytes32 value) {
        bool proven;
        (proven, value) = tryHeaderField(blockNumber, field);
        if (!proven) revert HeaderFieldNotProven(blockNumber, field);
    }

    /// @inheritdoc IFactsRegistry
    function tryHeaderField(uint256 blockNumber, uint8 field)
        public
        view
        returns (bool proven, bytes32 value)
    {
        return _recall(_headerKey(blockNumber, field));
    }

    /// @inheritdoc IFactsRegistry
    function blockNumberAt(uint256 timestamp) external view returns (uint256 blockNumber) {
        bool proven;
        (proven, blockNumber) = tryBlockNumberAt(timestamp);
        if (!proven) revert TimestampNotProven(timestamp);
    }

    /// @inheritdoc IFactsRegistry
    function tryBlockNumberAt(uint256 timestamp)
        public
        view
        returns (bool proven, uint256 blockNumber)
    {
        bytes32 value;
        (proven, value) = _recall(_timestampKey(timestamp));
        return (proven, uint256(value));
    }

    // Storing, for the deriving contract

    /// @dev Stores at least the fields of `mask`. Whatever field is asked for, the whole record is
    /// stored. `answer`: memory, with nonce, balance, storage root and code hash. Returns a mask of what
    /// is proven by it, or zero if nothing of that was new.
    function _storeAccount(
        address account,
        uint256 blockNumber,
        uint256 mask,
        uint256 answer
    ) internal returns (uint8 proven) {
        bool written;
        uint256 nonce = wordIn(answer);
        uint256 balance = wordIn(answer + 32);
        bytes32 storageRoot = bytes32(wordIn(answer + 64));
        bytes32 codeHash = bytes32(wordIn(answer + 96));
        // The root of an empty storage trie and the hash of no code are flags of the record; other
        // hashes are facts of their own.
        uint256 record = PROVEN | (nonce << 192);
        uint256 own = mask & (STORAGE_ROOT_BIT | CODE_HASH_BIT);
        if (storageRoot == EMPTY_TRIE_ROOT) {
            (record, own) = (record | EMPTY_STORAGE, own & ~STORAGE_ROOT_BIT);
        }
        if (codeHash == EMPTY_CODE_HASH) {
            (record, own) = (record | EMPTY_CODE, own & ~CODE_HASH_BIT);
        }
        if (mask != 0) {
            if (balance >> 184 == 0) {
                record |= balance << 8;
            } else {
                record |= LARGE_BALANCE;
                bytes32 key = _accountKey(account, blockNumber, AccountField.BALANCE);
                written = _remember(key, bytes32(balance));
            }
            // The record depends only on the account's state, not on the requested fields, so a
            // state that differs in nonce, balance or a flag is noticed. With mask 0 (slots only) no
            // record is stored or compared.
            uint256 present = _records[blockNumber][account];
            if (present == 0) {
                _records[blockNumber][account] = record;
                written = true;
            } else if (present != record) {
                revert AccountContradicted(account, blockNumber);
            }
        }
        if ((own & STORAGE_ROOT_BIT) != 0) {
            bytes32 key = _accountKey(account, blockNumber, AccountField.STORAGE_ROOT);
            if (_remember(key, storageRoot)) written = true;
        }
        if ((own & CODE_HASH_BIT) != 0) {
            bytes32 key = _accountKey(account, blockNumber, AccountField.CODE_HASH);
            if (_remember(key, codeHash)) written = true;
        }
        if (written) {
            proven = uint8(NUMBER_BITS | (record & (EMPTY_STORAGE | EMPTY_CODE)) | own);
        }
    }

    /// @dev Stores a fact; returns whether it was new. The first value stays.
    function _remember(bytes32 key, bytes32 value) internal returns (bool written) {
        unchecked {
            bool greatest = value == GREATEST;
            uint256 stored = greatest ? uint256(GREATEST) : uint256(value) + 1;
            uint256 present = _facts[key];
            if (present == 0) {
                _facts[key] = stored;
                if (greatest) _isGreatest[key] = true;
                return true;
            }
            if (present != stored) revert FactContradicted(key);
            if (present == uint256(GREATEST) && _isGreatest[key] != greatest) {
                revert FactContradicted(key);
            }
        }
    }

    function _recall(bytes32 key) private view returns (bool proven, bytes32 value) {
        unchecked {
            uint256 stored = _facts[key];
            if (stored == 0) return (false, 0);
            if (stored == uint256(GREATEST) && _isGreatest[key]) return (true, GREATEST);
            return (true, bytes32(stored - 1));
        }
    }

    function _accountKey(address account, uint256 blockNumber, uint8 field)
        private
        pure
        returns (bytes32)
    {
        return _key(ACCOUNT_FACT, uint160(account), blockNumber, field);
    }

    function _slotKey(address account, uint256 blockNumber, bytes32 slot)
        internal
        pure
        returns (bytes32)
    {
        return _key(SLOT_FACT, uint160(account), blockNumber, uint256(slot));
    }

    function _headerKey(uint256 blockNumber, uint8 field) internal pure returns (bytes32) {
        return _key(HEADER_FACT, 0, blockNumber, field);
    }

    function _timestampKey(uint256 timestamp) internal pure returns (bytes32) {
        return _key(TIMESTAMP_FACT, 0, 0, timestamp);
    }

    /// @dev keccak256 of the four words, which are written behind the memory in use.
    function _key(uint256 kind, uint256 account, uint256 blockNumber, uint256 name)
        private
        pure
        returns (bytes32 key)
    {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, kind)
            mstore(add(free, 32), account)
            mstore(add(free, 64), blockNumber)
            mstore(add(free, 96), name)
            key := keccak256(free, 128)
        }
    }
}
