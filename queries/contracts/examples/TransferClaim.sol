// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IEventsVerifier, LogFact} from "../interfaces/IEventsVerifier.sol";

/// @title Credits here for ERC-20 transfers to a vault on another chain
/// @notice The sender of a transfer claims it once, by its proven log.
contract TransferClaim {
    bytes32 private constant TRANSFER = keccak256("Transfer(address,address,uint256)");

    IEventsVerifier public immutable verifier; // of the source chain's blocks
    address public immutable token; // on the source chain
    address public immutable vault; // on the source chain
    uint256 public immutable firstBlock; // earlier transfers do not count

    mapping(address sender => uint256) public credits;
    mapping(bytes32 log => bool) public isClaimed; // by the hash of the log's place on the source chain

    event Claimed(address indexed sender, uint256 amount);

    constructor(IEventsVerifier verifier_, address token_, address vault_, uint256 block_) {
        verifier = verifier_;
        token = token_;
        vault = vault_;
        firstBlock = block_;
    }

    /// @notice Claims the caller's transfer, whose log the verifier stores.
    /// @param logIndex The log's index within its receipt.
    function claim(
        uint256 blockNumber,
        uint256 transactionIndex,
        uint256 logIndex,
        uint256 amount
    ) external {
        // False unless the verifier stores exactly this log at this place.
        bool proven = verifier.isLog(
            blockNumber, transactionIndex, logIndex, token, _topics(), abi.encode(amount)
        );
        require(proven, "this log is not proven");
        _credit(blockNumber, transactionIndex, logIndex, amount);
    }

    /// @notice Claims the caller's transfer, whose log this transaction proves. The verifier stores nothing.
    function claimWithProof(bytes calldata section, bytes calldata witness) external {
        // Reverts if the proof does not hold. A valid proof may be about any log of any block.
        LogFact[] memory logs = verifier.verify(section, witness).logs;
        require(logs.length == 1, "prove one log");
        LogFact memory log = logs[0];
        require(log.emitter == token, "prove a log of the token");
        bytes32 expected = keccak256(abi.encode(_topics()));
        require(keccak256(abi.encode(log.topics)) == expected, "prove your transfer to the vault");
        require(log.data.length == 32, "prove a transfer of one amount");
        uint256 amount = abi.decode(log.data, (uint256));
        _credit(log.blockNumber, log.transactionIndex, log.logIndex, amount);
    }

    function _topics() private view returns (bytes32[] memory topics) {
        topics = new bytes32[](3);
        topics[0] = TRANSFER;
        topics[1] = bytes32(uint256(uint160(msg.sender)));
        topics[2] = bytes32(uint256(uint160(vault)));
    }

    function _credit(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex, uint256 amount)
        private
    {
        // On another chain someone else may control a contract's address; an EOA has the same key.
        require(msg.sender == tx.origin, "a contract cannot claim");
        require(blockNumber >= firstBlock, "the transfer is too old");
        // A log's place, not its hash: two transfers of the same amount have the same hash.
        bytes32 log = keccak256(abi.encode(blockNumber, transactionIndex, logIndex));
        require(!isClaimed[log], "claimed already");
        isClaimed[log] = true;
        credits[msg.sender] += amount;
        emit Claimed(msg.sender, amount);
    }
}
