// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

/// @notice A request for one fact.
struct Question {
    uint8 kind; // 1 account field, 2 slot, 3 header field, 5 log
    address account; // of fields and slots; otherwise zero
    uint256 blockNumber; // of the source chain; for lookUpRecent, the block.number of this chain
    uint256 key; // the field, the slot, or the transaction index of a log
    uint256 logIndex; // within its receipt; zero for other kinds
}

/// @title Requests to a gateway
/// @notice An ERC-3668 client sends the calldata of these functions to a gateway. The gateway responds with the
/// encoded return values: the arguments of the events verifier's `verify` for a log, otherwise those of the
/// registry's `verify`, which ignores the second one.
interface IFactsGateway {
    /// @notice Get a proof of exactly one fact. The proof of a slot also contains its account.
    /// @param chainId The chain of the registry, since registries have the same address on every chain.
    /// @param registry The registry.
    /// @param question The fact.
    /// @return section The registry's proof.
    /// @return witness The events verifier's witness of a log; otherwise empty.
    function lookUp(uint256 chainId, address registry, Question calldata question)
        external
        view
        returns (bytes memory section, bytes memory witness);

    /// @notice Get a proof of one fact at a recent block, and of that block's timestamp (header field 11).
    /// The gateway chooses the newest source block that it can prove to a node whose head is block
    /// `question.blockNumber` of this chain.
    function lookUpRecent(uint256 chainId, address registry, Question calldata question)
        external
        view
        returns (bytes memory section, bytes memory witness);
}

/// @title Facts without a transaction (ERC-3668)
/// @notice Reads a fact in one `eth_call`. A fact that the registry or the events verifier stores is returned
/// at once. Otherwise the reader reverts with `OffchainLookup`: an ERC-3668 client fetches a proof from a
/// gateway and passes it to the callback, which verifies it. A gateway can withhold a proof, but cannot make
/// up a value. Nothing is stored. A transaction can only read stored facts.
/// The readers take a block number, because clients run callbacks at the latest block, whatever block they
/// read at. The `…Recent` readers always ask a gateway, even if the fact is stored. The gateway chooses the
/// block, and the reader returns its number.
/// The last argument of each reader is the caller's list of gateways: URLs with `{sender}` and `{data}`,
/// tried in this order. If the list is empty, `urls()` is used.
/// A contract that calls a reader has to catch `OffchainLookup` and revert with its own, with itself as the
/// sender. FactsLookupClient does that.
interface IFactsLookup {
    /// @notice The fact is not stored: fetch a proof and call back (ERC-3668).
    /// @param sender This contract.
    /// @param urls The gateways, in the order in which to try them.
    /// @param callData A call of IFactsGateway.
    /// @param callbackFunction The selector of `onProof` or `onRecentProof`.
    /// @param extraData The request, for the callback.
    error OffchainLookup(
        address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData
    );
    /// @notice The registry or the verifier reverted. In a callback: the proof is invalid.
    /// @param target The registry or the verifier.
    /// @param reason Its revert data, wrapped so that an OffchainLookup in it is not followed.
    error CallReverted(address target, bytes reason);
    /// @notice The proof does not prove exactly the requested fact.
    error FactMismatch();
    /// @notice The block that the gateway chose is older than `maxAge`.
    /// @param blockNumber The source block.
    /// @param age Its age in seconds.
    error BlockTooOld(uint256 blockNumber, uint256 age);
    /// @notice An account has no such field.
    /// @param field The field.
    error FieldUnknown(uint8 field);
    /// @notice The callback reads no fact of this kind; no reader asks for one.
    /// @param kind The kind, as in Question.
    error KindUnknown(uint8 kind);
    /// @notice The lookup was deployed without an events verifier, so it cannot read logs.
    error NoVerifier();
    /// @notice There is no contract at this address.
    /// @param registry The address.
    error NoContract(address registry);
    /// @notice The verifier belongs to another registry.
    /// @param verifier The verifier.
    error RegistryMismatch(address verifier);

    /// @notice The registry whose facts this contract reads.
    function REGISTRY() external view returns (address);

    /// @notice The events verifier of the registry, or zero.
    function VERIFIER() external view returns (address);

    /// @notice The gateways that are used if the caller passes none.
    function urls() external view returns (string[] memory);

    /// @notice A field of an account at the end of a block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param field The field, as in AccountField.
    /// @param gateways The caller's gateways; empty for `urls()`.
    /// @return value A number, or a hash.
    function read(address account, uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice The value of a storage slot at the end of a block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    /// @param gateways The caller's gateways; empty for `urls()`.
    /// @return value All 32 bytes; several variables may share them.
    function readSlot(address account, uint256 blockNumber, bytes32 slot, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice A field of a block's header.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    /// @param gateways The caller's gateways; empty for `urls()`.
    /// @return value The field as a word, as `headerField` of the registry returns it.
    function readHeader(uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32 value);

    /// @notice The keccak256 of a log's RLP.
    /// @param blockNumber The source block.
    /// @param transactionIndex The transaction's index in the block.
    /// @param logIndex The log's index within its receipt.
    /// @param gateways The caller's gateways; empty for `urls()`.
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
    /// @param maxAge The maximum age of the block, in seconds before the newest block of this chain.
    /// @param gateways The caller's gateways; empty for `urls()`.
    /// @return value A number, or a hash.
    /// @return blockNumber The source block that the gateway chose.
    function readRecent(address account, uint8 field, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32 value, uint256 blockNumber);

    /// @notice The value of a storage slot at the end of a recent block.
    /// @param account The account.
    /// @param slot The slot.
    /// @param maxAge As for `readRecent`.
    /// @param gateways The caller's gateways; empty for `urls()`.
    /// @return value All 32 bytes; several variables may share them.
    /// @return blockNumber The source block that the gateway chose.
    function readSlotRecent(address account, bytes32 slot, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32 value, uint256 blockNumber);

    /// @notice A field of a recent block's header.
    /// @param field The field, as in HeaderField.
    /// @param maxAge As for `readRecent`.
    /// @param gateways The caller's gateways; empty for `urls()`.
    /// @return value The field as a word, as `headerField` of the registry returns it.
    /// @return blockNumber The source block that the gateway chose.
    function readHeaderRecent(uint8 field, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32 value, uint256 blockNumber);

    /// @notice The callback of the readers that take a block number. It verifies the gateway's response, and
    /// returns the value if exactly the requested fact is proven.
    /// @param response The encoded return values of `lookUp`.
    /// @param extraData The bytes from the OffchainLookup error.
    /// @return value The return value of the reader.
    function onProof(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (bytes32 value);

    /// @notice The callback of the `…Recent` readers. If the registry does not know the block any more, or
    /// not yet, it reverts with another `OffchainLookup`, at most three times.
    /// @param response The encoded return values of `lookUpRecent`.
    /// @param extraData The bytes from the OffchainLookup error.
    /// @return value The requested value.
    /// @return blockNumber The source block.
    function onRecentProof(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (bytes32 value, uint256 blockNumber);
}
