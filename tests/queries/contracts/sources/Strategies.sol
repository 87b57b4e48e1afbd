// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Two voting strategies in the style of second-generation consumers: with own interfaces, enums for
/// fields, and different orders of block number and account.
interface ReadsBlockFirst {
    enum AccountField { NONCE, BALANCE, STORAGE_ROOT, CODE_HASH }
    enum BlockHeaderField { PARENT_HASH, OMMERS_HASH, BENEFICIARY, STATE_ROOT }

    function accountFieldSafe(uint256 chainId, uint256 blockNumber, address account, AccountField field)
        external view returns (bool, bytes32);
    function storageSlot(uint256 chainId, uint256 blockNumber, address account, bytes32 slot)
        external view returns (bytes32);
    function headerFieldSafe(uint256 chainId, uint256 blockNumber, BlockHeaderField field)
        external view returns (bool, bytes32);
    function timestampSafe(uint256 chainId, uint256 timestamp) external view returns (bool, uint256);
}

interface ReadsAccountFirst {
    enum AccountField { NONCE, BALANCE, STORAGE_ROOT, CODE_HASH }

    function accountField(uint256 chainId, address account, uint256 blockNumber, AccountField field)
        external view returns (bytes32);
    function storageSlotSafe(uint256 chainId, address account, uint256 blockNumber, bytes32 slot)
        external view returns (bool, bytes32);
    function timestamp(uint256 chainId, uint256 timestamp) external view returns (uint256);
}

contract BlockFirstStrategy {
    function power(ReadsBlockFirst from, uint256 chainId, uint256 time, address account, bytes32 slot)
        external
        view
        returns (uint256 balance, uint256 held, bytes32 stateRoot)
    {
        (bool dated, uint256 number) = from.timestampSafe(chainId, time);
        if (!dated) return (0, 0, 0);
        (bool exists, bytes32 value) = from.accountFieldSafe(
            chainId, number, account, ReadsBlockFirst.AccountField.BALANCE
        );
        if (exists) balance = uint256(value);
        held = uint256(from.storageSlot(chainId, number, account, slot));
        (, stateRoot) =
            from.headerFieldSafe(chainId, number, ReadsBlockFirst.BlockHeaderField.STATE_ROOT);
    }
}

contract AccountFirstStrategy {
    function power(ReadsAccountFirst from, uint256 chainId, uint256 time, address account, bytes32 slot)
        external
        view
        returns (uint256 balance, uint256 held, bytes32 storageRoot)
    {
        uint256 number = from.timestamp(chainId, time);
        balance = uint256(
            from.accountField(chainId, account, number, ReadsAccountFirst.AccountField.BALANCE)
        );
        (bool exists, bytes32 value) = from.storageSlotSafe(chainId, account, number, slot);
        if (exists) held = uint256(value);
        storageRoot = from.accountField(
            chainId, account, number, ReadsAccountFirst.AccountField.STORAGE_ROOT
        );
    }
}
