// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A target of deliveries that writes as many new slots as tests ask it to.
contract Spender {
    uint256 public slots = 2;
    mapping(uint256 blockNumber => mapping(uint256 index => uint256)) public written;

    function setSlots(uint256 slots_) external {
        slots = slots_;
    }

    function write(uint256 block_) external {
        for (uint256 i; i < slots; ++i) written[block_][i] = block_;
    }
}
