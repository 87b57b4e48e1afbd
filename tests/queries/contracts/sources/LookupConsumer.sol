// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {FactsLookupClient} from "interfaces/FactsLookupClient.sol";
import {IFactsLookup} from "interfaces/IFactsLookup.sol";

/// @title A contract that reads by a lookup: a balance in its own unit, from its own gateways
contract LookupConsumer {
    using FactsLookupClient for IFactsLookup;

    IFactsLookup private immutable LOOKUP;

    constructor(IFactsLookup lookup) {
        LOOKUP = lookup;
    }

    function share(address account, uint256 blockNumber, uint256 divisor, string[] calldata gateways)
        external
        view
        returns (uint256)
    {
        bytes memory call =
            abi.encodeCall(IFactsLookup.read, (account, blockNumber, 1, gateways));
        bytes memory result = LOOKUP.ask(call, this.onShare.selector, abi.encode(divisor));
        return uint256(bytes32(result)) / divisor;
    }

    function onShare(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (uint256)
    {
        (bytes memory result, bytes memory context) =
            LOOKUP.resume(response, extraData, this.onShare.selector);
        return uint256(bytes32(result)) / abi.decode(context, (uint256));
    }

    function recent(address account, uint256 maxAge, string[] calldata gateways)
        external
        view
        returns (uint256 balance, uint256 blockNumber)
    {
        bytes memory call =
            abi.encodeCall(IFactsLookup.readRecent, (account, 1, maxAge, gateways));
        return _decoded(LOOKUP.ask(call, this.onRecent.selector, ""));
    }

    function onRecent(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (uint256 balance, uint256 blockNumber)
    {
        (bytes memory result,) = LOOKUP.resume(response, extraData, this.onRecent.selector);
        return _decoded(result);
    }

    function _decoded(bytes memory result) private pure returns (uint256, uint256) {
        return abi.decode(result, (uint256, uint256));
    }
}
