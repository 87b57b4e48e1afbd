// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A dispute game of an OP-stack chain, as far as a registry asks it
/// @notice For tests and the demo.
contract DisputeGameStandIn {
    /// @notice What it claims: the hash of an output.
    bytes32 public immutable rootClaim;
    /// @notice The chain it is about.
    uint256 public immutable l2ChainId;

    /// @notice Both are fixed.
    constructor(bytes32 rootClaim_, uint256 chainId) {
        rootClaim = rootClaim_;
        l2ChainId = chainId;
    }
}

/// @title An AnchorStateRegistry whose games are won by hand
/// @notice For tests and the demo, where no proposer and no challenger is.
contract DisputeGamesStandIn {
    /// @notice All games, in their order.
    DisputeGameStandIn[] public games;
    /// @notice Whether a game's claim is valid.
    mapping(DisputeGameStandIn game => bool) public isGameClaimValid;
    /// @notice The last game that was valid.
    DisputeGameStandIn public anchorGame;

    /// @notice Begins a game.
    function propose(bytes32 rootClaim, uint256 chainId) external {
        games.push(new DisputeGameStandIn(rootClaim, chainId));
    }

    /// @notice Ends one.
    function settle(DisputeGameStandIn game, bool valid) external {
        isGameClaimValid[game] = valid;
        if (valid) anchorGame = game;
    }
}
