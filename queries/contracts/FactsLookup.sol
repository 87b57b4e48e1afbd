// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EventFacts, IEventsVerifier, LogFact} from "./interfaces/IEventsVerifier.sol";
import {
    AccountFact,
    Facts,
    HeaderFact,
    IFactsRegistry,
    SlotFact
} from "./interfaces/IFactsRegistry.sol";
import {IFactsGateway, IFactsLookup, Question} from "./interfaces/IFactsLookup.sol";

/// @title Facts without a transaction (ERC-3668)
/// @notice See IFactsLookup. The contract trusts the registry and the verifier of its constructor, which its
/// CREATE2 address proves, and neither gateways nor callers.
contract FactsLookup is IFactsLookup {
    uint8 private constant ACCOUNT_FIELD = 1;
    uint8 private constant SLOT = 2;
    uint8 private constant HEADER_FIELD = 3;
    uint8 private constant LOG = 5;

    /// @inheritdoc IFactsLookup
    address public immutable REGISTRY;
    /// @inheritdoc IFactsLookup
    address public immutable VERIFIER;

    string[] private _urls;

    /// @param registry The registry.
    /// @param verifier The events verifier beside it, or zero.
    /// @param urls_ The gateways.
    constructor(address registry, address verifier, string[] memory urls_) {
        if (registry.code.length == 0) revert NoContract(registry);
        if (verifier != address(0) && IEventsVerifier(verifier).REGISTRY() != registry) {
            revert AnotherRegistry(verifier);
        }
        REGISTRY = registry;
        VERIFIER = verifier;
        _urls = urls_;
    }

    /// @inheritdoc IFactsLookup
    function urls() external view returns (string[] memory) {
        return _urls;
    }

    // Reading

    /// @inheritdoc IFactsLookup
    function read(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bytes32)
    {
        return _read(Question(ACCOUNT_FIELD, account, blockNumber, field, 0), new string[](0));
    }

    /// @inheritdoc IFactsLookup
    function read(address account, uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32)
    {
        return _read(Question(ACCOUNT_FIELD, account, blockNumber, field, 0), gateways);
    }

    /// @inheritdoc IFactsLookup
    function readSlot(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bytes32)
    {
        return _read(Question(SLOT, account, blockNumber, uint256(slot), 0), new string[](0));
    }

    /// @inheritdoc IFactsLookup
    function readSlot(address account, uint256 blockNumber, bytes32 slot, string[] calldata gateways)
        external
        view
        returns (bytes32)
    {
        return _read(Question(SLOT, account, blockNumber, uint256(slot), 0), gateways);
    }

    /// @inheritdoc IFactsLookup
    function readHeader(uint256 blockNumber, uint8 field) external view returns (bytes32) {
        return _read(Question(HEADER_FIELD, address(0), blockNumber, field, 0), new string[](0));
    }

    /// @inheritdoc IFactsLookup
    function readHeader(uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32)
    {
        return _read(Question(HEADER_FIELD, address(0), blockNumber, field, 0), gateways);
    }

    /// @inheritdoc IFactsLookup
    function readLog(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex)
        external
        view
        returns (bytes32)
    {
        return _read(
            Question(LOG, address(0), blockNumber, transactionIndex, logIndex), new string[](0)
        );
    }

    /// @inheritdoc IFactsLookup
    function readLog(
        uint256 blockNumber,
        uint256 transactionIndex,
        uint256 logIndex,
        string[] calldata gateways
    ) external view returns (bytes32) {
        return _read(Question(LOG, address(0), blockNumber, transactionIndex, logIndex), gateways);
    }

    function _read(Question memory question, string[] memory gateways)
        private
        view
        returns (bytes32)
    {
        (bool stored, bytes32 value) = _stored(question);
        if (stored) return value;
        if (gateways.length == 0) gateways = _urls;
        bytes memory request = _request(question);
        revert OffchainLookup(
            address(this), gateways, request, this.proven.selector, abi.encode(keccak256(request))
        );
    }

    /// @dev What the registry or the verifier stores: whether it is proven, and the value.
    function _stored(Question memory question) private view returns (bool, bytes32) {
        (uint256 number, uint256 name) = (question.blockNumber, question.name);
        address target = REGISTRY;
        bytes memory data;
        if (question.kind == ACCOUNT_FIELD) {
            data = abi.encodeCall(
                IFactsRegistry.tryAccountField, (question.account, number, uint8(name))
            );
        } else if (question.kind == SLOT) {
            data = abi.encodeCall(
                IFactsRegistry.tryAccountStorageSlotValues,
                (question.account, number, bytes32(name))
            );
        } else if (question.kind == HEADER_FIELD) {
            data = abi.encodeCall(IFactsRegistry.tryHeaderField, (number, uint8(name)));
        } else {
            target = _verifier();
            data = abi.encodeCall(IEventsVerifier.tryLogHash, (number, name, question.logIndex));
        }
        return abi.decode(_ask(target, data), (bool, bytes32));
    }

    // The callback

    /// @inheritdoc IFactsLookup
    function proven(bytes calldata answer, bytes calldata extraData)
        external
        view
        returns (bytes32 value)
    {
        (bytes memory section, bytes memory witness, uint8 field) =
            abi.decode(answer, (bytes, bytes, uint8));
        Question memory found;
        (found, value) =
            witness.length > 0 ? _verifiedLog(section, witness) : _verifiedFact(section, field);
        bytes32 asked = abi.decode(extraData, (bytes32));
        if (keccak256(_request(found)) != asked) revert AnotherFact();
    }

    /// @dev The only fact that the registry verifies, as the question that it answers, and its value.
    function _verifiedFact(bytes memory section, uint8 field)
        private
        view
        returns (Question memory found, bytes32 value)
    {
        bytes memory data = abi.encodeCall(IFactsRegistry.verify, (section));
        Facts memory facts = abi.decode(_ask(REGISTRY, data), (Facts));
        uint256 count = facts.accounts.length + facts.slots.length + facts.headerFields.length
            + facts.timestamps.length;
        if (facts.slots.length > 0) --count; // the slot's account, which is verified with it
        if (count != 1) revert NotOneFact(count);
        if (facts.slots.length > 0) {
            SlotFact memory fact = facts.slots[0];
            return (
                Question(SLOT, fact.account, fact.blockNumber, uint256(fact.slot), 0), fact.value
            );
        }
        if (facts.accounts.length > 0) {
            AccountFact memory fact = facts.accounts[0];
            bytes32[4] memory values = [
                bytes32(uint256(fact.nonce)),
                bytes32(fact.balance),
                fact.storageRoot,
                fact.codeHash
            ];
            return (
                Question(ACCOUNT_FIELD, fact.account, fact.blockNumber, field, 0), values[field]
            );
        }
        if (facts.headerFields.length > 0) {
            HeaderFact memory fact = facts.headerFields[0];
            return (
                Question(HEADER_FIELD, address(0), fact.blockNumber, fact.field, 0), fact.value
            );
        }
        // The block at a time, which no reader asks for: a question of kind zero.
    }

    /// @dev The only log that the verifier verifies, as the question that it answers, and its hash.
    function _verifiedLog(bytes memory section, bytes memory witness)
        private
        view
        returns (Question memory, bytes32)
    {
        address verifier = _verifier();
        bytes memory data = abi.encodeCall(IEventsVerifier.verify, (section, witness));
        EventFacts memory facts = abi.decode(_ask(verifier, data), (EventFacts));
        uint256 others = facts.receipts.length + facts.transactions.length
            + facts.withdrawals.length + facts.absentIndexes.length + facts.absentLogs.length
            + facts.silentBlocks.length;
        if (facts.logs.length != 1 || others != 0) revert NotOneFact(facts.logs.length + others);
        LogFact memory log = facts.logs[0];
        return (
            Question(LOG, address(0), log.blockNumber, log.transactionIndex, log.logIndex),
            log.logHash
        );
    }

    /// @dev The data of the gateway's call. It names the chain, since registries have the same address on
    /// every chain.
    function _request(Question memory question) private view returns (bytes memory) {
        return abi.encodeCall(IFactsGateway.lookUp, (block.chainid, REGISTRY, question));
    }

    function _verifier() private view returns (address) {
        if (VERIFIER == address(0)) revert NoVerifier();
        return VERIFIER;
    }

    function _ask(address target, bytes memory data) private view returns (bytes memory answer) {
        bool success;
        (success, answer) = target.staticcall(data);
        if (!success) revert Refused(target, answer);
    }
}
