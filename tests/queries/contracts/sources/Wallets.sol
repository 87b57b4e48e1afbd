// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

bytes4 constant MAGIC = 0x1626ba7e;

/// @title A wallet that accepts its owner's signatures
contract OwnedWallet {
    address private immutable _owner;

    constructor(address owner) {
        _owner = owner;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature)
        external
        view
        returns (bytes4)
    {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(
            digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64])
        );
        return signer == _owner ? MAGIC : bytes4(0xffffffff);
    }
}

/// @title A wallet that always returns, or reverts with, the same bytes
contract SameAnswerWallet {
    bytes private _answer;
    bool private _reverts;

    constructor(bytes memory answer, bool reverts) {
        _answer = answer;
        _reverts = reverts;
    }

    fallback() external {
        bytes memory answer = _answer;
        if (_reverts) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        assembly {
            return(add(answer, 32), mload(answer))
        }
    }
}

/// @title A wallet that returns or reverts with the magic value and a megabyte more
contract HugeWallet {
    bool private immutable _reverts;

    constructor(bool reverts) {
        _reverts = reverts;
    }

    fallback() external {
        bool reverts = _reverts;
        bytes32 magic = MAGIC;
        assembly {
            mstore(0, magic)
            if reverts { revert(0, 1000000) }
            return(0, 1000000)
        }
    }
}

/// @title A wallet that writes storage before it accepts
contract WritingWallet {
    uint256 private _asked;

    function isValidSignature(bytes32, bytes calldata) external returns (bytes4) {
        ++_asked;
        return MAGIC;
    }
}

/// @title A wallet that burns all gas until anyone opens it
contract OpenableWallet {
    bool public open;

    function set(bool open_) external {
        open = open_;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        if (!open) {
            assembly {
                invalid()
            }
        }
        return MAGIC;
    }
}

/// @title A wallet that accepts everything, at a high gas cost
contract CostlyWallet {
    function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes4) {
        uint256 until = gasleft() - 2_000_000;
        while (gasleft() > until) digest = keccak256(abi.encode(digest));
        return MAGIC;
    }
}

/// @title A wallet that accepts only calls whose origin is the zero address
contract TrialWallet {
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        // solhint-disable-next-line avoid-tx-origin
        return tx.origin == address(0) ? MAGIC : bytes4(0xffffffff);
    }
}

/// @title A CREATE factory: a wallet's address does not depend on its owner
contract CountingFactory {
    function make(bytes32, address owner) external returns (address) {
        return address(new OwnedWallet(owner));
    }
}

/// @title A CREATE2 factory: addresses are known beforehand
contract Factory {
    function make(bytes32 salt, address owner) public returns (address) {
        return address(new OwnedWallet{salt: salt}(owner));
    }

    function makeElsewhere(bytes32 salt, address owner) external returns (address) {
        return make(keccak256(abi.encode(salt)), owner);
    }

    function makeAndRevert(bytes32 salt, address owner) external {
        make(salt, owner);
        revert("never mind");
    }

    function makeAndBurn(bytes32 salt, address owner) external {
        make(salt, owner);
        assembly {
            invalid()
        }
    }

    function makeAndReturnMuch(bytes32 salt, address owner) external {
        make(salt, owner);
        assembly {
            return(0, 1000000)
        }
    }

    /// @notice Deploy a wallet after burning nearly all gas.
    function makeCostly(bytes32 salt) external returns (address made) {
        made = address(new CostlyWallet{salt: salt}());
        try this.burn() {} catch {}
    }

    function burn() external pure {
        assembly {
            invalid()
        }
    }
}
