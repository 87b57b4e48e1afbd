// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {FactsRouter, INamesSource} from "./FactsRouter.sol";
import {EventFacts, IEventsVerifier, LogFact} from "../interfaces/IEventsVerifier.sol";

/// @title Logs of several source chains behind one address
/// @notice For consumers written for ICrossL2ProverV2, which hand over a proof and act on the log that it
/// returns. The router stores nothing but its list: the constructor names one events verifier for each
/// source chain, and nothing changes that. You trust each verifier, and so its registry; for one whose
/// registry does not name its source, the chain id that the constructor was given. By CREATE2 the router's
/// address proves that list. A proof is packed:
///
///   uint8 form          0 or 1
///   uint32 chain, uint64 block, uint32 transaction, uint32 log (its index within its receipt)
///   0: uint24 length, a section of that length, a witness until the end (see IEventsVerifier.verify)
///   1: 20 emitter, uint8 count of topics, 32 each, the data until the end: the verifier stores this log
///
/// Different proofs may return the same log. So identify a log by what `inspectLogIdentifier` returns, not
/// by a hash of its proof.
contract EventsRouter {
    /// @notice There is no contract at this address.
    /// @param verifier The address.
    error NoContract(IEventsVerifier verifier);
    /// @notice The verifier's registry says that it is about another chain.
    /// @param verifier The verifier.
    /// @param chainId The chain that the constructor was given for it.
    /// @param named The chain that the registry names.
    error SourceMismatch(IEventsVerifier verifier, uint256 chainId, uint256 named);
    /// @notice The proof ends before what it must contain.
    /// @param length How many bytes it has.
    error ProofTooShort(uint256 length);
    /// @notice A proof has form 0 or 1.
    /// @param form The first byte of this one.
    error UnknownForm(uint256 form);
    /// @notice The witness must state one log.
    /// @param count How many it states.
    error NotOneLog(uint256 count);
    /// @notice The witness states another log than the proof.
    /// @param blockNumber The log's block.
    /// @param transactionIndex The index of its transaction.
    /// @param logIndex Its index within its receipt.
    error AnotherLog(uint256 blockNumber, uint256 transactionIndex, uint256 logIndex);

    /// @dev The bytes that both forms have first.
    uint256 private constant HEAD = 21;

    /// @notice The verifier of a chain's events.
    /// @return The verifier; the zero address if there is none.
    mapping(uint256 chainId => IEventsVerifier) public verifierOf;

    /// @notice Names the verifiers, for good.
    /// @param chainIds The source chains.
    /// @param verifiers The events verifier of each, on this chain.
    constructor(uint32[] memory chainIds, IEventsVerifier[] memory verifiers) {
        if (chainIds.length != verifiers.length) {
            revert FactsRouter.LengthsDiffer(chainIds.length, verifiers.length);
        }
        for (uint256 i = 0; i < verifiers.length; ++i) {
            (uint256 chainId, IEventsVerifier verifier) = (chainIds[i], verifiers[i]);
            if (address(verifierOf[chainId]) != address(0)) {
                revert FactsRouter.SourceRepeated(chainId);
            }
            if (address(verifier).code.length == 0) revert NoContract(verifier);
            (bool names, bytes memory answer) =
                verifier.REGISTRY().staticcall(abi.encodeCall(INamesSource.sourceChainId, ()));
            if (names && answer.length == 32) {
                uint256 named = abi.decode(answer, (uint256));
                if (named != chainId) revert SourceMismatch(verifier, chainId, named);
            }
            verifierOf[chainId] = verifier;
        }
    }

    /// @notice Which log a proof is about. It says nothing about whether `validateEvent` accepts it.
    /// @param proof The proof.
    /// @return srcChain The chain on which the log was emitted.
    /// @return blockNumber Its block.
    /// @return receiptIndex The index of its transaction, and so of its receipt, in that block.
    /// @return logIndex Its index within its receipt, not within the block.
    function inspectLogIdentifier(bytes calldata proof)
        public
        pure
        returns (uint32 srcChain, uint64 blockNumber, uint32 receiptIndex, uint32 logIndex)
    {
        bytes calldata head = _part(proof, 0, HEAD);
        return (
            uint32(bytes4(head[1:])),
            uint64(bytes8(head[5:])),
            uint32(bytes4(head[13:])),
            uint32(bytes4(head[17:]))
        );
    }

    /// @notice The log that a proof proves. Reverts if it does not prove one.
    /// @param proof The proof.
    /// @return chainId The chain on which the log was emitted.
    /// @return emittingContract The contract that emitted it.
    /// @return topics Its topics, one behind the other.
    /// @return unindexedData Its data.
    function validateEvent(bytes calldata proof)
        external
        view
        returns (
            uint32 chainId,
            address emittingContract,
            bytes memory topics,
            bytes memory unindexedData
        )
    {
        (chainId,,,) = inspectLogIdentifier(proof);
        IEventsVerifier verifier = verifierOf[chainId];
        if (address(verifier) == address(0)) revert FactsRouter.SourceNotRouted(chainId);
        uint256 form = uint8(proof[0]);
        if (form > 1) revert UnknownForm(form);
        (emittingContract, topics, unindexedData) =
            form == 0 ? _verifiedLog(verifier, proof) : _storedLog(verifier, proof);
    }

    /// @dev The log of a witness.
    function _verifiedLog(IEventsVerifier verifier, bytes calldata proof)
        private
        view
        returns (address, bytes memory, bytes memory)
    {
        uint256 start = HEAD + 3;
        bytes calldata section = _part(proof, start, uint24(bytes3(_part(proof, HEAD, 3))));
        EventFacts memory facts = verifier.verify(section, proof[start + section.length:]);
        if (facts.logs.length != 1) revert NotOneLog(facts.logs.length);
        LogFact memory log = facts.logs[0];
        (, uint256 number, uint256 index, uint256 place) = inspectLogIdentifier(proof);
        if (log.blockNumber != number || log.transactionIndex != index || log.logIndex != place) {
            revert AnotherLog(log.blockNumber, log.transactionIndex, log.logIndex);
        }
        return (log.emitter, abi.encodePacked(log.topics), log.data);
    }

    /// @dev The log in the proof itself.
    function _storedLog(IEventsVerifier verifier, bytes calldata proof)
        private
        view
        returns (address emitter, bytes memory topics, bytes memory data)
    {
        bytes calldata fixedPart = _part(proof, HEAD, 21);
        emitter = address(bytes20(fixedPart));
        bytes32[] memory list = new bytes32[](uint8(fixedPart[20]));
        topics = _part(proof, HEAD + 21, 32 * list.length);
        data = proof[HEAD + 21 + topics.length:];
        for (uint256 i = 0; i < list.length; ++i) {
            list[i] = bytes32(proof[HEAD + 21 + 32 * i:]);
        }
        (, uint256 number, uint256 index, uint256 place) = inspectLogIdentifier(proof);
        if (!verifier.isLog(number, index, place, emitter, list, data)) {
            revert IEventsVerifier.LogNotProven(number, index, place);
        }
    }

    function _part(bytes calldata proof, uint256 start, uint256 length)
        private
        pure
        returns (bytes calldata)
    {
        if (start + length > proof.length) revert ProofTooShort(proof.length);
        return proof[start:start + length];
    }
}
