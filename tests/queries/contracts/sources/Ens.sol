// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A registry of names that anyone may write, for tests
contract EnsRegistry {
    mapping(bytes32 node => address) public resolver;

    function set(bytes32 node, address its) external {
        resolver[node] = its;
    }
}

/// @title A resolver that anyone may write
contract Resolver {
    mapping(bytes32 node => address) public addr;

    function set(bytes32 node, address its) external {
        addr[node] = its;
    }
}

/// @title A wildcard resolver (ENSIP-10) that redirects to a server for names that it lacks
contract WholeNamesResolver {
    error OffchainLookup(address sender, string[] urls, bytes data, bytes4 callback, bytes extra);
    error AnotherQuestion();

    mapping(bytes32 node => address) private _its;

    function set(bytes32 node, address its) external {
        _its[node] = its;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == this.resolve.selector;
    }

    function resolve(bytes calldata name, bytes calldata question) external view returns (bytes memory) {
        bytes32 node = _hashOf(name);
        if (keccak256(question) != keccak256(abi.encodeWithSignature("addr(bytes32)", node))) {
            revert AnotherQuestion();
        }
        if (_its[node] != address(0)) return abi.encode(_its[node]);
        revert OffchainLookup(address(this), new string[](1), name, this.resolve.selector, "");
    }

    /// @dev A DNS-encoded name: labels with their lengths, then a zero.
    function _hashOf(bytes calldata name) private pure returns (bytes32) {
        uint256 length = uint8(name[0]);
        if (length == 0) return 0;
        return keccak256(abi.encode(_hashOf(name[length + 1:]), keccak256(name[1:length + 1])));
    }
}
