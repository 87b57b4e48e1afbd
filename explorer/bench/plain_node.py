"""A node as someone asks it who writes a script: one question after the other, by requests."""

from typing import Any, Self

import requests

from explorer.bench.rows import BenchFailed

TIMEOUT = 30  # seconds


class PlainNode:
    def __init__(self, address: str) -> None:
        self._address = address
        self._session = requests.Session()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def ask(self, method: str, *params: object) -> Any:
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        told = self._session.post(self._address, json=question, timeout=TIMEOUT).json()
        if "error" in told:
            raise BenchFailed(f"The local node refuses {method}, which the plain script asks for.")
        return told["result"]
