// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {wordAt} from "./Calldata.sol";

// Merkle trees of the beacon chain (SSZ), which hashes with SHA-256.

/// @notice A precompiled contract failed or is missing.
/// @param precompile Its address.
error PrecompileFailed(address precompile);

/// @dev The root of a tree of two zero words.
bytes32 constant ZEROS = 0xf5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b;

/// @dev Asks a precompile about `length` bytes of memory, and writes its answer to `target`. A call to a
/// missing one succeeds and returns nothing, so the answer's length is compared.
function askPrecompile(
    uint256 precompile,
    uint256 start,
    uint256 length,
    uint256 target,
    uint256 answerLength
) view {
    bool answered;
    assembly ("memory-safe") {
        answered := staticcall(gas(), precompile, start, length, target, answerLength)
        answered := and(answered, eq(returndatasize(), answerLength))
    }
    if (!answered) revert PrecompileFailed(address(uint160(precompile)));
}

/// @dev SHA-256 of bytes in memory.
function hashOf(uint256 start, uint256 length) view returns (bytes32 hash) {
    askPrecompile(2, start, length, 0, 32);
    assembly ("memory-safe") {
        hash := mload(0)
    }
}

/// @dev The parent of two nodes.
function hashPair(bytes32 left, bytes32 right) view returns (bytes32) {
    assembly ("memory-safe") {
        mstore(0, left)
        mstore(32, right)
    }
    return hashOf(0, 64);
}

/// @dev The root of the tree that has `node` at this generalized index. The calldata at `cursor` has the
/// siblings, from the node's own on; the index says how many.
function rootOf(bytes32 node, uint256 index, uint256 cursor) view returns (bytes32, uint256) {
    unchecked {
        for (; index > 1; index >>= 1) {
            bytes32 sibling = wordAt(cursor);
            cursor += 32;
            node = (index & 1) == 0 ? hashPair(node, sibling) : hashPair(sibling, node);
        }
        return (node, cursor);
    }
}

/// @dev A number as a leaf: little-endian, with zeros behind it.
function littleEndian(uint256 number) pure returns (bytes32) {
    unchecked {
        number = (number & 0x00ff00ff00ff00ff) << 8 | (number >> 8 & 0x00ff00ff00ff00ff);
        number = (number & 0x0000ffff0000ffff) << 16 | (number >> 16 & 0x0000ffff0000ffff);
        return bytes32((number << 32 | number >> 32) << 192);
    }
}
