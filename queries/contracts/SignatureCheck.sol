// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Whether a contract wallet accepts a signature, by EIP-1271 and EIP-6492
/// @notice Never deployed: an `eth_call` sends it as a contract creation, and the constructor
/// returns the answer, one word, in place of code. So a wallet that is not deployed yet can be
/// deployed within the call, and nothing of it stays.
contract SignatureCheck {
    // The answers. None is zero, so that an empty or zeroed answer of a node is none of them.
    uint256 private constant ACCEPTED = 1;
    uint256 private constant REFUSED = 2;
    uint256 private constant NO_CONTRACT = 3;

    /// @dev The selector of isValidSignature(bytes32,bytes), which is also what a wallet answers
    /// where it accepts.
    bytes4 private constant MAGIC = 0x1626ba7e;
    /// @dev The last word of a wrapper of EIP-6492.
    bytes32 private constant WRAPPER_END =
        0x6492649264926492649264926492649264926492649264926492649264926492;
    /// @dev Inner calls are bounded, so that one that burns all its gas leaves enough to answer.
    uint256 private constant ASKING_GAS = 3_000_000;
    uint256 private constant MAKING_GAS = 7_000_000;

    /// @param wallet The contract wallet that is asked.
    /// @param digest What was signed.
    /// @param signature The wallet's signature, or a wrapper of it (EIP-6492).
    constructor(address wallet, bytes32 digest, bytes memory signature) {
        uint256 answer = _answer(wallet, digest, signature);
        assembly ("memory-safe") {
            mstore(0, answer)
            return(0, 32)
        }
    }

    function _answer(address wallet, bytes32 digest, bytes memory signature)
        private
        returns (uint256 answer)
    {
        uint256 end = signature.length;
        if (end < 32 || _word(signature, end - 32) != WRAPPER_END) {
            return _ask(wallet, digest, signature);
        }
        (bool whole, address factory, bytes memory making, bytes memory inner) =
            _unwrap(signature, end - 32);
        if (!whole) return REFUSED;
        answer = _ask(wallet, digest, inner);
        if (answer == ACCEPTED) return answer;
        // Call the factory even if a deployed wallet refused: it may need preparation
        // (EIP-6492). That call may fail; only the wallet's answer afterwards counts.
        _make(factory, making);
        answer = _ask(wallet, digest, inner);
    }

    /// @dev The wallet's own answer. The inner signature is given as it is, even where it is a wrapper.
    function _ask(address wallet, bytes32 digest, bytes memory signature)
        private
        view
        returns (uint256)
    {
        if (wallet.code.length == 0) return NO_CONTRACT;
        bytes memory question = abi.encodeWithSelector(MAGIC, digest, signature);
        bool answered;
        bytes32 word;
        // By hand, because Solidity would copy whatever is answered, however long it is.
        assembly ("memory-safe") {
            answered := staticcall(ASKING_GAS, wallet, add(question, 32), mload(question), 0, 32)
            answered := and(answered, eq(returndatasize(), 32))
            word := mload(0)
        }
        return answered && word == bytes32(MAGIC) ? ACCEPTED : REFUSED;
    }

    function _make(address factory, bytes memory making) private {
        assembly ("memory-safe") {
            pop(call(MAKING_GAS, factory, 0, add(making, 32), mload(making), 0, 0))
        }
    }

    /// @dev What a wrapper holds: abi.encode(factory, making, inner) in its first `end` bytes.
    /// abi.decode would revert on malformed bytes.
    function _unwrap(bytes memory wrapper, uint256 end)
        private
        pure
        returns (bool whole, address factory, bytes memory making, bytes memory inner)
    {
        if (end < 96) return (false, factory, making, inner);
        uint256 first = uint256(_word(wrapper, 0));
        bool makingWhole;
        bool innerWhole;
        (makingWhole, making) = _part(wrapper, end, uint256(_word(wrapper, 32)));
        (innerWhole, inner) = _part(wrapper, end, uint256(_word(wrapper, 64)));
        whole = first <= type(uint160).max && makingWhole && innerWhole;
        factory = address(uint160(first));
    }

    /// @dev The bytes whose length stands at `offset`, where they end at or before `end`. They are
    /// read in place and never written.
    function _part(bytes memory wrapper, uint256 end, uint256 offset)
        private
        pure
        returns (bool whole, bytes memory part)
    {
        if (offset > end - 32) return (false, part);
        if (uint256(_word(wrapper, offset)) > end - 32 - offset) return (false, part);
        assembly ("memory-safe") {
            part := add(add(wrapper, 32), offset)
        }
        return (true, part);
    }

    /// @dev The word at `position`, which the caller has compared with the length.
    function _word(bytes memory content, uint256 position) private pure returns (bytes32 word) {
        assembly ("memory-safe") {
            word := mload(add(add(content, 32), position))
        }
    }
}
