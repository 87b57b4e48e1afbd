// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Calls a stranger's contract in the place of the sender
/// @notice It has no owner, no storage and no funds, and anyone can call anything through it. So a call
/// that comes from it shows nothing about who sent it: a target reads a registry, or verifies a proof in
/// its arguments. Never give this contract a right, an allowance or a token.
/// @dev It hides the sender as `msg.sender`, not as `tx.origin`.
contract Courier {
    /// @notice There is no contract at this address: the call would succeed without effect.
    /// @param target The address.
    error NoContract(address target);
    /// @notice The transaction has too little gas. What it can give to a target must be at least 5,000 more
    /// than the gas limit.
    /// @param available What is left of its gas, without a 64th.
    /// @param gasLimit The gas limit.
    error GasTooLow(uint256 available, uint256 gasLimit);

    /// @dev The call itself takes at most 2,700 (the account is delegated, EIP-7702, and its delegate is
    /// not warm), and passing on the reason some 300. The rest is for forks that raise these prices.
    uint256 private constant RESERVE = 5_000;
    /// @dev In bytes.
    uint256 private constant MAX_REASON = 1_024;

    /// @notice Call `target` without value and with exactly `gasLimit` gas. If it reverts, revert with
    /// the first 1,024 bytes of its reason, which can imitate the errors of this contract.
    /// @param target The contract to call.
    /// @param gasLimit The gas that the target gets. If there is less, the target is not called.
    /// @param data The calldata of that call.
    function deliver(address target, uint256 gasLimit, bytes calldata data) external {
        if (target.code.length == 0) revert NoContract(target);
        // Copied first, because this takes gas.
        bytes memory payload = data;
        // A call gets at most what is left after a 64th (EIP-150), without an error.
        uint256 available = gasleft() - gasleft() / 64;
        if (available < gasLimit || available - gasLimit < RESERVE) {
            revert GasTooLow(available, gasLimit);
        }
        // By hand, because Solidity would copy whatever is answered, however long it is.
        assembly ("memory-safe") {
            if iszero(call(gasLimit, target, 0, add(payload, 32), mload(payload), 0, 0)) {
                let size := returndatasize()
                if gt(size, MAX_REASON) { size := MAX_REASON }
                returndatacopy(payload, 0, size)
                revert(payload, size)
            }
        }
    }
}
