// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface ICourier {
    function deliver(address target, uint256 gasLimit, bytes calldata data) external;
}

/// A target of deliveries: it counts them, and refuses them as tests ask it to.
contract Receiver {
    uint256 public count;
    uint256 public blockNumber;
    uint256 public balance;
    address public account;
    bool public refuses;
    mapping(uint256 blockNumber => uint256) public deliveries;

    error NotNow(uint256 blockNumber);

    function setRefuses(bool refuses_) external {
        refuses = refuses_;
    }

    function onBalance(address account_, uint256 block_, uint256 balance_) external {
        if (refuses) revert NotNow(block_);
        if (block_ >= blockNumber) {
            account = account_;
            blockNumber = block_;
            balance = balance_;
        }
        ++count;
        ++deliveries[block_];
    }

    function isDone(uint256 block_) external view returns (bool) {
        return deliveries[block_] > 0;
    }

    function refuse(string calldata reason) external pure {
        revert(reason);
    }

    function useAllGas() external pure {
        for (;;) {}
    }

    /// Calls itself through the courier.
    function callBack(ICourier courier, uint256 block_) external {
        courier.deliver(
            address(this), 150_000, abi.encodeCall(this.onBalance, (address(this), block_, 0))
        );
    }
}
