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
}
