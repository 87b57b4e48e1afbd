// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Reads a list of calls from a contract in one call
contract Asker {
    /// @notice The calls are in the code of `list`: for each, a uint16 length and the calldata. Returns
    /// the call's index, the length of its answer, and the answer in whole words. Calls that revert
    /// and answers of two zero words are left out.
    function ask(address asked, address list) external view returns (bytes memory answers) {
        assembly ("memory-safe") {
            let at := mload(64)
            let end := add(at, extcodesize(list))
            extcodecopy(list, at, 0, sub(end, at))
            answers := and(add(end, 63), not(31))
            let target := add(answers, 32)
            for { let place := 0 } lt(at, end) { place := add(place, 1) } {
                let length := shr(240, mload(at))
                let success := staticcall(gas(), asked, add(at, 2), length, 0, 0)
                at := add(at, add(2, length))
                let size := returndatasize()
                let answer := add(target, 64)
                returndatacopy(answer, 0, size)
                let nothing := and(eq(size, 64), iszero(or(mload(answer), mload(add(answer, 32)))))
                if and(success, iszero(nothing)) {
                    mstore(target, place)
                    mstore(add(target, 32), size)
                    target := add(answer, and(add(size, 31), not(31)))
                }
            }
            mstore(answers, sub(sub(target, answers), 32))
            mstore(64, target)
        }
    }
}
