// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {numberAt, uint8At, uint16At, uint24At, wordAt} from "./Calldata.sol";
import {reserve} from "./Memory.sol";
import {asList, headBefore, putByte, putHash, wordBefore} from "./Rlp.sol";
import {
    NODE_SPACE,
    nibbleAt,
    putChild,
    putEmbedded,
    putPath,
    putSiblings,
    referenceTo
} from "./TrieNodes.sol";

/// @title Rebuilds the root of a trie whose keys are indexes: of transactions, receipts or withdrawals
/// @notice As in TrieWitness, a witness is a depth-first walk that has only leaves and the hashes beside
/// the path, and nothing in it is trusted: a false kind, mask, length or value gives another root.
/// Three things differ. A key is the RLP of an index, not a hash, so its path follows from the index and
/// has two nibbles (0 to 127), four (to 255) or six (to 65535). No key's path begins another's, so no branch
/// has a value. A leaf's value may have any length.
///
/// The kinds of node, by their first byte, and what follows:
///   FULL     a branch with all sixteen children; all siblings are sent as hashes
///   BRANCH   uint16 mask of the children that are there; all siblings are sent as hashes
///   MIXED    uint16 mask of the children that are there, uint16 mask of those embedded
///            These three continue with each child that is there, in order of its nibble: its node
///            where keys lie below it, else its hash, or its encoding where it is embedded.
///   PASS     an extension that keys pass: uint16 which of them (counted from `first`), uint8 nibbles,
///            the node below
///   MISS     an extension that no key passes: uint8 nibbles, its path (whole bytes, the spare nibble in
///            front), the child: 0 and its hash, or its encoding where it is embedded
///   LEAF     the leaf of a key: uint16 which of the keys, then what `_readValue` reads
///   OTHER    the leaf of a foreign key: uint8 nibbles, the rest of its path (packed as in MISS), uint24
///            length, the leaf's value
///   NONE     an empty trie, or an empty place in a branch
abstract contract IndexTrie {
    /// @notice No kind of node has this number.
    /// @param kind The byte.
    /// @param position Where in the calldata it stands.
    error UnknownNode(uint256 kind, uint256 position);
    /// @notice Indexes must ascend strictly by their RLP: 1 to 127, 0, 128 to 65535.
    /// @param index The first one that is not greater than the one before.
    error IndexesNotAscending(uint256 index);
    /// @notice An index is claimed to be absent, but lies on the path provided.
    /// @param index The index.
    error IndexNotAbsent(uint256 index);
    /// @notice No key with this position lies below the node.
    /// @param position The position of the first key below the node, plus the number in the witness.
    error NoSuchKey(uint256 position);
    /// @notice A node or path would reach beyond the key's nibbles.
    /// @param depth Where it begins, in nibbles.
    /// @param nibbles The path's length; 1 for a branch, 0 for a leaf.
    error PathTooLong(uint256 depth, uint256 nibbles);

    uint256 private constant FULL = 0;
    uint256 private constant MIXED = 2;
    uint256 private constant PASS = 3;
    uint256 private constant MISS = 4;
    uint256 private constant LEAF = 5;
    uint256 private constant OTHER = 6;
    uint256 private constant NONE = 7;

    uint256 private constant LONGEST_PATH = 6;
    /// @dev Before a leaf's value: the heads of the leaf and of its value, and its path; 32 bytes more,
    /// because words are written backwards.
    uint256 internal constant LEAF_HEAD_SPACE = 64;

    /// @dev A walk through the trie of one root.
    struct IndexWalk {
        uint256 cursor; // next byte of the calldata
        uint256[] keys; // strictly ascending, see `_keyOf`
        uint256 blockNumber;
        uint256 field; // the header field of the root
        uint256 facts; // memory: `EventFacts`
        uint256 missing; // how many facts its lists do not have yet
    }

    /// @dev Reads the value of an index at `walk.cursor`, keeps the facts, and leaves the value in memory,
    /// with LEAF_HEAD_SPACE bytes in front of it that may be overwritten.
    function _readValue(IndexWalk memory walk, uint256 index)
        internal
        view
        virtual
        returns (uint256 start, uint256 end);

    /// @dev The index is not in the trie.
    function _keepAbsent(IndexWalk memory walk, uint256 index) internal pure virtual;

    /// @dev The root rebuilt from the witness at `walk.cursor`, which is moved behind it: uint16 count
    /// of indexes, uint16 each, the nodes.
    function _root(IndexWalk memory walk) internal view returns (bytes32 root) {
        unchecked {
            uint256 cursor = walk.cursor;
            uint256 count = uint16At(cursor);
            cursor += 2;
            uint256[] memory keys = new uint256[](count);
            uint256 last = 0;
            for (uint256 i = 0; i < count; ++i) {
                uint256 index = uint16At(cursor);
                uint256 key = _keyOf(index);
                if (key <= last) revert IndexesNotAscending(index);
                keys[i] = key;
                last = key;
                cursor += 2;
            }
            (walk.keys, walk.cursor) = (keys, cursor);
            (uint256 start, uint256 length) = _node(walk, 0, count, 0);
            // The root is hashed however short it is.
            assembly ("memory-safe") {
                root := keccak256(start, length)
            }
        }
    }

    /// @dev The node that covers the keys `first` to `end - 1`, encoded at `start` of the memory. They
    /// agree in their first `depth` nibbles.
    function _node(IndexWalk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256 start, uint256 length)
    {
        unchecked {
            uint256 kind = uint8At(walk.cursor);
            ++walk.cursor;
            if (kind <= MIXED) return _branch(walk, first, end, depth, kind);
            if (kind == LEAF) return _leaf(walk, first, end, depth);
            if (kind == PASS) return _pass(walk, first, end, depth);
            if (kind == OTHER) return _other(walk, first, end, depth);
            if (kind == MISS) return _miss(walk, first, end, depth);
            if (kind == NONE) return _none(walk, first, end);
            revert UnknownNode(kind, walk.cursor - 1);
        }
    }

    function _below(IndexWalk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256 child, uint256 size)
    {
        (uint256 start, uint256 length) = _node(walk, first, end, depth);
        return referenceTo(start, length);
    }

    function _branch(
        IndexWalk memory walk,
        uint256 first,
        uint256 end,
        uint256 depth,
        uint256 kind
    ) private view returns (uint256, uint256) {
        unchecked {
            if (depth >= _nibblesOf(_key(walk, first))) revert PathTooLong(depth, 1);
            uint256 there = 0xffff;
            uint256 embedded = 0;
            uint256 cursor = walk.cursor;
            if (kind != FULL) {
                there = uint16At(cursor);
                cursor += 2;
                if (kind == MIXED) {
                    embedded = uint16At(cursor);
                    cursor += 2;
                }
            }
            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = payload;
            uint256 nibble = 0;
            while (true) {
                uint256 below = first == end ? 16 : nibbleAt(_key(walk, first), depth);
                (target, cursor) = putSiblings(target, cursor, nibble, below, there, embedded);
                if (below == 16) break;
                uint256 next = first + 1;
                while (next < end && nibbleAt(_key(walk, next), depth) == below) ++next;
                if (((there >> below) & 1) == 0) {
                    target = putByte(target, 0x80);
                    _absent(walk, first, next);
                } else {
                    walk.cursor = cursor;
                    (uint256 child, uint256 size) = _below(walk, first, next, depth + 1);
                    target = putChild(target, child, size);
                    cursor = walk.cursor;
                }
                first = next;
                nibble = below + 1;
            }
            walk.cursor = cursor;
            return asList(payload, putByte(target, 0x80));
        }
    }

    function _leaf(IndexWalk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256, uint256)
    {
        unchecked {
            uint256 owner = _chosen(walk, first, end);
            _absent(walk, first, owner);
            _absent(walk, owner + 1, end);
            uint256 key = _key(walk, owner);
            uint256 nibbles = _nibblesOf(key);
            if (depth > nibbles) revert PathTooLong(depth, 0);
            nibbles -= depth;
            (uint256 start, uint256 valueEnd) = _readValue(walk, uint16(key));
            return _leafNode(_part(key, depth, nibbles), nibbles, start, valueEnd);
        }
    }

    /// @dev Completes a leaf whose value lies in memory, with LEAF_HEAD_SPACE bytes before it.
    function _leafNode(uint256 path, uint256 nibbles, uint256 start, uint256 end)
        private
        pure
        returns (uint256, uint256)
    {
        unchecked {
            start = headBefore(start, end - start, 0x80);
            uint256 whole = nibbles / 2; // bytes behind the first, which holds the flags
            uint256 flags = nibbles % 2 == 1 ? 0x30 : 0x20;
            start = wordBefore(start, (flags << (8 * whole)) | path, whole + 1);
            if (whole > 0) start = wordBefore(start, 0x81 + whole, 1);
            start = headBefore(start, end - start, 0xc0);
            return (start, end - start);
        }
    }

    function _pass(IndexWalk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        view
        returns (uint256, uint256)
    {
        unchecked {
            uint256 passing = _chosen(walk, first, end);
            uint256 nibbles = uint8At(walk.cursor);
            ++walk.cursor;
            if (depth + nibbles > LONGEST_PATH) revert PathTooLong(depth, nibbles);
            uint256 path = _part(_key(walk, passing), depth, nibbles);
            // The keys ascend, so those that pass stand side by side.
            uint256 from = passing;
            while (from > first && _part(_key(walk, from - 1), depth, nibbles) == path) --from;
            uint256 to = passing + 1;
            while (to < end && _part(_key(walk, to), depth, nibbles) == path) ++to;
            _absent(walk, first, from);
            _absent(walk, to, end);

            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = putPath(payload, 0, path, nibbles);
            (uint256 child, uint256 size) = _below(walk, from, to, depth + nibbles);
            return asList(payload, putChild(target, child, size));
        }
    }

    function _miss(IndexWalk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        pure
        returns (uint256, uint256)
    {
        unchecked {
            (uint256 nibbles, uint256 path) = _readForeignPath(walk, first, end, depth);
            uint256 payload = reserve(NODE_SPACE) + 3;
            uint256 target = putPath(payload, 0, path, nibbles);
            uint256 cursor = walk.cursor;
            if (uint8At(cursor) == 0) {
                target = putHash(target, wordAt(cursor + 1));
                cursor += 33;
            } else {
                (target, cursor) = putEmbedded(target, cursor);
            }
            walk.cursor = cursor;
            return asList(payload, target);
        }
    }

    function _other(IndexWalk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        pure
        returns (uint256, uint256)
    {
        unchecked {
            (uint256 nibbles, uint256 path) = _readForeignPath(walk, first, end, depth);
            (uint256 start, uint256 valueEnd) = _copyValue(walk);
            return _leafNode(path, nibbles, start, valueEnd);
        }
    }

    /// @dev Copies a value, uint24 length and its bytes, from the witness to memory. One byte below 0x80 would
    /// be encoded wrongly, but no list has such a value.
    function _copyValue(IndexWalk memory walk) internal pure returns (uint256 start, uint256 end) {
        unchecked {
            uint256 cursor = walk.cursor;
            uint256 length = uint24At(cursor);
            cursor += 3;
            start = reserve(LEAF_HEAD_SPACE + ((length + 31) & ~uint256(31))) + LEAF_HEAD_SPACE;
            assembly ("memory-safe") {
                calldatacopy(start, cursor, length)
            }
            walk.cursor = cursor + length;
            return (start, start + length);
        }
    }

    /// @dev As the child of a branch this is an empty place, as a root the empty trie.
    function _none(IndexWalk memory walk, uint256 first, uint256 end)
        private
        pure
        returns (uint256 start, uint256)
    {
        _absent(walk, first, end);
        start = reserve(32);
        putByte(start, 0x80);
        return (start, 1);
    }

    /// @dev Reads the path of a leaf or an extension on which none of the keys may lie. A key whose own rest
    /// has another length than a foreign leaf's lies elsewhere too: no key's path begins another's.
    function _readForeignPath(IndexWalk memory walk, uint256 first, uint256 end, uint256 depth)
        private
        pure
        returns (uint256 nibbles, uint256 path)
    {
        unchecked {
            uint256 cursor = walk.cursor;
            nibbles = uint8At(cursor);
            if (depth + nibbles > LONGEST_PATH) revert PathTooLong(depth, nibbles);
            uint256 length = (nibbles + 1) / 2;
            // The spare nibble of an odd path is no part of it.
            path = numberAt(cursor + 1, length) & ((1 << (4 * nibbles)) - 1);
            walk.cursor = cursor + 1 + length;
            for (uint256 i = first; i < end; ++i) {
                uint256 key = _key(walk, i);
                if (_part(key, depth, nibbles) == path) revert IndexNotAbsent(uint16(key));
            }
            _absent(walk, first, end);
        }
    }

    function _absent(IndexWalk memory walk, uint256 first, uint256 end) private pure {
        unchecked {
            for (; first < end; ++first) _keepAbsent(walk, uint16(_key(walk, first)));
        }
    }

    function _chosen(IndexWalk memory walk, uint256 first, uint256 end)
        private
        pure
        returns (uint256 position)
    {
        unchecked {
            position = first + uint16At(walk.cursor);
            walk.cursor += 2;
            if (position >= end) revert NoSuchKey(position);
        }
    }

    // Keys and their parts

    function _key(IndexWalk memory walk, uint256 position) private pure returns (uint256) {
        return walk.keys[position];
    }

    /// @dev The RLP of an index at the upper end of the word, and the index itself at the lower end.
    function _keyOf(uint256 index) private pure returns (uint256) {
        unchecked {
            if (index == 0) return 0x80 << 248;
            if (index < 0x80) return (index << 248) | index;
            if (index < 0x100) return (0x81 << 248) | (index << 240) | index;
            return (0x82 << 248) | (index << 232) | index;
        }
    }

    /// @dev How many nibbles a key's path has. From two nibbles on, keys that agree have the same number.
    function _nibblesOf(uint256 key) private pure returns (uint256) {
        unchecked {
            uint256 head = key >> 248;
            return head <= 0x80 ? 2 : 2 * (head - 0x7f);
        }
    }

    /// @dev The `nibbles` of a key that follow its first `depth`; zeros behind its last.
    function _part(uint256 key, uint256 depth, uint256 nibbles) private pure returns (uint256) {
        unchecked {
            return nibbles == 0 ? 0 : (key << (4 * depth)) >> (256 - 4 * nibbles);
        }
    }
}
