// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ProofVote} from "tacitus-contracts/examples/ProofVote.sol";
import {IProvenSlots, SnapshotVote} from "tacitus-contracts/examples/SnapshotVote.sol";
import {
    AccountFact,
    Facts,
    IFactsRegistry
} from "tacitus-contracts/interfaces/IFactsRegistry.sol";
import {MockFactsRegistry} from "tacitus-contracts/interfaces/MockFactsRegistry.sol";
import {cheats} from "./Cheats.sol";

/// The examples, with facts that are set by hand.
contract VotesTest {
    MockFactsRegistry private mock;
    SnapshotVote private snapshot;
    ProofVote private byProof;
    address private constant VOTER = address(0xB0B);
    address private constant TOKEN = address(0x70CE4);
    uint256 private constant BLOCK = 22_000_000;
    uint256 private constant MASK = type(uint256).max >> 1;

    function setUp() public {
        mock = new MockFactsRegistry();
        snapshot = new SnapshotVote(IProvenSlots(address(mock)), TOKEN, BLOCK, 9, MASK);
        byProof = new ProofVote(mock, BLOCK);
    }

    function testFuzzTheBalanceIsCountedWithoutTheBitsBesideIt(uint256 word) public {
        bytes32 slot = keccak256(abi.encode(VOTER, uint256(9)));
        mock.setSlot(TOKEN, BLOCK, slot, bytes32(word));
        cheats.prank(VOTER, VOTER);
        snapshot.vote(true);
        assert(snapshot.votes(true) == word & MASK);
        cheats.prank(VOTER, VOTER);
        cheats.expectRevert("voted already");
        snapshot.vote(true);
    }

    function testOneVoteByProof() public {
        testFuzzAVoteByProof(10 ether);
    }

    function testOneVoteByBalance() public {
        testFuzzTheBalanceIsCountedWithoutTheBitsBesideIt(10 ether);
    }

    function testAMissingProofIsNoVote() public {
        cheats.prank(VOTER, VOTER);
        bytes32 slot = keccak256(abi.encode(VOTER, uint256(9)));
        cheats.expectRevert(
            abi.encodeWithSelector(
                IFactsRegistry.StorageSlotNotProven.selector, TOKEN, BLOCK, slot
            )
        );
        snapshot.vote(false);
    }

    function testAContractHasNoVote() public {
        cheats.expectRevert("a contract cannot vote");
        snapshot.vote(true);
        cheats.expectRevert("a contract cannot vote");
        byProof.vote(true, "");
    }

    function testFuzzAVoteByProof(uint256 balance) public {
        mock.setProof("own", _facts(VOTER, BLOCK, balance));
        cheats.prank(VOTER, VOTER);
        byProof.vote(true, "own");
        assert(byProof.votes(true) == balance);
    }

    function testAProofOfAnotherAccountOrBlockIsNoVote() public {
        mock.setProof("another's", _facts(TOKEN, BLOCK, 1));
        cheats.prank(VOTER, VOTER);
        cheats.expectRevert("prove your own account");
        byProof.vote(true, "another's");
        mock.setProof("later", _facts(VOTER, BLOCK + 1, 1));
        cheats.prank(VOTER, VOTER);
        cheats.expectRevert("prove it at the snapshot");
        byProof.vote(true, "later");
    }

    function _facts(address account, uint256 number, uint256 balance)
        private
        pure
        returns (Facts memory facts)
    {
        facts.accounts = new AccountFact[](1);
        facts.accounts[0] = AccountFact(account, number, 0, balance, 0, 0);
    }
}
