// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Calls the address in its calldata with the calldata behind it, and passes on its error
contract CallsBack {
    fallback() external {
        (address target, bytes memory data) = abi.decode(msg.data, (address, bytes));
        (bool success, bytes memory answer) = target.call(data);
        assembly {
            if iszero(success) { revert(add(answer, 32), mload(answer)) }
        }
    }
}
