// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A dispute game of an OP-stack chain, as far as it is asked
/// @notice For tests and the demo.
contract DisputeGameStandIn {
    /// @notice What it claims: the hash of an output.
    bytes32 public immutable rootClaim;
    /// @notice The chain it is about.
    uint256 public immutable l2ChainId;
    /// @notice How long a challenger has: no time, because games are won by hand.
    uint64 public constant maxClockDuration = 0;

    uint256 private immutable _l2Block;

    /// @notice All are fixed.
    constructor(bytes32 rootClaim_, uint256 chainId, uint256 l2Block) {
        rootClaim = rootClaim_;
        l2ChainId = chainId;
        _l2Block = l2Block;
    }

    /// @notice The block that it is about.
    function extraData() external view returns (bytes memory) {
        return abi.encode(_l2Block);
    }
}

/// @title An AnchorStateRegistry, and the factory of its games, which are won by hand
/// @notice For tests and the demo, where no proposer and no challenger is.
contract DisputeGamesStandIn {
    /// @notice A game, as a DisputeGameFactory lists it.
    struct Found {
        uint256 index;
        bytes32 metadata; // type, time of creation and address
        uint64 timestamp;
        bytes32 rootClaim;
        bytes extraData;
    }

    /// @notice All games, in their order.
    DisputeGameStandIn[] public games;
    /// @notice Whether a game's claim is valid.
    mapping(DisputeGameStandIn game => bool) public isGameClaimValid;
    /// @notice Whether the guardian has blacklisted a game.
    mapping(DisputeGameStandIn game => bool) public isGameBlacklisted;
    /// @notice The last game that was valid.
    DisputeGameStandIn public anchorGame;
    /// @notice How long a game that is won waits until it counts.
    uint256 public disputeGameFinalityDelaySeconds = 302_400;
    /// @notice The type of games that counts.
    uint32 public constant respectedGameType = 0;

    mapping(DisputeGameStandIn game => uint64) private _created;

    /// @notice Begins a game about no block.
    function propose(bytes32 rootClaim, uint256 chainId) external {
        proposeAt(rootClaim, chainId, 0);
    }

    /// @notice Begins a game about a block.
    function proposeAt(bytes32 rootClaim, uint256 chainId, uint256 l2Block) public {
        DisputeGameStandIn game = new DisputeGameStandIn(rootClaim, chainId, l2Block);
        games.push(game);
        _created[game] = uint64(block.timestamp);
    }

    /// @notice Ends one.
    function settle(DisputeGameStandIn game, bool valid) external {
        isGameClaimValid[game] = valid;
        if (valid) anchorGame = game;
    }

    /// @notice The guardian takes a game out.
    function blacklist(DisputeGameStandIn game) external {
        isGameClaimValid[game] = false;
        isGameBlacklisted[game] = true;
    }

    /// @notice Changes how long a game that is won waits.
    function setDelay(uint256 delay) external {
        disputeGameFinalityDelaySeconds = delay;
    }

    /// @notice No game of this contract is retired.
    function isGameRetired(DisputeGameStandIn) external pure returns (bool) {
        return false;
    }

    /// @notice It is its own factory.
    function disputeGameFactory() external view returns (address) {
        return address(this);
    }

    /// @notice How many games there are.
    function gameCount() external view returns (uint256) {
        return games.length;
    }

    /// @notice The games of a type from an index down, at most `most`.
    function findLatestGames(
        uint32,
        uint256 start,
        uint256 most
    ) external view returns (Found[] memory found) {
        uint256 count = start + 1 < most ? start + 1 : most;
        found = new Found[](count);
        for (uint256 i = 0; i < count; i++) {
            DisputeGameStandIn game = games[start - i];
            bytes32 metadata = bytes32(
                (uint256(_created[game]) << 160) | uint160(address(game))
            );
            found[i] = Found({
                index: start - i,
                metadata: metadata,
                timestamp: _created[game],
                rootClaim: game.rootClaim(),
                extraData: game.extraData()
            });
        }
    }
}
