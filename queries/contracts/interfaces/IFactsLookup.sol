// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

/// @notice A fact that is asked for.
struct Question {
    uint8 kind; // 1 account field, 2 slot, 3 header field, 5 log
    address account; // of fields and slots; otherwise zero
    uint256 blockNumber; // of the source chain; for lookUpRecent, of this chain: its block.number
    uint256 name; // the field, the slot, or the index of a log's transaction
    uint256 logIndex; // within its receipt; zero unless a log is asked for
}

/// @title What a gateway is asked
/// @notice ERC-3668 sends this call's data to a gateway, which answers with its return data: the arguments of
/// `verify` of the events verifier for a log, or else of the registry, which ignores the second one.
interface IFactsGateway {
    /// @notice A proof of one fact, and of nothing else; a slot comes with its account.
    /// @param chainId The chain of the registry, since registries have the same address on every chain.
    /// @param registry The registry.
    /// @param question The fact.
    /// @return section The registry's proof.
    /// @return witness The events verifier's witness of a log; otherwise empty.
    function lookUp(uint256 chainId, address registry, Question calldata question)
        external
        view
        returns (bytes memory section, bytes memory witness);

    /// @notice The same at the newest block that can be proven to a node which has seen block
    /// `question.blockNumber` of this chain, together with that block's timestamp (header field 11).
    function lookUpRecent(uint256 chainId, address registry, Question calldata question)
        external
        view
        returns (bytes memory section, bytes memory witness);
}

/// @title Facts without a transaction (ERC-3668)
/// @notice Reads a fact in one `eth_call`, whether it is stored or not. What the registry or the events
/// verifier stores is returned at once. For the rest a client that supports ERC-3668 fetches a proof from a
/// gateway and passes it to the callback, which verifies it. A gateway can withhold a proof, never give a
/// false value. Nothing is stored. In a transaction use this only for what is stored.
/// The block is an argument: clients run callbacks at the latest block, whatever block they read at. The
/// `…Recent` readers let the gateway choose a block, and return its number.
/// The last argument of each reader is the caller's own list of gateways: URLs with `{sender}` and `{data}`,
/// asked in this order. If it is empty, those of `urls()` are asked.
/// A contract that calls a reader has to catch `OffchainLookup` and revert with its own, whose sender is
/// itself: FactsLookupClient does that.
interface IFactsLookup {
    /// @notice The fact is not stored: fetch a proof and call back (ERC-3668).
    /// @param sender This contract.
    /// @param urls The gateways, in the order in which to ask them.
    /// @param callData A call of IFactsGateway.
    /// @param callbackFunction The selector of `proven` or `provenRecent`.
    /// @param extraData What was asked, for the callback.
    error OffchainLookup(
        address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData
    );
    /// @notice The registry or the verifier reverted: in a callback, it refused the proof.
    /// @param by Which of the two.
    /// @param reason Its error. It is wrapped, so that no OffchainLookup of another contract passes as ours.
    error Refused(address by, bytes reason);
    /// @notice The proof is of another fact than was asked for, or of more facts.
    error AnotherFact();
    /// @notice The gateway's block is older than the caller accepts.
    /// @param blockNumber The source block.
    /// @param age Its age in seconds.
    error TooOld(uint256 blockNumber, uint256 age);
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
    /// @param gateways The caller's own gateways, or none.
    /// @return value A number, or a hash.
    function read(address account, uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice The value of a storage slot at the end of a block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    /// @param gateways The caller's own gateways, or none.
    /// @return value All 32 bytes; several variables may share them.
    function readSlot(address account, uint256 blockNumber, bytes32 slot, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice A field of a block's header.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    /// @param gateways The caller's own gateways, or none.
    /// @return value The field as a word, as `headerField` of the registry returns it.
    function readHeader(uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice The keccak256 of a log's RLP.
    /// @param blockNumber The source block.
    /// @param transactionIndex The transaction's index in the block.
    /// @param logIndex The log's index within its receipt.
    /// @param gateways The caller's own gateways, or none.
    /// @return hash As `logHash` of the events verifier returns it.
    function readLog(
        uint256 blockNumber,
        uint256 transactionIndex,
        uint256 logIndex,
        string[] calldata gateways
    ) external view returns (bytes32 hash);

    /// @notice A field of an account at the end of a recent block.
    /// @param account The account.
    /// @param field The field, as in AccountField.
    /// @param maxAge How old the block may be, in seconds before this chain's newest block.
    /// @param gateways The caller's own gateways, or none.
    /// @return value A number, or a hash.
    /// @return blockNumber The source block, which the gateway chose.
    function readRecent(address account, uint8 field, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32 value, uint256 blockNumber);

    /// @notice The value of a storage slot at the end of a recent block.
    /// @param account The account.
    /// @param slot The slot.
    /// @param maxAge As for `readRecent`.
    /// @param gateways The caller's own gateways, or none.
    /// @return value All 32 bytes; several variables may share them.
    /// @return blockNumber The source block, which the gateway chose.
    function readSlotRecent(address account, bytes32 slot, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32 value, uint256 blockNumber);

    /// @notice A field of a recent block's header.
    /// @param field The field, as in HeaderField.
    /// @param maxAge As for `readRecent`.
    /// @param gateways The caller's own gateways, or none.
    /// @return value The field as a word, as `headerField` of the registry returns it.
    /// @return blockNumber The source block, which the gateway chose.
    function readHeaderRecent(uint8 field, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32 value, uint256 blockNumber);

    /// @notice The callback of readers with a block: verifies a gateway's answer. It returns the value only
    /// if the proof is of exactly the one fact that was asked for.
    /// @param answer The answer, which has the form of lookUp's return data.
    /// @param extraData As in the error.
    /// @return value What the reader would have returned.
    function proven(bytes calldata answer, bytes calldata extraData)
        external
        view
        returns (bytes32 value);

    /// @notice The callback of the `…Recent` readers. If the registry does not know the block any longer, or
    /// not yet, it asks again by another `OffchainLookup`, three times at most.
    /// @param answer The answer, which has the form of lookUpRecent's return data.
    /// @param extraData As in the error.
    /// @return value What was asked for.
    /// @return blockNumber The source block.
    function provenRecent(bytes calldata answer, bytes calldata extraData)
        external
        view
        returns (bytes32 value, uint256 blockNumber);
}
