// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

import {IFactsLookup} from "./IFactsLookup.sol";

/// @title Library for contracts that read facts through a FactsLookup (ERC-3668)
/// @notice A view function calls `ask`, and its callback calls `resume`:
///
///     function balance(address account) external view returns (uint256) {
///         bytes memory call = abi.encodeCall(IFactsLookup.read, (account, BLOCK, 1, new string[](0)));
///         return uint256(bytes32(LOOKUP.ask(call, this.onBalance.selector, "")));
///     }
///     function onBalance(bytes calldata response, bytes calldata extraData) external view returns (uint256) {
///         (bytes memory result,) = LOOKUP.resume(response, extraData, this.onBalance.selector);
///         return uint256(bytes32(result));
///     }
///
/// Anyone can call the callback, with a valid response to another question and with another context. So the
/// callback may only return values to its caller; it must not write state or authorize anything.
library FactsLookupClient {
    /// @notice The lookup reverted, or is not a lookup.
    /// @param reason Its revert data.
    error LookupFailed(bytes reason);

    bytes4 private constant OFFCHAIN_LOOKUP = 0x556f1830; // its selector

    /// @notice Call a reader. Reverts with an OffchainLookup of this contract if a proof has to be fetched.
    /// @param lookup The lookup.
    /// @param call The reader's encoded call.
    /// @param callback The selector of this contract's callback.
    /// @param context Any bytes that the callback needs.
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

    /// @notice Verify the response in the callback. May revert with another OffchainLookup of this contract.
    /// @param lookup The lookup.
    /// @param response The first argument of the callback.
    /// @param extraData The second argument of the callback.
    /// @param callback The selector of the callback itself.
    /// @return result The reader's encoded return values.
    /// @return context The bytes that were passed to `ask`.
    function resume(
        IFactsLookup lookup,
        bytes calldata response,
        bytes calldata extraData,
        bytes4 callback
    ) internal view returns (bytes memory result, bytes memory context) {
        bytes4 inner;
        bytes memory extra;
        (inner, extra, context) = abi.decode(extraData, (bytes4, bytes, bytes));
        result = ask(lookup, abi.encodeWithSelector(inner, response, extra), callback, context);
    }
}
