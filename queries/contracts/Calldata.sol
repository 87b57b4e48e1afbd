// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// What the calldata holds, by position. Reads past the end of a proof return zeros, or the calldata
// behind it. A proof that uses such bytes reverts, with ProofEndMismatch at the latest: the cursor never
// moves back and must end exactly where the proof ends.

/// @notice A number, or the path of a MISS, has more bytes than it may have.
/// @param position Where in the calldata it stands.
/// @param length How many bytes it has.
error NumberTooLong(uint256 position, uint256 length);

/// @dev The big-endian number in `length` <= 32 bytes.
function numberAt(uint256 cursor, uint256 length) pure returns (uint256) {
    unchecked {
        if (length > 32) revert NumberTooLong(cursor, length);
        return length == 0 ? 0 : uint256(wordAt(cursor)) >> (256 - 8 * length);
    }
}

/// @dev One byte.
function uint8At(uint256 cursor) pure returns (uint256 value) {
    assembly ("memory-safe") {
        value := byte(0, calldataload(cursor))
    }
}

/// @dev Two bytes, big-endian.
function uint16At(uint256 cursor) pure returns (uint256) {
    return uint256(wordAt(cursor)) >> 240;
}

/// @dev Three bytes, big-endian.
function uint24At(uint256 cursor) pure returns (uint256) {
    return uint256(wordAt(cursor)) >> 232;
}

/// @dev Eight bytes, big-endian.
function uint64At(uint256 cursor) pure returns (uint256) {
    return uint256(wordAt(cursor)) >> 192;
}

/// @dev 32 bytes.
function wordAt(uint256 cursor) pure returns (bytes32 value) {
    assembly ("memory-safe") {
        value := calldataload(cursor)
    }
}
