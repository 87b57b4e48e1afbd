// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {FactsRegistry} from "./FactsRegistry.sol";

/// @title A chain's past, proven to another chain on the word of m of n signers
/// @notice Block hashes are attested by EIP-712 signatures. The signers are fixed at deployment;
/// who reads facts here trusts that fewer than `threshold` of them lie.
contract AttestedRegistry is FactsRegistry {
    /// @notice Signers must be given in ascending order, none twice and none zero.
    error SignersNotAscending(uint256 index);
    /// @notice The threshold must be from 1 to the number of signers.
    error ThresholdOutOfRange(uint256 threshold, uint256 signers);
    /// @notice Fewer signatures than the threshold.
    error TooFewSignatures(uint256 given, uint256 threshold);
    /// @notice Signature number `index` is not one of 65 bytes with a low s and a v of 27 or 28.
    error SignatureMalformed(uint256 index);
    /// @notice Signature number `index` is by `signer`, who is none of the signers, or it does not
    /// come after the one before in the order of signers.
    error SignerNotExpected(uint256 index, address signer);
    /// @notice Another hash of this number was attested; the first one stays.
    error AnotherHashAttested(uint256 blockNumber, bytes32 known, bytes32 given);
    /// @notice A block hash is never zero.
    error ZeroHash(uint256 blockNumber);

    /// @notice The hash of a block is attested.
    event HashAttested(uint256 indexed blockNumber, bytes32 blockHash);

    bytes32 private constant DOMAIN_TYPE = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant ATTESTATION_TYPE = keccak256(
        "BlockHash(uint256 sourceChainId,uint256 blockNumber,bytes32 blockHash)"
    );
    uint256 private constant HALF_ORDER =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @notice The chain whose past this is.
    uint256 public immutable sourceChainId;
    /// @notice How many signers must agree.
    uint256 public immutable threshold;
    /// @notice Whether an address is one of the signers.
    mapping(address signer => bool) public isSigner;
    /// @notice Attested block hashes, by number; zero where none is.
    mapping(uint256 blockNumber => bytes32) public attested;

    address[] private _signers;

    constructor(uint256 sourceChainId_, address[] memory signers_, uint256 threshold_) {
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
    }

    /// @notice All signers, in ascending order.
    function signers() external view returns (address[] memory) {
        return _signers;
    }

    /// @notice Takes a block's hash on the word of at least `threshold` signers, whose signatures
    /// come in the order of their addresses. Anyone may bring them.
    function attest(uint256 blockNumber, bytes32 blockHash, bytes[] calldata signatures) external {
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
    function attestationDigest(uint256 blockNumber, bytes32 blockHash)
        public
        view
        returns (bytes32)
    {
        bytes32 domain = keccak256(
            abi.encode(
                DOMAIN_TYPE,
                keccak256("Tacitus block hashes"),
                keccak256("1"),
                block.chainid,
                address(this)
            )
        );
        bytes32 content =
            keccak256(abi.encode(ATTESTATION_TYPE, sourceChainId, blockNumber, blockHash));
        return keccak256(abi.encodePacked(hex"1901", domain, content));
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
