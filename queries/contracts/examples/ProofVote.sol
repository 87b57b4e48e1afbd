// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {AccountFact, IFactsRegistry} from "../interfaces/IFactsRegistry.sol";

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
        // Reverts if the proof does not hold. A valid proof may be about any account.
        AccountFact[] memory accounts = registry.verify(proof).accounts;
        require(accounts.length == 1, "prove one account");
        require(accounts[0].account == msg.sender, "prove your own account");
        require(accounts[0].blockNumber == snapshotBlock, "prove it at the snapshot");
        votes[yes] += accounts[0].balance;
    }
}
