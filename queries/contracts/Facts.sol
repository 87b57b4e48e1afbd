// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// What `verify` returns.

/// @notice An account at the end of a block. All of it is proven, whichever fields were asked for.
struct AccountFact {
    address account;
    uint256 blockNumber;
    uint64 nonce;
    uint256 balance;
    bytes32 storageRoot;
    bytes32 codeHash;
}

/// @notice A storage slot at the end of a block.
struct SlotFact {
    address account;
    uint256 blockNumber;
    bytes32 slot;
    bytes32 value;
}

/// @notice A field of a block's header, by its place in it.
struct HeaderFact {
    uint256 blockNumber;
    uint8 field;
    bytes32 value;
}

/// @notice The last block whose timestamp is at most `timestamp`.
struct TimestampFact {
    uint256 timestamp;
    uint256 blockNumber;
}

/// @notice All facts of a proof, in its order.
struct Facts {
    AccountFact[] accounts;
    SlotFact[] slots;
    HeaderFact[] headerFields;
    TimestampFact[] timestamps;
}
