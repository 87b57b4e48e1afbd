// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {uint64At, wordAt} from "./Calldata.sol";
import {CompactHeader} from "./CompactHeader.sol";
import {FactsRegistry} from "./FactsRegistry.sol";
import {HASH, Header} from "./Header.sol";
import {IFactsRegistry} from "./interfaces/IFactsRegistry.sol";
import {ZEROS, askPrecompile, hashPair, littleEndian, rootOf} from "./Sha256.sol";
import {
    G1_ADD,
    G1_BYTES,
    G2_ADD,
    G2_BYTES,
    Keys,
    MAP_TO_G2,
    PAIRING,
    SENT_KEY,
    SENT_SIGNATURE,
    checkSignature,
    readMembers,
    readSum
} from "./SyncCommittee.sol";

/// @notice From a slot on, the version that validators sign, and where states and blocks have what is
/// proven: generalized indexes.
struct Fork {
    uint64 firstSlot;
    bytes4 version;
    uint32 finalizedRoot; // in the state: the root of the finalized block
    uint32 nextCommittee; // in the state
    uint32 currentCommittee; // in the state
    uint32 blockHash; // in a block's body: the hash of the execution block
}

/// @title A beacon chain's past, proven to another chain by its sync committees
/// @notice A committee of 512 validators signs each block, for 8,192 slots; it is known from the committee
/// before it, and the first from a checkpoint, which is fixed at deployment. Block hashes are those of
/// finalized blocks. You trust that two thirds of a committee are honest, which nothing but the honesty of
/// most validators ensures, and the checkpoint: compare it with other sources before you rely on this
/// registry. Nobody owns it. It stops for good if it learns no committee for `maxAge`, at a fork that it
/// does not know, or once two hashes are recorded for one slot and somebody shows it; what is proven stays.
contract BeaconRegistry is FactsRegistry {
    /// @notice From one to four forks are expected, in ascending order.
    error ForksMalformed();
    /// @notice The slot is before the first fork that this registry knows.
    /// @param slot The slot.
    error SlotBeforeForks(uint256 slot);
    /// @notice The header does not have the checkpoint's root, or the committee is not in its state.
    /// @param root The root that follows from what was provided.
    error NotTheCheckpoint(bytes32 root);
    /// @notice A finalized slot must not be after the attested one, which must be before that of the signature.
    /// @param finalized The finalized slot.
    /// @param attested The attested slot.
    /// @param signature The slot of the signature.
    error SlotsOutOfOrder(uint256 finalized, uint256 attested, uint256 signature);
    /// @notice The signature's slot has not begun yet.
    /// @param slot The slot.
    error SlotNotBegun(uint256 slot);
    /// @notice The attested slot is older than `maxAge`: the keys of its committee may have leaked since.
    /// @param slot The slot.
    error UpdateTooOld(uint256 slot);
    /// @notice No committee is known for this period.
    /// @param period The period.
    error CommitteeNotKnown(uint256 period);
    /// @notice The keys provided are not those of the period's committee.
    /// @param period The period.
    /// @param root The root of the committee provided.
    error NotTheCommittee(uint256 period, bytes32 root);
    /// @notice Two thirds of a committee have to sign.
    /// @param absent How many did not.
    error TooManyAbsent(uint256 absent);
    /// @notice The next committee is taken only from an update whose finalized block is of the same period
    /// as its attested one.
    /// @param period The period of the attested block.
    error NextCommitteeNotFinal(uint256 period);
    /// @notice The state does not have this next committee.
    /// @param root The committee's root.
    error NotTheNextCommittee(bytes32 root);
    /// @notice A contradiction was shown, so no update is taken any more.
    /// @param slot The slot of which two hashes are recorded.
    error Contradicted(uint256 slot);
    /// @notice These are not two different hashes that are recorded for one slot.
    /// @param first The one.
    /// @param second The other.
    error NotAContradiction(bytes32 first, bytes32 second);
    /// @notice Another committee of this period was proven; the first one stays.
    /// @param period The period.
    /// @param known The root of the known one.
    /// @param provided The root of the one provided.
    error AnotherCommitteeKnown(uint256 period, bytes32 known, bytes32 provided);

    /// @notice The hash of a finalized block is recorded. Its number is in its header.
    /// @param slot The slot of its beacon block. From the fork Gloas on the hash is its parent's.
    /// @param blockHash The hash.
    event BlockRecorded(uint256 indexed slot, bytes32 indexed blockHash);
    /// @notice The committee of a period is known.
    /// @param period The period.
    /// @param committee Its root.
    event CommitteeRecorded(uint256 indexed period, bytes32 committee);
    /// @notice Two hashes are recorded for one slot, so a committee has signed a false one. The registry takes
    /// no update any more.
    /// @param slot The slot.
    /// @param first The one.
    /// @param second The other.
    event Contradiction(uint256 indexed slot, bytes32 first, bytes32 second);

    uint256 private constant MAX_ABSENT = 170;
    uint256 private constant SLOTS_PER_PERIOD = 8192;
    bytes32 private constant SYNC_COMMITTEE_DOMAIN = bytes32(bytes4(hex"07000000"));

    /// @notice The chain whose past this is.
    /// @return Its id.
    uint256 public immutable sourceChainId;
    /// @notice When slot 0 began, in seconds.
    /// @return That time.
    uint256 public immutable genesisTime;
    /// @notice How long a slot takes.
    /// @return That many seconds.
    uint256 public immutable secondsPerSlot;
    /// @notice The root of the validators at genesis, which tells beacon chains apart.
    /// @return The root.
    bytes32 public immutable genesisValidatorsRoot;
    /// @notice The root of the beacon block whose state has the first committee.
    /// @return The root.
    bytes32 public immutable checkpoint;
    /// @notice Older updates are refused.
    /// @return That many seconds.
    uint256 public immutable maxAge;
    /// @notice The root of the committee of a period of 8,192 slots.
    /// @return The root; zero where none is known.
    mapping(uint256 period => bytes32) public committees;
    /// @notice The recorded hashes, each with the first slot for which it was recorded.
    /// @return The slot; zero if the hash is not recorded.
    mapping(bytes32 blockHash => uint256) public recorded;
    /// @notice The slot of which two hashes were shown to be recorded. From then on no update is taken.
    /// @return The slot; zero if none was shown.
    uint256 public contradictedSlot;

    // Each fork in a word: uint64 first slot, bytes4 version, four uint32 indexes. As immutables, because to
    // read storage would cost 2,100 gas each.
    uint256 private immutable _fork0;
    uint256 private immutable _fork1;
    uint256 private immutable _fork2;
    uint256 private immutable _fork3;
    Fork[] private _forks;

    /// @param horizon From which time on headers are refused, in seconds.
    /// @param sourceChainId_ The chain whose past this is.
    /// @param genesisTime_ When slot 0 began, in seconds.
    /// @param secondsPerSlot_ How long a slot takes.
    /// @param genesisValidatorsRoot_ The root of the validators at genesis.
    /// @param checkpoint_ The root of a finalized beacon block whose state has the first committee.
    /// @param maxAge_ How old an update may be, in seconds.
    /// @param forks_ From one to four forks in ascending order, the first one before the checkpoint.
    constructor(
        uint256 horizon,
        uint256 sourceChainId_,
        uint256 genesisTime_,
        uint256 secondsPerSlot_,
        bytes32 genesisValidatorsRoot_,
        bytes32 checkpoint_,
        uint256 maxAge_,
        Fork[] memory forks_
    ) CompactHeader(horizon) {
        uint256 count = forks_.length;
        if (count == 0 || count > 4) revert ForksMalformed();
        uint256[4] memory words =
            [type(uint256).max, type(uint256).max, type(uint256).max, type(uint256).max];
        for (uint256 i = 0; i < count; ++i) {
            Fork memory fork = forks_[i];
            if (i > 0 && fork.firstSlot <= forks_[i - 1].firstSlot) revert ForksMalformed();
            words[i] = uint256(fork.firstSlot) << 160 | uint256(uint32(fork.version)) << 128
                | uint256(fork.finalizedRoot) << 96 | uint256(fork.nextCommittee) << 64
                | uint256(fork.currentCommittee) << 32 | uint256(fork.blockHash);
            _forks.push(fork);
        }
        (_fork0, _fork1, _fork2, _fork3) = (words[0], words[1], words[2], words[3]);
        sourceChainId = sourceChainId_;
        genesisTime = genesisTime_;
        secondsPerSlot = secondsPerSlot_;
        genesisValidatorsRoot = genesisValidatorsRoot_;
        checkpoint = checkpoint_;
        maxAge = maxAge_;
        _tryPrecompiles();
    }

    /// @inheritdoc IFactsRegistry
    function describe() external view returns (bytes32, uint256, bytes32, uint256) {
        return ("beacon", sourceChainId, checkpoint, HORIZON);
    }

    /// @notice The forks that this registry knows. At another one it stops.
    /// @return All of them, in ascending order.
    function forks() external view returns (Fork[] memory) {
        return _forks;
    }

    /// @notice Records the committee of the checkpoint's period. Anyone may call it.
    /// @dev The calldata is packed:
    ///
    ///   selector
    ///   header       of the checkpoint: uint64 slot, 8 proposer (little-endian), 32 parent root,
    ///                32 hash of the part with the body; its state root is rebuilt
    ///   32 committee, and its branch in the state
    function begin() external {
        uint256 slot = uint64At(4);
        bytes32 committee = wordAt(4 + 80);
        (bytes32 state, uint256 cursor) =
            rootOf(committee, _forkAt(slot) >> 32 & 0xffffffff, 4 + 80 + 32);
        if (cursor != msg.data.length) revert ProofEndMismatch(cursor, msg.data.length);
        bytes32 root = _headerRoot(4, state);
        if (root != checkpoint) revert NotTheCheckpoint(root);
        _recordCommittee(slot / SLOTS_PER_PERIOD, committee);
    }

    /// @notice Records the hash of a finalized block and, if it is provided, the next committee. Anyone may
    /// call it. If both are known it succeeds without checking anything.
    /// @dev The calldata is packed:
    ///
    ///   selector
    ///   32 block hash, 32 next committee or zero
    ///   uint64 finalized slot, 8 proposer (little-endian), 32 hash of parent root and state root
    ///   header       the attested one, as in `begin`
    ///   uint64 signature slot
    ///   192 signature: the coordinates of its point, 48 bytes each, as EIP-2537 orders them
    ///   2 × 32 who was absent: bit i of the first word is member i, of the second member 256 + i
    ///   96 sum of all keys of the committee: x, y
    ///   the branch of the block hash in the finalized block's body
    ///   the branch of the finalized root in the attested state
    ///   the members (see SyncCommittee)
    ///   [the branch of the next committee in the attested state]
    function update() external {
        unchecked {
            bytes32 blockHash = wordAt(BLOCK_HASH);
            bytes32 committee = wordAt(NEXT_COMMITTEE);
            uint256 finalized = uint64At(FINALIZED);
            uint256 attested = uint64At(ATTESTED);
            uint256 period = attested / SLOTS_PER_PERIOD;
            if (recorded[blockHash] != 0 && (committee == 0 || committees[period + 1] == committee)) return;
            if (contradictedSlot != 0) revert Contradicted(contradictedSlot);
            uint256 signature = uint64At(SIGNATURE_SLOT);
            if (finalized > attested || attested >= signature) {
                revert SlotsOutOfOrder(finalized, attested, signature);
            }
            if (_startOf(signature) > block.timestamp) revert SlotNotBegun(signature);
            if (block.timestamp - _startOf(attested) > maxAge) revert UpdateTooOld(attested);

            uint256 fork = _forkAt(attested);
            (bytes32 root, uint256 cursor) = _finalizedRoot(_forkAt(finalized) & 0xffffffff);
            bytes32 state;
            (state, cursor) = rootOf(root, fork >> 96 & 0xffffffff, cursor);
            root = _signingRoot(_headerRoot(ATTESTED, state), signature);
            cursor = _checkCommittee(signature / SLOTS_PER_PERIOD, root, cursor);

            if (committee != 0) {
                (root, cursor) = rootOf(committee, fork >> 64 & 0xffffffff, cursor);
                if (root != state) revert NotTheNextCommittee(committee);
                if (finalized / SLOTS_PER_PERIOD != period) revert NextCommitteeNotFinal(period);
                _recordCommittee(period + 1, committee);
            }
            if (cursor != msg.data.length) revert ProofEndMismatch(cursor, msg.data.length);
            if (recorded[blockHash] != 0) return;
            recorded[blockHash] = finalized;
            emit BlockRecorded(finalized, blockHash);
        }
    }

    /// @notice Shows that two hashes are recorded for one slot, and so ends updates: a committee has signed a
    /// false hash, and may have signed others. Which one is false is not known here, so both stay recorded.
    /// Anyone may call it.
    /// @param first The one.
    /// @param second The other.
    function contradict(bytes32 first, bytes32 second) external {
        uint256 slot = recorded[first];
        if (slot == 0 || first == second || recorded[second] != slot) {
            revert NotAContradiction(first, second);
        }
        if (contradictedSlot != 0) return;
        contradictedSlot = slot;
        emit Contradiction(slot, first, second);
    }

    // Where the parts of an update stand in the calldata
    uint256 private constant BLOCK_HASH = 4;
    uint256 private constant NEXT_COMMITTEE = BLOCK_HASH + 32;
    uint256 private constant FINALIZED = NEXT_COMMITTEE + 32;
    uint256 private constant ATTESTED = FINALIZED + 48;
    uint256 private constant SIGNATURE_SLOT = ATTESTED + 80;
    uint256 private constant SIGNATURE = SIGNATURE_SLOT + 8;
    uint256 private constant ABSENT = SIGNATURE + SENT_SIGNATURE;
    uint256 private constant SUM = ABSENT + 64;
    uint256 private constant BRANCHES = SUM + SENT_KEY;

    /// @dev The root of the finalized beacon block that has the block hash at this index of its body.
    function _finalizedRoot(uint256 index) private view returns (bytes32 root, uint256 cursor) {
        (root, cursor) = rootOf(wordAt(BLOCK_HASH), index, BRANCHES);
        root = hashPair(hashPair(root, 0), ZEROS);
        root = hashPair(hashPair(_slotAndProposer(FINALIZED), wordAt(FINALIZED + 16)), root);
    }

    /// @dev The root of the beacon header at `cursor`, with this state root.
    function _headerRoot(uint256 cursor, bytes32 state) private view returns (bytes32) {
        bytes32 left =
            hashPair(_slotAndProposer(cursor), hashPair(wordAt(cursor + 16), state));
        return hashPair(left, wordAt(cursor + 48));
    }

    function _slotAndProposer(uint256 cursor) private view returns (bytes32) {
        return hashPair(littleEndian(uint64At(cursor)), bytes32(bytes8(wordAt(cursor + 8))));
    }

    /// @dev What the committee signs: the header's root, for this chain and for the version of the slot before
    /// the signature's.
    function _signingRoot(bytes32 root, uint256 signatureSlot) private view returns (bytes32) {
        unchecked {
            bytes32 version = bytes32(_forkAt(signatureSlot - 1) >> 128 << 224);
            bytes32 forkRoot = hashPair(version, genesisValidatorsRoot);
            return hashPair(root, SYNC_COMMITTEE_DOMAIN | forkRoot >> 32);
        }
    }

    /// @dev Reverts unless enough members of the period's committee have signed the message.
    function _checkCommittee(uint256 period, bytes32 message, uint256 cursor)
        private
        view
        returns (uint256)
    {
        bytes32 known = committees[period];
        if (known == 0) revert CommitteeNotKnown(period);
        uint256 first = uint256(wordAt(ABSENT));
        uint256 second = uint256(wordAt(ABSENT + 32));
        uint256 absent = _count(first) + _count(second);
        if (absent > MAX_ABSENT) revert TooManyAbsent(absent);
        (Keys keys, bytes32 sumLeaf) = readSum(SUM);
        bytes32 root;
        (root, cursor) = readMembers(keys, first, second, cursor);
        root = hashPair(root, sumLeaf);
        if (root != known) revert NotTheCommittee(period, root);
        checkSignature(keys, message, SIGNATURE);
        return cursor;
    }

    function _count(uint256 mask) private pure returns (uint256 count) {
        unchecked {
            for (; mask != 0; mask &= mask - 1) ++count;
        }
    }

    function _recordCommittee(uint256 period, bytes32 committee) private {
        bytes32 known = committees[period];
        if (known == committee) return;
        if (known != 0) revert AnotherCommitteeKnown(period, known, committee);
        committees[period] = committee;
        emit CommitteeRecorded(period, committee);
    }

    function _startOf(uint256 slot) private view returns (uint256) {
        return genesisTime + slot * secondsPerSlot;
    }

    /// @dev The fork of a slot, packed.
    function _forkAt(uint256 slot) private view returns (uint256) {
        if (slot >= _fork3 >> 160) return _fork3;
        if (slot >= _fork2 >> 160) return _fork2;
        if (slot >= _fork1 >> 160) return _fork1;
        if (slot >= _fork0 >> 160) return _fork0;
        revert SlotBeforeForks(slot);
    }

    /// @dev Reverts on a chain that lacks one of the precompiles. All accept zeros.
    function _tryPrecompiles() private view {
        bytes memory content = new bytes(2 * G2_BYTES);
        uint256 zeros;
        assembly ("memory-safe") {
            zeros := add(content, 32)
        }
        askPrecompile(G1_ADD, zeros, 2 * G1_BYTES, zeros, G1_BYTES);
        askPrecompile(G2_ADD, zeros, 2 * G2_BYTES, zeros, G2_BYTES);
        askPrecompile(PAIRING, zeros, G1_BYTES + G2_BYTES, 0, 32);
        askPrecompile(MAP_TO_G2, zeros, G1_BYTES, zeros, G2_BYTES);
    }

    /// @dev Hashes are recorded without a number.
    function _knownHash(uint256) internal pure override returns (bytes32) {
        return 0;
    }

    /// @dev The number is read from the header that has this hash.
    function _isKnown(Header header) internal view override returns (bool) {
        return recorded[bytes32(header.get(HASH))] != 0;
    }

    /// @dev The source chain's beacon roots are not known here.
    function _beaconRoot(uint256) internal pure override returns (bytes32) {
        return 0;
    }
}
