// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {reserve} from "./Memory.sol";

/// @dev A block that a proof provides: its header in memory, and what the proof states of it. A
/// pointer to twelve words, each written before it is read; not a struct, because Solidity zeroes one
/// each time a function returns it.
type Header is uint256;

using {get, set, leaf} for Header global;

// The offsets of its words
uint256 constant PAYLOAD = 0; // memory, behind three bytes for the list's head
uint256 constant END = 32;
// The four words of an accumulated block stand side by side, as its leaf has them.
uint256 constant NUMBER = 64;
uint256 constant TIMESTAMP = 96;
uint256 constant HASH = 128;
uint256 constant STATE_ROOT = 160;
uint256 constant FLAGS = 192;
uint256 constant ACCOUNTS = 224; // with WITNESS or HOP, calldata: the accounts that the witness names
uint256 constant VALUES = 256; // with WITNESS or HOP, memory: what it proves of them, in their order
uint256 constant EXTRAS = 288; // calldata: fields and timestamps
uint256 constant PARENT = 320; // with TIMESTAMPS: the parent's number
uint256 constant PREVIOUS = 352; // the one before it in a list, or zero

function newHeader(uint256 flags) pure returns (Header header) {
    header = Header.wrap(reserve(384));
    header.set(FLAGS, flags);
}

function get(Header header, uint256 word) pure returns (uint256 value) {
    assembly ("memory-safe") {
        value := mload(add(header, word))
    }
}

function set(Header header, uint256 word, uint256 value) pure {
    assembly ("memory-safe") {
        mstore(add(header, word), value)
    }
}

/// @dev keccak256(abi.encode(number, timestamp, hash, stateRoot))
function leaf(Header header) pure returns (bytes32 hash) {
    assembly ("memory-safe") {
        hash := keccak256(add(header, NUMBER), 128)
    }
}
