// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface Vote {
    function vote(bool yes) external;
}

/// A contract that votes.
contract Voter {
    function vote(Vote on) external {
        on.vote(true);
    }
}
