// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// Blooms: 2,048 bits, of which each emitter and topic of a log sets three.

/// @dev Adds `count` items of the same length, which lie in memory one byte apart, to the bloom at `bloom`;
/// to none if that is zero.
function addToBloom(uint256 bloom, uint256 item, uint256 length, uint256 count) pure {
    if (bloom == 0) return;
    assembly ("memory-safe") {
        function set(words, bit) {
            let word := add(words, and(shr(3, not(bit)), 0xe0))
            mstore(word, or(mload(word), shl(and(bit, 0xff), 1)))
        }
        for {} count { count := sub(count, 1) } {
            let hash := keccak256(item, length)
            set(bloom, shr(240, hash))
            set(bloom, shr(224, hash))
            set(bloom, shr(208, hash))
            item := add(item, add(length, 1))
        }
    }
}

/// @dev Whether the bloom in the calldata at `bloom` shows that no log has the item with this hash: one of
/// its three bits is not set.
function isSilent(uint256 bloom, bytes32 hash) pure returns (bool silent) {
    assembly ("memory-safe") {
        function isSet(words, bit) -> set {
            let word := calldataload(add(words, and(shr(3, not(bit)), 0xe0)))
            set := and(shr(and(bit, 0xff), word), 1)
        }
        silent := iszero(
            and(
                isSet(bloom, shr(240, hash)),
                and(isSet(bloom, shr(224, hash)), isSet(bloom, shr(208, hash)))
            )
        )
    }
}
