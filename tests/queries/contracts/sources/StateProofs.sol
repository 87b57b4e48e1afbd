// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// What contracts of others do with `$header` and the proofs: simple rather than cheap.

/// An RLP encoding in memory.
struct Item {
    uint256 start;
    uint256 size;
}

using Rlp for Item global;

library Rlp {
    function read(bytes memory content) internal pure returns (Item memory item) {
        uint256 start;
        assembly ("memory-safe") {
            start := add(content, 32)
        }
        item = _item(start, start + content.length);
        require(item.size == content.length, "RLP: bytes follow the item");
    }

    function isList(Item memory item) internal pure returns (bool) {
        return _byte(item.start) >= 0xc0;
    }

    function items(Item memory list) internal pure returns (Item[] memory parts) {
        require(isList(list), "RLP: not a list");
        (uint256 head,) = _sizes(list.start);
        uint256 end = list.start + list.size;
        uint256 count;
        for (uint256 place = list.start + head; place < end; ++count) {
            place += _item(place, end).size;
        }
        parts = new Item[](count);
        uint256 start = list.start + head;
        for (uint256 i; i < count; ++i) {
            parts[i] = _item(start, end);
            start += parts[i].size;
        }
    }

    function text(Item memory item) internal pure returns (bytes memory) {
        require(!isList(item), "RLP: not a string");
        (uint256 head, uint256 body) = _sizes(item.start);
        return _copy(item.start + head, body);
    }

    function word(Item memory item) internal pure returns (uint256) {
        bytes memory content = text(item);
        require(content.length <= 32, "RLP: more than a word");
        return content.length == 0 ? 0 : uint256(bytes32(content)) >> (256 - 8 * content.length);
    }

    function encoding(Item memory item) internal pure returns (bytes memory) {
        return _copy(item.start, item.size);
    }

    function _item(uint256 start, uint256 end) private pure returns (Item memory) {
        require(start < end, "RLP: no item");
        (uint256 head, uint256 body) = _sizes(start);
        require(start + head + body <= end, "RLP: cut off");
        return Item(start, head + body);
    }

    function _sizes(uint256 start) private pure returns (uint256 head, uint256 body) {
        uint256 first = _byte(start);
        if (first < 0x80) return (0, 1);
        if (first < 0xb8) return (1, first - 0x80);
        if (first >= 0xc0 && first < 0xf8) return (1, first - 0xc0);
        uint256 count = first < 0xc0 ? first - 0xb7 : first - 0xf7;
        require(count <= 4, "RLP: too long");
        for (uint256 i = 1; i <= count; ++i) body = body << 8 | _byte(start + i);
        return (1 + count, body);
    }

    function _byte(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := byte(0, mload(place))
        }
    }

    function _copy(uint256 start, uint256 size) private pure returns (bytes memory copy) {
        copy = new bytes(size);
        assembly ("memory-safe") {
            mcopy(add(copy, 32), start, size)
        }
    }
}

library StateProofs {
    bytes32 private constant EMPTY_TRIE = keccak256(hex"80");

    /// The state root of a header, which must have this hash.
    function stateRoot(bytes memory header, bytes32 blockHash) internal pure returns (bytes32) {
        require(keccak256(header) == blockHash, "another block");
        return bytes32(Rlp.read(header).items()[3].word());
    }

    function number(bytes memory header) internal pure returns (uint256) {
        return Rlp.read(header).items()[8].word();
    }

    /// The storage root of an account that exists.
    function storageRoot(bytes32 root, address account, Item memory proof)
        internal
        pure
        returns (bytes32)
    {
        bytes memory leaf = value(root, keccak256(abi.encodePacked(account)), proof);
        require(leaf.length > 0, "no such account");
        return bytes32(Rlp.read(leaf).items()[2].word());
    }

    function slot(bytes32 root, bytes32 key, Item memory proof) internal pure returns (uint256) {
        bytes memory leaf = value(root, keccak256(abi.encode(key)), proof);
        return leaf.length == 0 ? 0 : Rlp.read(leaf).word();
    }

    /// The value of a key; empty if the proof shows that there is none. `proof` lists all nodes on the
    /// path, root first, with those that are embedded in their parents.
    function value(bytes32 root, bytes32 key, Item memory proof)
        internal
        pure
        returns (bytes memory)
    {
        Item[] memory nodes = proof.items();
        if (nodes.length == 0) {
            require(root == EMPTY_TRIE, "proof: no nodes");
            return "";
        }
        bytes memory expected = abi.encode(root);
        uint256 depth;
        for (uint256 i; i < nodes.length; ++i) {
            bool isLast = i + 1 == nodes.length;
            _checkNode(nodes[i], i == 0, expected);
            Item memory child;
            bool isValue;
            (child, isValue, depth) = _follow(nodes[i].items(), key, depth);
            bool isNothing = !child.isList() && child.size == 1;
            if (isValue || isNothing) {
                require(isLast, "proof: nodes below its end");
                return child.text();
            }
            expected = child.isList() ? child.encoding() : child.text();
        }
        revert("proof: cut off");
    }

    /// A node is named by its hash, or by itself if it is shorter and not the root.
    function _checkNode(Item memory node, bool isRoot, bytes memory expected) private pure {
        bytes memory name = node.encoding();
        if (isRoot || name.length >= 32) name = abi.encode(keccak256(name));
        require(keccak256(name) == keccak256(expected), "proof: another node");
    }

    /// The value or the child that a node has for the key; an empty string if it has none.
    function _follow(Item[] memory parts, bytes32 key, uint256 depth)
        private
        pure
        returns (Item memory child, bool isValue, uint256 end)
    {
        if (parts.length == 17) return (parts[_nibble(key, depth)], false, depth + 1);
        require(parts.length == 2, "proof: not a node");
        bool matches;
        (matches, isValue, end) = _match(parts[0].text(), key, depth);
        if (!matches) return (Rlp.read(hex"80"), false, end);
        require(!isValue || end == 64, "proof: a leaf that ends early");
        child = parts[1];
    }

    function _match(bytes memory path, bytes32 key, uint256 depth)
        private
        pure
        returns (bool matches, bool isLeaf, uint256 end)
    {
        uint256 flags = uint8(path[0]) >> 4;
        uint256 first = flags & 1 == 1 ? 1 : 2; // of the path's nibbles
        matches = true;
        isLeaf = flags & 2 == 2;
        end = depth + 2 * path.length - first;
        require(end <= 64, "proof: too deep");
        for (uint256 i; depth + i < end; ++i) {
            uint256 both = uint8(path[(first + i) / 2]);
            uint256 nibble = (first + i) % 2 == 0 ? both >> 4 : both & 15;
            matches = matches && nibble == _nibble(key, depth + i);
        }
    }

    function _nibble(bytes32 key, uint256 place) private pure returns (uint256) {
        require(place < 64, "proof: too deep");
        uint256 both = uint8(key[place / 2]);
        return place % 2 == 0 ? both >> 4 : both & 15;
    }
}
