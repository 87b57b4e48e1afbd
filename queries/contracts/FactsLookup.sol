// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EventFacts, IEventsVerifier, LogFact} from "./interfaces/IEventsVerifier.sol";
import {
    AccountFact,
    AccountField,
    Facts,
    HeaderFact,
    HeaderField,
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
    uint256 private constant RETRIES = 3;

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
            revert RegistryMismatch(verifier);
        }
        REGISTRY = registry;
        VERIFIER = verifier;
        _urls = urls_;
    }

    /// @inheritdoc IFactsLookup
    function urls() external view returns (string[] memory) {
        return _urls;
    }

    // Read at a block

    /// @inheritdoc IFactsLookup
    function read(address account, uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32)
    {
        return _read(_fieldQuestion(account, blockNumber, field), gateways);
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
    function readHeader(uint256 blockNumber, uint8 field, string[] calldata gateways)
        external
        view
        returns (bytes32)
    {
        return _read(Question(HEADER_FIELD, address(0), blockNumber, field, 0), gateways);
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

    function _fieldQuestion(address account, uint256 blockNumber, uint8 field)
        private
        pure
        returns (Question memory)
    {
        if (field > AccountField.CODE_HASH) revert FieldUnknown(field);
        return Question(ACCOUNT_FIELD, account, blockNumber, field, 0);
    }

    function _read(Question memory question, string[] calldata gateways)
        private
        view
        returns (bytes32)
    {
        (bool stored, bytes32 value) = _stored(question);
        if (stored) return value;
        bytes memory request =
            abi.encodeCall(IFactsGateway.lookUp, (block.chainid, REGISTRY, question));
        _lookUp(gateways, request, this.onProof.selector, abi.encode(question));
    }

    /// @dev Read the fact from the registry or the verifier: whether it is stored, and its value.
    function _stored(Question memory question) private view returns (bool, bytes32) {
        (uint256 number, uint256 key) = (question.blockNumber, question.key);
        address target = REGISTRY;
        bytes memory data;
        if (question.kind == ACCOUNT_FIELD) {
            data = abi.encodeCall(
                IFactsRegistry.tryAccountField, (question.account, number, uint8(key))
            );
        } else if (question.kind == SLOT) {
            data = abi.encodeCall(
                IFactsRegistry.tryAccountStorageSlotValues,
                (question.account, number, bytes32(key))
            );
        } else if (question.kind == HEADER_FIELD) {
            data = abi.encodeCall(IFactsRegistry.tryHeaderField, (number, uint8(key)));
        } else {
            target = _verifier();
            data = abi.encodeCall(IEventsVerifier.tryLogHash, (number, key, question.logIndex));
        }
        return abi.decode(_ask(target, data), (bool, bytes32));
    }

    // Read at a recent block, which the gateway chooses

    /// @inheritdoc IFactsLookup
    function readRecent(address account, uint8 field, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32, uint256)
    {
        _lookUpRecent(_fieldQuestion(account, 0, field), maxAge, RETRIES, gateways);
    }

    /// @inheritdoc IFactsLookup
    function readSlotRecent(address account, bytes32 slot, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32, uint256)
    {
        _lookUpRecent(Question(SLOT, account, 0, uint256(slot), 0), maxAge, RETRIES, gateways);
    }

    /// @inheritdoc IFactsLookup
    function readHeaderRecent(uint8 field, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (bytes32, uint256)
    {
        _lookUpRecent(Question(HEADER_FIELD, address(0), 0, field, 0), maxAge, RETRIES, gateways);
    }

    function _lookUpRecent(
        Question memory question,
        uint256 maxAge,
        uint256 retries,
        string[] memory gateways
    ) private view {
        question.blockNumber = block.number;
        bytes memory request =
            abi.encodeCall(IFactsGateway.lookUpRecent, (block.chainid, REGISTRY, question));
        bytes memory extraData = abi.encode(question, maxAge, retries, gateways);
        _lookUp(gateways, request, this.onRecentProof.selector, extraData);
    }

    function _lookUp(
        string[] memory gateways,
        bytes memory request,
        bytes4 callback,
        bytes memory extraData
    ) private view {
        if (gateways.length == 0) gateways = _urls;
        revert OffchainLookup(address(this), gateways, request, callback, extraData);
    }

    // Callbacks

    /// @inheritdoc IFactsLookup
    function onProof(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (bytes32 value)
    {
        Question memory question = abi.decode(extraData, (Question));
        uint256 blockNumber;
        if (question.kind == LOG) {
            bytes memory data = bytes.concat(IEventsVerifier.verify.selector, response);
            EventFacts memory events = abi.decode(_ask(_verifier(), data), (EventFacts));
            (value, blockNumber) = _logHash(events, question);
        } else {
            bytes memory data = bytes.concat(IFactsRegistry.verify.selector, response);
            Facts memory facts = abi.decode(_ask(REGISTRY, data), (Facts));
            (value, blockNumber) = _value(facts, question, false);
        }
        if (blockNumber != question.blockNumber) revert FactMismatch();
    }

    /// @inheritdoc IFactsLookup
    function onRecentProof(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (bytes32 value, uint256 blockNumber)
    {
        (Question memory question, uint256 maxAge, uint256 retries, string[] memory gateways) =
            abi.decode(extraData, (Question, uint256, uint256, string[]));
        (bool success, bytes memory result) =
            REGISTRY.staticcall(bytes.concat(IFactsRegistry.verify.selector, response));
        if (!success) {
            if (retries > 0 && bytes4(result) == IFactsRegistry.BlockNotKnown.selector) {
                _lookUpRecent(question, maxAge, retries - 1, gateways);
            }
            revert CallReverted(REGISTRY, result);
        }
        Facts memory facts = abi.decode(result, (Facts));
        (value, blockNumber) = _value(facts, question, true);
        (bytes32 time, uint256 timedBlock) = _field(facts.headerFields, HeaderField.TIMESTAMP);
        if (timedBlock != blockNumber) revert FactMismatch();
        // The source chain's clock may be ahead.
        uint256 age = block.timestamp > uint256(time) ? block.timestamp - uint256(time) : 0;
        if (age > maxAge) revert BlockTooOld(blockNumber, age);
    }

    /// @dev The value of the requested fact, and its block. The only other facts may be the account of a
    /// slot and, if `timed`, the timestamp of the block.
    function _value(Facts memory facts, Question memory question, bool timed)
        private
        pure
        returns (bytes32, uint256)
    {
        bool isHeader = question.kind == HEADER_FIELD;
        uint256 fields = isHeader ? 1 : 0;
        if (timed && !(isHeader && question.key == HeaderField.TIMESTAMP)) ++fields;
        if (
            facts.accounts.length != (isHeader ? 0 : 1)
                || facts.slots.length != (question.kind == SLOT ? 1 : 0)
                || facts.headerFields.length != fields || facts.timestamps.length != 0
        ) revert FactMismatch();
        if (isHeader) return _field(facts.headerFields, question.key);
        if (question.kind == SLOT) {
            SlotFact memory slot = facts.slots[0];
            if (slot.account != question.account || uint256(slot.slot) != question.key) {
                revert FactMismatch();
            }
            return (slot.value, slot.blockNumber);
        }
        if (question.kind != ACCOUNT_FIELD) revert KindUnknown(question.kind);
        AccountFact memory fact = facts.accounts[0];
        if (fact.account != question.account) revert FactMismatch();
        bytes32[4] memory values = [
            bytes32(uint256(fact.nonce)), bytes32(fact.balance), fact.storageRoot, fact.codeHash
        ];
        return (values[question.key], fact.blockNumber);
    }

    /// @dev The value of a header field, and its block.
    function _field(HeaderFact[] memory facts, uint256 field)
        private
        pure
        returns (bytes32, uint256)
    {
        for (uint256 i = 0; i < facts.length; ++i) {
            if (facts[i].field == field) return (facts[i].value, facts[i].blockNumber);
        }
        revert FactMismatch();
    }

    /// @dev The hash of the requested log, and its block. There may be no other facts.
    function _logHash(EventFacts memory facts, Question memory question)
        private
        pure
        returns (bytes32, uint256)
    {
        uint256 others = facts.receipts.length + facts.transactions.length
            + facts.withdrawals.length + facts.absentIndexes.length + facts.absentLogs.length
            + facts.silentBlocks.length;
        if (facts.logs.length != 1 || others != 0) revert FactMismatch();
        LogFact memory log = facts.logs[0];
        if (log.transactionIndex != question.key || log.logIndex != question.logIndex) {
            revert FactMismatch();
        }
        return (log.logHash, log.blockNumber);
    }

    function _verifier() private view returns (address) {
        if (VERIFIER == address(0)) revert NoVerifier();
        return VERIFIER;
    }

    function _ask(address target, bytes memory data) private view returns (bytes memory answer) {
        bool success;
        (success, answer) = target.staticcall(data);
        if (!success) revert CallReverted(target, answer);
    }
}
