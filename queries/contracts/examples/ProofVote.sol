// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

struct AccountFact {
    address account;
    uint256 blockNumber;
    uint64 nonce;
    uint256 balance;
    bytes32 storageRoot;
    bytes32 codeHash;
}

struct SlotFact {
    address account;
    uint256 blockNumber;
    bytes32 slot;
    bytes32 value;
}

struct HeaderFact {
    uint256 blockNumber;
    uint8 field;
    bytes32 value;
}

struct TimestampFact {
    uint256 timestamp;
    uint256 blockNumber;
}

struct Facts {
    AccountFact[] accounts;
    SlotFact[] slots;
    HeaderFact[] headerFields;
    TimestampFact[] timestamps;
}

interface IFactsRegistry {
    function verify(bytes calldata proof) external view returns (Facts memory);
}

/// A vote by balance at one past block, which the voter proves in the same transaction.
contract ProofVote {
    IFactsRegistry public immutable registry;
    uint256 public immutable snapshotBlock;

    mapping(address voter => bool) public hasVoted;
    mapping(bool yes => uint256) public votes;

    constructor(IFactsRegistry registry_, uint256 block_) {
        registry = registry_;
        snapshotBlock = block_;
    }

    function vote(bool yes, bytes calldata proof) external {
        require(msg.sender == tx.origin, "a contract cannot vote");
        require(!hasVoted[msg.sender], "voted already");
        hasVoted[msg.sender] = true;
        // Reverts where the proof is false. Whose facts it proves is for this contract to look at.
        AccountFact[] memory accounts = registry.verify(proof).accounts;
        require(accounts.length == 1, "prove one account");
        require(accounts[0].account == msg.sender, "prove your own account");
        require(accounts[0].blockNumber == snapshotBlock, "prove it at the snapshot");
        votes[yes] += accounts[0].balance;
    }
}
