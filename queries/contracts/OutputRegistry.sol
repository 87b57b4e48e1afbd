// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CompactHeader} from "./CompactHeader.sol";
import {FactsRegistry} from "./FactsRegistry.sol";
import {HASH, Header} from "./Header.sol";
import {IFactsRegistry} from "./interfaces/IFactsRegistry.sol";

/// @notice A dispute game of an OP-stack chain: a claim about what the chain's state is.
interface IDisputeGame {
    /// @notice What the game is about: the hash of an output, or of a super root.
    /// @return The hash.
    function rootClaim() external view returns (bytes32);
}

/// @notice The contract that decides which games are valid.
interface IAnchorStateRegistry {
    /// @notice Whether a game's claim counts: the game is registered and respected, neither retired
    /// nor blacklisted, resolved for its proposer, and past the finality delay. False while the system
    /// is paused.
    /// @param game The game.
    /// @return Whether it counts.
    function isGameClaimValid(IDisputeGame game) external view returns (bool);
}

/// @notice The configuration of an OP-stack chain on its L1.
interface ISystemConfig {
    /// @notice The chain that it configures. Older versions (before op-contracts 4) do not tell.
    /// @return Its id.
    function l2ChainId() external view returns (uint256);
}

/// @notice The contract on L1 through which withdrawals of an OP-stack chain go.
interface IOptimismPortal {
    /// @notice The contract that it asks which games are valid. An upgrade may replace it.
    /// @return The contract.
    function anchorStateRegistry() external view returns (IAnchorStateRegistry);
    /// @notice The configuration of its chain.
    /// @return The contract.
    function systemConfig() external view returns (ISystemConfig);
    /// @notice Whether games claim super roots, which hold outputs of several chains. Older versions do not
    /// have this function: theirs claim outputs.
    /// @return Whether they do.
    function superRootsActive() external view returns (bool);
}

/// @title An OP-stack chain's past, proven to the L1 it settles on
/// @notice Block hashes come from dispute games that the rollup's own contracts call valid, of whatever
/// type. You trust what withdrawals rely on: its games, its guardian, and those who may upgrade its
/// contracts.
contract OutputRegistry is FactsRegistry {
    /// @notice The portal is of another chain than `sourceChainId`.
    /// @param portal The portal.
    /// @param chainId The chain that its SystemConfig names.
    error PortalOfAnotherChain(address portal, uint256 chainId);
    /// @notice The portal's AnchorStateRegistry does not call this game's claim valid, or not yet.
    /// @param game The game.
    error GameNotValid(address game);
    /// @notice The portal says that its games claim super roots, so an output alone proves nothing.
    /// @param game The game.
    error SuperRootNeeded(address game);
    /// @notice The super root provided does not hash to the game's root claim.
    /// @param game The game.
    /// @param rootClaim What it claims.
    error NotTheClaimedSuperRoot(address game, bytes32 rootClaim);
    /// @notice A super root must have version 1 and end with an output, and its chains must ascend.
    error SuperRootMalformed();
    /// @notice The super root has no output of this chain.
    /// @param chainId The chain, which is `sourceChainId`.
    error NoOutputOfChain(uint256 chainId);
    /// @notice The output provided is not the one that is claimed.
    /// @param game The game.
    /// @param claimed The hash of the claimed one.
    error NotTheClaimedOutput(address game, bytes32 claimed);

    /// @notice The hash of a block is recorded. Its number is in its header.
    /// @param game The game that claimed it.
    /// @param blockHash The hash.
    event OutputRecorded(address indexed game, bytes32 indexed blockHash);

    /// @notice The chain whose past this is.
    /// @return Its id.
    uint256 public immutable sourceChainId;
    /// @notice The contract whose AnchorStateRegistry is asked which games count.
    /// @return Its address.
    IOptimismPortal public immutable portal;
    /// @notice Whether a block's hash is recorded.
    /// @return Whether it is.
    mapping(bytes32 blockHash => bool) public recorded;

    // A super root: a version, a time, and for each chain its id and the hash of its output
    bytes1 private constant SUPER_ROOT_VERSION = 0x01;
    uint256 private constant OUTPUTS_AT = 1 + 8;
    uint256 private constant OUTPUT_BYTES = 64;

    /// @param horizon From which time on headers are refused, in seconds.
    /// @param sourceChainId_ The chain whose past this is.
    /// @param portal_ The chain's portal, which must be on this chain.
    constructor(uint256 horizon, uint256 sourceChainId_, IOptimismPortal portal_)
        CompactHeader(horizon)
    {
        uint256 chainId = portal_.systemConfig().l2ChainId();
        if (chainId != sourceChainId_) revert PortalOfAnotherChain(address(portal_), chainId);
        sourceChainId = sourceChainId_;
        portal = portal_;
    }

    /// @inheritdoc IFactsRegistry
    function describe() external view returns (bytes32, uint256, bytes32, uint256) {
        return ("output", sourceChainId, bytes32(uint256(uint160(address(portal)))), HORIZON);
    }

    /// @notice Records the hash of the block that a valid game claims. It stays recorded even if the
    /// game is blacklisted later; repeating the call reverts then. Anyone may call it.
    /// @param game The game. Its root claim is the hash of the output, or of a super root with it. The
    /// output's hash is keccak256(abi.encode(bytes32(0), stateRoot, messagePasserStorageRoot, blockHash)).
    /// @param superRoot The super root: uint8 1, uint64 time, and for each chain uint256 id, 32 hash of
    /// its output. Empty if the game claims an output, which is refused while the portal says that its
    /// games claim super roots.
    /// @param stateRoot The state root of the block.
    /// @param messagePasserStorageRoot The storage root of the L2ToL1MessagePasser after the block.
    /// @param blockHash The hash of the block.
    function recordOutput(
        IDisputeGame game,
        bytes calldata superRoot,
        bytes32 stateRoot,
        bytes32 messagePasserStorageRoot,
        bytes32 blockHash
    ) external {
        if (!portal.anchorStateRegistry().isGameClaimValid(game)) {
            revert GameNotValid(address(game));
        }
        bytes32 claimed = game.rootClaim();
        if (superRoot.length > 0) {
            if (keccak256(superRoot) != claimed) {
                revert NotTheClaimedSuperRoot(address(game), claimed);
            }
            claimed = _outputIn(superRoot);
        } else if (_needsSuperRoot()) {
            revert SuperRootNeeded(address(game));
        }
        bytes32 output = keccak256(
            abi.encode(bytes32(0), stateRoot, messagePasserStorageRoot, blockHash)
        );
        if (output != claimed) revert NotTheClaimedOutput(address(game), claimed);
        if (recorded[blockHash]) return;
        recorded[blockHash] = true;
        emit OutputRecorded(address(game), blockHash);
    }

    /// @dev Whether the portal says that its games claim super roots. Several portals may then share an
    /// AnchorStateRegistry, which would call a game about another chain's output valid here. An older portal
    /// reverts or answers nothing. A sender who has the question run out of gas keeps a 63rd of what it
    /// got, with which nothing can be recorded.
    function _needsSuperRoot() private view returns (bool) {
        (bool success, bytes memory answer) =
            address(portal).staticcall(abi.encodeCall(IOptimismPortal.superRootsActive, ()));
        return success && answer.length == 32 && uint256(bytes32(answer)) != 0;
    }

    /// @dev The hash of this chain's output in a super root.
    function _outputIn(bytes calldata superRoot) private view returns (bytes32) {
        uint256 length = superRoot.length;
        if (superRoot[0] != SUPER_ROOT_VERSION || length % OUTPUT_BYTES != OUTPUTS_AT) {
            revert SuperRootMalformed();
        }
        bytes32 output = 0;
        uint256 previous = 0;
        for (uint256 start = OUTPUTS_AT; start < length; start += OUTPUT_BYTES) {
            uint256 chainId = uint256(bytes32(superRoot[start:start + 32]));
            if (chainId <= previous) revert SuperRootMalformed();
            if (chainId == sourceChainId) output = bytes32(superRoot[start + 32:start + OUTPUT_BYTES]);
            previous = chainId;
        }
        if (output == 0) revert NoOutputOfChain(sourceChainId);
        return output;
    }

    /// @dev Hashes are recorded without a number: a block's number is read from its header, not from the game.
    function _knownHash(uint256) internal pure override returns (bytes32) {
        return 0;
    }

    /// @dev The number is read from the header that has this hash.
    function _isKnown(Header header) internal view override returns (bool) {
        return recorded[bytes32(header.get(HASH))];
    }

    /// @dev The source chain's beacon roots are not known here.
    function _beaconRoot(uint256) internal pure override returns (bytes32) {
        return 0;
    }
}
