// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IFactsRegistry} from "../interfaces/IFactsRegistry.sol";

/// @notice What registries have whose constructor is given their source chain.
interface INamesSource {
    /// @notice The chain that the registry's facts are about.
    /// @return Its id.
    function sourceChainId() external view returns (uint256);
}

/// @title Facts of several source chains behind one address
/// @notice For consumers that name the source chain first and ask whether a value exists. The router reads
/// registries and stores no fact: its constructor names one registry for each source chain, and nothing
/// changes that list. Consumers differ in the order of block number and account, so it has both. You trust
/// each registry, and for one that does not name its source (native, optimism) the chain id that the
/// constructor was given. By CREATE2 the router's address proves that list.
/// @dev `…Safe` returns whether the value is proven, and zero if it is not, or if no registry is about the
/// chain. The others revert: with the registry's error, or with `SourceNotRouted`.
contract FactsRouter {
    /// @notice No registry of this router is about this chain.
    /// @param chainId The chain.
    error SourceNotRouted(uint256 chainId);
    /// @notice There must be as many chains as registries.
    /// @param chains How many chains were given.
    /// @param registries How many registries were given.
    error LengthsDiffer(uint256 chains, uint256 registries);
    /// @notice A chain has one registry here, and this one was given another.
    /// @param chainId The chain.
    error SourceRepeated(uint256 chainId);
    /// @notice There is no contract at this address.
    /// @param registry The address.
    error NoContract(IFactsRegistry registry);
    /// @notice The registry says that it is about another chain.
    /// @param registry The registry.
    /// @param chainId The chain that the constructor was given for it.
    /// @param named The chain that the registry names.
    error SourceMismatch(IFactsRegistry registry, uint256 chainId, uint256 named);

    /// @notice The registry whose facts are about a chain.
    /// @return The registry; the zero address if there is none.
    mapping(uint256 chainId => IFactsRegistry) public registryOf;

    uint256[] private _chainIds;

    /// @notice Names the registries, for good.
    /// @param chainIds_ The source chains.
    /// @param registries The registry of each, on this chain.
    constructor(uint256[] memory chainIds_, IFactsRegistry[] memory registries) {
        if (chainIds_.length != registries.length) {
            revert LengthsDiffer(chainIds_.length, registries.length);
        }
        for (uint256 i = 0; i < registries.length; ++i) {
            (uint256 chainId, IFactsRegistry registry) = (chainIds_[i], registries[i]);
            if (address(registryOf[chainId]) != address(0)) revert SourceRepeated(chainId);
            if (address(registry).code.length == 0) revert NoContract(registry);
            (bool names, bytes memory answer) =
                address(registry).staticcall(abi.encodeCall(INamesSource.sourceChainId, ()));
            if (names && answer.length == 32) {
                uint256 named = abi.decode(answer, (uint256));
                if (named != chainId) revert SourceMismatch(registry, chainId, named);
            }
            registryOf[chainId] = registry;
        }
        _chainIds = chainIds_;
    }

    /// @notice The chains whose facts can be read here.
    /// @return Their ids, in the constructor's order.
    function chainIds() external view returns (uint256[] memory) {
        return _chainIds;
    }

    // Block number before account

    /// @notice A field of an account, if it is proven.
    /// @param chainId The source chain.
    /// @param blockNumber Its block.
    /// @param account The account.
    /// @param field 0 nonce, 1 balance, 2 storage root, 3 code hash.
    /// @return exists Whether it is proven.
    /// @return value The field; zero if it is not proven.
    function accountFieldSafe(uint256 chainId, uint256 blockNumber, address account, uint8 field)
        external
        view
        returns (bool exists, bytes32 value)
    {
        return _accountField(chainId, blockNumber, account, field);
    }

    /// @notice A field of an account; reverts if it is not proven.
    /// @param chainId The source chain.
    /// @param blockNumber Its block.
    /// @param account The account.
    /// @param field 0 nonce, 1 balance, 2 storage root, 3 code hash.
    /// @return The field.
    function accountField(uint256 chainId, uint256 blockNumber, address account, uint8 field)
        external
        view
        returns (bytes32)
    {
        return _registry(chainId).accountField(account, blockNumber, field);
    }

    /// @notice The value of a storage slot, if it is proven.
    /// @param chainId The source chain.
    /// @param blockNumber Its block.
    /// @param account The account.
    /// @param slot The slot.
    /// @return exists Whether it is proven.
    /// @return value The value; zero if it is not proven.
    function storageSlotSafe(uint256 chainId, uint256 blockNumber, address account, bytes32 slot)
        external
        view
        returns (bool exists, bytes32 value)
    {
        return _storageSlot(chainId, blockNumber, account, slot);
    }

    /// @notice The value of a storage slot; reverts if it is not proven.
    /// @param chainId The source chain.
    /// @param blockNumber Its block.
    /// @param account The account.
    /// @param slot The slot.
    /// @return The value.
    function storageSlot(uint256 chainId, uint256 blockNumber, address account, bytes32 slot)
        external
        view
        returns (bytes32)
    {
        return _registry(chainId).accountStorageSlotValues(account, blockNumber, slot);
    }

    // Account before block number

    /// @notice A field of an account, if it is proven.
    /// @param chainId The source chain.
    /// @param account The account.
    /// @param blockNumber The chain's block.
    /// @param field 0 nonce, 1 balance, 2 storage root, 3 code hash.
    /// @return exists Whether it is proven.
    /// @return value The field; zero if it is not proven.
    function accountFieldSafe(uint256 chainId, address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bool exists, bytes32 value)
    {
        return _accountField(chainId, blockNumber, account, field);
    }

    /// @notice A field of an account; reverts if it is not proven.
    /// @param chainId The source chain.
    /// @param account The account.
    /// @param blockNumber The chain's block.
    /// @param field 0 nonce, 1 balance, 2 storage root, 3 code hash.
    /// @return The field.
    function accountField(uint256 chainId, address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bytes32)
    {
        return _registry(chainId).accountField(account, blockNumber, field);
    }

    /// @notice The value of a storage slot, if it is proven.
    /// @param chainId The source chain.
    /// @param account The account.
    /// @param blockNumber The chain's block.
    /// @param slot The slot.
    /// @return exists Whether it is proven.
    /// @return value The value; zero if it is not proven.
    function storageSlotSafe(uint256 chainId, address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bool exists, bytes32 value)
    {
        return _storageSlot(chainId, blockNumber, account, slot);
    }

    /// @notice The value of a storage slot; reverts if it is not proven.
    /// @param chainId The source chain.
    /// @param account The account.
    /// @param blockNumber The chain's block.
    /// @param slot The slot.
    /// @return The value.
    function storageSlot(uint256 chainId, address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bytes32)
    {
        return _registry(chainId).accountStorageSlotValues(account, blockNumber, slot);
    }

    // Headers and times

    /// @notice A field of a block's header, if it is proven.
    /// @param chainId The source chain.
    /// @param blockNumber Its block.
    /// @param field The field's index in the header.
    /// @return exists Whether it is proven.
    /// @return value The field; zero if it is not proven.
    function headerFieldSafe(uint256 chainId, uint256 blockNumber, uint8 field)
        external
        view
        returns (bool exists, bytes32 value)
    {
        IFactsRegistry registry = registryOf[chainId];
        if (address(registry) != address(0)) return registry.tryHeaderField(blockNumber, field);
    }

    /// @notice A field of a block's header; reverts if it is not proven.
    /// @param chainId The source chain.
    /// @param blockNumber Its block.
    /// @param field The field's index in the header.
    /// @return The field.
    function headerField(uint256 chainId, uint256 blockNumber, uint8 field)
        external
        view
        returns (bytes32)
    {
        return _registry(chainId).headerField(blockNumber, field);
    }

    /// @notice The last block whose timestamp is at most the given one, if it is proven.
    /// @param chainId The source chain.
    /// @param timestamp_ The time, in seconds.
    /// @return exists Whether it is proven.
    /// @return blockNumber The block; zero if it is not proven.
    function timestampSafe(uint256 chainId, uint256 timestamp_)
        external
        view
        returns (bool exists, uint256 blockNumber)
    {
        IFactsRegistry registry = registryOf[chainId];
        if (address(registry) != address(0)) return registry.tryBlockNumberAt(timestamp_);
    }

    /// @notice The last block whose timestamp is at most the given one; reverts if it is not proven.
    /// @param chainId The source chain.
    /// @param timestamp_ The time, in seconds.
    /// @return The block.
    function timestamp(uint256 chainId, uint256 timestamp_) external view returns (uint256) {
        return _registry(chainId).blockNumberAt(timestamp_);
    }

    function _registry(uint256 chainId) private view returns (IFactsRegistry registry) {
        registry = registryOf[chainId];
        if (address(registry) == address(0)) revert SourceNotRouted(chainId);
    }

    function _accountField(uint256 chainId, uint256 blockNumber, address account, uint8 field)
        private
        view
        returns (bool exists, bytes32 value)
    {
        IFactsRegistry registry = registryOf[chainId];
        if (address(registry) != address(0)) {
            return registry.tryAccountField(account, blockNumber, field);
        }
    }

    function _storageSlot(uint256 chainId, uint256 blockNumber, address account, bytes32 slot)
        private
        view
        returns (bool exists, bytes32 value)
    {
        IFactsRegistry registry = registryOf[chainId];
        if (address(registry) != address(0)) {
            return registry.tryAccountStorageSlotValues(account, blockNumber, slot);
        }
    }
}
