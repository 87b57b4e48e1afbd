// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CompactHeader} from "./CompactHeader.sol";
import {FactsRegistry} from "./FactsRegistry.sol";
import {IFactsRegistry} from "./interfaces/IFactsRegistry.sol";

/// @title A chain's past, proven to another chain by attestations of m of n signers
/// @notice Block hashes are attested by EIP-712 signatures. The signers are fixed at deployment;
/// readers trust that before `validUntil` fewer than `threshold` of them lie or leak their keys.
contract AttestedRegistry is FactsRegistry {
    /// @notice Signers must be provided in ascending order, none twice and none zero.
    /// @param index The index of the first one that is not.
    error SignersNotAscending(uint256 index);
    /// @notice The threshold must be from 1 to the number of signers.
    /// @param threshold The threshold provided.
    /// @param signers How many signers were provided.
    error ThresholdOutOfRange(uint256 threshold, uint256 signers);
    /// @notice Fewer signatures than the threshold.
    /// @param provided How many were provided.
    /// @param threshold How many are needed.
    error TooFewSignatures(uint256 provided, uint256 threshold);
    /// @notice A signature must have 65 bytes, a low s and a v of 27 or 28, and recover to an address.
    /// @param index The index of the first malformed one.
    error SignatureMalformed(uint256 index);
    /// @notice Signatures must be by the registry's signers, in ascending order of their addresses.
    /// @param index The index of the first one that is not.
    /// @param signer Whose signature it is.
    error SignerNotExpected(uint256 index, address signer);
    /// @notice Another hash of this number was attested; the first one stays.
    /// @param blockNumber The source block.
    /// @param known The hash attested first.
    /// @param provided The hash provided now.
    error AnotherHashAttested(uint256 blockNumber, bytes32 known, bytes32 provided);
    /// @notice A block hash is never zero.
    /// @param blockNumber The source block.
    error ZeroHash(uint256 blockNumber);
    /// @notice Attesting ended at `validUntil`.
    /// @param validUntil That time, in seconds.
    error AttestingEnded(uint256 validUntil);

    /// @notice The hash of a block is attested.
    /// @param blockNumber The source block.
    /// @param blockHash Its hash.
    event HashAttested(uint256 indexed blockNumber, bytes32 blockHash);

    bytes32 private constant DOMAIN_TYPE = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    string private constant NAME = "Tacitus block hashes";
    string private constant VERSION = "1";
    bytes32 private constant ATTESTATION_TYPE = keccak256(
        "BlockHash(uint256 sourceChainId,uint256 blockNumber,bytes32 blockHash)"
    );
    uint256 private constant HALF_ORDER =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @notice The chain whose past this is.
    /// @return Its id.
    uint256 public immutable sourceChainId;
    /// @notice How many signers must agree.
    /// @return That many.
    uint256 public immutable threshold;
    /// @notice Attestations are accepted before this time, in seconds. Keys that leak later cannot
    /// attest; hashes attested before stay known.
    /// @return That time.
    uint256 public immutable validUntil;
    /// @notice Whether an address is one of the signers.
    /// @return Whether it is.
    mapping(address signer => bool) public isSigner;
    /// @notice Attested block hashes, by number.
    /// @return The hash; zero where none is attested.
    mapping(uint256 blockNumber => bytes32) public attested;

    address[] private _signers;

    /// @param horizon From which time on headers are refused, in seconds.
    /// @param sourceChainId_ The chain whose past this is.
    /// @param signers_ Who may attest, in ascending order.
    /// @param threshold_ How many of them must agree.
    /// @param validUntil_ Until when they may, in seconds.
    constructor(
        uint256 horizon,
        uint256 sourceChainId_,
        address[] memory signers_,
        uint256 threshold_,
        uint256 validUntil_
    ) CompactHeader(horizon) {
        if (threshold_ == 0 || threshold_ > signers_.length) {
            revert ThresholdOutOfRange(threshold_, signers_.length);
        }
        address last;
        for (uint256 i = 0; i < signers_.length; ++i) {
            if (signers_[i] <= last) revert SignersNotAscending(i);
            last = signers_[i];
            isSigner[last] = true;
        }
        _signers = signers_;
        sourceChainId = sourceChainId_;
        threshold = threshold_;
        validUntil = validUntil_;
    }

    /// @inheritdoc IFactsRegistry
    function describe() external view returns (bytes32, uint256, bytes32, uint256) {
        return ("attested", sourceChainId, keccak256(abi.encode(_signers, threshold, validUntil)), HORIZON);
    }

    /// @notice All signers, in ascending order.
    /// @return Their addresses.
    function signers() external view returns (address[] memory) {
        return _signers;
    }

    /// @notice Stores a block hash that at least `threshold` signers signed. Anyone may send it.
    /// Reverts from `validUntil` on, also for a hash that is attested already.
    /// @param blockNumber The source block.
    /// @param blockHash Its hash.
    /// @param signatures Of `attestationDigest`, in ascending order of their signers' addresses.
    function attest(uint256 blockNumber, bytes32 blockHash, bytes[] calldata signatures) external {
        if (block.timestamp >= validUntil) revert AttestingEnded(validUntil);
        if (blockHash == 0) revert ZeroHash(blockNumber);
        if (signatures.length < threshold) revert TooFewSignatures(signatures.length, threshold);
        bytes32 digest = attestationDigest(blockNumber, blockHash);
        address last;
        for (uint256 i = 0; i < signatures.length; ++i) {
            address signer = _recover(digest, signatures[i], i);
            if (signer <= last || !isSigner[signer]) revert SignerNotExpected(i, signer);
            last = signer;
        }
        bytes32 known = attested[blockNumber];
        if (known == blockHash) return;
        if (known != 0) revert AnotherHashAttested(blockNumber, known, blockHash);
        attested[blockNumber] = blockHash;
        emit HashAttested(blockNumber, blockHash);
    }

    /// @notice What the signers sign: EIP-712, bound to this chain and this registry.
    /// @param blockNumber The source block.
    /// @param blockHash Its hash.
    /// @return The digest.
    function attestationDigest(uint256 blockNumber, bytes32 blockHash)
        public
        view
        returns (bytes32)
    {
        bytes32 domain = keccak256(
            abi.encode(
                DOMAIN_TYPE,
                keccak256(bytes(NAME)),
                keccak256(bytes(VERSION)),
                block.chainid,
                address(this)
            )
        );
        bytes32 content =
            keccak256(abi.encode(ATTESTATION_TYPE, sourceChainId, blockNumber, blockHash));
        return keccak256(abi.encodePacked(hex"1901", domain, content));
    }

    /// @notice The domain of the signatures (EIP-5267).
    /// @return fields 0x0f: name, version, chainId, verifyingContract.
    /// @return name The domain's name.
    /// @return version Its version.
    /// @return chainId This chain.
    /// @return verifyingContract This registry.
    /// @return salt None.
    /// @return extensions None.
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (0x0f, NAME, VERSION, block.chainid, address(this), 0, new uint256[](0));
    }

    function _knownHash(uint256 number) internal view override returns (bytes32) {
        return attested[number];
    }

    /// @dev The source chain's beacon roots are not known here.
    function _beaconRoot(uint256) internal pure override returns (bytes32) {
        return 0;
    }

    function _recover(bytes32 digest, bytes calldata signature, uint256 index)
        private
        pure
        returns (address signer)
    {
        if (signature.length != 65) revert SignatureMalformed(index);
        uint8 v = uint8(signature[64]);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER || (v != 27 && v != 28)) revert SignatureMalformed(index);
        signer = ecrecover(digest, v, bytes32(signature[:32]), s);
        if (signer == address(0)) revert SignatureMalformed(index);
    }
}
