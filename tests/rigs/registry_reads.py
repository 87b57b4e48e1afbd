"""The reading functions of a registry contract."""

from collections.abc import Callable
from typing import Any

from eth_abi.abi import decode

from queries.contracts.abi import call_data


class RegistryReads:
    """The reading functions of a registry; `ask` calls it."""

    def __init__(self, ask: Callable[[bytes], bytes]) -> None:
        self._ask = ask

    def account_field(self, account: bytes, block: int, field: int) -> bytes | None:
        return self._try("tryAccountField(address,uint256,uint8)", account, block, field)

    def slot_value(self, account: bytes, block: int, slot: int) -> int | None:
        word = self._try(
            "tryAccountStorageSlotValues(address,uint256,bytes32)",
            account,
            block,
            slot.to_bytes(32, "big"),
        )
        return None if word is None else int.from_bytes(word, "big")

    def header_field(self, block: int, field: int) -> bytes | None:
        return self._try("tryHeaderField(uint256,uint8)", block, field)

    def block_number_at(self, timestamp: int) -> int | None:
        word = self._try("tryBlockNumberAt(uint256)", timestamp)
        return None if word is None else int.from_bytes(word, "big")

    def accumulated(self, block: int) -> bytes:
        """The leaf of an accumulated block, or 32 zero bytes."""
        return self._ask(call_data("accumulated(uint256)", block))

    def _try(self, signature: str, *arguments: Any) -> bytes | None:
        """The word, or None if nothing is proven."""
        proven, word = decode(["bool", "bytes32"], self._ask(call_data(signature, *arguments)))
        return bytes(word) if proven else None
