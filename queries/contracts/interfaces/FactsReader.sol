// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

import {AccountField, HeaderField, IFactsRegistry} from "./IFactsRegistry.sol";

/// @title Facts by their types: `using FactsReader for IFactsRegistry`
/// @notice A function that reads a fact reverts while it is not proven.
library FactsReader {
    bytes32 private constant EMPTY_CODE_HASH = keccak256("");

    // Accounts

    /// @notice How much an account had, in the chain's smallest unit.
    /// @param registry The registry that is read.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @return The balance at the end of the block.
    function balance(IFactsRegistry registry, address account, uint256 blockNumber)
        internal
        view
        returns (uint256)
    {
        return uint256(registry.accountField(account, blockNumber, AccountField.BALANCE));
    }

    /// @notice An account's nonce counts its transactions and its valid EIP-7702 authorizations, and the
    /// creations by its code, also those whose initcode failed, unless the frame that ran CREATE reverted. Since EIP-161, a
    /// contract's nonce starts at 1.
    /// @param registry The registry that is read.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @return The nonce at the end of the block.
    function nonce(IFactsRegistry registry, address account, uint256 blockNumber)
        internal
        view
        returns (uint64)
    {
        return uint64(uint256(registry.accountField(account, blockNumber, AccountField.NONCE)));
    }

    /// @notice The root of an account's storage trie.
    /// @param registry The registry that is read.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @return The root at the end of the block.
    function storageRoot(IFactsRegistry registry, address account, uint256 blockNumber)
        internal
        view
        returns (bytes32)
    {
        return registry.accountField(account, blockNumber, AccountField.STORAGE_ROOT);
    }

    /// @notice The hash of an account's code: keccak256("") also if there was no account.
    /// @param registry The registry that is read.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @return The hash at the end of the block.
    function codeHash(IFactsRegistry registry, address account, uint256 blockNumber)
        internal
        view
        returns (bytes32)
    {
        return registry.accountField(account, blockNumber, AccountField.CODE_HASH);
    }

    /// @notice Whether an account had code, as an EOA with an EIP-7702 delegation also has.
    /// @param registry The registry that is read.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @return Whether it had, at the end of the block.
    function hasCode(IFactsRegistry registry, address account, uint256 blockNumber)
        internal
        view
        returns (bool)
    {
        return codeHash(registry, account, blockNumber) != EMPTY_CODE_HASH;
    }

    // Storage

    /// @notice A storage slot, all of it.
    /// @param registry The registry that is read.
    /// @param account The contract whose slot it is.
    /// @param blockNumber The source block.
    /// @param slot_ The slot.
    /// @return Its value at the end of the block.
    function slot(
        IFactsRegistry registry,
        address account,
        uint256 blockNumber,
        bytes32 slot_
    ) internal view returns (bytes32) {
        return registry.accountStorageSlotValues(account, blockNumber, slot_);
    }

    /// @notice A number that shares its slot with other variables.
    /// @param registry The registry that is read.
    /// @param account The contract whose slot it is.
    /// @param blockNumber The source block.
    /// @param slot_ The slot.
    /// @param offset How many bytes from the slot's right end it begins, as in a storage layout.
    /// @param size How many bytes it has, from 1 to 32.
    /// @return Its value at the end of the block.
    function packed(
        IFactsRegistry registry,
        address account,
        uint256 blockNumber,
        bytes32 slot_,
        uint256 offset,
        uint256 size
    ) internal view returns (uint256) {
        require(size > 0 && offset + size <= 32, "FactsReader: outside of the slot");
        uint256 word = uint256(registry.accountStorageSlotValues(account, blockNumber, slot_));
        return (word >> (8 * offset)) & (type(uint256).max >> (256 - 8 * size));
    }

    /// @notice The slot of a key's value in a Solidity mapping. Not for Vyper, whose hash takes the
    /// position first: there this slot is unused, and a valid proof says that it holds zero.
    /// @param position The slot of the mapping.
    /// @param key The key: an address.
    /// @return The value's slot.
    function slotOf(uint256 position, address key) internal pure returns (bytes32) {
        return keccak256(abi.encode(key, position));
    }

    /// @notice The slot of a key's value in a Solidity mapping. See `slotOf` of an address.
    /// @param position The slot of the mapping.
    /// @param key The key: a number, bytes32 or bool as a word, but no string and no bytes.
    /// @return The value's slot.
    function slotOf(uint256 position, bytes32 key) internal pure returns (bytes32) {
        return keccak256(abi.encode(key, position));
    }

    // Headers

    /// @notice The timestamp of a block.
    /// @param registry The registry that is read.
    /// @param blockNumber The source block.
    /// @return Its timestamp, in seconds.
    function timestamp(IFactsRegistry registry, uint256 blockNumber)
        internal
        view
        returns (uint256)
    {
        return uint256(registry.headerField(blockNumber, HeaderField.TIMESTAMP));
    }

    /// @notice The base fee per gas, in the chain's smallest unit, on a chain whose headers keep it at index
    /// 15, as Ethereum's do.
    /// @param registry The registry that is read.
    /// @param blockNumber The source block.
    /// @return The base fee of the block.
    function baseFee(IFactsRegistry registry, uint256 blockNumber)
        internal
        view
        returns (uint256)
    {
        return uint256(registry.headerField(blockNumber, HeaderField.BASE_FEE));
    }

    /// @notice The coinbase of a block; on Ethereum it receives the priority fees.
    /// @param registry The registry that is read.
    /// @param blockNumber The source block.
    /// @return Its coinbase.
    function coinbase(IFactsRegistry registry, uint256 blockNumber)
        internal
        view
        returns (address)
    {
        uint256 word = uint256(registry.headerField(blockNumber, HeaderField.COINBASE));
        return address(uint160(word));
    }

    /// @notice The mixHash of a block: on Ethereum since the merge, PREVRANDAO. A proposer can
    /// discard a value by skipping the block. Other chains may put other data there.
    /// @param registry The registry that is read.
    /// @param blockNumber The source block.
    /// @return The mixHash as a number.
    function prevRandao(IFactsRegistry registry, uint256 blockNumber)
        internal
        view
        returns (uint256)
    {
        return uint256(registry.headerField(blockNumber, HeaderField.MIX_HASH));
    }
}
