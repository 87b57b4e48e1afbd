"""What a checker sees for itself: the chains by raw JSON-RPC, and the database by raw SQL.

Nothing here, nor in what checks it, uses a line of the service; but that the chains' numbers stand
beside what sets the chains up, and that proof files are checked by the command that it ships for
that, beside what is read of them here.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import psycopg
import requests
from eth_utils.crypto import keccak

AT_ONCE = 100  # questions of one request
ACCOUNT_PROVEN = f"0x{keccak(text='AccountProven(address,uint256)').hex()}"
HEADER_ACCUMULATED = f"0x{keccak(text='HeaderAccumulated(uint256,bytes32)').hex()}"
HEADER_FIELD_PROVEN = f"0x{keccak(text='HeaderFieldProven(uint256,uint8)').hex()}"
TIMESTAMP_PROVEN = f"0x{keccak(text='TimestampProven(uint256,uint256)').hex()}"
HASH_ATTESTED = f"0x{keccak(text='HashAttested(uint256,bytes32)').hex()}"
ATTEST = f"0x{keccak(text='attest(uint256,bytes32,bytes[])')[:4].hex()}"
ACCOUNT_FIELDS = ("NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH")
# As a block's JSON calls them, and their places in the header.
HEADER_FIELDS = {
    "PARENT_HASH": ("parentHash", 0),
    "STATE_ROOT": ("stateRoot", 3),
    "LOGS_BLOOM": ("logsBloom", 6),
    "BLOCK_NUMBER": ("number", 8),
    "TIMESTAMP": ("timestamp", 11),
    "EXTRA_DATA": ("extraData", 12),
}


@dataclass(frozen=True, order=True)
class Fact:
    """One word that may be proven: of an account (a field's name or a slot), or of a header."""

    source: int
    destination: int
    block: int
    account: str  # in lower case; empty where it is of the header
    name: str  # a slot as 0x and 64 digits


class Chain:
    """One chain, asked without anything between."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()

    def ask(self, method: str, *params: Any) -> Any:
        return self.ask_many([(method, list(params))])[0]

    def ask_many(self, questions: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        found: list[Any] = []
        for start in range(0, len(questions), AT_ONCE):
            batch = [
                {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
                for place, (method, params) in enumerate(questions[start : start + AT_ONCE])
            ]
            answers = self._session.post(self._url, json=batch, timeout=60).json()
            by_id = {each["id"]: each for each in answers}
            for place, question in enumerate(batch):
                if "error" in by_id[place]:
                    raise RuntimeError(f"{question}: {by_id[place]['error']}")
                found.append(by_id[place]["result"])
        return found

    def logs(self, address: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask(
            "eth_getLogs", {"address": address, "fromBlock": "0x0", "toBlock": "latest"}
        )
        return found

    def block_at(self, seconds: int) -> int:
        """The last block that is not younger."""
        low, high = 0, int(self.ask("eth_blockNumber"), 16)
        while low < high:
            middle = (low + high + 1) // 2
            block = self.ask("eth_getBlockByNumber", hex(middle), False)  # noqa: FBT003
            low, high = (
                (middle, high) if int(block["timestamp"], 16) <= seconds else (low, middle - 1)
            )
        return low


@dataclass(frozen=True)
class Owner:
    """Of an account, what its client knows."""

    api_key: str
    webhook_secret: str


@dataclass(frozen=True)
class Scene:
    """Where everything is that a checker looks at."""

    chains: Mapping[int, str]  # chain → its node
    registries: Mapping[tuple[int, int], str]  # (source, destination) → address
    signer: str
    database: str  # a file's path, or a PostgreSQL's address
    site: str
    owners: Sequence[Owner]  # who asks, as batches name them
    clocks_apart: float = 0.0  # seconds, of the clocks that the times in the database are by
    pages: int = 6  # of each kind that are read

    @cached_property
    def nodes(self) -> Mapping[int, Chain]:
        return {chain: Chain(url) for chain, url in self.chains.items()}

    def true_words(self, facts: Sequence[Fact]) -> dict[Fact, int]:
        """What the source chains say."""
        words: dict[Fact, int] = {}
        for source in {each.source for each in facts}:
            some = [each for each in facts if each.source == source]
            questions = [_question(each) for each in some]
            distinct = list({json.dumps(each): each for each in questions}.values())
            answers = self.nodes[source].ask_many(distinct)
            told = {json.dumps(q): answer for q, answer in zip(distinct, answers, strict=True)}
            for each, question in zip(some, questions, strict=True):
                words[each] = _word(each, told[json.dumps(question)])
        return words

    def kept_words(self, facts: Sequence[Fact]) -> dict[Fact, int | None]:
        """What the registries hold, or None where nothing is proven."""
        words: dict[Fact, int | None] = {}
        for destination in {each.destination for each in facts}:
            some = [each for each in facts if each.destination == destination]
            calls = [
                ("eth_call", [{"to": self._registry(each), "data": _read(each)}, "latest"])
                for each in some
            ]
            for each, answer in zip(some, self.nodes[destination].ask_many(calls), strict=True):
                # Nothing at all where there is no contract.
                proven, word = int(answer[2:66] or "0", 16), int(answer[66:130] or "0", 16)
                words[each] = word if proven else None
        return words

    def _registry(self, fact: Fact) -> str:
        return self.registries[fact.source, fact.destination]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All of a table, with JSON read where it is text."""
        statement = f"SELECT * FROM queries_{table}"  # noqa: S608
        if self.database.startswith("postgres"):
            with psycopg.connect(self.database, connect_timeout=10) as held:
                cursor = held.execute(statement.encode())
                names = [each.name for each in cursor.description or ()]
                return [dict(zip(names, row, strict=True)) for row in cursor]
        with closing(sqlite3.connect(self.database, timeout=30)) as file:
            found = file.execute(statement)
            names = [each[0] for each in found.description]
            return [dict(zip(names, row, strict=True)) for row in found]

    def page(self, path: str, **headers: str) -> requests.Response:
        return requests.get(f"{self.site}{path}", headers=headers, timeout=30)


def as_json(value: Any) -> Any:
    """SQLite keeps JSON as text, PostgreSQL gives what it means."""
    return json.loads(value) if isinstance(value, str) else value


def seconds_of(moment: datetime | str) -> float:
    """Since 1970; SQLite keeps text, in UTC."""
    if isinstance(moment, datetime):
        return moment.timestamp()
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


def slot_name(text: str) -> str:
    return f"0x{int(text, 16):064x}"


def _question(fact: Fact) -> tuple[str, list[Any]]:
    block = hex(fact.block)
    if not fact.account:
        return "eth_getBlockByNumber", [block, False]
    match fact.name:
        case "BALANCE":
            return "eth_getBalance", [fact.account, block]
        case "NONCE":
            return "eth_getTransactionCount", [fact.account, block]
        case "STORAGE_ROOT" | "CODE_HASH":
            return "eth_getProof", [fact.account, [], block]
    return "eth_getStorageAt", [fact.account, fact.name, block]


def _word(fact: Fact, answer: Any) -> int:
    if not fact.account:
        text = answer[HEADER_FIELDS[fact.name][0]]
        content = bytes.fromhex(text[2:].rjust(len(text[2:]) + len(text) % 2, "0"))
        return int.from_bytes(keccak(content) if len(content) > 32 else content)
    if fact.name in {"STORAGE_ROOT", "CODE_HASH"}:
        answer = answer["storageHash" if fact.name == "STORAGE_ROOT" else "codeHash"]
        if int(answer, 16) == 0:  # how this node says that there is no account
            empty = {"STORAGE_ROOT": keccak(b"\x80"), "CODE_HASH": keccak(b"")}
            return int.from_bytes(empty[fact.name])
    return int(answer, 16)


def _read(fact: Fact) -> str:
    block = f"{fact.block:064x}"
    if not fact.account:
        place = HEADER_FIELDS[fact.name][1]
        return f"{_selector('tryHeaderField(uint256,uint8)')}{block}{place:064x}"
    account = fact.account[2:].rjust(64, "0")
    if fact.name in ACCOUNT_FIELDS:
        place = ACCOUNT_FIELDS.index(fact.name)
        signature = "tryAccountField(address,uint256,uint8)"
        return f"{_selector(signature)}{account}{block}{place:064x}"
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    return f"{_selector(signature)}{account}{block}{fact.name[2:]}"


def _selector(signature: str) -> str:
    return f"0x{keccak(text=signature)[:4].hex()}"
