// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

import {IFactsLookup} from "./IFactsLookup.sol";

/// @title Facts without a transaction, in a contract of one's own
/// @notice Reads by a lookup in a view function, and continues in a callback (ERC-3668):
///
///     function balance(address who) external view returns (uint256) {
///         bytes memory call = abi.encodeCall(IFactsLookup.read, (who, BLOCK, 1, new string[](0)));
///         return uint256(bytes32(LOOKUP.ask(call, this.balanceFound.selector, "")));
///     }
///     function balanceFound(bytes calldata answer, bytes calldata extraData) external view returns (uint256) {
///         (bytes memory result,) = LOOKUP.resume(answer, extraData, this.balanceFound.selector);
///         return uint256(bytes32(result));
///     }
///
/// `extraData` is the caller's: anyone can call the callback with another question, a true answer to it, and
/// another context. So it may only return values to whoever called it, and never write or decide anything.
library FactsLookupClient {
    /// @notice The lookup refused the answer, or is not a lookup.
    /// @param reason Its error.
    error LookupFailed(bytes reason);

    bytes4 private constant OFFCHAIN_LOOKUP = 0x556f1830; // its selector

    /// @notice Call a reader. While the fact is not stored, reverts with an OffchainLookup of this contract.
    /// @param lookup The lookup.
    /// @param call The reader's encoded call.
    /// @param callback The selector of this contract's callback.
    /// @param context What the callback needs besides.
    /// @return result The reader's encoded return values.
    function ask(IFactsLookup lookup, bytes memory call, bytes4 callback, bytes memory context)
        internal
        view
        returns (bytes memory result)
    {
        bool success;
        (success, result) = address(lookup).staticcall(call);
        if (success) return result;
        bytes32 start;
        assembly {
            start := mload(add(result, 32))
        }
        if (bytes4(start) != OFFCHAIN_LOOKUP) revert LookupFailed(result);
        // Drop the selector: write the length over it.
        assembly {
            let length := mload(result)
            result := add(result, 4)
            mstore(result, sub(length, 4))
        }
        (address sender, string[] memory urls, bytes memory request, bytes4 inner, bytes memory extra) =
            abi.decode(result, (address, string[], bytes, bytes4, bytes));
        if (sender != address(lookup)) revert LookupFailed(result);
        revert IFactsLookup.OffchainLookup(
            address(this), urls, request, callback, abi.encode(inner, extra, context)
        );
    }

    /// @notice Continue in the callback. May revert with another OffchainLookup of this contract.
    /// @param lookup The lookup.
    /// @param answer As the callback got it.
    /// @param extraData As the callback got it.
    /// @param callback The selector of the callback itself.
    /// @return result The reader's encoded return values.
    /// @return context What was passed to `ask`.
    function resume(
        IFactsLookup lookup,
        bytes calldata answer,
        bytes calldata extraData,
        bytes4 callback
    ) internal view returns (bytes memory result, bytes memory context) {
        bytes4 inner;
        bytes memory extra;
        (inner, extra, context) = abi.decode(extraData, (bytes4, bytes, bytes));
        result = ask(lookup, abi.encodeWithSelector(inner, answer, extra), callback, context);
    }
}
