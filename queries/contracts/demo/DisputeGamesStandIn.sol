// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A dispute game of an OP-stack chain, as far as it is asked
/// @notice For tests and the demo.
contract DisputeGameStandIn {
    /// @notice What it claims: the hash of an output.
    bytes32 public immutable rootClaim;
    /// @notice The chain it is about.
    uint256 public immutable l2ChainId;

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
    /// @notice All games, in their order.
    DisputeGameStandIn[] public games;
    /// @notice Whether the guardian has blacklisted a game.
    mapping(DisputeGameStandIn game => bool) public isGameBlacklisted;
    /// @notice The last game that was valid.
    DisputeGameStandIn public anchorGame;
    /// @notice How long a game that is won would wait until it counts. This stand-in only reports it.
    uint256 public disputeGameFinalityDelaySeconds = 302_400;
    /// @notice Games created until then are retired.
    uint64 public retirementTimestamp;

    mapping(DisputeGameStandIn game => uint64) private _created;
    mapping(DisputeGameStandIn game => bool) private _isWon;

    /// @notice Begins a game about block 0.
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
        _isWon[game] = valid;
        if (valid) anchorGame = game;
    }

    /// @notice The guardian takes a game out.
    function blacklist(DisputeGameStandIn game) external {
        isGameBlacklisted[game] = true;
    }

    /// @notice The guardian retires all games created so far.
    function retire() external {
        retirementTimestamp = uint64(block.timestamp);
    }

    /// @notice Changes the delay that it reports.
    function setDelay(uint256 delay) external {
        disputeGameFinalityDelaySeconds = delay;
    }

    /// @notice Whether a game's claim is valid.
    function isGameClaimValid(DisputeGameStandIn game) external view returns (bool) {
        return _isWon[game] && !isGameBlacklisted[game] && !isGameRetired(game);
    }

    /// @notice Whether the guardian has retired a game.
    function isGameRetired(DisputeGameStandIn game) public view returns (bool) {
        return _created[game] <= retirementTimestamp;
    }

    /// @notice It is its own factory.
    function disputeGameFactory() external view returns (address) {
        return address(this);
    }

    /// @notice How many games there are.
    function gameCount() external view returns (uint256) {
        return games.length;
    }

    /// @notice A game by its index.
    function gameAtIndex(
        uint256 index
    ) external view returns (uint32 gameType, uint64 timestamp, DisputeGameStandIn game) {
        game = games[index];
        return (0, _created[game], game);
    }
}
