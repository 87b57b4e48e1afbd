// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface IProvenSlots {
    function accountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bytes32);
}

/// A vote that counts what each voter held of a token at one past block of the registry's source chain.
contract SnapshotVote {
    IProvenSlots public immutable registry;
    address public immutable token;
    uint256 public immutable snapshotBlock;
    uint256 public immutable balancesSlot; // where the token keeps its balances
    uint256 public immutable balanceMask; // the low bits that hold the balance

    mapping(address voter => bool) public hasVoted;
    mapping(bool yes => uint256) public votes;

    constructor(
        IProvenSlots registry_,
        address token_,
        uint256 block_,
        uint256 slot_,
        uint256 mask_
    ) {
        registry = registry_;
        token = token_;
        snapshotBlock = block_;
        balancesSlot = slot_;
        balanceMask = mask_;
    }

    function vote(bool yes) external {
        // On another chain someone else may control a contract's address; an EOA has the same key.
        require(msg.sender == tx.origin, "a contract cannot vote");
        require(!hasVoted[msg.sender], "voted already");
        hasVoted[msg.sender] = true;
        bytes32 slot = keccak256(abi.encode(msg.sender, balancesSlot));
        // Reverts while nothing is proven: a missing proof is never counted as no tokens.
        uint256 word = uint256(registry.accountStorageSlotValues(token, snapshotBlock, slot));
        votes[yes] += word & balanceMask;
    }
}
