// SPDX-License-Identifier: MIT
pragma solidity ^0.8.13;

import {FactsReader} from "tacitus-contracts/interfaces/FactsReader.sol";
import {
    AccountField,
    AccountFact,
    Facts,
    HeaderField,
    IFactsRegistry
} from "tacitus-contracts/interfaces/IFactsRegistry.sol";
import {MockFactsRegistry} from "tacitus-contracts/interfaces/MockFactsRegistry.sol";
import {cheats} from "./Cheats.sol";

/// The reader and the mock, as a dApp's own tests use them.
contract ReadingTest {
    using FactsReader for IFactsRegistry;

    MockFactsRegistry private mock;
    IFactsRegistry private registry;
    address private constant ACCOUNT = address(0xA11CE);
    uint256 private constant BLOCK = 22_000_000;

    function setUp() public {
        mock = new MockFactsRegistry();
        registry = mock;
    }

    function testFuzzAccount(uint64 nonce, uint256 balance, bytes32 root, bytes32 codeHash) public {
        mock.setAccount(ACCOUNT, BLOCK, nonce, balance, root, codeHash);
        assert(registry.nonce(ACCOUNT, BLOCK) == nonce);
        assert(registry.balance(ACCOUNT, BLOCK) == balance);
        assert(registry.storageRoot(ACCOUNT, BLOCK) == root);
        assert(registry.codeHash(ACCOUNT, BLOCK) == codeHash);
        assert(registry.hasCode(ACCOUNT, BLOCK) == (codeHash != keccak256("")));
    }

    function testFuzzSlotsOfMappings(address holder, bytes32 key, uint256 amount) public {
        bytes32 slot = FactsReader.slotOf(3, holder);
        mock.setSlot(ACCOUNT, BLOCK, slot, bytes32(amount));
        assert(uint256(registry.slot(ACCOUNT, BLOCK, slot)) == amount);
        assert(slot == keccak256(abi.encode(holder, uint256(3))));
        assert(FactsReader.slotOf(4, key) == keccak256(abi.encode(key, uint256(4))));
    }

    function testFuzzPackedVariables(uint64 low, address middle, bool high) public {
        uint256 word = low | (uint256(uint160(middle)) << 64) | (uint256(high ? 1 : 0) << 224);
        mock.setSlot(ACCOUNT, BLOCK, 0, bytes32(word));
        assert(registry.packed(ACCOUNT, BLOCK, 0, 0, 8) == low);
        assert(registry.packed(ACCOUNT, BLOCK, 0, 8, 20) == uint160(middle));
        assert(registry.packed(ACCOUNT, BLOCK, 0, 28, 1) == (high ? 1 : 0));
        assert(registry.packed(ACCOUNT, BLOCK, 0, 0, 32) == word);
    }

    function testAVariableLiesWithinItsSlot() public {
        mock.setSlot(ACCOUNT, BLOCK, 0, bytes32(uint256(1)));
        cheats.expectRevert("FactsReader: outside of the slot");
        this.packed(28, 5);
        cheats.expectRevert("FactsReader: outside of the slot");
        this.packed(0, 0);
    }

    function packed(uint256 offset, uint256 size) external view returns (uint256) {
        return registry.packed(ACCOUNT, BLOCK, 0, offset, size);
    }

    function testFuzzHeaders(uint64 time, uint64 fee, address miner, uint256 random) public {
        mock.setHeaderField(BLOCK, HeaderField.TIMESTAMP, bytes32(uint256(time)));
        mock.setHeaderField(BLOCK, HeaderField.BASE_FEE, bytes32(uint256(fee)));
        mock.setHeaderField(BLOCK, HeaderField.COINBASE, bytes32(uint256(uint160(miner))));
        mock.setHeaderField(BLOCK, HeaderField.MIX_HASH, bytes32(random));
        mock.setBlockNumberAt(time, BLOCK);
        assert(registry.timestamp(BLOCK) == time);
        assert(registry.baseFee(BLOCK) == fee);
        assert(registry.coinbase(BLOCK) == miner);
        assert(registry.prevRandao(BLOCK) == random);
        assert(registry.blockNumberAt(time) == BLOCK);
    }

    function testWhatIsNotProvenReverts() public {
        cheats.expectRevert(
            abi.encodeWithSelector(
                IFactsRegistry.AccountFieldNotProven.selector, ACCOUNT, BLOCK, AccountField.BALANCE
            )
        );
        registry.accountField(ACCOUNT, BLOCK, AccountField.BALANCE);
        cheats.expectRevert(
            abi.encodeWithSelector(
                IFactsRegistry.StorageSlotNotProven.selector, ACCOUNT, BLOCK, bytes32(0)
            )
        );
        registry.accountStorageSlotValues(ACCOUNT, BLOCK, 0);
        cheats.expectRevert(
            abi.encodeWithSelector(IFactsRegistry.HeaderFieldNotProven.selector, BLOCK, 11)
        );
        registry.headerField(BLOCK, 11);
        cheats.expectRevert(abi.encodeWithSelector(IFactsRegistry.TimestampNotProven.selector, 5));
        registry.blockNumberAt(5);
        (bool proven, bytes32 value) = registry.tryAccountField(ACCOUNT, BLOCK, 1);
        assert(!proven && value == 0);
    }

    function testFuzzAProofThatIsSet(bytes calldata proof, uint256 balance) public {
        Facts memory facts;
        facts.accounts = new AccountFact[](1);
        facts.accounts[0] = AccountFact(ACCOUNT, BLOCK, 1, balance, 0, 0);
        mock.setProof(proof, facts);
        mock.setProof(proof, facts); // again, in the place of the first
        Facts memory verified = registry.verify(proof);
        assert(verified.accounts.length == 1 && verified.slots.length == 0);
        assert(verified.accounts[0].balance == balance);
    }

    function testTheMockProvesNothing() public {
        cheats.expectRevert(abi.encodeWithSelector(MockFactsRegistry.MockProvesNothing.selector));
        registry.verify("0x01");
        cheats.expectRevert(abi.encodeWithSelector(MockFactsRegistry.MockProvesNothing.selector));
        registry.prove();
    }
}
