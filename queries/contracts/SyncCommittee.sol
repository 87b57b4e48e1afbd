// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {wordAt} from "./Calldata.sol";
import {putWord, reserve, wordIn} from "./Memory.sol";
import {askPrecompile, hashOf, hashPair} from "./Sha256.sol";

// A sync committee: 512 validators, of whom all but the absent ones have signed. Their keys and signatures
// are points of BLS12-381, which the precompiles of EIP-2537 check and add.

/// @notice The keys of those who signed add up to zero.
error NobodySigned();
/// @notice The signature is not by those members about this header.
error SignatureInvalid();

// The precompiles
uint256 constant MODEXP = 0x05;
uint256 constant G1_ADD = 0x0b;
uint256 constant G2_ADD = 0x0d;
uint256 constant PAIRING = 0x0f;
uint256 constant MAP_TO_G2 = 0x11;

// How many bytes points have for the precompiles, and as they are sent: without zeros in front.
uint256 constant G1_BYTES = 128;
uint256 constant G2_BYTES = 256;
uint256 constant COORDINATE = 48;
uint256 constant SENT_KEY = 96;
uint256 constant SENT_SIGNATURE = 192;

uint256 constant MEMBERS_PER_MASK = 256;
uint256 constant LEVELS_PER_MASK = 8;

// (p - 1) / 2: of the two points with an x, the one with the greater y is marked when compressed.
uint256 constant HALF_HIGH = 0x0d0088f51cbff34d258dd3db21a5d66b;
uint256 constant HALF_LOW = 0xb23ba5c279c2895fb39869507b587b120f55ffff58a9ffffdcff7fffffffd555;
bytes32 constant COMPRESSED = bytes32(uint256(1) << 255);
bytes32 constant GREATER = bytes32(uint256(1) << 253);

/// @dev Memory: the sum of the keys of those who signed; behind it room for what is compared with it.
type Keys is uint256;

/// @dev Takes the sum of all keys of a committee from the calldata. Returns its leaf in the tree, too.
function readSum(uint256 cursor) view returns (Keys keys, bytes32 leaf) {
    keys = Keys.wrap(reserve(2 * G1_BYTES + 2 * G2_BYTES));
    _readPoint(cursor, Keys.unwrap(keys));
    leaf = _keyLeaf(cursor, _isGreater(cursor + COORDINATE));
}

/// @dev The root of the tree of the committee's keys. `first` and `second` say who was absent: bit i of
/// `first` is member i, of `second` member 256 + i. The calldata has the hash of each largest subtree in which
/// nobody was, and for each absent member x and the y of the negated key, which is added to the sum.
function readMembers(Keys keys, uint256 first, uint256 second, uint256 cursor)
    view
    returns (bytes32, uint256)
{
    unchecked {
        if ((first | second) == 0) return (wordAt(cursor), cursor + 32);
        bytes32 left;
        bytes32 right;
        (left, cursor) = _readSubtree(keys, first, LEVELS_PER_MASK, cursor);
        (right, cursor) = _readSubtree(keys, second, LEVELS_PER_MASK, cursor);
        return (hashPair(left, right), cursor);
    }
}

function _readSubtree(Keys keys, uint256 absent, uint256 level, uint256 cursor)
    view
    returns (bytes32, uint256)
{
    unchecked {
        if (absent == 0) return (wordAt(cursor), cursor + 32);
        if (level == 0) return (_subtractKey(keys, cursor), cursor + SENT_KEY);
        --level;
        uint256 half = 1 << level;
        bytes32 left;
        bytes32 right;
        (left, cursor) = _readSubtree(keys, absent & ((1 << half) - 1), level, cursor);
        (right, cursor) = _readSubtree(keys, absent >> half, level, cursor);
        return (hashPair(left, right), cursor);
    }
}

/// @dev Subtracts the key of an absent member; returns its leaf.
function _subtractKey(Keys keys, uint256 cursor) view returns (bytes32) {
    unchecked {
        uint256 sum = Keys.unwrap(keys);
        _readPoint(cursor, sum + G1_BYTES);
        askPrecompile(G1_ADD, sum, 2 * G1_BYTES, sum, G1_BYTES);
        return _keyLeaf(cursor, !_isGreater(cursor + COORDINATE));
    }
}

/// @dev Reverts unless the members whose keys are summed up have signed the message. The calldata at
/// `cursor` has the signature: the coordinates of x, then of y, the real parts first.
function checkSignature(Keys keys, bytes32 message, uint256 cursor) view {
    unchecked {
        uint256 sum = Keys.unwrap(keys);
        if ((wordIn(sum) | wordIn(sum + 32) | wordIn(sum + 64) | wordIn(sum + 96)) == 0) {
            revert NobodySigned();
        }
        uint256 hashed = sum + G1_BYTES;
        _hashToCurve(message, hashed);
        // e(sum, hashed) * e(-generator, signature) = 1
        uint256 generator = hashed + G2_BYTES;
        putWord(generator, 0x17f1d3a73197d7942695638c4fa9ac0f);
        putWord(
            generator + 32, 0xc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb
        );
        putWord(generator + 64, 0x114d1d6855d545a8aa7d76c8cf2e21f2);
        putWord(
            generator + 96, 0x67816aef1db507c96655b9d5caac42364e6f38ba0ecb751bad54dcd6b939c2ca
        );
        _readPoint(cursor, generator + G1_BYTES);
        _readPoint(cursor + 2 * COORDINATE, generator + 2 * G1_BYTES);
        askPrecompile(PAIRING, sum, 2 * (G1_BYTES + G2_BYTES), 0, 32);
        if (wordIn(0) != 1) revert SignatureInvalid();
    }
}

// The hash's domain, "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_" and its length
bytes32 constant DOMAIN_START = "BLS_SIG_BLS12381G2_XMD:SHA-256_S";
bytes32 constant DOMAIN_END = "SWU_RO_POP_\x2b";
uint256 constant DOMAIN_BYTES = 44;

/// @dev Writes the point of G2 to which the message hashes (RFC 9380, with SHA-256 and SSWU), to `target`.
/// Writes behind it, too: 512 bytes in all.
function _hashToCurve(bytes32 message, uint256 target) view {
    unchecked {
        uint256 block_ = reserve(192);
        uint256 power = reserve(224);
        putWord(block_, 0);
        putWord(block_ + 32, 0);
        putWord(block_ + 64, uint256(message));
        putWord(block_ + 96, 0x010000 << 232); // of 256 bytes
        putWord(block_ + 99, uint256(DOMAIN_START));
        putWord(block_ + 131, uint256(DOMAIN_END));
        bytes32 seed = hashOf(block_, 99 + DOMAIN_BYTES);
        putWord(block_ + 33, uint256(DOMAIN_START));
        putWord(block_ + 65, uint256(DOMAIN_END));
        // A number of 64 bytes to the power of 1, modulo p
        putWord(power, 64);
        putWord(power + 32, 1);
        putWord(power + 64, COORDINATE);
        putWord(power + 160, 0x011a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6);
        putWord(power + 192, 0x241eabfffeb153ffffb9feffffffffaaab << 120);
        bytes32 last = 0;
        uint256 element = target + G2_BYTES + G1_BYTES; // free until the points are added
        for (uint256 i = 1; i < 9; i += 4) {
            for (uint256 j = 0; j < 4; ++j) {
                putWord(block_, uint256(seed ^ last));
                assembly ("memory-safe") {
                    mstore8(add(block_, 32), add(i, j))
                }
                last = hashOf(block_, 33 + DOMAIN_BYTES);
                putWord(power + 96 + 32 * (j & 1), uint256(last));
                if ((j & 1) == 1) {
                    uint256 number = element + 64 * (j >> 1);
                    putWord(number, 0);
                    askPrecompile(MODEXP, power, 161 + COORDINATE, number + 16, COORDINATE);
                }
            }
            askPrecompile(MAP_TO_G2, element, 128, target + (i >> 2) * G2_BYTES, G2_BYTES);
        }
        askPrecompile(G2_ADD, target, 2 * G2_BYTES, target, G2_BYTES);
    }
}

/// @dev Copies two coordinates of 48 bytes to where the precompiles expect them: in 64 bytes each.
function _readPoint(uint256 cursor, uint256 target) pure {
    assembly ("memory-safe") {
        mstore(target, 0)
        mstore(add(target, 64), 0)
        calldatacopy(add(target, 16), cursor, 48)
        calldatacopy(add(target, 80), add(cursor, 48), 48)
    }
}

/// @dev Whether a coordinate is greater than its negative.
function _isGreater(uint256 cursor) pure returns (bool) {
    unchecked {
        uint256 high = uint256(wordAt(cursor)) >> 128;
        return high > HALF_HIGH || (high == HALF_HIGH && uint256(wordAt(cursor + 16)) > HALF_LOW);
    }
}

/// @dev The leaf of a key in a tree: of its compressed form. The precompiles refuse an x whose first bits
/// are not zero.
function _keyLeaf(uint256 cursor, bool isGreater) view returns (bytes32) {
    unchecked {
        bytes32 start = wordAt(cursor) | COMPRESSED;
        if (isGreater) start |= GREATER;
        return hashPair(start, bytes32(bytes16(wordAt(cursor + 32))));
    }
}
