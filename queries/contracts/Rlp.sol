// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// Recursive Length Prefix, only written here; CompactHeader reads it. Each `put…` function writes at
// `target` and returns the end of what it wrote. Some write whole words, and so overwrite up to 31
// bytes behind that end: write from left to right, into reserved space.

/// @dev One byte, as it is.
function putByte(uint256 target, uint256 value) pure returns (uint256) {
    assembly ("memory-safe") {
        mstore8(target, value)
    }
    unchecked {
        return target + 1;
    }
}

/// @dev A string of 32 bytes.
function putHash(uint256 target, bytes32 hash) pure returns (uint256) {
    assembly ("memory-safe") {
        mstore8(target, 0xa0)
        mstore(add(target, 1), hash)
    }
    unchecked {
        return target + 33;
    }
}

/// @dev An integer without leading zeros.
function putNumber(uint256 target, uint256 value) pure returns (uint256) {
    unchecked {
        if (value < 0x80) return putByte(target, value == 0 ? 0x80 : value);
        uint256 length = lengthOf(value);
        target = putByte(target, 0x80 + length);
        assembly ("memory-safe") {
            mstore(target, shl(sub(256, mul(8, length)), value))
        }
        return target + length;
    }
}

/// @dev How many bytes a number other than zero takes, by binary search for its highest byte.
function lengthOf(uint256 value) pure returns (uint256 length) {
    assembly ("memory-safe") {
        length := shl(4, lt(0xffffffffffffffffffffffffffffffff, value))
        length := or(length, shl(3, lt(0xffffffffffffffff, shr(shl(3, length), value))))
        length := or(length, shl(2, lt(0xffffffff, shr(shl(3, length), value))))
        length := or(length, shl(1, lt(0xffff, shr(shl(3, length), value))))
        length := add(or(length, lt(0xff, shr(shl(3, length), value))), 1)
    }
}

/// @dev Puts the head of a list of less than 64 KiB before `payload`, where three bytes are free.
function asList(uint256 payload, uint256 end) pure returns (uint256 start, uint256 length) {
    unchecked {
        length = end - payload;
        if (length < 56) {
            start = payload - 1;
            putByte(start, 0xc0 + length);
        } else if (length < 256) {
            start = payload - 2;
            putByte(putByte(start, 0xf8), length);
        } else {
            start = payload - 3;
            putByte(putByte(putByte(start, 0xf9), length >> 8), length);
        }
        length = end - start;
    }
}

/// @dev `length` bytes of the calldata, as they are.
function putBytes(uint256 target, uint256 cursor, uint256 length) pure returns (uint256) {
    assembly ("memory-safe") {
        calldatacopy(target, cursor, length)
    }
    unchecked {
        return target + length;
    }
}

// Each `…Before` function writes backwards: what it writes ends at `end`, and it returns where that begins.
// It overwrites 32 bytes before `end`.

/// @dev The lowest `length` bytes of a word.
function wordBefore(uint256 end, uint256 word, uint256 length) pure returns (uint256) {
    assembly ("memory-safe") {
        mstore(sub(end, 32), word)
    }
    unchecked {
        return end - length;
    }
}

/// @dev The head of a string (`base` 0x80) or list (0xc0) whose payload of `length` bytes begins at `end`.
function headBefore(uint256 end, uint256 length, uint256 base) pure returns (uint256) {
    unchecked {
        if (length < 56) return wordBefore(end, base + length, 1);
        uint256 size = _sizeOf(length);
        return wordBefore(end, ((base + 55 + size) << (8 * size)) | length, size + 1);
    }
}

/// @dev An integer of at most 31 bytes, without leading zeros.
function numberBefore(uint256 end, uint256 value) pure returns (uint256) {
    unchecked {
        if (value < 0x80) return wordBefore(end, value == 0 ? 0x80 : value, 1);
        uint256 size = lengthOf(value);
        return wordBefore(end, ((0x80 + size) << (8 * size)) | value, size + 1);
    }
}

/// @dev The head of a string (`base` 0x80) or list (0xc0) whose payload of `length` bytes follows.
function putHead(uint256 target, uint256 length, uint256 base) pure returns (uint256) {
    unchecked {
        if (length < 56) return putByte(target, base + length);
        uint256 size = _sizeOf(length);
        uint256 head = ((base + 55 + size) << (8 * size)) | length;
        assembly ("memory-safe") {
            mstore(target, shl(sub(248, mul(8, size)), head))
        }
        return target + size + 1;
    }
}

/// @dev How many bytes `putHead` writes.
function headLength(uint256 length) pure returns (uint256) {
    unchecked {
        return length < 56 ? 1 : 1 + _sizeOf(length);
    }
}

/// @dev How many bytes the length of a payload takes, which is below 2^24: two comparisons instead of the
/// search of `lengthOf`.
function _sizeOf(uint256 length) pure returns (uint256 size) {
    assembly ("memory-safe") {
        size := add(1, add(gt(length, 0xff), gt(length, 0xffff)))
    }
}
