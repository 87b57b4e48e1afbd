// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {numberAt, uint8At, uint16At, wordAt} from "./Calldata.sol";
import {freeMemory, reserve, setFreeMemory} from "./Memory.sol";
import {asList, putByte, putHash} from "./Rlp.sol";
import {
    FULL_LENGTH,
    NODE_SPACE,
    fillFullBranches,
    newFullBranch,
    nibbleAt,
    putChild,
    putEmbedded,
    putPath,
    putSiblings,
    referenceTo
} from "./TrieNodes.sol";

/// @title Rebuilds the root of a Merkle-Patricia trie from claimed leaves and sibling hashes
/// @notice A witness is a depth-first walk through the part of a trie that covers a sorted list of
/// keys. It carries what the contract cannot know: leaves, and the hashes beside the path. Nodes on
/// the path are never sent and never decoded; each is encoded here, from its parts, and hashed.
///
/// Why that is sound: each call of `_node` returns the encoding of one node that covers the keys from
/// `first` to before `end`, which agree in their first `depth` nibbles, and reports a value or absence for
/// each. The report holds in every trie that has this node at this position. If the top encoding
/// hashes to a trusted root, every node below is the trie's own, by collision resistance. So nothing
/// in a witness is trusted: a false kind, mask, length or value gives another root.
///
/// The kinds of node, by their first byte, and what follows:
///   FULL     a branch with all sixteen children; all siblings are sent as hashes
///   BRANCH   uint16 mask of the children that are there; all siblings are sent as hashes
///   MIXED    uint16 mask of the children that are there, uint16 mask of those embedded
///            These three continue with each child that is there, in order of its nibble: its node
///            where keys lie below it, else its hash, or its encoding where it is embedded.
///   PASS     an extension that a key passes: uint16 which of the keys (counted from `first`),
///            uint8 nibbles, the node below
///   MISS     an extension that no key passes: uint8 nibbles, its path (whole bytes, the spare
///            nibble in front), the child: 0 and its hash, or its encoding where it is embedded
///   LEAF     the leaf of a key: uint16 which of the keys, then what `_leafValue` reads
///   OTHER    the leaf of a foreign key: the rest of its path (64 - depth nibbles, without a count,
///            packed as in MISS), uint8 length, the leaf's value (the content of its RLP string)
///   NONE     an empty trie, or an empty place in a branch
///   CHAIN    where one key is alone: uint8 depth of its deepest node, that node, and upwards from
///            there FULL, BRANCH or MIXED with the other children, or PASS with uint8 nibbles. The
///            mask bit of the key's own child is ignored. In FULL, the 15 hashes are those of the other
///            children, in order of nibble if the own child is 15 or is embedded; else child 15's hash
///            stands at the own child's place, not last.
abstract contract TrieWitness {
    /// @notice No node of this kind may stand here: the number is unknown, or the kind is none of those
    /// that a CHAIN may have above its deepest node.
    /// @param kind The byte.
    /// @param position Where in the calldata it stands.
    error UnknownNode(uint256 kind, uint256 position);
    /// @notice Accounts, and each account's slots, must ascend strictly by their keccak256.
    /// @param index The index of the first one that is not greater than the one before.
    error KeysNotAscending(uint256 index);
    /// @notice A key is claimed to be absent, but lies on the path provided.
    /// @param index The key's index in its list.
    error KeyNotAbsent(uint256 index);
    /// @notice A chain covers exactly one key, but none or several lie here.
    /// @param first The index of the first of them.
    /// @param end The index after the last of them.
    error NotAlone(uint256 first, uint256 end);
    /// @notice The deepest node of a chain must lie below the chain's top.
    /// @param depth The depth of the top, in nibbles.
    /// @param last The claimed depth of the deepest node.
    error ChainWithoutNodes(uint256 depth, uint256 last);
    /// @notice No key with this index lies below the node.
    /// @param index The index of the first key below the node, plus the number in the witness.
    error NoSuchKey(uint256 index);
    /// @notice A PASS has no path. (Not checked of those above a CHAIN's deepest node.)
    /// @param depth Where it lies, in nibbles.
    error PathMissing(uint256 depth);
    /// @notice A node or path would reach beyond the key's 64 nibbles, or an extension in a CHAIN would
    /// begin above the chain's top.
    /// @param depth Where it begins, in nibbles; for an extension in a CHAIN, the depth of the CHAIN's top.
    /// @param nibbles The path's length; 1 for a branch at depth 64, 0 for any node beyond.
    error PathTooLong(uint256 depth, uint256 nibbles);
    /// @notice The witness nests deeper than `most` levels.
    /// @param most How many levels it may nest, accounts and slots together.
    error TooManyLevels(uint256 most);

    uint256 internal constant FULL = 0;
    uint256 internal constant BRANCH = 1;
    uint256 internal constant MIXED = 2;
    uint256 internal constant PASS = 3;
    uint256 internal constant MISS = 4;
    uint256 internal constant LEAF = 5;
    uint256 internal constant OTHER = 6;
    uint256 internal constant NONE = 7;
    uint256 internal constant CHAIN = 8;

    /// @dev The most calls that the recursion nests, accounts and slots together; some more would overflow
    /// the EVM's stack. No hashed keys share so many levels.
    uint256 private constant DEEPEST = 64;

    /// @dev A walk through the state trie, or through one storage trie.
    struct Walk {
        uint256 cursor; // next byte of the calldata
        uint256[] keys; // as the trie has them: hashed, strictly ascending
        // Memory, of a state trie only: for each key how many words of `answers` lie before its answer
        // (upper 128 bits), and where the calldata names the account (lower 128 bits).
        uint256 entries;
        uint256 answers; // memory: where the answers go
        bool inStorage;
        uint256 level; // how many calls deep the recursion is; a CHAIN is one
        uint256 fullBranch; // memory: a branch of sixteen hashes, to be filled in
    }

    /// @dev Reads the value of key `index` from `walk.cursor`, remembers it, and writes it to
    /// memory at `target` as the trie holds it, as an RLP string. Returns the end of what it wrote.
    function _leafValue(Walk memory walk, uint256 index, uint256 target)
        internal
        view
        virtual
        returns (uint256 end);

    /// @dev Key `index` is not in the trie.
    function _absent(Walk memory walk, uint256 index) internal view virtual;

    /// @dev The root rebuilt from the witness at `walk.cursor`, which is moved behind it.
    function _root(Walk memory walk) internal view returns (bytes32 root) {
        uint256 free = freeMemory();
        (uint256 start, uint256 length) = _node(walk, 0, walk.keys.length, 0);
        // The root is hashed however short it is.
        assembly ("memory-safe") {
            root := keccak256(start, length)
        }
        setFreeMemory(free);
    }

    function _below(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256 child, uint256 size)
    {
        (uint256 start, uint256 length) = _deeper(walk, first, end, depth);
        return referenceTo(start, length);
    }

    /// @dev One level of the recursion further down.
    function _deeper(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256 start, uint256 length)
    {
        unchecked {
            if (walk.level == DEEPEST) revert TooManyLevels(DEEPEST);
            ++walk.level;
            (start, length) = _node(walk, first, end, depth);
            --walk.level;
        }
    }

    /// @dev The node that covers the keys `first` to `end - 1`, encoded at `start` of the memory.
    function _node(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256 start, uint256 length)
    {
        unchecked {
            if (depth > 64) revert PathTooLong(depth, 0);
            uint256 kind = uint8At(walk.cursor);
            ++walk.cursor;
            if (kind <= MIXED) return _branch(walk, first, end, depth, kind);
            if (kind == LEAF) return _leaf(walk, first, end, depth);
            if (kind == PASS) return _pass(walk, first, end, depth);
            if (kind == OTHER) return _other(walk, first, end, depth);
            if (kind == MISS) return _miss(walk, first, end, depth);
            if (kind == NONE) return _none(walk, first, end);
            if (kind == CHAIN) return _chain(walk, first, end, depth);
            revert UnknownNode(kind, walk.cursor - 1);
        }
    }

    /// @dev The nodes from `depth` down where one key is alone: the deepest one first, and then,
    /// upwards, the nodes above it. So nothing has to be kept while the path is followed.
    function _chain(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256 start, uint256 length)
    {
        unchecked {
            if (end - first != 1) revert NotAlone(first, end);
            uint256 key = _key(walk, first);
            uint256 above = uint8At(walk.cursor++); // the depth of the node that is built
            // The deepest node lies below the chain's top, or it would be encoded for a wrong depth.
            if (above <= depth) revert ChainWithoutNodes(depth, above);
            uint256 space = reserve(NODE_SPACE) + 3;
            (start, length) = _deeper(walk, first, end, above);
            uint256 cursor = walk.cursor;
            while (above > depth) {
                uint256 kind = uint8At(cursor++);
                (uint256 child, uint256 size) = referenceTo(start, length);
                if (kind == FULL && size == 32) {
                    start = walk.fullBranch;
                    length = FULL_LENGTH;
                    (above, cursor) = fillFullBranches(start, cursor, key, above, depth, child);
                } else if (kind <= MIXED) {
                    uint256 nibble = nibbleAt(key, --above);
                    uint256 there;
                    uint256 embedded;
                    (there, embedded, cursor) = _masks(kind, cursor);
                    uint256 target;
                    (target, cursor) = putSiblings(space, cursor, 0, nibble, there, embedded);
                    target = putChild(target, child, size);
                    (target, cursor) =
                        putSiblings(target, cursor, nibble + 1, 16, there, embedded);
                    (start, length) = asList(space, putByte(target, 0x80));
                } else if (kind == PASS) {
                    uint256 nibbles = uint8At(cursor++);
                    if (nibbles > above - depth) revert PathTooLong(depth, nibbles);
                    above -= nibbles;
                    uint256 target = putPath(space, 0, _part(key, above, nibbles), nibbles);
                    (start, length) = asList(space, putChild(target, child, size));
                } else {
                    revert UnknownNode(kind, cursor - 1);
                }
            }
            walk.cursor = cursor;
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
            if (kind == BRANCH) return (uint16At(cursor), 0, cursor + 2);
            return (uint16At(cursor), uint16At(cursor + 2), cursor + 4);
        }
    }

    function _branch(Walk memory walk, uint256 first, uint256 end, uint256 depth, uint256 kind)
        private
        view
        returns (uint256, uint256)
    {
        unchecked {
            if (depth == 64) revert PathTooLong(depth, 1);
            (uint256 there, uint256 embedded, uint256 cursor) = _masks(kind, walk.cursor);
            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = payload;
            uint256 nibble;
            while (first < end) {
                uint256 below = nibbleAt(_key(walk, first), depth);
                (target, cursor) = putSiblings(target, cursor, nibble, below, there, embedded);
                uint256 next = first + 1;
                while (next < end && nibbleAt(_key(walk, next), depth) == below) ++next;
                if (((there >> below) & 1) == 0) {
                    target = putByte(target, 0x80);
                    for (; first < next; ++first) _absent(walk, first);
                } else {
                    walk.cursor = cursor;
                    uint256 free = freeMemory();
                    (uint256 child, uint256 size) = _below(walk, first, next, depth + 1);
                    target = putChild(target, child, size);
                    setFreeMemory(free);
                    cursor = walk.cursor;
                }
                first = next;
                nibble = below + 1;
            }
            (target, cursor) = putSiblings(target, cursor, nibble, 16, there, embedded);
            walk.cursor = cursor;
            // Keys all have one length, so a branch holds no value of its own.
            return asList(payload, putByte(target, 0x80));
        }
    }

    function _leaf(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256, uint256)
    {
        unchecked {
            uint256 owner = _chosen(walk, first, end);
            // The keys differ, so no other one is this leaf's.
            _absentExcept(walk, first, end, owner, owner + 1);
            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = putPath(payload, 0x20, _key(walk, owner), 64 - depth);
            return asList(payload, _leafValue(walk, owner, target));
        }
    }

    function _pass(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256, uint256)
    {
        unchecked {
            uint256 passing = _chosen(walk, first, end);
            uint256 nibbles = uint8At(walk.cursor);
            ++walk.cursor;
            if (nibbles == 0) revert PathMissing(depth);
            uint256 path = _part(_key(walk, passing), depth, nibbles);
            // The keys ascend, so those that pass stand side by side.
            uint256 from = passing;
            while (from > first && _part(_key(walk, from - 1), depth, nibbles) == path) --from;
            uint256 to = passing + 1;
            while (to < end && _part(_key(walk, to), depth, nibbles) == path) ++to;
            _absentExcept(walk, first, end, from, to);

            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = putPath(payload, 0, path, nibbles);
            (uint256 child, uint256 size) = _below(walk, from, to, depth + nibbles);
            return asList(payload, putChild(target, child, size));
        }
    }

    function _miss(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256, uint256)
    {
        unchecked {
            uint256 nibbles = uint8At(walk.cursor);
            ++walk.cursor;
            uint256 path = _readPath(walk, nibbles);
            for (uint256 index = first; index < end; ++index) {
                if (_part(_key(walk, index), depth, nibbles) == path) revert KeyNotAbsent(index);
                _absent(walk, index);
            }
            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = putPath(payload, 0, path, nibbles);
            if (uint8At(walk.cursor) == 0) {
                target = putHash(target, wordAt(walk.cursor + 1));
                walk.cursor += 33;
            } else {
                (target, walk.cursor) = putEmbedded(target, walk.cursor);
            }
            return asList(payload, target);
        }
    }

    function _other(Walk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256, uint256)
    {
        unchecked {
            uint256 nibbles = 64 - depth;
            uint256 path = _readPath(walk, nibbles);
            for (uint256 index = first; index < end; ++index) {
                if (_part(_key(walk, index), depth, nibbles) == path) revert KeyNotAbsent(index);
                _absent(walk, index);
            }
            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = putPath(payload, 0x20, path, nibbles);
            uint256 cursor = walk.cursor;
            uint256 length = uint8At(cursor);
            walk.cursor = cursor + 1 + length;
            if (length > 55) {
                target = putByte(target, 0xb8);
                target = putByte(target, length);
            } else if (length != 1 || uint8At(cursor + 1) > 0x7f) {
                target = putByte(target, 0x80 + length);
            }
            assembly ("memory-safe") {
                calldatacopy(target, add(cursor, 1), length)
            }
            return asList(payload, target + length);
        }
    }

    /// @dev As the child of a branch this is an empty place, as a root the empty trie.
    function _none(Walk memory walk, uint256 first, uint256 end)
        private
        view
        returns (uint256 start, uint256)
    {
        _absentExcept(walk, first, end, end, end);
        start = reserve(32);
        putByte(start, 0x80);
        return (start, 1);
    }

    function _absentExcept(Walk memory walk, uint256 first, uint256 end, uint256 from, uint256 to)
        private
        view
    {
        unchecked {
            for (uint256 index = first; index < from; ++index) _absent(walk, index);
            for (uint256 index = to; index < end; ++index) _absent(walk, index);
        }
    }

    // What the calldata holds

    function _chosen(Walk memory walk, uint256 first, uint256 end)
        private
        pure
        returns (uint256 index)
    {
        unchecked {
            index = first + uint16At(walk.cursor);
            walk.cursor += 2;
            if (index >= end) revert NoSuchKey(index);
        }
    }

    function _readPath(Walk memory walk, uint256 nibbles) private pure returns (uint256 path) {
        unchecked {
            uint256 length = (nibbles + 1) / 2; // numberAt reverts beyond a word
            path = numberAt(walk.cursor, length);
            walk.cursor += length;
            // The spare nibble of an odd path is no part of it.
            if (nibbles < 64) path &= (1 << (4 * nibbles)) - 1;
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

    /// @dev The `nibbles` of a key that follow its first `depth`.
    function _part(uint256 key, uint256 depth, uint256 nibbles) private pure returns (uint256) {
        if (depth + nibbles > 64) revert PathTooLong(depth, nibbles);
        if (nibbles == 0) return 0;
        return (key << (4 * depth)) >> (256 - 4 * nibbles);
    }
}
