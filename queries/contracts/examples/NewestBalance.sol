// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface IProvenAccounts {
    function accountField(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (uint256);

    function describe()
        external
        view
        returns (bytes32 kind, uint256 sourceChainId, bytes32 basis, uint256 horizon);
}

/// Keeps an account's newest balance on another chain. Anyone may call it: it believes the registry, and
/// not its caller.
contract NewestBalance {
    uint8 private constant BALANCE = 1;

    IProvenAccounts public immutable registry; // of the source chain
    address public immutable account;

    uint256 public balance; // of the account
    uint256 public blockNumber; // at which it had this balance

    constructor(IProvenAccounts registry_, uint256 source, address account_) {
        // Finds a mistaken address. Whether the registry is genuine, `tacitus.py routes` says.
        (bytes32 kind, uint256 sourceChainId,,) = registry_.describe();
        // An optimism registry does not know the id of its chain's L1.
        require(sourceChainId == source || kind == "optimism", "a registry of another chain");
        registry = registry_;
        account = account_;
    }

    /// Whether it has the balance of this block or a newer one. A delivery that names it in `unless` is
    /// skipped if a newer one has overtaken it.
    function hasBlock(uint256 block_) public view returns (bool) {
        return block_ <= blockNumber;
    }

    function update(uint256 block_) external {
        // Deliveries may overtake each other. To revert would have an overtaken one sent again and again,
        // until it counts as failed, although this contract has what it wants: a newer balance.
        if (hasBlock(block_)) return;
        // Reverts unless the balance is proven.
        balance = registry.accountField(account, block_, BALANCE);
        blockNumber = block_;
    }
}
