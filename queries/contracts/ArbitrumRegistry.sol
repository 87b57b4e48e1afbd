// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CompactHeader} from "./CompactHeader.sol";
import {FactsRegistry} from "./FactsRegistry.sol";
import {HASH, Header} from "./Header.sol";
import {HeaderField, IFactsRegistry} from "./interfaces/IFactsRegistry.sol";

/// @notice The contract on the parent chain that decides which assertions about an Arbitrum chain are
/// confirmed.
interface IRollup {
    /// @notice The Arbitrum chain.
    /// @return Its id.
    function chainId() external view returns (uint256);
}

/// @notice The contract from which withdrawals of an Arbitrum chain are executed.
interface IOutbox {
    /// @notice The hash of the newest block with this send root of which an assertion is confirmed.
    /// @param sendRoot The root of the chain's outgoing messages.
    /// @return The block's hash; zero if there is none.
    function roots(bytes32 sendRoot) external view returns (bytes32);
    /// @notice The rollup that confirms assertions.
    /// @return Its address.
    function rollup() external view returns (IRollup);
}

/// @title An Arbitrum chain's past, proven to the chain it settles on
/// @notice Block hashes are those of confirmed assertions: the rollup writes them into its outbox, for
/// withdrawals. Nothing is recorded here. You trust what withdrawals rely on: the rollup's assertions,
/// its security council, and those who may upgrade its contracts.
contract ArbitrumRegistry is FactsRegistry {
    /// @notice The outbox is of another chain than `sourceChainId`.
    /// @param outbox The outbox.
    /// @param chainId The chain that its rollup names.
    error OutboxOfAnotherChain(address outbox, uint256 chainId);

    /// @notice The chain whose past this is.
    /// @return Its id.
    uint256 public immutable sourceChainId;
    /// @notice The contract that is asked for hashes of confirmed blocks.
    /// @return Its address.
    IOutbox public immutable outbox;

    /// @param horizon From which time on headers are refused, in seconds.
    /// @param sourceChainId_ The chain whose past this is.
    /// @param outbox_ The contract that is asked for hashes of confirmed blocks.
    constructor(uint256 horizon, uint256 sourceChainId_, IOutbox outbox_) CompactHeader(horizon) {
        uint256 chainId = outbox_.rollup().chainId();
        if (chainId != sourceChainId_) revert OutboxOfAnotherChain(address(outbox_), chainId);
        sourceChainId = sourceChainId_;
        outbox = outbox_;
    }

    /// @inheritdoc IFactsRegistry
    function describe() external view returns (bytes32, uint256, bytes32, uint256) {
        return ("arbitrum", sourceChainId, bytes32(uint256(uint160(address(outbox)))), HORIZON);
    }

    /// @dev The outbox has no hashes by number.
    function _knownHash(uint256) internal pure override returns (bytes32) {
        return 0;
    }

    /// @dev An Arbitrum header's extra data is the send root under which the outbox has the hash.
    function _isKnown(Header header) internal view override returns (bool) {
        bytes32 sendRoot = bytes32(_headerWord(header, HeaderField.EXTRA_DATA));
        return outbox.roots(sendRoot) == bytes32(header.get(HASH));
    }

    /// @dev The source chain's beacon roots are not known here.
    function _beaconRoot(uint256) internal pure override returns (bytes32) {
        return 0;
    }
}
