// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {uint8At, wordAt} from "./Calldata.sol";
import {reserve} from "./Memory.sol";
import {putByte, putHash} from "./Rlp.sol";

// The nodes of a trie, written to memory from their parts, never read.

/// @notice An embedded node must be one list of less than 32 bytes.
/// @param position Where in the calldata it begins.
error NotEmbedded(uint256 position);

/// @dev The longest node is a branch of sixteen hashes: 3 + 16 * 33 + 1 bytes. Of a branch with less,
/// `putSiblings` also writes a word behind the last child; that word ends within it.
uint256 constant NODE_SPACE = 544;
uint256 constant FULL_LENGTH = 532;

bytes32 constant EMPTY_TRIE_ROOT =
    0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421;
bytes32 constant EMPTY_CODE_HASH =
    0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470;

function nibbleAt(uint256 key, uint256 depth) pure returns (uint256) {
    unchecked {
        return (key >> (252 - 4 * depth)) & 0xf;
    }
}

/// @dev A path in hex-prefix form; `flag` is 0x20 for a leaf, 0 for an extension.
function putPath(uint256 target, uint256 flag, uint256 path, uint256 nibbles)
    pure
    returns (uint256)
{
    unchecked {
        uint256 whole = nibbles / 2; // bytes behind the first, which holds the flag
        if (whole > 0) target = putByte(target, 0x81 + whole);
        if (nibbles % 2 == 1) flag |= 0x10 | ((path >> (8 * whole)) & 0xf);
        target = putByte(target, flag);
        if (whole > 0) {
            assembly ("memory-safe") {
                mstore(target, shl(sub(256, mul(8, whole)), path))
            }
        }
        return target + whole;
    }
}

/// @dev How a parent refers to a node: by its hash, or by the node itself if it is shorter.
function referenceTo(uint256 start, uint256 length)
    pure
    returns (uint256 child, uint256 size)
{
    assembly ("memory-safe") {
        switch lt(length, 32)
        case 0 {
            child := keccak256(start, length)
            size := 32
        }
        default {
            child := mload(start)
            size := length
        }
    }
}

function putChild(uint256 target, uint256 child, uint256 size) pure returns (uint256) {
    if (size == 32) return putHash(target, bytes32(child));
    assembly ("memory-safe") {
        mstore(target, child)
    }
    unchecked {
        return target + size;
    }
}

/// @dev Copies one list of less than 32 bytes. Its first byte gives its length, so two nodes cannot
/// be passed off as one, nor an empty list or no bytes as a node.
function putEmbedded(uint256 target, uint256 cursor) pure returns (uint256, uint256) {
    uint256 length = uint8At(cursor);
    if (length <= 0xc0 || length > 0xde) revert NotEmbedded(cursor);
    unchecked {
        length -= 0xbf;
        assembly ("memory-safe") {
            calldatacopy(target, cursor, length)
        }
        return (target + length, cursor + length);
    }
}
/// @dev The children from `nibble` to before `until`, below which no keys lie.
function putSiblings(
    uint256 target,
    uint256 cursor,
    uint256 nibble,
    uint256 until,
    uint256 there,
    uint256 embedded
) pure returns (uint256, uint256) {
    unchecked {
        uint256 all = (1 << until) - (1 << nibble);
        if ((there & ~embedded & all) == all) {
            return putHashes(target, cursor, until - nibble);
        }
        if ((there & embedded & all) != 0) {
            return putMixedSiblings(target, cursor, nibble, until, there, embedded);
        }
    }
    assembly ("memory-safe") {
        // A step for each child that is there, and one byte, 0x80, for each before it that is not. The
        // lowest bit of `left` is the next nibble's. A power of two modulo 19 names its exponent.
        let left := shr(nibble, and(there, sub(shl(until, 1), 1)))
        let end := sub(add(target, sub(until, nibble)), cursor)
        let absent := 0x8080808080808080808080808080808080808080808080808080808080808080
        for {} left {} {
            mstore(target, absent)
            let lowest := and(left, sub(0, left))
            target := add(target, byte(mod(lowest, 19), 0x0000010d02000e060308000c0f05070b040a0900000000000000000000000000))
            mstore8(target, 0xa0)
            mstore(add(target, 1), calldataload(cursor))
            target := add(target, 33)
            cursor := add(cursor, 32)
            left := shr(1, div(left, lowest))
        }
        mstore(target, absent)
        target := add(end, cursor)
    }
    return (target, cursor);
}

function putMixedSiblings(
    uint256 target,
    uint256 cursor,
    uint256 nibble,
    uint256 until,
    uint256 there,
    uint256 embedded
) pure returns (uint256, uint256) {
    for (; nibble < until; ++nibble) {
        if (((there >> nibble) & 1) == 0) {
            target = putByte(target, 0x80);
        } else if (((embedded >> nibble) & 1) == 0) {
            target = putHash(target, wordAt(cursor));
            cursor += 32;
        } else {
            (target, cursor) = putEmbedded(target, cursor);
        }
    }
    return (target, cursor);
}

/// @dev Nearly all of a witness are these hashes, so they go four at a time.
function putHashes(uint256 target, uint256 cursor, uint256 count)
    pure
    returns (uint256, uint256)
{
    assembly ("memory-safe") {
        let end := add(cursor, shl(5, count))
        for { let fours := sub(end, shl(5, and(count, 3))) } lt(cursor, fours) {} {
            mstore8(target, 0xa0)
            mstore(add(target, 1), calldataload(cursor))
            mstore8(add(target, 33), 0xa0)
            mstore(add(target, 34), calldataload(add(cursor, 32)))
            mstore8(add(target, 66), 0xa0)
            mstore(add(target, 67), calldataload(add(cursor, 64)))
            mstore8(add(target, 99), 0xa0)
            mstore(add(target, 100), calldataload(add(cursor, 96)))
            target := add(target, 132)
            cursor := add(cursor, 128)
        }
        for {} lt(cursor, end) {} {
            mstore8(target, 0xa0)
            mstore(add(target, 1), calldataload(cursor))
            target := add(target, 33)
            cursor := add(cursor, 32)
        }
    }
    return (target, cursor);
}

/// @dev Hashes consecutive full branches upwards from `child`; they are nearly all of a proof. At
/// `start` is a template where only the hashes are missing. Fifteen are copied without a loop;
/// child 15's is sent at the position of the path's own. Returns the depth of the uppermost
/// branch, which is left at `start` and not hashed yet, and where its hashes end in the calldata.
function fillFullBranches(
    uint256 start,
    uint256 cursor,
    uint256 key,
    uint256 above,
    uint256 depth,
    uint256 child
) pure returns (uint256, uint256) {
    assembly ("memory-safe") {
        let hashes := add(start, 4)
        for {} 1 {} {
            above := sub(above, 1)
            let nibble := and(shr(sub(252, shl(2, above)), key), 0xf)
            mstore(add(hashes, 0), calldataload(add(cursor, 0)))
            mstore(add(hashes, 33), calldataload(add(cursor, 32)))
            mstore(add(hashes, 66), calldataload(add(cursor, 64)))
            mstore(add(hashes, 99), calldataload(add(cursor, 96)))
            mstore(add(hashes, 132), calldataload(add(cursor, 128)))
            mstore(add(hashes, 165), calldataload(add(cursor, 160)))
            mstore(add(hashes, 198), calldataload(add(cursor, 192)))
            mstore(add(hashes, 231), calldataload(add(cursor, 224)))
            mstore(add(hashes, 264), calldataload(add(cursor, 256)))
            mstore(add(hashes, 297), calldataload(add(cursor, 288)))
            mstore(add(hashes, 330), calldataload(add(cursor, 320)))
            mstore(add(hashes, 363), calldataload(add(cursor, 352)))
            mstore(add(hashes, 396), calldataload(add(cursor, 384)))
            mstore(add(hashes, 429), calldataload(add(cursor, 416)))
            mstore(add(hashes, 462), calldataload(add(cursor, 448)))
            mstore(add(hashes, 495), calldataload(add(cursor, shl(5, nibble))))
            mstore(add(hashes, mul(33, nibble)), child)
            cursor := add(cursor, 480)
            // FULL is zero
            if or(eq(above, depth), byte(0, calldataload(cursor))) { break }
            cursor := add(cursor, 1)
            child := keccak256(start, 532)
        }
    }
    return (above, cursor);
}

/// @dev A branch of sixteen hashes, all to be filled in: the head of the list, one before each hash,
/// and no value.
function newFullBranch() pure returns (uint256 start) {
    start = reserve(NODE_SPACE);
    assembly ("memory-safe") {
        mstore(start, shl(232, 0xf90211))
        mstore8(add(start, 3), 0xa0)
        mstore8(add(start, 36), 0xa0)
        mstore8(add(start, 69), 0xa0)
        mstore8(add(start, 102), 0xa0)
        mstore8(add(start, 135), 0xa0)
        mstore8(add(start, 168), 0xa0)
        mstore8(add(start, 201), 0xa0)
        mstore8(add(start, 234), 0xa0)
        mstore8(add(start, 267), 0xa0)
        mstore8(add(start, 300), 0xa0)
        mstore8(add(start, 333), 0xa0)
        mstore8(add(start, 366), 0xa0)
        mstore8(add(start, 399), 0xa0)
        mstore8(add(start, 432), 0xa0)
        mstore8(add(start, 465), 0xa0)
        mstore8(add(start, 498), 0xa0)
        mstore8(add(start, 531), 0x80)
    }
}
