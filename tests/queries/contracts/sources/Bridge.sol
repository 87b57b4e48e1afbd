// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// The ABI that the peer publishes with its contracts.
interface ICrossL2ProverV2 {
    function validateEvent(bytes calldata proof)
        external
        view
        returns (
            uint32 chainId,
            address emittingContract,
            bytes memory topics,
            bytes memory unindexedData
        );

    function inspectLogIdentifier(bytes calldata proof)
        external
        pure
        returns (uint32 srcChain, uint64 blockNumber, uint32 receiptIndex, uint32 logIndex);
}

/// @title Credits what was transferred on another chain, once for each log
contract Bridge {
    bytes32 private constant TRANSFER = keccak256("Transfer(address,address,uint256)");
    ICrossL2ProverV2 private immutable _prover;
    uint32 private immutable _source;
    address private immutable _token;

    mapping(address account => uint256) public credit;
    mapping(bytes32 log => bool) private _used;

    constructor(ICrossL2ProverV2 prover, uint32 source, address token) {
        (_prover, _source, _token) = (prover, source, token);
    }

    function claim(bytes calldata proof) external {
        (uint32 chain, uint64 number, uint32 receipt, uint32 place) =
            _prover.inspectLogIdentifier(proof);
        bytes32 log = keccak256(abi.encode(chain, number, receipt, place));
        require(!_used[log], "claimed before");
        _used[log] = true;
        (uint32 source, address token, bytes memory topics, bytes memory data) =
            _prover.validateEvent(proof);
        require(source == _source && token == _token && topics.length == 96, "another event");
        (bytes32 topic,, address to) = abi.decode(topics, (bytes32, address, address));
        require(topic == TRANSFER, "another event");
        credit[to] += abi.decode(data, (uint256));
    }
}
