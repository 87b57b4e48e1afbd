// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Rebuilds the root of a Merkle-Patricia trie from claimed leaves and sibling hashes
/// @notice A witness is a depth-first walk through the part of a trie that covers a sorted list of
/// keys. It carries what the contract cannot know: leaves, and the hashes beside the path. Nodes on
/// the path are never sent and never decoded; each is encoded here, from its parts, and hashed.
///
/// Why that is sound: a walk returns the encoding of one node that covers the keys `first..last`,
/// which agree in their first `depth` nibbles, and reports a value, or absence, for each of them
/// that holds in every trie in which that node stands at that place. If the encoding at the top
/// hashes to a root that is trusted, it is the root node, and by collision resistance each node
/// below is the trie's own. So nothing in a witness is believed: another kind, mask, length or
/// value gives another encoding and another root.
///
/// The kinds of node, by their first byte, and what follows:
///   FULL     a branch, all sixteen children there, none embedded
///   BRANCH   uint16 mask of the children that are there
///   MIXED    uint16 mask of the children that are there, uint16 mask of those embedded
///            then, for each child that is there, in order of its nibble: its node where keys lie
///            below it, else its hash, or its encoding where it is embedded
///   PASS     an extension that a key passes: uint16 which of the keys (counted from `first`),
///            uint8 nibbles, the node below
///   BLOCK    an extension that no key passes: uint8 nibbles, its path (whole bytes, the spare
///            nibble in front), the child: 0 and its hash, or its encoding where it is embedded
///   LEAF     the leaf of a key: uint16 which of the keys, then what `_leafValue` reads
///   OTHER    the leaf of a foreign key: the rest of its path (as in BLOCK), uint8 length, value
///   NONE     nothing: an empty trie
///   CHAIN    where one key is alone: uint8 depth of its last node, that node, and upwards from
///            there FULL, BRANCH or MIXED with the other children, or PASS with uint8 nibbles. In
///            FULL the last child comes in the place of the path's own.
abstract contract TrieWitness {
    /// @notice The byte at `position` of the calldata is no kind of node.
    error UnknownNode(uint256 kind, uint256 position);
    /// @notice Key number `index` of a list is not greater than the one before it.
    error KeysNotAscending(uint256 index);
    /// @notice Key number `index` is said to be absent, but lies on the path that is shown.
    error KeyNotAbsent(uint256 index);
    /// @notice A chain is shown where several keys, `first` to `end - 1`, lie.
    error NotAlone(uint256 first, uint256 end);
    /// @notice A chain that begins at `depth` is said to end above it, at `last`.
    error ChainUpwards(uint256 depth, uint256 last);
    /// @notice There is no key number `index` below this node.
    error NoSuchKey(uint256 index);
    /// @notice The node embedded at `position` of the calldata is not one list of less than 32 bytes.
    error NotEmbedded(uint256 position);
    /// @notice A path of `nibbles` more below `depth` would be longer than a key.
    error PathTooLong(uint256 depth, uint256 nibbles);
    /// @notice The number at `position` of the calldata has more bytes than its type.
    error NumberTooLong(uint256 position, uint256 length);

    uint256 internal constant FULL = 0;
    uint256 internal constant BRANCH = 1;
    uint256 internal constant MIXED = 2;
    uint256 internal constant PASS = 3;
    uint256 internal constant BLOCK = 4;
    uint256 internal constant LEAF = 5;
    uint256 internal constant OTHER = 6;
    uint256 internal constant NONE = 7;
    uint256 internal constant CHAIN = 8;

    /// @dev The longest node is a branch of sixteen hashes: 3 + 16 * 33 + 1 bytes.
    uint256 private constant NODE_SPACE = 544;
    uint256 private constant FULL_LENGTH = 532;

    /// @dev A walk through the state trie, or through the storage trie of `account`.
    struct Walk {
        uint256 cursor; // next byte of the calldata
        uint256[] keys; // as the trie has them: hashed, strictly ascending
        uint256[] entries; // for each key, where in the calldata it was asked for
        uint256 blockNumber;
        address account;
        bool inStorage;
        bool written; // whether something new was stored
        uint256 fullBranch; // memory: a branch of sixteen hashes, to be filled in
    }

    /// @dev Reads the value of key `index` from `walk.at`, remembers it, and writes it to memory at
    /// `target` as the trie holds it, as an RLP string. Returns the end of what it wrote.
    function _leafValue(Walk memory walk, uint256 index, uint256 target)
        internal
        virtual
        returns (uint256 end);

    /// @dev Key `index` is not in the trie.
    function _absent(Walk memory walk, uint256 index) internal virtual;

    /// @dev The root of the trie that the witness at `walk.at` shows; moves `walk.at` behind it.
    function _root(Walk memory walk) internal returns (bytes32 root) {
        uint256 free = _freeMemory();
        (uint256 start, uint256 length) = _node(walk, 0, walk.keys.length, 0);
        // The root is hashed however short it is.
        assembly ("memory-safe") {
            root := keccak256(start, length)
        }
        _setFreeMemory(free);
    }

    function _below(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        returns (uint256 child, uint256 size)
    {
        (uint256 start, uint256 length) = _node(walk, first, end, depth);
        return _reference(start, length);
    }

    /// @dev The node that covers the keys `first` to `end - 1`, encoded at `start` of the memory.
    function _node(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        returns (uint256 start, uint256 length)
    {
        unchecked {
            if (depth > 64) revert PathTooLong(depth, 0);
            uint256 kind = _uint8(walk.cursor);
            ++walk.cursor;
            if (kind <= MIXED) return _branch(walk, first, end, depth, kind);
            if (kind == LEAF) return _leaf(walk, first, end, depth);
            if (kind == PASS) return _pass(walk, first, end, depth);
            if (kind == OTHER) return _other(walk, first, end, depth);
            if (kind == BLOCK) return _block(walk, first, end, depth);
            if (kind == NONE) return _none(walk, first, end);
            if (kind == CHAIN) return _chain(walk, first, end, depth);
            revert UnknownNode(kind, walk.cursor - 1);
        }
    }

    /// @dev What lies below a place where one key is alone: its last node, and then, from there
    /// upwards, the nodes above it. So nothing has to be kept while the path is followed.
    function _chain(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        returns (uint256 start, uint256 length)
    {
        unchecked {
            if (end - first != 1) revert NotAlone(first, end);
            uint256 key = _key(walk, first);
            uint256 above = _uint8(walk.cursor++); // the depth of the node that is built
            // Else a node could be compared with digits of the key that lie above it.
            if (above < depth) revert ChainUpwards(depth, above);
            uint256 space = _reserve(NODE_SPACE) + 3;
            (start, length) = _node(walk, first, end, above);
            uint256 cursor = walk.cursor;
            while (above > depth) {
                uint256 kind = _uint8(cursor++);
                (uint256 child, uint256 size) = _reference(start, length);
                if (kind == FULL && size == 32) {
                    start = walk.fullBranch;
                    length = FULL_LENGTH;
                    (above, cursor) = _fullBranches(start, cursor, key, above, depth, child);
                } else if (kind <= MIXED) {
                    uint256 nibble = _nibble(key, --above);
                    uint256 there;
                    uint256 embedded;
                    (there, embedded, cursor) = _masks(kind, cursor);
                    uint256 target;
                    (target, cursor) = _putSiblings(space, cursor, 0, nibble, there, embedded);
                    target = _putChild(target, child, size);
                    (target, cursor) =
                        _putSiblings(target, cursor, nibble + 1, 16, there, embedded);
                    (start, length) = _asList(space, _putByte(target, 0x80));
                } else if (kind == PASS) {
                    uint256 nibbles = _uint8(cursor++);
                    if (nibbles > above - depth) revert PathTooLong(depth, nibbles);
                    above -= nibbles;
                    uint256 target = _putPath(space, 0, _part(key, above, nibbles), nibbles);
                    (start, length) = _asList(space, _putChild(target, child, size));
                } else {
                    revert UnknownNode(kind, cursor - 1);
                }
            }
            walk.cursor = cursor;
        }
    }

    /// @dev As many full branches as follow each other upwards, `child` below the lowest: they are
    /// nearly all of a proof. The branch at `start` stands ready but for its hashes, and the
    /// fifteen are copied without a loop; the last child's comes in the place of the path's own.
    /// Returns the depth of the uppermost, which is left at `start`.
    function _fullBranches(
        uint256 start,
        uint256 cursor,
        uint256 key,
        uint256 above,
        uint256 depth,
        uint256 child
    ) private pure returns (uint256, uint256) {
        assembly ("memory-safe") {
            let hashes := add(start, 4)
            for {} 1 {} {
                above := sub(above, 1)
                let nibble := and(shr(sub(252, shl(2, above)), key), 0xf)
                mstore(add(hashes, 0), calldataload(add(cursor, 0)))
                mstore(add(hashes, 33), calldataload(add(cursor, 32)))
                mstore(add(hashes, 66), calldataload(add(cursor, 64)))
                mstore(add(hashes, 99), calldataload(add(cursor, 96)))
                mstore(add(hashes, 132), calldataload(add(cursor, 128)))
                mstore(add(hashes, 165), calldataload(add(cursor, 160)))
                mstore(add(hashes, 198), calldataload(add(cursor, 192)))
                mstore(add(hashes, 231), calldataload(add(cursor, 224)))
                mstore(add(hashes, 264), calldataload(add(cursor, 256)))
                mstore(add(hashes, 297), calldataload(add(cursor, 288)))
                mstore(add(hashes, 330), calldataload(add(cursor, 320)))
                mstore(add(hashes, 363), calldataload(add(cursor, 352)))
                mstore(add(hashes, 396), calldataload(add(cursor, 384)))
                mstore(add(hashes, 429), calldataload(add(cursor, 416)))
                mstore(add(hashes, 462), calldataload(add(cursor, 448)))
                mstore(add(hashes, 495), calldataload(add(cursor, shl(5, nibble))))
                mstore(add(hashes, mul(33, nibble)), child)
                cursor := add(cursor, 480)
                // FULL is zero
                if or(eq(above, depth), byte(0, calldataload(cursor))) { break }
                cursor := add(cursor, 1)
                child := keccak256(start, 532)
            }
        }
        return (above, cursor);
    }

    /// @dev A branch of sixteen hashes, all to be filled in.
    function _newFullBranch() internal pure returns (uint256 start) {
        start = _reserve(NODE_SPACE);
        assembly ("memory-safe") {
            mstore(start, shl(232, 0xf90211))
            let end := add(start, 531)
            for { let target := add(start, 3) } lt(target, end) { target := add(target, 132) } {
                mstore8(target, 0xa0)
                mstore8(add(target, 33), 0xa0)
                mstore8(add(target, 66), 0xa0)
                mstore8(add(target, 99), 0xa0)
            }
            mstore8(end, 0x80)
        }
    }

    /// @dev Which children a branch has, and which of them are embedded.
    function _masks(uint256 kind, uint256 cursor)
        private
        pure
        returns (uint256 there, uint256 embedded, uint256 next)
    {
        unchecked {
            if (kind == FULL) return (0xffff, 0, cursor);
            if (kind == BRANCH) return (_uint16(cursor), 0, cursor + 2);
            return (_uint16(cursor), _uint16(cursor + 2), cursor + 4);
        }
    }

    function _branch(Walk memory walk, uint256 first, uint256 end, uint256 depth, uint256 kind)
        private
        returns (uint256, uint256)
    {
        unchecked {
            if (depth == 64) revert PathTooLong(depth, 1);
            (uint256 there, uint256 embedded, uint256 cursor) = _masks(kind, walk.cursor);
            uint256 payload = _reserve(NODE_SPACE) + 3;
            uint256 target = payload;
            uint256 nibble;
            while (first < end) {
                uint256 below = _nibble(_key(walk, first), depth);
                (target, cursor) = _putSiblings(target, cursor, nibble, below, there, embedded);
                uint256 next = first + 1;
                while (next < end && _nibble(_key(walk, next), depth) == below) ++next;
                if (there >> below & 1 == 0) {
                    target = _putByte(target, 0x80);
                    for (; first < next; ++first) _absent(walk, first);
                } else {
                    walk.cursor = cursor;
                    uint256 free = _freeMemory();
                    (uint256 child, uint256 size) = _below(walk, first, next, depth + 1);
                    target = _putChild(target, child, size);
                    _setFreeMemory(free);
                    cursor = walk.cursor;
                }
                first = next;
                nibble = below + 1;
            }
            (target, cursor) = _putSiblings(target, cursor, nibble, 16, there, embedded);
            walk.cursor = cursor;
            // Keys all have one length, so a branch holds no value of its own.
            return _asList(payload, _putByte(target, 0x80));
        }
    }

    /// @dev The children from `nibble` to before `until`, below which no keys lie.
    function _putSiblings(
        uint256 target,
        uint256 cursor,
        uint256 nibble,
        uint256 until,
        uint256 there,
        uint256 embedded
    ) private pure returns (uint256, uint256) {
        unchecked {
            uint256 all = (1 << until) - (1 << nibble);
            if (there & ~embedded & all == all) {
                return _putHashes(target, cursor, until - nibble);
            }
            if (there & embedded & all != 0) {
                return _putMixedSiblings(target, cursor, nibble, until, there, embedded);
            }
        }
        assembly ("memory-safe") {
            // A head of 0xa0 and a hash, or 0x80 and what the next child overwrites: no jump. Two
            // at a time; where only one is left, the second is not counted.
            for {} lt(nibble, until) { nibble := add(nibble, 2) } {
                let size := shl(5, and(shr(nibble, there), 1))
                mstore8(target, add(0x80, size))
                mstore(add(target, 1), calldataload(cursor))
                target := add(add(target, 1), size)
                cursor := add(cursor, size)
                if eq(add(nibble, 1), until) { break }
                size := shl(5, and(shr(add(nibble, 1), there), 1))
                mstore8(target, add(0x80, size))
                mstore(add(target, 1), calldataload(cursor))
                target := add(add(target, 1), size)
                cursor := add(cursor, size)
            }
        }
        return (target, cursor);
    }

    function _putMixedSiblings(
        uint256 target,
        uint256 cursor,
        uint256 nibble,
        uint256 until,
        uint256 there,
        uint256 embedded
    ) private pure returns (uint256, uint256) {
        for (; nibble < until; ++nibble) {
            if (there >> nibble & 1 == 0) {
                target = _putByte(target, 0x80);
            } else if (embedded >> nibble & 1 == 0) {
                target = _putHash(target, _word(cursor));
                cursor += 32;
            } else {
                (target, cursor) = _putEmbedded(target, cursor);
            }
        }
        return (target, cursor);
    }

    /// @dev Nearly all of a witness are these hashes, so they go four at a time.
    function _putHashes(uint256 target, uint256 cursor, uint256 count)
        private
        pure
        returns (uint256, uint256)
    {
        assembly ("memory-safe") {
            let end := add(cursor, shl(5, count))
            for { let fours := sub(end, shl(5, and(count, 3))) } lt(cursor, fours) {} {
                mstore8(target, 0xa0)
                mstore(add(target, 1), calldataload(cursor))
                mstore8(add(target, 33), 0xa0)
                mstore(add(target, 34), calldataload(add(cursor, 32)))
                mstore8(add(target, 66), 0xa0)
                mstore(add(target, 67), calldataload(add(cursor, 64)))
                mstore8(add(target, 99), 0xa0)
                mstore(add(target, 100), calldataload(add(cursor, 96)))
                target := add(target, 132)
                cursor := add(cursor, 128)
            }
            for {} lt(cursor, end) {} {
                mstore8(target, 0xa0)
                mstore(add(target, 1), calldataload(cursor))
                target := add(target, 33)
                cursor := add(cursor, 32)
            }
        }
        return (target, cursor);
    }

    function _leaf(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        returns (uint256, uint256)
    {
        unchecked {
            uint256 owner = _chosen(walk, first, end);
            // The keys differ, so no other one is this leaf's.
            _absentExcept(walk, first, end, owner, owner + 1);
            uint256 payload = _reserve(NODE_SPACE) + 3;
            uint256 target = _putPath(payload, 0x20, _key(walk, owner), 64 - depth);
            return _asList(payload, _leafValue(walk, owner, target));
        }
    }

    function _pass(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        returns (uint256, uint256)
    {
        uint256 passing = _chosen(walk, first, end);
        uint256 nibbles = _uint8(walk.cursor);
        ++walk.cursor;
        uint256 path = _part(_key(walk, passing), depth, nibbles);
        // The keys ascend, so those that pass stand side by side.
        uint256 from = passing;
        while (from > first && _part(_key(walk, from - 1), depth, nibbles) == path) --from;
        uint256 to = passing + 1;
        while (to < end && _part(_key(walk, to), depth, nibbles) == path) ++to;
        _absentExcept(walk, first, end, from, to);

        uint256 payload = _reserve(NODE_SPACE) + 3;
        uint256 target = _putPath(payload, 0, path, nibbles);
        (uint256 child, uint256 size) = _below(walk, from, to, depth + nibbles);
        return _asList(payload, _putChild(target, child, size));
    }

    function _block(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        returns (uint256, uint256)
    {
        uint256 nibbles = _uint8(walk.cursor);
        ++walk.cursor;
        uint256 path = _readPath(walk, nibbles);
        for (uint256 index = first; index < end; ++index) {
            if (_part(_key(walk, index), depth, nibbles) == path) revert KeyNotAbsent(index);
            _absent(walk, index);
        }
        uint256 payload = _reserve(NODE_SPACE) + 3;
        uint256 target = _putPath(payload, 0, path, nibbles);
        if (_uint8(walk.cursor) == 0) {
            target = _putHash(target, _word(walk.cursor + 1));
            walk.cursor += 33;
        } else {
            (target, walk.cursor) = _putEmbedded(target, walk.cursor);
        }
        return _asList(payload, target);
    }

    function _other(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        returns (uint256, uint256)
    {
        uint256 nibbles = 64 - depth;
        uint256 path = _readPath(walk, nibbles);
        for (uint256 index = first; index < end; ++index) {
            if (_part(_key(walk, index), depth, nibbles) == path) revert KeyNotAbsent(index);
            _absent(walk, index);
        }
        uint256 payload = _reserve(NODE_SPACE) + 3;
        uint256 target = _putPath(payload, 0x20, path, nibbles);
        uint256 cursor = walk.cursor;
        uint256 length = _uint8(cursor);
        walk.cursor = cursor + 1 + length;
        if (length > 55) {
            target = _putByte(target, 0xb8);
            target = _putByte(target, length);
        } else if (length != 1 || _uint8(cursor + 1) > 0x7f) {
            target = _putByte(target, 0x80 + length);
        }
        assembly ("memory-safe") {
            calldatacopy(target, add(cursor, 1), length)
        }
        return _asList(payload, target + length);
    }

    /// @dev As the child of a branch this is an empty place, as a root the empty trie.
    function _none(Walk memory walk, uint256 first, uint256 end)
        private
        returns (uint256 start, uint256)
    {
        _absentExcept(walk, first, end, end, end);
        start = _reserve(32);
        _putByte(start, 0x80);
        return (start, 1);
    }

    function _absentExcept(Walk memory walk, uint256 first, uint256 end, uint256 from, uint256 to)
        private
    {
        unchecked {
            for (uint256 index = first; index < from; ++index) _absent(walk, index);
            for (uint256 index = to; index < end; ++index) _absent(walk, index);
        }
    }

    // What the calldata holds. Beyond its end there are zeros; `prove` refuses to have read them.

    function _chosen(Walk memory walk, uint256 first, uint256 end) private pure returns (uint256 index) {
        unchecked {
            index = first + _uint16(walk.cursor);
            walk.cursor += 2;
            if (index >= end) revert NoSuchKey(index);
        }
    }

    function _readPath(Walk memory walk, uint256 nibbles) private pure returns (uint256 path) {
        unchecked {
            if (nibbles > 64) revert PathTooLong(0, nibbles);
            uint256 length = (nibbles + 1) / 2;
            path = _number(walk.cursor, length);
            walk.cursor += length;
            // The spare nibble of an odd path is no part of it.
            if (nibbles < 64) path &= (1 << 4 * nibbles) - 1;
        }
    }

    /// @dev The big-endian number in `length` <= 32 bytes.
    function _number(uint256 cursor, uint256 length) internal pure returns (uint256) {
        unchecked {
            if (length > 32) revert NumberTooLong(cursor, length);
            return length == 0 ? 0 : uint256(_word(cursor)) >> 256 - 8 * length;
        }
    }

    function _uint8(uint256 cursor) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := byte(0, calldataload(cursor))
        }
    }

    function _uint16(uint256 cursor) internal pure returns (uint256) {
        return uint256(_word(cursor)) >> 240;
    }

    function _uint64(uint256 cursor) internal pure returns (uint256) {
        return uint256(_word(cursor)) >> 192;
    }

    function _word(uint256 cursor) internal pure returns (bytes32 value) {
        assembly ("memory-safe") {
            value := calldataload(cursor)
        }
    }

    // Keys and their parts

    /// @dev `index` is below the number of keys: it is bounded by the walk.
    function _key(Walk memory walk, uint256 index) private pure returns (uint256 key) {
        uint256[] memory keys = walk.keys;
        assembly ("memory-safe") {
            key := mload(add(add(keys, 32), shl(5, index)))
        }
    }

    function _nibble(uint256 key, uint256 depth) private pure returns (uint256) {
        unchecked {
            return key >> 252 - 4 * depth & 0xf;
        }
    }

    /// @dev The `nibbles` of a key that follow its first `depth`.
    function _part(uint256 key, uint256 depth, uint256 nibbles) private pure returns (uint256) {
        if (depth + nibbles > 64) revert PathTooLong(depth, nibbles);
        if (nibbles == 0) return 0;
        return key << 4 * depth >> 256 - 4 * nibbles;
    }

    // RLP, written only

    function _putByte(uint256 target, uint256 value) internal pure returns (uint256) {
        assembly ("memory-safe") {
            mstore8(target, value)
        }
        unchecked {
            return target + 1;
        }
    }

    function _putHash(uint256 target, bytes32 hash) internal pure returns (uint256) {
        assembly ("memory-safe") {
            mstore8(target, 0xa0)
            mstore(add(target, 1), hash)
        }
        unchecked {
            return target + 33;
        }
    }

    /// @dev An integer without leading zeros.
    function _putNumber(uint256 target, uint256 value) internal pure returns (uint256) {
        unchecked {
            if (value < 0x80) return _putByte(target, value == 0 ? 0x80 : value);
            uint256 length = _lengthOf(value);
            target = _putByte(target, 0x80 + length);
            assembly ("memory-safe") {
                mstore(target, shl(sub(256, mul(8, length)), value))
            }
            return target + length;
        }
    }

    /// @dev How many bytes a number other than zero takes: the place of its first one by halving.
    function _lengthOf(uint256 value) internal pure returns (uint256 length) {
        assembly ("memory-safe") {
            length := shl(4, lt(0xffffffffffffffffffffffffffffffff, value))
            length := or(length, shl(3, lt(0xffffffffffffffff, shr(shl(3, length), value))))
            length := or(length, shl(2, lt(0xffffffff, shr(shl(3, length), value))))
            length := or(length, shl(1, lt(0xffff, shr(shl(3, length), value))))
            length := add(or(length, lt(0xff, shr(shl(3, length), value))), 1)
        }
    }

    /// @dev A path in hex-prefix form; `flag` is 0x20 for a leaf, 0 for an extension.
    function _putPath(uint256 target, uint256 flag, uint256 path, uint256 nibbles)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 whole = nibbles / 2; // bytes behind the first, which holds the flag
            if (whole > 0) target = _putByte(target, 0x81 + whole);
            if (nibbles % 2 == 1) flag |= 0x10 | path >> 8 * whole & 0xf;
            target = _putByte(target, flag);
            if (whole > 0) {
                assembly ("memory-safe") {
                    mstore(target, shl(sub(256, mul(8, whole)), path))
                }
            }
            return target + whole;
        }
    }

    /// @dev How a parent refers to a node: by its hash, or if it is shorter than that by itself.
    function _reference(uint256 start, uint256 length)
        private
        pure
        returns (uint256 child, uint256 size)
    {
        assembly ("memory-safe") {
            switch lt(length, 32)
            case 0 {
                child := keccak256(start, length)
                size := 32
            }
            default {
                child := mload(start)
                size := length
            }
        }
    }

    function _putChild(uint256 target, uint256 child, uint256 size) private pure returns (uint256) {
        if (size == 32) return _putHash(target, bytes32(child));
        assembly ("memory-safe") {
            mstore(target, child)
        }
        unchecked {
            return target + size;
        }
    }

    /// @dev Copies one list of less than 32 bytes: its length is its own first byte's word, so two
    /// nodes cannot pass for one, and none for an empty place.
    function _putEmbedded(uint256 target, uint256 cursor) private pure returns (uint256, uint256) {
        uint256 length = _uint8(cursor);
        if (length <= 0xc0 || length > 0xde) revert NotEmbedded(cursor);
        unchecked {
            length -= 0xbf;
            assembly ("memory-safe") {
                calldatacopy(target, cursor, length)
            }
            return (target + length, cursor + length);
        }
    }

    /// @dev Puts the head of a list before `payload`, where three bytes are free.
    function _asList(uint256 payload, uint256 end) internal pure returns (uint256 start, uint256 length) {
        unchecked {
            length = end - payload;
            if (length < 56) {
                start = payload - 1;
                _putByte(start, 0xc0 + length);
            } else if (length < 256) {
                start = payload - 2;
                _putByte(_putByte(start, 0xf8), length);
            } else {
                start = payload - 3;
                _putByte(_putByte(_putByte(start, 0xf9), length >> 8), length);
            }
            length = end - start;
        }
    }

    // Memory: a node's space is used again once its parent has taken its hash.

    function _reserve(uint256 length) internal pure returns (uint256 start) {
        start = _freeMemory();
        unchecked {
            _setFreeMemory(start + length);
        }
    }

    /// @dev A list whose entries are all written before they are read.
    function _newList(uint256 count) internal pure returns (uint256[] memory list) {
        unchecked {
            uint256 start = _reserve(32 + 32 * count);
            assembly ("memory-safe") {
                list := start
                mstore(list, count)
            }
        }
    }

    function _freeMemory() internal pure returns (uint256 free) {
        assembly ("memory-safe") {
            free := mload(0x40)
        }
    }

    function _setFreeMemory(uint256 free) internal pure {
        assembly ("memory-safe") {
            mstore(0x40, free)
        }
    }
}
