// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {wordAt} from "../Calldata.sol";
import {CompactHeader} from "../CompactHeader.sol";
import {FactsRegistry} from "../FactsRegistry.sol";

/// @title A registry whose hashes anyone may set: for tests and measurements, never deployed
/// @notice Hashes and leaves are set by hand, so that proofs of made-up headers can be tried. Keys may
/// be raw trie keys, so that tries of any shape can be tried without searching for hashes.
contract SettableRegistry is FactsRegistry {
    /// @notice Whether accounts are given by trie key, not by address.
    bool public immutable accountsByHash;
    /// @notice Whether slots are given by trie key.
    bool public immutable slotsByHash;

    mapping(uint256 blockNumber => bytes32) private _hashes;

    constructor(bool accountsByHash_, bool slotsByHash_) CompactHeader(4_102_444_800) {
        accountsByHash = accountsByHash_;
        slotsByHash = slotsByHash_;
    }

    /// @notice Make a hash known.
    function setHash(uint256 blockNumber, bytes32 blockHash) external {
        _hashes[blockNumber] = blockHash;
    }

    /// @notice Accumulate a block.
    function setAccumulated(
        uint256 blockNumber,
        uint256 timestamp,
        bytes32 blockHash,
        bytes32 stateRoot
    ) external {
        accumulated[blockNumber] =
            keccak256(abi.encode(blockNumber, timestamp, blockHash, stateRoot));
    }

    function describe() external view returns (bytes32, uint256, bytes32, uint256) {
        return ("settable", block.chainid, 0, HORIZON);
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
