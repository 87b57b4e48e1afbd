"""What a node may say that is not so: each breaks the answers to some question."""

import random
from typing import Any

from tests.chaos.nodes_between import Lie

GWEI = 10**9


def _another_digit(text: str, chance: random.Random) -> str:
    """The same length, one digit changed."""
    place = chance.randrange(2, len(text))
    digit = chance.choice([each for each in "0123456789abcdef" if each != text[place].lower()])
    return f"{text[:place]}{digit}{text[place + 1 :]}"


def wrong_proofs(chance: random.Random) -> Lie:
    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_getProof" and result["accountProof"]:
            proof = result["accountProof"]
            place = chance.randrange(len(proof))
            proof[place] = _another_digit(proof[place], chance)
        return result

    return lie


def wrong_balances(chance: random.Random) -> Lie:
    """Beside proofs that are right."""

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_getProof":
            result["balance"] = hex(int(result["balance"], 16) + chance.randrange(1, 10**9))
        return result

    return lie


def wrong_headers(chance: random.Random) -> Lie:
    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_getBlockByNumber":
            name = chance.choice(["stateRoot", "parentHash", "hash", "receiptsRoot"])
            result[name] = _another_digit(result[name], chance)
        return result

    return lie


def wrong_receipts(chance: random.Random) -> Lie:
    """It was never mined, or at another place, or another transaction was."""

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method != "eth_getTransactionReceipt":
            return result
        kind = chance.randrange(3)
        if kind == 0:
            return None
        if kind == 1:
            return result | {"blockNumber": hex(int(result["blockNumber"], 16) + 1_000_000)}
        return result | {"transactionHash": _another_digit(result["transactionHash"], chance)}

    return lie


def wrong_words(chance: random.Random) -> Lie:
    """The registry is said to hold what it does not; the other node of the chain is honest."""

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_call" and len(result) > 10:
            return _another_digit(result, chance)
        return result

    return lie


def wrong_fees(chance: random.Random) -> Lie:
    """Dear ones, within the operator's bound and far beyond it; and a base fee that is none. A tip
    that is too low would only be a cheap transaction, and batches that pay too little must fail.
    """
    tips = [chance.randrange(2, 90) * GWEI, 10_000 * GWEI]
    base_fees = [0, chance.randrange(2, 90) * GWEI, 10_000 * GWEI]

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method in {"eth_maxPriorityFeePerGas", "eth_gasPrice"}:
            return hex(chance.choice(tips))
        if method == "eth_getBlockByNumber" and params[0] == "latest":
            return result | {"baseFeePerGas": hex(chance.choice(base_fees))}
        return result

    return lie


def low_estimates(chance: random.Random) -> Lie:
    """Of less gas than a transaction's bytes take by themselves. With one that is a little too low
    it is mined, runs out of gas and is paid for, and nothing but other nodes' word can tell.
    """

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_estimateGas":
            data = bytes.fromhex(params[0]["data"][2:])
            return hex(chance.randrange(21_000 + 16 * len(data) - 12 * data.count(0)))
        return result

    return lie


def high_estimates(chance: random.Random) -> Lie:
    """Also beyond what any transaction may have."""

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_estimateGas":
            return hex(int(result, 16) * chance.choice([2, 8, 1_000]))
        return result

    return lie


def wrong_counts(chance: random.Random) -> Lie:
    """Of a sender's transactions: one more than were mined, or one less."""

    def lie(method: str, _params: list[Any], result: Any) -> Any:
        if method == "eth_getTransactionCount":
            return hex(max(int(result, 16) + chance.choice([-1, 1]), 0))
        return result

    return lie


def early_finality(chance: random.Random) -> Lie:
    """A block is called final that may still be replaced, or does not exist yet."""

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_getBlockByNumber" and params[0] == "finalized":
            return result | {"number": hex(int(result["number"], 16) + chance.randrange(1, 30))}
        return result

    return lie


KINDS = {
    "wrong proofs": wrong_proofs,
    "wrong fees": wrong_fees,
    "low estimates of gas": low_estimates,
    "high estimates of gas": high_estimates,
    "wrong counts of transactions": wrong_counts,
    "finality too early": early_finality,
    "wrong balances": wrong_balances,
    "wrong headers": wrong_headers,
    "wrong receipts": wrong_receipts,
    "wrong words of a registry": wrong_words,
}
