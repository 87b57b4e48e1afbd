// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Item, Rlp, StateProofs} from "./StateProofs.sol";

// Contracts that trust no registry, but verify headers and proofs themselves.

/// Voting power at the block of a vote.
contract VoteSnapshots {
    event VotingActivated(uint256 indexed id, bytes32 indexed blockHash, uint24 delay);

    mapping(bytes32 blockHash => bool) public isSnapshot;
    mapping(address account => mapping(bytes32 blockHash => bytes32)) public storageRoot;
    mapping(bytes32 key => uint256[]) private _values; // one, once it is known

    function activate(uint256 id, bytes32 blockHash) external {
        isSnapshot[blockHash] = true;
        emit VotingActivated(id, blockHash, 60);
    }

    function processStorageRoot(
        address account,
        bytes32 blockHash,
        bytes calldata headerRlp,
        bytes calldata accountProof
    ) external {
        require(isSnapshot[blockHash], "no vote at this block");
        bytes32 stateRoot = StateProofs.stateRoot(headerRlp, blockHash);
        storageRoot[account][blockHash] =
            StateProofs.storageRoot(stateRoot, account, Rlp.read(accountProof));
    }

    function processStorageSlot(
        address account,
        bytes32 blockHash,
        bytes32 slot,
        bytes calldata storageProof
    ) external {
        bytes32 root = storageRoot[account][blockHash];
        require(root != 0, "no storage root");
        uint256 value = StateProofs.slot(root, slot, Rlp.read(storageProof));
        uint256[] storage values = _values[keccak256(abi.encode(account, blockHash, slot))];
        if (values.length == 0) values.push(value);
    }

    function slotValue(address account, bytes32 blockHash, bytes32 slot)
        external
        view
        returns (uint256)
    {
        return _values[keccak256(abi.encode(account, blockHash, slot))][0];
    }
}

/// Remembers the hash of one block.
contract BlockOracle {
    uint256 public lastBlock;
    bytes32 public lastHash;

    /// `apply()`, which is a reserved word in Solidity.
    fallback() external {
        require(msg.sig == bytes4(keccak256("apply()")));
        lastBlock = block.number - 1;
        lastHash = blockhash(lastBlock);
    }
}

/// Eight slots of another contract.
contract RateFeed {
    BlockOracle public immutable oracle;
    address public immutable source;
    uint256 public provenBlock;
    uint256[8] public rates;

    constructor(BlockOracle oracle_, address source_) {
        (oracle, source) = (oracle_, source_);
    }

    function prove(bytes calldata headerRlp, bytes calldata proofRlp) external {
        bytes32 stateRoot = StateProofs.stateRoot(headerRlp, oracle.lastHash());
        provenBlock = StateProofs.number(headerRlp);
        require(provenBlock == oracle.lastBlock(), "another block");
        Item[] memory proofs = Rlp.read(proofRlp).items();
        require(proofs.length == 9, "the account and eight slots");
        bytes32 root = StateProofs.storageRoot(stateRoot, source, proofs[0]);
        for (uint256 i; i < 8; ++i) {
            rates[i] = StateProofs.slot(root, bytes32(i), proofs[i + 1]);
        }
    }
}

/// Votes for gauges, once a week.
contract WeeklyVotes {
    struct Vote {
        uint256 slope;
        uint256 power;
        uint256 end;
    }

    address public immutable source;
    bytes32 public blockHash;
    bytes32 public storageRoot;
    mapping(uint256 epoch => mapping(address gauge => uint256)) public point;
    mapping(uint256 epoch => mapping(address gauge => mapping(address account => Vote))) public vote;
    mapping(uint256 epoch => bool) public isDone;

    constructor(address source_) {
        source = source_;
    }

    function setBlockHash(bytes32 blockHash_) external {
        blockHash = blockHash_;
    }

    function setBlockData(bytes calldata headerRlp, bytes calldata accountProof) external {
        bytes32 stateRoot = StateProofs.stateRoot(headerRlp, blockHash);
        storageRoot = StateProofs.storageRoot(stateRoot, source, Rlp.read(accountProof));
    }

    function setPointData(address gauge, uint256 epoch, bytes calldata storageProof) external {
        bytes32 key = keccak256(abi.encode(gauge, epoch));
        point[epoch][gauge] = StateProofs.slot(storageRoot, key, Rlp.read(storageProof));
    }

    function setAccountData(
        address account,
        address gauge,
        uint256 epoch,
        bytes calldata storageProof
    ) external {
        Item[] memory proofs = Rlp.read(storageProof).items();
        require(proofs.length == 3, "three slots");
        uint256 first = uint256(keccak256(abi.encode(account, gauge, epoch)));
        uint256[3] memory values;
        for (uint256 i; i < 3; ++i) {
            values[i] = StateProofs.slot(storageRoot, bytes32(first + i), proofs[i]);
        }
        vote[epoch][gauge][account] = Vote(values[0], values[1], values[2]);
        isDone[epoch] = true;
    }
}
