"""What a node may say that is not so: each breaks the answers to some question."""

import random
from typing import Any

from tests.chaos.nodes_between import Lie


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


KINDS = {
    "wrong proofs": wrong_proofs,
    "wrong balances": wrong_balances,
    "wrong headers": wrong_headers,
    "wrong receipts": wrong_receipts,
    "wrong words of a registry": wrong_words,
}
