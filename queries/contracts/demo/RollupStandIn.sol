// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The rollup contract and the outbox of an Arbitrum chain, in one; assertions are confirmed by hand
/// @notice For tests and the demo, where no validator is. It repeats what the rollup and the outbox of BoLD
/// (nitro-contracts 3) answer, with an assertion about the genesis that is confirmed from the beginning. It
/// has no proxies, so it takes less gas.
contract RollupStandIn {
    struct Assertion {
        uint64 firstChildBlock;
        uint64 secondChildBlock;
        uint64 createdAtBlock;
        bool isFirstChild;
        uint8 status;
        bytes32 configHash;
    }

    struct ConfigData {
        bytes32 wasmModuleRoot;
        uint256 requiredStake;
        address challengeManager;
        uint64 confirmPeriodBlocks;
        uint64 nextInboxPosition;
    }

    struct BeforeStateData {
        bytes32 prevPrevAssertionHash;
        bytes32 sequencerBatchAcc;
        ConfigData configData;
    }

    struct GlobalState {
        bytes32[2] bytes32Vals;
        uint64[2] u64Vals;
    }

    struct AssertionState {
        GlobalState globalState;
        uint8 machineStatus;
        bytes32 endHistoryRoot;
    }

    struct AssertionInputs {
        BeforeStateData beforeStateData;
        AssertionState beforeState;
        AssertionState afterState;
    }

    /// @notice An assertion is made: its state after has the block's hash and its send root.
    event AssertionCreated(
        bytes32 indexed assertionHash,
        bytes32 indexed parentAssertionHash,
        AssertionInputs assertion,
        bytes32 afterInboxBatchAcc,
        uint256 inboxMaxCount,
        bytes32 wasmModuleRoot,
        uint256 requiredStake,
        address challengeManager,
        uint64 confirmPeriodBlocks
    );

    /// @notice The chain that this is about.
    uint256 public chainId;
    /// @notice Hashes of confirmed blocks, by their send roots.
    mapping(bytes32 sendRoot => bytes32 blockHash) public roots;
    /// @notice The newest confirmed assertion.
    bytes32 public latestConfirmed;
    /// @notice For how many blocks an assertion can be challenged. This stand-in only reports it.
    uint64 public confirmPeriodBlocks = 45_818;

    mapping(bytes32 assertionHash => Assertion) private _assertions;

    /// @notice The chain is fixed.
    constructor(uint256 chainId_) {
        chainId = chainId_;
        latestConfirmed = genesisAssertionHash();
        _make(latestConfirmed, 0, 0, 0);
        _assertions[latestConfirmed].status = 2;
    }

    /// @notice Changes the period that it reports.
    function setConfirmPeriod(uint64 blocks) external {
        confirmPeriodBlocks = blocks;
    }

    /// @notice It is its own rollup.
    function rollup() external view returns (address) {
        return address(this);
    }

    /// @notice It is its own outbox.
    function outbox() external view returns (address) {
        return address(this);
    }

    /// @notice An assertion by its hash.
    function getAssertion(bytes32 assertionHash) external view returns (Assertion memory) {
        return _assertions[assertionHash];
    }

    /// @notice The assertion about the genesis, which has no block.
    function genesisAssertionHash() public pure returns (bytes32) {
        return keccak256("genesis");
    }

    /// @notice Makes an assertion about a block; its hash is made of both words.
    function create(bytes32 sendRoot, bytes32 blockHash) external {
        _make(keccak256(abi.encode(sendRoot, blockHash)), latestConfirmed, sendRoot, blockHash);
    }

    /// @notice Confirms one.
    function confirm(bytes32 sendRoot, bytes32 blockHash) external {
        bytes32 assertionHash = keccak256(abi.encode(sendRoot, blockHash));
        _assertions[assertionHash].status = 2;
        latestConfirmed = assertionHash;
        roots[sendRoot] = blockHash;
    }

    /// @dev Makes an assertion after another one.
    function _make(bytes32 assertionHash, bytes32 parent, bytes32 sendRoot, bytes32 blockHash) private {
        _assertions[assertionHash].createdAtBlock = uint64(block.number);
        _assertions[assertionHash].status = 1;
        AssertionInputs memory assertion;
        assertion.afterState.globalState.bytes32Vals = [blockHash, sendRoot];
        emit AssertionCreated(
            assertionHash, parent, assertion, 0, 0, 0, 0, address(0), confirmPeriodBlocks
        );
    }
}
