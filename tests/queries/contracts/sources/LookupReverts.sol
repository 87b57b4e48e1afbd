// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title In a registry's place: reverts with a lookup in its caller's name, or with what looks like a value
contract LookupReverts {
    error OffchainLookup(
        address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData
    );

    bool private immutable _looksUp;

    constructor(bool looksUp) {
        _looksUp = looksUp;
    }

    fallback() external {
        if (_looksUp) revert OffchainLookup(msg.sender, new string[](0), "", 0, "");
        bytes memory stored = abi.encode(true, uint256(7));
        assembly {
            revert(add(stored, 32), mload(stored))
        }
    }
}
