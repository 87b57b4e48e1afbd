// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface IProvenAccounts {
    function accountField(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (uint256);
}

/// Keeps an account's newest balance on another chain. Anyone may call it: it believes the registry, and
/// not its caller.
contract NewestBalance {
    uint8 private constant BALANCE = 1;

    IProvenAccounts public immutable registry; // of the source chain
    address public immutable account;

    uint256 public balance; // of the account
    uint256 public blockNumber; // at which it had this balance

    constructor(IProvenAccounts registry_, address account_) {
        registry = registry_;
        account = account_;
    }

    function update(uint256 block_) external {
        require(block_ > blockNumber, "this block is not newer");
        // Reverts unless the balance is proven.
        balance = registry.accountField(account, block_, BALANCE);
        blockNumber = block_;
    }
}
