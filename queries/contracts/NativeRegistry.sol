// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CompactHeader} from "./CompactHeader.sol";
import {FactsRegistry} from "./FactsRegistry.sol";
import {IFactsRegistry} from "./interfaces/IFactsRegistry.sol";

/// @title A chain's past, proven to the chain itself
/// @notice Block hashes come from the chain: the newest 256 from BLOCKHASH, the others of the
/// newest 8191 from the history contract of EIP-2935. No trusted party.
contract NativeRegistry is FactsRegistry {
    address private constant BLOCK_HASHES = 0x0000F90827F1C53a10cb7A02335B175320002935;
    address private constant BEACON_ROOTS = 0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02;

    /// @param horizon From which time on headers are refused, in seconds.
    constructor(uint256 horizon) CompactHeader(horizon) {}

    /// @inheritdoc IFactsRegistry
    function describe() external view returns (bytes32, uint256, bytes32, uint256) {
        return ("native", block.chainid, 0, HORIZON);
    }

    /// @dev Zero means that there is no hash, as the history contract answers for blocks that it never saw.
    function _knownHash(uint256 number) internal view override returns (bytes32 hash) {
        if (number >= block.number) return 0;
        if (block.number - number <= 256) return blockhash(number);
        return _ask(BLOCK_HASHES, number);
    }

    function _beaconRoot(uint256 timestamp) internal view override returns (bytes32) {
        return _ask(BEACON_ROOTS, timestamp);
    }

    /// @dev A system contract's answer to one word; zero where it has none or is not there.
    function _ask(address system, uint256 word) private view returns (bytes32) {
        bool success;
        uint256 length;
        bytes32 answer;
        assembly ("memory-safe") {
            mstore(0, word)
            success := staticcall(gas(), system, 0, 32, 0, 32)
            length := returndatasize()
            answer := mload(0)
        }
        return success && length == 32 ? answer : bytes32(0);
    }
}
