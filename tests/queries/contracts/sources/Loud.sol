// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Logs as much as it is told to.
contract Loud {
    event Said(uint256 indexed number, bytes data);

    function say(uint256 count, uint256 size) external {
        for (uint256 i; i < count; ++i) {
            emit Said(i, new bytes(size));
        }
    }

    /// A log whose data is said to be longer than it is.
    function lie(uint256 size) external {
        bytes32 topic = Said.selector;
        assembly {
            mstore(0, 0x20)
            mstore(0x20, size)
            log2(0, 0x40, topic, 0)
        }
    }
}
