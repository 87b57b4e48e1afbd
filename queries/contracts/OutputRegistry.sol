// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CompactHeader} from "./CompactHeader.sol";
import {FactsRegistry} from "./FactsRegistry.sol";

/// @notice A dispute game of an OP-stack chain: a claim about what the chain's state is.
interface IDisputeGame {
    /// @notice What the game is about: the hash of an output.
    /// @return The hash.
    function rootClaim() external view returns (bytes32);
    /// @notice The chain that the game is about.
    /// @return Its id.
    function l2ChainId() external view returns (uint256);
}

/// @notice The OP-stack chain's L1 contract that decides which games are valid.
interface IAnchorStateRegistry {
    /// @notice Whether a game's claim counts: the game is registered and respected, neither retired
    /// nor blacklisted, resolved for its proposer, and past the finality delay. Newer versions of
    /// that contract also answer false while the system is paused.
    /// @param game The game.
    /// @return Whether it counts.
    function isGameClaimValid(IDisputeGame game) external view returns (bool);
}

/// @title An OP-stack chain's past, proven to the L1 it settles on
/// @notice Block hashes come from dispute games that the rollup's own contracts call valid. You trust
/// what withdrawals rely on: its games, its guardian, and those who may upgrade its contracts.
contract OutputRegistry is FactsRegistry {
    /// @notice The AnchorStateRegistry does not call this game's claim valid, or not yet.
    /// @param game The game.
    error GameNotValid(address game);
    /// @notice The game is about another chain than `sourceChainId`.
    /// @param game The game.
    /// @param chainId The chain that it names.
    error GameOfAnotherChain(address game, uint256 chainId);
    /// @notice The output provided does not hash to the game's root claim.
    /// @param game The game.
    /// @param rootClaim What it claims.
    error NotTheClaimedOutput(address game, bytes32 rootClaim);

    /// @notice The hash of a block is recorded. Its number is in its header.
    /// @param game The game that claimed it.
    /// @param blockHash The hash.
    event OutputRecorded(address indexed game, bytes32 indexed blockHash);

    /// @notice The chain whose past this is.
    /// @return Its id.
    uint256 public immutable sourceChainId;
    /// @notice The contract that is asked which games count.
    /// @return Its address.
    IAnchorStateRegistry public immutable anchorStateRegistry;
    /// @notice Whether a block's hash is recorded.
    /// @return Whether it is.
    mapping(bytes32 blockHash => bool) public recorded;

    /// @param horizon From which time on headers are refused, in seconds.
    /// @param sourceChainId_ The chain whose past this is.
    /// @param anchorStateRegistry_ The contract that is asked which games count.
    constructor(
        uint256 horizon,
        uint256 sourceChainId_,
        IAnchorStateRegistry anchorStateRegistry_
    ) CompactHeader(horizon) {
        sourceChainId = sourceChainId_;
        anchorStateRegistry = anchorStateRegistry_;
    }

    /// @notice Records the hash of the block that a valid game claims. It stays recorded even if the
    /// game is blacklisted later; repeating the call reverts then. Anyone may call it.
    /// @param game The game, whose root claim is keccak256(abi.encode(bytes32(0), stateRoot,
    /// messagePasserStorageRoot, blockHash)).
    /// @param stateRoot The state root of the block.
    /// @param messagePasserStorageRoot The storage root of the L2ToL1MessagePasser after the block.
    /// @param blockHash The hash of the block.
    function recordOutput(
        IDisputeGame game,
        bytes32 stateRoot,
        bytes32 messagePasserStorageRoot,
        bytes32 blockHash
    ) external {
        if (!anchorStateRegistry.isGameClaimValid(game)) revert GameNotValid(address(game));
        uint256 chainId = game.l2ChainId();
        if (chainId != sourceChainId) revert GameOfAnotherChain(address(game), chainId);
        bytes32 claim = game.rootClaim();
        bytes32 output = keccak256(
            abi.encode(bytes32(0), stateRoot, messagePasserStorageRoot, blockHash)
        );
        if (output != claim) revert NotTheClaimedOutput(address(game), claim);
        if (recorded[blockHash]) return;
        recorded[blockHash] = true;
        emit OutputRecorded(address(game), blockHash);
    }

    /// @dev Hashes are recorded without a number: a block's number is read from its header, not from the game.
    function _knownHash(uint256) internal pure override returns (bytes32) {
        return 0;
    }

    /// @dev The number is read from the header that has this hash.
    function _isKnown(uint256, bytes32 hash) internal view override returns (bool) {
        return recorded[hash];
    }

    /// @dev The source chain's beacon roots are not known here.
    function _beaconRoot(uint256) internal pure override returns (bytes32) {
        return 0;
    }
}
