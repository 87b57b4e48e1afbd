// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

/// @notice The fields of an account, by their index in the state trie's value.
library AccountField {
    uint8 internal constant NONCE = 0;
    uint8 internal constant BALANCE = 1;
    uint8 internal constant STORAGE_ROOT = 2;
    uint8 internal constant CODE_HASH = 3;
}

/// @notice The fields of a block's header, by their index in it. The names are Ethereum's; another chain
/// may keep other data in some of them, above all from 15 on.
library HeaderField {
    uint8 internal constant PARENT_HASH = 0;
    uint8 internal constant UNCLES_HASH = 1;
    uint8 internal constant COINBASE = 2;
    uint8 internal constant STATE_ROOT = 3;
    uint8 internal constant TRANSACTIONS_ROOT = 4;
    uint8 internal constant RECEIPTS_ROOT = 5;
    uint8 internal constant LOGS_BLOOM = 6; // by its hash
    uint8 internal constant DIFFICULTY = 7;
    uint8 internal constant NUMBER = 8;
    uint8 internal constant GAS_LIMIT = 9;
    uint8 internal constant GAS_USED = 10;
    uint8 internal constant TIMESTAMP = 11;
    uint8 internal constant EXTRA_DATA = 12; // without its length; by its hash if longer than a word
    uint8 internal constant MIX_HASH = 13; // since the merge the beacon chain's randomness
    uint8 internal constant NONCE = 14;
    uint8 internal constant BASE_FEE = 15;
    uint8 internal constant WITHDRAWALS_ROOT = 16;
    uint8 internal constant BLOB_GAS_USED = 17;
    uint8 internal constant EXCESS_BLOB_GAS = 18;
    uint8 internal constant PARENT_BEACON_BLOCK_ROOT = 19;
    uint8 internal constant REQUESTS_HASH = 20;
}

/// @notice An account at the end of a block. All fields are proven, even those that were not requested.
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

/// @notice A field of a block's header, by its index in it.
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

/// @notice All facts of a proof, in the order of the proof.
struct Facts {
    AccountFact[] accounts;
    SlotFact[] slots;
    HeaderFact[] headerFields;
    TimestampFact[] timestamps;
}

/// @title Facts of a source chain, proven to this chain
/// @notice All kinds of registries have these functions, events and errors. The ABI of each kind
/// adds the errors of malformed proofs and the functions that record block hashes. Facts are about
/// a block of the source chain (accounts and slots: at its end), and never change once they are stored.
interface IFactsRegistry {
    /// @notice This field of the account is not proven at this block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param field The field, as in AccountField.
    error AccountFieldNotProven(address account, uint256 blockNumber, uint8 field);
    /// @notice This storage slot is not proven at this block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    error StorageSlotNotProven(address account, uint256 blockNumber, bytes32 slot);
    /// @notice This field of the block's header is not proven.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    error HeaderFieldNotProven(uint256 blockNumber, uint8 field);
    /// @notice The last block at this time is not proven.
    /// @param timestamp The time, in seconds.
    error TimestampNotProven(uint256 timestamp);

    /// @notice The section's last header is not anchored: its hash is not known (not yet, no longer or
    /// never), it is not accumulated, and it is not the target of the preceding hop. A wrong byte in a
    /// header or its witness changes the hash, so it mostly causes this error.
    /// @param blockNumber The number in the header.
    /// @param blockHash The hash of the header.
    error BlockNotKnown(uint256 blockNumber, bytes32 blockHash);
    /// @notice No accumulated block has this number, timestamp and hash and the rebuilt state root.
    /// @param blockNumber The number provided.
    /// @param blockHash The hash provided.
    /// @param stateRoot The state root rebuilt from the witness.
    error BlockNotAccumulated(uint256 blockNumber, bytes32 blockHash, bytes32 stateRoot);
    /// @notice The header's time is not before `HORIZON`; or accounts or slots are to be proven of it, and
    /// its time is not before `stateHorizon`.
    /// @param blockNumber The number in the header.
    /// @param timestamp The time in the header.
    error BeyondHorizon(uint256 blockNumber, uint256 timestamp);
    /// @notice Another header of this number is accumulated; the first one stays.
    /// @param blockNumber The number.
    /// @param blockHash The hash of the header provided now.
    error AnotherBlockAccumulated(uint256 blockNumber, bytes32 blockHash);
    /// @notice Another value of this fact is stored, and stays. Happens only if the
    /// source of block hashes contradicts itself.
    /// @param key keccak256(abi.encode(kind, account, blockNumber, name)). Kinds: 1 account field, 2 slot,
    /// 3 header field, 4 timestamp. `name`: the field's index, the slot or the timestamp. For kinds
    /// 3 and 4 `account` is zero; for kind 4 `blockNumber` is zero too.
    error FactContradicted(bytes32 key);
    /// @notice Another record of this account at this block is stored, and stays: its nonce, balance,
    /// and whether its storage and code are empty. Happens only if the source of block hashes contradicts
    /// itself.
    /// @param account The account.
    /// @param blockNumber The source block.
    error AccountContradicted(address account, uint256 blockNumber);

    /// @notice A block's header is accumulated: the block can be proven against from now on, its
    /// accounts and slots only while its timestamp is below `stateHorizon`.
    /// @param blockNumber The source block.
    /// @param blockHash Its hash.
    event HeaderAccumulated(uint256 indexed blockNumber, bytes32 blockHash);
    /// @notice Fields of an account are proven, at least one of which was not before. Fields that were
    /// proven before may be named too, or not: combine the masks of an account and block with OR.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param fields Bit i is field i of AccountField.
    event AccountProven(address indexed account, uint256 indexed blockNumber, uint8 fields);
    /// @notice A storage slot is proven.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    /// @param value Its value.
    event SlotProven(
        address indexed account, uint256 indexed blockNumber, bytes32 slot, bytes32 value
    );
    /// @notice A field of a header is proven.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    /// @param value Its value.
    event HeaderFieldProven(uint256 indexed blockNumber, uint8 indexed field, bytes32 value);
    /// @notice It is proven that `blockNumber` was the last block at `timestamp`.
    /// @param timestamp The time, in seconds.
    /// @param blockNumber The source block.
    event TimestampProven(uint256 indexed timestamp, uint256 indexed blockNumber);
    /// @notice The state root of this block's header is shown not to be that of the state after it.
    /// @param blockNumber The source block.
    /// @param timestamp Its timestamp, in seconds: the new `stateHorizon`.
    event HorizonLowered(uint256 indexed blockNumber, uint256 timestamp);

    // Reading. Each function reverts while the fact is not proven, so that a missing proof never
    // reads as zero; the `try…` variant returns false instead.

    /// @notice A field of an account at the end of a block. Of an account that does not exist the
    /// code hash is keccak256(""), where EXTCODEHASH answers 0.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param field The field, as in AccountField.
    /// @return value A number, or a hash.
    function accountField(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bytes32 value);

    /// @notice As `accountField`, without reverting.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param field The field, as in AccountField.
    /// @return proven Whether the fact is proven.
    /// @return value A number, or a hash; zero if it is not proven.
    function tryAccountField(address account, uint256 blockNumber, uint8 field)
        external
        view
        returns (bool proven, bytes32 value);

    /// @notice The value of a storage slot at the end of a block.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    /// @return value All 32 bytes; several variables may share them.
    function accountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bytes32 value);

    /// @notice As `accountStorageSlotValues`, without reverting.
    /// @param account The account.
    /// @param blockNumber The source block.
    /// @param slot The slot.
    /// @return proven Whether the fact is proven.
    /// @return value All 32 bytes; zero if it is not proven.
    function tryAccountStorageSlotValues(address account, uint256 blockNumber, bytes32 slot)
        external
        view
        returns (bool proven, bytes32 value);

    /// @notice A field of a block's header: up to 32 bytes as a number, longer ones as their
    /// keccak256. So extra data loses its length: `0x00` and no bytes both read as zero, and a hash reads
    /// like 32 bytes of data.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    /// @return value The field as a word.
    function headerField(uint256 blockNumber, uint8 field) external view returns (bytes32 value);

    /// @notice As `headerField`, without reverting.
    /// @param blockNumber The source block.
    /// @param field The field, as in HeaderField.
    /// @return proven Whether the fact is proven.
    /// @return value The field as a word; zero if it is not proven.
    function tryHeaderField(uint256 blockNumber, uint8 field)
        external
        view
        returns (bool proven, bytes32 value);

    /// @notice The last block whose timestamp is at most `timestamp`.
    /// @param timestamp The time, in seconds.
    /// @return blockNumber The source block.
    function blockNumberAt(uint256 timestamp) external view returns (uint256 blockNumber);

    /// @notice As `blockNumberAt`, without reverting.
    /// @param timestamp The time, in seconds.
    /// @return proven Whether the fact is proven.
    /// @return blockNumber The source block; zero if it is not proven.
    function tryBlockNumberAt(uint256 timestamp)
        external
        view
        returns (bool proven, uint256 blockNumber);

    /// @notice What is stored of an accumulated block.
    /// @param blockNumber The source block.
    /// @return leaf keccak256(abi.encode(number, timestamp, hash, stateRoot)), or zero.
    function accumulated(uint256 blockNumber) external view returns (bytes32 leaf);

    /// @notice Headers with this timestamp or a later one are refused. What is stored stays readable.
    /// @return timestamp The time, in seconds.
    function HORIZON() external view returns (uint256 timestamp);

    /// @notice Of blocks with this timestamp or a later one, no account and no slot can be proven, though
    /// their headers can. It is `HORIZON` until `lowerHorizon` lowers it. What is stored stays readable.
    /// @return timestamp The time, in seconds.
    function stateHorizon() external view returns (uint256 timestamp);

    /// @notice What this registry is, for a contract that compares it when it is deployed with the one that
    /// it expects. That finds a mistaken address, not a deceiver: another contract can say the same. Only
    /// the address of a registry proves its code and what it says here.
    /// @return kind "native", "optimism", "output", "arbitrum", "beacon" or "attested".
    /// @return sourceChainId The chain whose past this is. An optimism registry does not know the id of its
    /// chain's L1: zero.
    /// @return basis Where its block hashes come from. Of an optimism, output or arbitrum registry the
    /// contract that it asks: the predeploy, the portal or the outbox. Of a beacon registry its checkpoint.
    /// Of an attested one keccak256(abi.encode(signers, threshold, validUntil)). Of a native one zero.
    /// @return horizon Its `HORIZON`.
    function describe()
        external
        view
        returns (bytes32 kind, uint256 sourceChainId, bytes32 basis, uint256 horizon);

    // Proving

    /// @notice Verify the sections after the selector and store their facts, all or none.
    /// The sections are packed, not ABI-encoded, because their bytes are the price of a proof;
    /// FactsRegistry.sol, in build/standard-input.json, describes them.
    /// Repeating a proof succeeds and writes nothing while the hashes it relies on are available and,
    /// where it has accounts or slots, its blocks are below `stateHorizon`.
    function prove() external;

    /// @notice Verify a proof, the sections that `prove` takes, without storing anything. Reverts
    /// unless all of it holds at the time of the call. Check which accounts, slots, fields, times and
    /// blocks the facts are about, and how many there are: anyone can prove anything that is true, an
    /// empty proof returns empty lists, true proofs of other facts are accepted, and a fact may occur
    /// several times. Facts are not compared with stored ones: where the source of hashes contradicts
    /// itself, as two dispute games can, a verified fact may differ from the stored one. Different bytes
    /// can prove the same facts: do not identify a proof by its hash. Nothing is accumulated: no section
    /// can build on a block that only this proof would accumulate. If a stranger chooses the proof while
    /// another one pays for the gas, call this with a gas limit and bound the proof's length: n bytes
    /// can take 9,000,000 + 460 * n gas, and decoding the answer is paid outside that limit. A call that ran
    /// out of gas says nothing about the proof.
    /// @param proof The sections, without a selector.
    /// @return facts All that the proof states.
    function verify(bytes calldata proof) external view returns (Facts memory facts);

    /// @notice Lowers `stateHorizon` for good, to the time of a header whose state root is shown not to
    /// be that of the state after its block. A fork may change this (EIP-7862); accounts and slots that
    /// are proven under such a root would be those of an earlier block. Anyone may call it. Succeeds and
    /// changes nothing if `stateHorizon` is not later than that time. A fork that stops, moves or resizes
    /// the history contract gives the same evidence.
    /// @param section One section of headers, as `prove` takes it, in which something is requested
    /// of two headers, which marks them; nothing of it is stored. The first is the header of a block n, with
    /// any field. The other is a later one, with a witness of two slots of the history contract (EIP-2935):
    /// the one that holds the hash of block n - 1, and the one behind it, which holds neither zero nor the
    /// hash of block n.
    function lowerHorizon(bytes calldata section) external;

    /// @notice Makes several calls of this registry in one transaction, all of them or none.
    /// @param calls Their calldata.
    /// @return results What each of them returned, as ABI-encoded.
    function multicall(bytes[] calldata calls) external returns (bytes[] memory results);
}
