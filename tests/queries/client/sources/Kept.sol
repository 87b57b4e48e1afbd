// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Someone else's variables, which come first
contract Inherited {
    address private _owner = 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045;
    uint96 internal since = 77;
}

/// @title Variables of every form, for tests that find them by their names
contract Kept is Inherited {
    enum Colour {
        Red,
        Green
    }

    type Price is uint64;
    type Id is bytes20;
    type Wallet is address;

    struct Point {
        uint64 x;
        uint128 y;
        bytes4[3] tags;
        mapping(bytes4 => uint8) seen;
    }

    struct Config {
        bool on;
        address owner;
        Point centre;
    }

    mapping(address => uint256) private balances;
    mapping(address => mapping(Colour => int64)) private nested;
    mapping(string => Point[]) private named;
    mapping(Inherited => bool) private known;
    mapping(Price => uint256) private priced;
    mapping(bool => mapping(int16 => mapping(bytes => uint32))) private deep;
    Point[] private points;
    uint24[] private small;
    uint72[2][3] private grid;
    Config private config;
    string private text = "a text that is too long for the slot of its length";
    string private short_ = "short";
    uint16 private $odd = 9;
    mapping(Id => uint256) private marked;
    mapping(Wallet => uint256) private spent;

    constructor() {
        address holder = 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045;
        balances[holder] = 1001;
        nested[holder][Colour.Green] = -2;
        named["north pole"].push().x = 1003;
        named["north pole"].push().y = 1004;
        known[Inherited(holder)] = true;
        priced[Price.wrap(5)] = 1005;
        deep[true][-3][hex"abcdef"] = 1006;
        for (uint64 i = 0; i < 5; ++i) {
            points.push().y = 2000 + i;
            points[i].tags[2] = bytes4(uint32(3000 + i));
        }
        for (uint24 i = 0; i < 23; ++i) {
            small.push(4000 + i);
        }
        points[4].seen[0xa9059cbb] = 7;
        grid[2][1] = 1007;
        config.on = true;
        config.owner = holder;
        config.centre.x = 1008;
        marked[Id.wrap(bytes20(holder))] = 1009;
        spent[Wallet.wrap(holder)] = 1010;
    }
}

/// @title Another one, so that a layout has to be chosen
contract Lonely {
    uint256 private balances = 5;
}
