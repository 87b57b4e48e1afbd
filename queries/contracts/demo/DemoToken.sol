// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A token with a few holders, for the demo and for tests of storage positions
/// @notice `balanceOf` stands at slot 3: a holder's balance is at keccak256(holder, 3).
contract DemoToken {
    /// @notice The token's name.
    string public name = "Sesterce";
    /// @notice Its short name.
    string public symbol = "HS";
    /// @notice How many decimals its amounts have.
    uint8 public constant decimals = 18;
    /// @notice How much of it there is.
    uint256 public totalSupply;
    /// @notice Who holds how much.
    mapping(address holder => uint256 amount) public balanceOf;

    /// @notice An amount went from one holder to another, or was made.
    event Transfer(address indexed from, address indexed to, uint256 amount);

    /// @notice Each holder begins with an amount.
    constructor(address[] memory holders, uint256[] memory amounts) {
        for (uint256 index; index < holders.length; ++index) {
            totalSupply += amounts[index];
            balanceOf[holders[index]] += amounts[index];
            emit Transfer(address(0), holders[index], amounts[index]);
        }
    }

    /// @notice Transfers an amount of the sender's tokens.
    function transfer(address to, uint256 amount) external returns (bool) {
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
        emit Transfer(msg.sender, to, amount);
        return true;
    }
}
