// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

import {AccountField, Facts, IFactsRegistry} from "./IFactsRegistry.sol";

/// @title A registry whose facts are set by hand, for tests of contracts that read one
/// @notice Its reading functions behave as a registry's. Unlike a registry, its facts can be replaced,
/// and setting one field proves no other. `verify` accepts only bytes set with `setProof`; even the
/// empty proof, which a registry accepts, must be set first. `prove`, `lowerHorizon` and `multicall` revert;
/// `accumulated` is always zero. Never deploy it where money depends on it: anyone can set any fact.
contract MockFactsRegistry is IFactsRegistry {
    /// @notice The mock proves nothing. Set its facts by the functions below.
    error MockProvesNothing();

    struct Word {
        bool proven;
        bytes32 value;
    }

    mapping(bytes32 => Word) private _words;
    mapping(bytes32 => Facts) private _facts;
    mapping(bytes32 => bool) private _verifies;

    /// @inheritdoc IFactsRegistry
    mapping(uint256 => bytes32) public override accumulated;
    /// @inheritdoc IFactsRegistry
    uint256 public constant override HORIZON = 4_102_444_800;
    /// @inheritdoc IFactsRegistry
    uint256 public constant override stateHorizon = HORIZON;

    bytes32 private _kind = "native";
    uint256 private _sourceChainId = block.chainid;
    bytes32 private _basis;

    // Setting

    /// @notice Sets what `describe` returns. At first that is a native registry.
    /// @param kind The kind.
    /// @param sourceChainId The source chain.
    /// @param basis Where block hashes come from.
    function setDescription(bytes32 kind, uint256 sourceChainId, bytes32 basis) external {
        (_kind, _sourceChainId, _basis) = (kind, sourceChainId, basis);
    }

    /// @notice Proves all four fields of an account.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param nonce Its nonce.
    /// @param balance Its balance.
    /// @param storageRoot Its storage root.
    /// @param codeHash Its code hash.
    function setAccount(
        address account,
        uint256 blockNumber,
        uint64 nonce,
        uint256 balance,
        bytes32 storageRoot,
        bytes32 codeHash
    ) external {
        setAccountField(account, blockNumber, AccountField.NONCE, bytes32(uint256(nonce)));
        setAccountField(account, blockNumber, AccountField.BALANCE, bytes32(balance));
        setAccountField(account, blockNumber, AccountField.STORAGE_ROOT, storageRoot);
        setAccountField(account, blockNumber, AccountField.CODE_HASH, codeHash);
        emit AccountProven(account, blockNumber, 15);
    }

    /// @notice Proves one field of an account. Emits no event; `setAccount` does.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param field The field, as in AccountField.
    /// @param value Its value.
    function setAccountField(address account, uint256 blockNumber, uint8 field, bytes32 value)
        public
    {
        _words[_accountKey(account, blockNumber, field)] = Word(true, value);
    }

    /// @notice Proves a storage slot.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    /// @param value Its value.
    function setSlot(address account, uint256 blockNumber, bytes32 slot, bytes32 value) external {
        _words[_slotKey(account, blockNumber, slot)] = Word(true, value);
        emit SlotProven(account, blockNumber, slot, value);
    }

    /// @notice Proves a field of a header.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    /// @param value Its value.
    function setHeaderField(uint256 blockNumber, uint8 field, bytes32 value) external {
        _words[_headerKey(blockNumber, field)] = Word(true, value);
        emit HeaderFieldProven(blockNumber, field, value);
    }

    /// @notice Proves which block was the last one at a time.
    /// @param timestamp The time, in seconds.
    /// @param blockNumber The source block.
    function setBlockNumberAt(uint256 timestamp, uint256 blockNumber) external {
        _words[_timestampKey(timestamp)] = Word(true, bytes32(blockNumber));
        emit TimestampProven(timestamp, blockNumber);
    }

    /// @notice Makes `verify` accept these bytes as a proof and return these facts. Emits no event.
    /// @param proof The proof: any bytes.
    /// @param facts What `verify` returns for it.
    function setProof(bytes calldata proof, Facts calldata facts) external {
        bytes32 key = keccak256(proof);
        Facts storage kept = _facts[key];
        delete _facts[key];
        _verifies[key] = true;
        for (uint256 i = 0; i < facts.accounts.length; ++i) kept.accounts.push(facts.accounts[i]);
        for (uint256 i = 0; i < facts.slots.length; ++i) kept.slots.push(facts.slots[i]);
        for (uint256 i = 0; i < facts.headerFields.length; ++i) {
            kept.headerFields.push(facts.headerFields[i]);
        }
        for (uint256 i = 0; i < facts.timestamps.length; ++i) {
            kept.timestamps.push(facts.timestamps[i]);
        }
    }

    // Reading

    /// @inheritdoc IFactsRegistry
    function accountField(address account, uint256 blockNumber, uint8 field)
        external
        view
        override
        returns (bytes32 value)
    {
        bool proven;
        (proven, value) = tryAccountField(account, blockNumber, field);
        if (!proven) revert AccountFieldNotProven(account, blockNumber, field);
    }

    /// @inheritdoc IFactsRegistry
    function tryAccountField(address account, uint256 blockNumber, uint8 field)
        public
        view
        override
        returns (bool proven, bytes32 value)
    {
        return _word(_accountKey(account, blockNumber, field));
    }

    /// @inheritdoc IFactsRegistry
    function accountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        override
        returns (bytes32 value)
    {
        bool proven;
        (proven, value) = tryAccountStorageSlotValues(account, blockNumber, slot);
        if (!proven) revert StorageSlotNotProven(account, blockNumber, slot);
    }

    /// @inheritdoc IFactsRegistry
    function tryAccountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        public
        view
        override
        returns (bool proven, bytes32 value)
    {
        return _word(_slotKey(account, blockNumber, slot));
    }

    /// @inheritdoc IFactsRegistry
    function headerField(uint256 blockNumber, uint8 field)
        external
        view
        override
        returns (bytes32 value)
    {
        bool proven;
        (proven, value) = tryHeaderField(blockNumber, field);
        if (!proven) revert HeaderFieldNotProven(blockNumber, field);
    }

    /// @inheritdoc IFactsRegistry
    function tryHeaderField(uint256 blockNumber, uint8 field)
        public
        view
        override
        returns (bool proven, bytes32 value)
    {
        return _word(_headerKey(blockNumber, field));
    }

    /// @inheritdoc IFactsRegistry
    function blockNumberAt(uint256 timestamp)
        external
        view
        override
        returns (uint256 blockNumber)
    {
        bool proven;
        (proven, blockNumber) = tryBlockNumberAt(timestamp);
        if (!proven) revert TimestampNotProven(timestamp);
    }

    /// @inheritdoc IFactsRegistry
    function tryBlockNumberAt(uint256 timestamp)
        public
        view
        override
        returns (bool proven, uint256 blockNumber)
    {
        bytes32 value;
        (proven, value) = _word(_timestampKey(timestamp));
        return (proven, uint256(value));
    }

    /// @inheritdoc IFactsRegistry
    function describe()
        external
        view
        override
        returns (bytes32 kind, uint256 sourceChainId, bytes32 basis, uint256 horizon)
    {
        return (_kind, _sourceChainId, _basis, HORIZON);
    }

    /// @inheritdoc IFactsRegistry
    function verify(bytes calldata proof) external view override returns (Facts memory facts) {
        if (!_verifies[keccak256(proof)]) revert MockProvesNothing();
        return _facts[keccak256(proof)];
    }

    // What the mock cannot do

    /// @inheritdoc IFactsRegistry
    function prove() external pure override {
        revert MockProvesNothing();
    }

    /// @inheritdoc IFactsRegistry
    function multicall(bytes[] calldata) external pure override returns (bytes[] memory) {
        revert MockProvesNothing();
    }

    /// @inheritdoc IFactsRegistry
    function lowerHorizon(bytes calldata) external pure override {
        revert MockProvesNothing();
    }

    function _word(bytes32 key) private view returns (bool proven, bytes32 value) {
        Word storage word = _words[key];
        return (word.proven, word.value);
    }

    function _accountKey(address account, uint256 blockNumber, uint8 field)
        private
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode("account", account, blockNumber, field));
    }

    function _slotKey(address account, uint256 blockNumber, bytes32 slot)
        private
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode("slot", account, blockNumber, slot));
    }

    function _headerKey(uint256 blockNumber, uint8 field) private pure returns (bytes32) {
        return keccak256(abi.encode("header", blockNumber, field));
    }

    function _timestampKey(uint256 timestamp) private pure returns (bytes32) {
        return keccak256(abi.encode("timestamp", timestamp));
    }
}
