// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {uint8At, uint16At, wordAt} from "./Calldata.sol";
import {END, HASH, Header, NUMBER, PAYLOAD, STATE_ROOT, TIMESTAMP, newHeader} from "./Header.sol";
import {IFactsRegistry} from "./interfaces/IFactsRegistry.sol";
import {freeMemory, setFreeMemory, wordIn} from "./Memory.sol";
import {asList, putByte, putBytes, putHash} from "./Rlp.sol";

/// @title Rebuilds a block header from the parts that cannot be derived
/// @notice A header is sent without RLP framing up to the bloom, and without what the contract can
/// derive: the state root, if a witness rebuilds it; the parent's hash, if the parent is the header
/// before or its hash is known; the uncles hash, if it is that of an empty list; the beacon root, if
/// EIP-4788 keeps it. The contract fills these in before it hashes the header, so a wrong value
/// gives a wrong hash.
///
///   uint8 flags
///   [32 parent hash]        only in the section's first header, and only without PARENT_KNOWN
///   [32 uncles hash]        unless NO_UNCLES
///   20 coinbase
///   [32 state root]         unless WITNESS; ignored with HOP, whose witness rebuilds it
///   32 transactions root, 32 receipts root, 256 logs bloom
///   uint16 length, tail     the fields from the difficulty on, in RLP as they stand in the header;
///                           with BEACON_KNOWN without the beacon root
///   [uint8 offset]          with BEACON_KNOWN: how many bytes of the tail stand before the beacon root
abstract contract CompactHeader is IFactsRegistry {
    /// @notice A header's tail is malformed up to the timestamp, its number or timestamp has more than 8
    /// bytes, the beacon root's offset lies behind the tail, or a requested field, or one before it, is
    /// missing or a list.
    /// @param position Where in memory, for debugging.
    error HeaderMalformed(uint256 position);

    uint256 internal constant NO_UNCLES = 1;
    uint256 internal constant PARENT_KNOWN = 2;
    uint256 internal constant BEACON_KNOWN = 4;
    uint256 internal constant ACCUMULATE = 8;
    uint256 internal constant WITNESS = 16;
    uint256 internal constant FIELDS = 32;
    uint256 internal constant TIMESTAMPS = 64;
    uint256 internal constant HOP = 128;

    /// @inheritdoc IFactsRegistry
    /// @dev A part of the constructor's arguments, and so of the registry's address.
    uint256 public immutable HORIZON;

    bytes32 private constant EMPTY_UNCLES_HASH =
        0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347;

    // Offsets in the payload of a header's list: every field up to the bloom has a fixed length.
    uint256 private constant STATE_ROOT_AT = 33 + 33 + 21;
    uint256 private constant TAIL = 33 + 33 + 21 + 33 + 33 + 33 + 259;
    uint256 private constant FIELDS_BEFORE_TAIL = 7;

    /// @param horizon From which time on headers are refused, in seconds.
    constructor(uint256 horizon) {
        HORIZON = horizon;
    }

    /// @dev The hash that the registry knows for this number; zero where it knows none.
    function _knownHash(uint256 number) internal view virtual returns (bytes32);

    /// @dev The beacon root that the source chain's EIP-4788 contract keeps for `timestamp`.
    function _beaconRoot(uint256 timestamp) internal view virtual returns (bytes32);

    /// @dev Reads a header at `cursor` and fills in what was left out, all but the state root: `_seal`
    /// writes that into the header and hashes it.
    function _readHeader(uint256 cursor, uint256 flags, bytes32 parentHash)
        internal
        view
        returns (Header header, uint256)
    {
        unchecked {
            header = newHeader(flags);
            uint256 payload = freeMemory() + 3;
            header.set(PAYLOAD, payload);
            uint256 parentAt = cursor;
            if (parentHash == 0 && (flags & PARENT_KNOWN) == 0) cursor += 32;
            uint256 target = payload + 33;
            if ((flags & NO_UNCLES) != 0) {
                target = putHash(target, EMPTY_UNCLES_HASH);
            } else {
                target = putHash(target, wordAt(cursor));
                cursor += 32;
            }
            target = putByte(target, 0x94);
            target = putBytes(target, cursor, 20);
            cursor += 20;
            if ((flags & WITNESS) == 0) {
                header.set(STATE_ROOT, uint256(wordAt(cursor)));
                cursor += 32;
            }
            target = putHash(target + 33, wordAt(cursor));
            target = putHash(target, wordAt(cursor + 32));
            target = putByte(putByte(putByte(target, 0xb9), 1), 0);
            target = putBytes(target, cursor + 64, 256);
            uint256 length = uint16At(cursor + 320);
            cursor += 322;
            target = putBytes(target, cursor, length);
            header.set(END, target);
            cursor += length;
            // Reserved before another contract is called, with 33 bytes for the beacon root.
            setFreeMemory((target + 33 + 31) & ~uint256(31));

            _readTail(header);
            if ((flags & BEACON_KNOWN) != 0) {
                _insertBeaconRoot(header, uint8At(cursor));
                ++cursor;
            }
            if (parentHash == 0) {
                parentHash = (flags & PARENT_KNOWN) == 0
                    ? wordAt(parentAt)
                    : _knownHash(header.get(NUMBER) - 1);
            }
            putHash(payload, parentHash);
            return (header, cursor);
        }
    }

    /// @dev Writes the state root into the header and hashes it.
    function _seal(Header header) internal view {
        uint256 timestamp = header.get(TIMESTAMP);
        if (timestamp >= HORIZON) revert BeyondHorizon(header.get(NUMBER), timestamp);
        uint256 payload = header.get(PAYLOAD);
        unchecked {
            putHash(payload + STATE_ROOT_AT, bytes32(header.get(STATE_ROOT)));
        }
        (uint256 start, uint256 length) = asList(payload, header.get(END));
        uint256 hash;
        assembly ("memory-safe") {
            hash := keccak256(start, length)
        }
        header.set(HASH, hash);
    }

    /// @dev The parent's hash in a sealed header.
    function _parentHash(Header header) internal pure returns (bytes32) {
        unchecked {
            return bytes32(wordIn(header.get(PAYLOAD) + 1));
        }
    }

    /// @dev Where in the memory a field of a sealed header begins, which may be the first one in `mask` or
    /// one before it; and where the header ends. `_item` leads to the next ones.
    function _firstField(Header header, uint256 mask)
        internal
        pure
        returns (uint256 field, uint256 cursor, uint256 end)
    {
        unchecked {
            (cursor, end) = (header.get(PAYLOAD), header.get(END));
            if (mask & ((1 << FIELDS_BEFORE_TAIL) - 1) == 0) {
                (field, cursor) = (FIELDS_BEFORE_TAIL, cursor + TAIL);
            }
        }
    }

    /// @dev A field of a sealed header, as a word.
    function _headerWord(Header header, uint256 field) internal pure returns (uint256) {
        unchecked {
            (uint256 current, uint256 cursor, uint256 end) = _firstField(header, 1 << field);
            for (; current < field; ++current) (, cursor) = _item(cursor, end);
            (uint256 start, uint256 next) = _item(cursor, end);
            return _fieldWord(start, next);
        }
    }

    /// @dev A field as a word: up to 32 bytes as a number, more by hash.
    function _fieldWord(uint256 start, uint256 end) internal pure returns (uint256 word) {
        assembly ("memory-safe") {
            let length := sub(end, start)
            switch gt(length, 32)
            case 1 { word := keccak256(start, length) }
            default { word := shr(sub(256, mul(8, length)), mload(start)) }
        }
    }

    /// @dev Number and timestamp, from behind the bloom.
    function _readTail(Header header) private pure {
        uint256 end = header.get(END);
        uint256 value;
        (, uint256 next) = _item(header.get(PAYLOAD) + TAIL, end); // difficulty
        (value, next) = _integer(next, end);
        header.set(NUMBER, value);
        (, next) = _item(next, end); // gas limit
        (, next) = _item(next, end); // gas used
        (value,) = _integer(next, end);
        header.set(TIMESTAMP, value);
    }

    function _insertBeaconRoot(Header header, uint256 offset) private view {
        uint256 payload = header.get(PAYLOAD);
        uint256 end = header.get(END);
        uint256 from = payload + TAIL + offset;
        if (from > end) revert HeaderMalformed(from);
        uint256 moved = end - from;
        assembly ("memory-safe") {
            mcopy(add(from, 33), from, moved)
        }
        putHash(from, _beaconRoot(header.get(TIMESTAMP)));
        header.set(END, end + 33);
        // It may have moved number and timestamp: read them again from the final bytes.
        _readTail(header);
    }

    /// @dev The content of the RLP string at `cursor` of the memory, and where the next one begins.
    function _item(uint256 cursor, uint256 end) internal pure returns (uint256 start, uint256 next) {
        unchecked {
            uint256 head;
            assembly ("memory-safe") {
                head := byte(0, mload(cursor))
            }
            if (head < 0x80) {
                (start, next) = (cursor, cursor + 1);
            } else if (head < 0xb8) {
                (start, next) = (cursor + 1, cursor + 1 + (head - 0x80));
            } else if (head < 0xc0) {
                uint256 length;
                assembly ("memory-safe") {
                    length := shr(sub(256, mul(8, sub(head, 0xb7))), mload(add(cursor, 1)))
                }
                start = cursor + 1 + (head - 0xb7);
                next = start + length;
            } else {
                revert HeaderMalformed(cursor);
            }
            if (next > end) revert HeaderMalformed(cursor);
        }
    }

    /// @dev A number of at most eight bytes.
    function _integer(uint256 cursor, uint256 end) private pure returns (uint256 value, uint256) {
        (uint256 start, uint256 next) = _item(cursor, end);
        unchecked {
            uint256 length = next - start;
            if (length > 8) revert HeaderMalformed(cursor);
            assembly ("memory-safe") {
                // For zero bytes the shift is 256, which gives 0.
                value := shr(sub(256, mul(8, length)), mload(start))
            }
        }
        return (value, next);
    }
}
