// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A registry of names that anyone may write to, for tests
contract EnsRegistry {
    mapping(bytes32 node => address) public resolver;

    function set(bytes32 node, address its) external {
        resolver[node] = its;
    }
}

/// @title A resolver that anyone may write to
contract Resolver {
    mapping(bytes32 node => address) public addr;

    function set(bytes32 node, address its) external {
        addr[node] = its;
    }
}

/// @title A resolver that sends whoever asks to a server
contract OffChainResolver {
    error OffchainLookup(address sender, string[] urls, bytes data, bytes4 callback, bytes extra);

    function addr(bytes32 node) external view returns (address) {
        string[] memory urls = new string[](1);
        urls[0] = "https://gateway.example/{sender}/{data}";
        revert OffchainLookup(address(this), urls, abi.encode(node), this.addr.selector, "");
    }
}
