// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A dispute game of an OP-stack chain, as far as it is asked
/// @notice For tests and the demo. Like a game about a super root, and like Base's AggregateVerifier, it
/// does not name its chain.
contract DisputeGameStandIn {
    /// @notice What it claims: the hash of an output, or of a super root.
    bytes32 public immutable rootClaim;
    /// @notice When it began.
    uint64 public immutable createdAt = uint64(block.timestamp);
    /// @notice When it ended.
    uint64 public resolvedAt;
    /// @notice What it is about: a block and what follows it, or a super root.
    bytes public extraData;

    /// @notice Both are fixed.
    constructor(bytes32 rootClaim_, bytes memory extraData_) {
        rootClaim = rootClaim_;
        extraData = extraData_;
    }

    /// @notice Ends it.
    function resolve() external {
        resolvedAt = uint64(block.timestamp);
    }
}

/// @title The contracts of an OP-stack chain on its L1, in one; its games are won by hand
/// @notice For tests and the demo, where no proposer and no challenger is: the portal, its
/// AnchorStateRegistry and SystemConfig, and the factory of games.
contract DisputeGamesStandIn {
    /// @notice The chain whose games these are.
    uint256 public l2ChainId;
    /// @notice All games, in their order.
    DisputeGameStandIn[] public games;
    /// @notice Whether the guardian has blacklisted a game.
    mapping(DisputeGameStandIn game => bool) public isGameBlacklisted;
    /// @notice The last game that was valid.
    DisputeGameStandIn public anchorGame;
    /// @notice How long a game that is won would wait until it counts. This stand-in only reports it.
    uint256 public disputeGameFinalityDelaySeconds = 302_400;
    /// @notice Whether the guardian has paused the system.
    bool public paused;
    /// @notice Games created until then are retired.
    uint64 public retirementTimestamp;

    bool private _knowsSuperRoots;
    bool private _superRootsActive;
    mapping(DisputeGameStandIn game => uint32) private _types;
    mapping(DisputeGameStandIn game => bool) private _isWon;

    /// @notice The chain is fixed.
    constructor(uint256 chainId) {
        l2ChainId = chainId;
    }

    /// @notice Begins a game.
    function propose(uint32 gameType, bytes32 rootClaim, bytes calldata extraData) external {
        DisputeGameStandIn game = new DisputeGameStandIn(rootClaim, extraData);
        games.push(game);
        _types[game] = gameType;
    }

    /// @notice Ends one.
    function settle(DisputeGameStandIn game, bool valid) external {
        _isWon[game] = valid;
        if (valid) anchorGame = game;
        game.resolve();
    }

    /// @notice The guardian takes a game out.
    function blacklist(DisputeGameStandIn game) external {
        isGameBlacklisted[game] = true;
    }

    /// @notice The guardian retires all games created so far.
    function retire() external {
        retirementTimestamp = uint64(block.timestamp);
    }

    /// @notice The guardian pauses the system, or lets it go on.
    function setPaused(bool paused_) external {
        paused = paused_;
    }

    /// @notice Makes it a portal of newer games, which claim super roots, or outputs.
    function setSuperRootsActive(bool active) external {
        (_knowsSuperRoots, _superRootsActive) = (true, active);
    }

    /// @notice Changes the delay that it reports.
    function setDelay(uint256 delay) external {
        disputeGameFinalityDelaySeconds = delay;
    }

    /// @notice Whether a game's claim is valid.
    function isGameClaimValid(DisputeGameStandIn game) external view returns (bool) {
        return !paused && _isWon[game] && !isGameBlacklisted[game] && !isGameRetired(game);
    }

    /// @notice Whether the guardian has retired a game.
    function isGameRetired(DisputeGameStandIn game) public view returns (bool) {
        return game.createdAt() <= retirementTimestamp;
    }

    /// @notice Whether its games claim super roots. At first it lacks this function, as older portals do.
    function superRootsActive() external view returns (bool) {
        require(_knowsSuperRoots);
        return _superRootsActive;
    }

    /// @notice It is its own AnchorStateRegistry.
    function anchorStateRegistry() external view returns (address) {
        return address(this);
    }

    /// @notice It is its own SystemConfig.
    function systemConfig() external view returns (address) {
        return address(this);
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
        return (_types[game], game.createdAt(), game);
    }
}
