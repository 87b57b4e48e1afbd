// SPDX-License-Identifier: MIT
pragma solidity ^0.8.4;

/// What these tests need of forge's cheatcodes.
interface Cheats {
    function prank(address sender, address origin) external;
    function expectRevert(bytes calldata data) external;
}

Cheats constant cheats = Cheats(address(uint160(uint256(keccak256("hevm cheat code")))));
