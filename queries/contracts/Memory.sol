// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// Memory by hand: TrieWitness frees the space of a branch's child once it is in the branch, and a trie's
// once it has the root.

/// @dev Allocates `length` bytes, a multiple of 32, without zeroing them. `setFreeMemory` may release
/// them again.
function reserve(uint256 length) pure returns (uint256 start) {
    start = freeMemory();
    unchecked {
        setFreeMemory(start + length);
    }
}

/// @dev A list whose entries are all written before they are read.
function newList(uint256 count) pure returns (uint256[] memory list) {
    unchecked {
        uint256 start = reserve(32 + 32 * count);
        assembly ("memory-safe") {
            list := start
            mstore(list, count)
        }
    }
}

/// @dev Where free memory begins.
function freeMemory() pure returns (uint256 free) {
    assembly ("memory-safe") {
        free := mload(0x40)
    }
}

/// @dev Sets where free memory begins.
function setFreeMemory(uint256 free) pure {
    assembly ("memory-safe") {
        mstore(0x40, free)
    }
}

/// @dev The word at `position`.
function wordIn(uint256 position) pure returns (uint256 word) {
    assembly ("memory-safe") {
        word := mload(position)
    }
}

function putWord(uint256 position, uint256 word) pure {
    assembly ("memory-safe") {
        mstore(position, word)
    }
}
