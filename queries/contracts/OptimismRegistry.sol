// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CompactHeader} from "./CompactHeader.sol";
import {FactsRegistry} from "./FactsRegistry.sol";
import {IFactsRegistry} from "./interfaces/IFactsRegistry.sol";

/// @notice What an OP-stack chain knows of its L1: the block that its current block derives from.
interface IL1Block {
    /// @notice The number of that L1 block.
    /// @return The number.
    function number() external view returns (uint64);
    /// @notice The hash of that L1 block.
    /// @return The hash.
    function hash() external view returns (bytes32);
}

/// @title An L1's past, proven to an OP-stack chain
/// @notice Block hashes come from the chain's own predeploy, which holds only the L1 block that the
/// chain's current block derives from; anyone may record it. You trust the OP-stack chain itself.
contract OptimismRegistry is FactsRegistry {
    IL1Block private constant L1_BLOCK = IL1Block(0x4200000000000000000000000000000000000015);

    /// @notice The hash of an L1 block is recorded.
    /// @param blockNumber The L1 block.
    /// @param blockHash Its hash.
    event HashRecorded(uint256 indexed blockNumber, bytes32 blockHash);

    /// @notice Recorded L1 block hashes, by number.
    /// @return The hash; zero where none is recorded.
    mapping(uint256 blockNumber => bytes32) public recorded;

    /// @param horizon From which time on headers are refused, in seconds.
    constructor(uint256 horizon) CompactHeader(horizon) {}

    /// @inheritdoc IFactsRegistry
    function describe() external view returns (bytes32, uint256, bytes32, uint256) {
        return ("optimism", 0, bytes32(uint256(uint160(address(L1_BLOCK)))), HORIZON);
    }

    /// @notice Permanently records the hash of the newest L1 block that this chain knows. Does nothing
    /// if a hash of this number is recorded already, or if there is no hash yet. Anyone may call it.
    function recordHash() external {
        uint256 number = L1_BLOCK.number();
        bytes32 hash = L1_BLOCK.hash();
        if (recorded[number] != 0 || hash == 0) return;
        recorded[number] = hash;
        emit HashRecorded(number, hash);
    }

    function _knownHash(uint256 number) internal view override returns (bytes32) {
        return number == L1_BLOCK.number() ? L1_BLOCK.hash() : recorded[number];
    }

    /// @dev The beacon roots that this chain keeps are keyed by its own timestamps, not its L1's.
    function _beaconRoot(uint256) internal pure override returns (bytes32) {
        return 0;
    }
}
