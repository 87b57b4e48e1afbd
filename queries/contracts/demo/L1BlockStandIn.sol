// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title An OP-stack chain's L1Block predeploy, whose block is set by hand
/// @notice For tests and the demo, where no sequencer writes the predeploy.
contract L1BlockStandIn {
    /// @notice The newest L1 block's number.
    uint64 public number;
    /// @notice The newest L1 block's hash.
    bytes32 public hash;

    /// @notice Takes in a newer L1 block.
    function set(uint64 number_, bytes32 hash_) external {
        number = number_;
        hash = hash_;
    }
}
