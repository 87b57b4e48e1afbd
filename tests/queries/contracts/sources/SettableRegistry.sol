// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {wordAt} from "../Calldata.sol";
import {CompactHeader} from "../CompactHeader.sol";
import {FactsRegistry} from "../FactsRegistry.sol";

/// @title A registry that believes whoever calls it: for measuring and for tests, never deployed
/// @notice Its hashes and leaves are set by hand, so that a proof can be tried whose header is not
/// to be had, and its keys may be given as they stand in the tries, so that tries of any shape can
/// be tried without grinding for hashes.
contract SettableRegistry is FactsRegistry {
    /// @notice Whether accounts are named by the hashes of their addresses.
    bool public immutable accountsByHash;
    /// @notice Whether slots are named by their hashes.
    bool public immutable slotsByHash;

    mapping(uint256 blockNumber => bytes32) private _hashes;

    constructor(bool accountsByHash_, bool slotsByHash_) CompactHeader(4_102_444_800) {
        accountsByHash = accountsByHash_;
        slotsByHash = slotsByHash_;
    }

    /// @notice Makes a hash known.
    function setHash(uint256 blockNumber, bytes32 blockHash) external {
        _hashes[blockNumber] = blockHash;
    }

    /// @notice Makes a block accumulated.
    function setAccumulated(
        uint256 blockNumber,
        uint256 timestamp,
        bytes32 blockHash,
        bytes32 stateRoot
    ) external {
        accumulated[blockNumber] =
            keccak256(abi.encode(blockNumber, timestamp, blockHash, stateRoot));
    }

    function _knownHash(uint256 blockNumber) internal view override returns (bytes32) {
        return _hashes[blockNumber];
    }

    function _beaconRoot(uint256 timestamp) internal view override returns (bytes32) {
        return _hashes[timestamp];
    }

    function _accountTrieKey(uint256 cursor) internal view override returns (uint256) {
        return accountsByHash ? uint256(wordAt(cursor)) : super._accountTrieKey(cursor);
    }

    function _nameLength() internal view override returns (uint256) {
        return accountsByHash ? 32 : 20;
    }

    function _slotTrieKey(bytes32 slot) internal view override returns (uint256) {
        return slotsByHash ? uint256(slot) : super._slotTrieKey(slot);
    }
}
