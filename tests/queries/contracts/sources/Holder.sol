// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A contract with every kind of storage variable
contract Holder {
    struct Point {
        uint256 x;
        uint128 y;
        int64 z;
    }

    uint256 public plain = 7; // slot 0
    uint128 private _low = 2 ** 128 - 1; // slot 1, with the next two
    uint64 private _middle = 2 ** 63;
    bool private _flag = true;
    mapping(address => uint256) private _balances; // slot 2
    mapping(address => mapping(int256 => uint256)) private _nested; // slot 3
    uint256[] private _list; // slot 4
    uint64[] private _packedList; // slot 5
    Point private _point = Point(2 ** 200, 2 ** 127, -2); // slots 6 and 7
    mapping(string => Point) private _points; // slot 8
    uint256[5] private _edges = // slots 9 to 13
        [1, 2 ** 184 - 1, 2 ** 184, type(uint256).max - 1, type(uint256).max];
    string private _text = "a text that is too long for the slot of its length"; // slot 14
    uint256 private _never; // slot 15

    constructor() {
        _balances[address(0x1111111111111111111111111111111111111111)] = 2 ** 184;
        _nested[address(0x2222222222222222222222222222222222222222)][-5] = type(uint256).max;
        for (uint64 i = 1; i <= 9; ++i) {
            _list.push(i * 1000);
            _packedList.push(i * 100);
        }
        _points["north"] = Point(5, 6, 7);
    }
}
