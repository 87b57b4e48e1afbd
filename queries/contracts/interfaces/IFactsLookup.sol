// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

/// @notice A fact that is asked for.
struct Question {
    uint8 kind; // 1 account field, 2 slot, 3 header field, 5 log
    address account; // of fields and slots; otherwise zero
    uint256 blockNumber; // of the source chain
    uint256 name; // the field, the slot, or the index of a log's transaction
    uint256 logIndex; // within its receipt; zero unless a log is asked for
}

/// @title What a gateway is asked
/// @notice ERC-3668 sends this call's data to a gateway, which answers with its return data.
interface IFactsGateway {
    /// @notice A proof of one fact, and of nothing else.
    /// @param chainId The chain of the registry.
    /// @param registry The registry.
    /// @param question The fact.
    /// @return section What the registry's `verify` takes.
    /// @return witness Of a log: the second parameter of the events verifier's `verify`. Otherwise empty.
    /// @return field Of an account: the field, as in the question. Otherwise zero.
    function lookUp(uint256 chainId, address registry, Question calldata question)
        external
        view
        returns (bytes memory section, bytes memory witness, uint8 field);
}

/// @title Facts without a transaction (ERC-3668)
/// @notice Reads a fact in one `eth_call`, whether it is stored or not. What the registry or the events
/// verifier stores is returned at once. For the rest a client that supports ERC-3668 fetches a proof from a
/// gateway and passes it to `proven`, which verifies it. A gateway can withhold a proof, never give a false
/// value. Nothing is stored. In a transaction use this only for what is stored.
/// The block is an argument: clients run `proven` at the latest block, whatever block they read at.
/// A contract that calls a reader has to catch `OffchainLookup` and revert with its own, whose sender is
/// itself.
interface IFactsLookup {
    /// @notice The fact is not stored: fetch a proof and call back (ERC-3668).
    /// @param sender This contract.
    /// @param urls The gateways, in the order in which to ask them.
    /// @param callData A call of IFactsGateway.lookUp.
    /// @param callbackFunction The selector of `proven`.
    /// @param extraData keccak256(callData).
    error OffchainLookup(
        address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData
    );
    /// @notice The registry or the verifier reverted: if in `proven`, it refused the proof.
    /// @param by Which of the two.
    /// @param reason Its error. It is wrapped, so that no OffchainLookup of another contract passes as ours.
    error Refused(address by, bytes reason);
    /// @notice The proof must be of one fact; a slot may come with its account.
    /// @param count Of how many it is.
    error NotOneFact(uint256 count);
    /// @notice The proof is of another fact than was asked for.
    error AnotherFact();
    /// @notice No events verifier stands beside this registry, so no log can be read here.
    error NoVerifier();
    /// @notice At this address is no contract.
    /// @param registry The address.
    error NoContract(address registry);
    /// @notice The verifier rests on another registry.
    /// @param verifier The verifier.
    error AnotherRegistry(address verifier);

    /// @notice The registry whose facts are read here.
    function REGISTRY() external view returns (address);

    /// @notice The events verifier beside it; zero if logs cannot be read here.
    function VERIFIER() external view returns (address);

    /// @notice The gateways that are asked if a caller names none.
    function urls() external view returns (string[] memory);

    /// @notice A field of an account at the end of a block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param field The field, as in AccountField.
    /// @return value A number, or a hash.
    function read(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bytes32 value);

    /// @notice The same from the caller's own gateways.
    /// @param gateways Their URLs with `{sender}` and `{data}`; if empty, those of `urls()`.
    function read(address account, uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice The value of a storage slot at the end of a block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    /// @return value All 32 bytes; several variables may share them.
    function readSlot(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bytes32 value);

    /// @notice The same from the caller's own gateways.
    /// @param gateways As for `read`.
    function readSlot(address account, uint256 blockNumber, bytes32 slot, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice A field of a block's header.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    /// @return value The field as a word, as `headerField` of the registry returns it.
    function readHeader(uint256 blockNumber, uint8 field) external view returns (bytes32 value);

    /// @notice The same from the caller's own gateways.
    /// @param gateways As for `read`.
    function readHeader(uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice The keccak256 of a log's RLP.
    /// @param blockNumber The source block.
    /// @param transactionIndex The transaction's index in the block.
    /// @param logIndex The log's index within its receipt.
    /// @return hash As `logHash` of the events verifier returns it.
    function readLog(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex)
        external
        view
        returns (bytes32 hash);

    /// @notice The same from the caller's own gateways.
    /// @param gateways As for `read`.
    function readLog(
        uint256 blockNumber,
        uint256 transactionIndex,
        uint256 logIndex,
        string[] calldata gateways
    ) external view returns (bytes32 hash);

    /// @notice The callback: verifies a gateway's answer. It returns the value only if the proof is of
    /// exactly the one fact that was asked for.
    /// @param answer The answer, which has the form of lookUp's return data.
    /// @param extraData As in the error.
    /// @return value What the reader would have returned.
    function proven(bytes calldata answer, bytes calldata extraData)
        external
        view
        returns (bytes32 value);
}
