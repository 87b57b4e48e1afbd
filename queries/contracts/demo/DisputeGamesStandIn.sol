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
    /// @notice The contract that made it, which decides whether it is valid.
    DisputeGamesStandIn public immutable anchorStateRegistry = DisputeGamesStandIn(msg.sender);
    /// @notice Its type.
    uint32 public immutable gameType;
    /// @notice Whether games of its type counted when it began.
    bool public immutable wasRespectedGameTypeWhenCreated;
    /// @notice When it ended; 0 until then.
    uint64 public resolvedAt;
    /// @notice Whether it is in progress (0), lost (1), or won by its proposer (2).
    uint8 public status;
    /// @notice What it is about: a block and what follows it, or a super root.
    bytes public extraData;

    uint64 private _expectedResolution;

    /// @notice All are fixed.
    constructor(uint32 gameType_, bool isRespected, bytes32 rootClaim_, bytes memory extraData_) {
        (gameType, wasRespectedGameTypeWhenCreated) = (gameType_, isRespected);
        (rootClaim, extraData) = (rootClaim_, extraData_);
    }

    /// @notice Ends it.
    function resolve(bool isWon) external {
        (resolvedAt, status) = (uint64(block.timestamp), isWon ? 2 : 1);
    }

    /// @notice Makes it a game of Base, which says when its proofs let it end.
    function setExpectedResolution(uint64 time) external {
        _expectedResolution = time;
    }

    /// @notice When its proofs let it end. Games of other chains lack this function.
    function expectedResolution() external view returns (uint64) {
        require(_expectedResolution != 0);
        return _expectedResolution;
    }

    /// @notice How long it takes with one proof. Games of other chains lack this function.
    function SLOW_FINALIZATION_DELAY() external view returns (uint64) {
        require(_expectedResolution != 0);
        return 5 days;
    }

    /// @notice What identifies it.
    function gameData() external view returns (uint32, bytes32, bytes memory) {
        return (gameType, rootClaim, extraData);
    }
}

/// @title The contracts of an OP-stack chain on its L1, in one; its games are won by hand
/// @notice For tests and the demo, where no proposer and no challenger is: the portal, its
/// AnchorStateRegistry and SystemConfig, and the factory of games. It repeats what op-contracts v7.0.0, and
/// AnchorStateRegistry 3.7.0 of Base (August 2026), answer about a game: whether it is registered,
/// respected, retired, blacklisted, won and past the delay. It has no proxies, so it takes less gas.
contract DisputeGamesStandIn {
    /// @notice The chain whose games these are.
    uint256 public l2ChainId;
    /// @notice All games, in their order.
    DisputeGameStandIn[] public games;
    /// @notice Whether the guardian has blacklisted a game.
    mapping(DisputeGameStandIn game => bool) public isGameBlacklisted;
    /// @notice How long a game that is won waits until it counts.
    uint256 public disputeGameFinalityDelaySeconds;
    /// @notice Whether the guardian has paused the system.
    bool public paused;
    /// @notice The type of games that count.
    uint32 public respectedGameType;
    /// @notice Games created until then are retired.
    uint64 public retirementTimestamp = uint64(block.timestamp);

    bool private _knowsSuperRoots;
    bool private _superRootsActive;
    DisputeGamesStandIn private _shared;
    mapping(bytes32 gameData => DisputeGameStandIn game) private _gamesByData;

    /// @notice The chain is fixed.
    constructor(uint256 chainId) {
        l2ChainId = chainId;
    }

    /// @notice Begins a game. One like it must not exist.
    function propose(uint32 gameType, bytes32 rootClaim, bytes calldata extraData) external {
        bytes32 data = keccak256(abi.encode(gameType, rootClaim, extraData));
        require(address(_gamesByData[data]) == address(0));
        bool isRespected = gameType == respectedGameType;
        DisputeGameStandIn game = new DisputeGameStandIn(gameType, isRespected, rootClaim, extraData);
        games.push(game);
        _gamesByData[data] = game;
    }

    /// @notice Ends a game, which its proposer wins or loses.
    function settle(DisputeGameStandIn game, bool isWon) external {
        game.resolve(isWon);
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

    /// @notice The guardian has games of another type count from now on.
    function setRespectedGameType(uint32 gameType) external {
        respectedGameType = gameType;
    }

    /// @notice Makes it a portal of newer games, which claim super roots, or outputs.
    function setSuperRootsActive(bool active) external {
        (_knowsSuperRoots, _superRootsActive) = (true, active);
    }

    /// @notice Changes the delay.
    function setDelay(uint256 delay) external {
        disputeGameFinalityDelaySeconds = delay;
    }

    /// @notice Makes it a portal of games that several chains share. The lockbox is not used.
    function migrateToSharedDisputeGame(address, DisputeGamesStandIn shared) external {
        _shared = shared;
    }

    /// @notice Whether a game's claim is valid. Reverts without data if the address is not a game.
    function isGameClaimValid(DisputeGameStandIn game) external view returns (bool) {
        (uint32 gameType, bytes32 rootClaim, bytes memory extraData) = game.gameData();
        bytes32 data = keccak256(abi.encode(gameType, rootClaim, extraData));
        if (address(_gamesByData[data]) != address(game)) return false;
        if (address(game.anchorStateRegistry()) != address(this)) return false;
        if (isGameBlacklisted[game] || isGameRetired(game) || paused) return false;
        if (!game.wasRespectedGameTypeWhenCreated() || game.status() != 2) return false;
        return block.timestamp - game.resolvedAt() > disputeGameFinalityDelaySeconds;
    }

    /// @notice Whether the guardian, or an upgrade, has retired a game.
    function isGameRetired(DisputeGameStandIn game) public view returns (bool) {
        return game.createdAt() <= retirementTimestamp;
    }

    /// @notice Whether its games claim super roots. At first it lacks this function, as older portals do.
    function superRootsActive() external view returns (bool) {
        require(_knowsSuperRoots);
        return _superRootsActive;
    }

    /// @notice It is its own AnchorStateRegistry, until it shares one.
    function anchorStateRegistry() external view returns (DisputeGamesStandIn) {
        return address(_shared) == address(0) ? this : _shared;
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
        return (game.gameType(), game.createdAt(), game);
    }
}
