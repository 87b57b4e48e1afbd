// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {uint8At, uint16At, uint64At, wordAt} from "./Calldata.sol";
import {FactStore} from "./FactStore.sol";
import {Facts, IFactsRegistry} from "./interfaces/IFactsRegistry.sol";
import {
    ACCOUNTS,
    FLAGS,
    HASH,
    Header,
    NUMBER,
    PARENT,
    PREVIOUS,
    TIMESTAMP,
    VALUES
} from "./Header.sol";
import {wordIn} from "./Memory.sol";
import {ProvenFacts} from "./ProvenFacts.sol";

/// @title What was true on the source chain, proven to this chain
/// @notice Anyone may write. A fact is stored only if it is proven under an anchored block: one that
/// is known, accumulated or reached by a hop, or an ancestor of such a block, if the section has every
/// header between the two. Under one block hash, a fact can be proven with one value only, and what is
/// stored never changes. Repeating a proof that still holds succeeds and writes nothing. There is no
/// owner, no pause and no upgrade.
abstract contract FactsRegistry is FactStore, ProvenFacts {
    /// @inheritdoc IFactsRegistry
    /// @dev The calldata is packed, because its bytes are the price of a proof:
    ///
    ///   selector, then sections until the end
    ///   section ACCUMULATED_BLOCK: uint8 1, uint64 number, uint64 timestamp, 32 hash, witness
    ///   section HEADERS: uint8 2, uint16 count, count times a header (see CompactHeader), each the
    ///     parent of the next. The last one is known, accumulated, or the target of the preceding hop.
    ///     After each header, in this order, as its flags say:
    ///     WITNESS or HOP  one witness, under its state root. With HOP it is a hop's, with or without
    ///                 WITNESS, and none of its facts is stored
    ///     FIELDS      uint32 mask of the header's fields to store: bit i is field i of HeaderField
    ///     TIMESTAMPS  uint8 count, count times uint64: times at which the parent was the last block.
    ///                 Not at the section's first header, whose parent is not provided
    ///     ACCUMULATE  no bytes; stores the header's commitment
    ///   section ACCUMULATED_HOP: uint8 3, the rest as ACCUMULATED_BLOCK; its witness is a hop's
    ///   witness: uint16 count of accounts, each 20 address, uint8 mask of fields to store,
    ///     uint16 count of slots, 32 each; then the nodes of the trie (see TrieWitness). Bit i of the
    ///     mask is field i of AccountField; any bit stores nonce and balance too. Accounts ascend by
    ///     their hashes, and so do the slots of each account. At an account's leaf: uint8 form; uint8
    ///     how many bytes the nonce has; the balance; the nonce; [32 storage root]; [32 code hash]. Of
    ///     the form, bits 0-5 are the balance's length; with bit 6 a storage root follows, with bit 7 a
    ///     code hash; where a bit is not set, the hash is that of an empty account. If slots are
    ///     requested, bit 6 is ignored and the nodes of the storage trie stand in place of the root.
    ///     At a slot's leaf: uint8 how many bytes the value has; the value.
    ///   hop: a witness of one slot of the history contract (EIP-2935), which holds the hash of an
    ///     earlier block. Nothing of it is stored; only the next HEADERS section may end with that
    ///     block. Of several hops before it, the last one counts.
    function prove() external {
        uint256 cursor = 4;
        bytes32 hop = 0;
        while (cursor < msg.data.length) {
            Header last = Header.wrap(0);
            (last, cursor, hop) = _readSection(cursor, hop, last);
            _store(last);
        }
        if (cursor != msg.data.length) revert ProofEndMismatch(cursor, msg.data.length);
    }

    /// @inheritdoc IFactsRegistry
    function verify(bytes calldata proof) external view returns (Facts memory) {
        (uint256 cursor, uint256 end) = _bounds(proof);
        bytes32 hop = 0;
        Header last = Header.wrap(0);
        while (cursor < end) {
            (last, cursor, hop) = _readSection(cursor, hop, last);
        }
        if (cursor != end) revert ProofEndMismatch(cursor, end);
        _returnFacts(last);
    }

    /// @inheritdoc IFactsRegistry
    function lowerHorizon(bytes calldata section) external {
        (uint256 cursor, uint256 end) = _bounds(section);
        Header header;
        (header, cursor,) = _readSection(cursor, 0, Header.wrap(0));
        if (cursor != end) revert ProofEndMismatch(cursor, end);
        _checkContradiction(header);
        uint256 timestamp = header.get(TIMESTAMP);
        if (timestamp >= stateHorizon) return;
        stateHorizon = timestamp;
        emit HorizonLowered(header.get(NUMBER), timestamp);
    }

    /// @inheritdoc IFactsRegistry
    function multicall(bytes[] calldata calls) external returns (bytes[] memory results) {
        results = new bytes[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory result) = address(this).delegatecall(calls[i]);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(result, 32), mload(result))
                }
            }
            results[i] = result;
        }
    }

    /// @dev Where in the calldata these bytes begin and end.
    function _bounds(bytes calldata content) private pure returns (uint256 start, uint256 end) {
        assembly ("memory-safe") {
            start := content.offset
            end := add(start, content.length)
        }
    }

    // Storing

    function _store(Header header) private {
        while (Header.unwrap(header) != 0) {
            uint256 flags = header.get(FLAGS);
            if (_hasWitness(header)) _storeWitness(header);
            if ((flags & FIELDS) != 0) _storeFields(header);
            if ((flags & TIMESTAMPS) != 0) _storeTimestamps(header);
            if ((flags & ACCUMULATE) != 0) _accumulate(header);
            header = Header.wrap(header.get(PREVIOUS));
        }
    }

    function _storeWitness(Header header) private {
        unchecked {
            _checkState(header);
            uint256 number = header.get(NUMBER);
            uint256 cursor = header.get(ACCOUNTS);
            uint256 answer = header.get(VALUES);
            for (uint256 count = uint16At(cursor - 2); count > 0; --count) {
                address account = address(bytes20(wordAt(cursor)));
                cursor += _nameLength();
                uint8 proven = _storeAccount(account, number, uint8At(cursor), answer);
                if (proven != 0) emit AccountProven(account, number, proven);
                uint256 slots = uint16At(cursor + 1);
                cursor += 3;
                answer += 32 * ACCOUNT_WORDS;
                for (; slots > 0; --slots) {
                    (bytes32 slot, bytes32 value) = (wordAt(cursor), bytes32(wordIn(answer)));
                    if (_remember(_slotKey(account, number, slot), value)) {
                        emit SlotProven(account, number, slot, value);
                    }
                    cursor += 32;
                    answer += 32;
                }
            }
        }
    }

    function _storeFields(Header header) private {
        unchecked {
            uint256 number = header.get(NUMBER);
            uint256 mask = _fieldMask(header);
            (uint256 field, uint256 cursor, uint256 end) = _firstField(header, mask);
            for (mask >>= field; mask > 0; mask >>= 1) {
                (uint256 start, uint256 next) = _item(cursor, end);
                if ((mask & 1) != 0) {
                    bytes32 value = bytes32(_fieldWord(start, next));
                    if (_remember(_headerKey(number, uint8(field)), value)) {
                        emit HeaderFieldProven(number, uint8(field), value);
                    }
                }
                cursor = next;
                ++field;
            }
        }
    }

    function _storeTimestamps(Header header) private {
        unchecked {
            uint256 number = header.get(PARENT);
            (uint256 cursor, uint256 end) = _timestamps(header);
            for (; cursor < end; cursor += 8) {
                uint256 timestamp = uint64At(cursor);
                if (_remember(_timestampKey(timestamp), bytes32(number))) {
                    emit TimestampProven(timestamp, number);
                }
            }
        }
    }

    /// @dev The first header of a number stays. A second one could only come where the source of
    /// hashes contradicts itself.
    function _accumulate(Header header) private {
        uint256 number = header.get(NUMBER);
        bytes32 hash = bytes32(header.get(HASH));
        bytes32 leaf = header.leaf();
        bytes32 present = accumulated[number];
        if (present == leaf) return;
        if (present != 0) revert AnotherBlockAccumulated(number, hash);
        accumulated[number] = leaf;
        emit HeaderAccumulated(number, hash);
    }
}
