"""Claims about a source's blocks that the destination accepts.

The base of `games`, `assertions` and `beacon_updates`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError

from queries.chain.answers import AccountSlots
from queries.chain.client import ChainClient
from queries.chain.errors import RollupUnreadableError
from queries.config.registries import Registry
from queries.contracts.abi import call_data
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header
from queries.wait_reasons import Reason


class SourceChain(Protocol):
    """Headers and proofs of the source: a `ChainClient`, or a proof file with or without one."""

    def headers(self, first: int, last: int) -> Sequence[Header]:
        """The headers of these numbers, each the parent of the next."""

    def header_by_hash(self, block_hash: bytes) -> Header:
        """The header with this hash."""

    def account_proofs(
        self, header: Header, requested_slots: Sequence[AccountSlots], /
    ) -> Sequence[AccountProof]:
        """The states of accounts at this block."""


@dataclass(frozen=True, slots=True)
class HashClaim:
    """A block that a rollup's contracts or a sync committee vouch for."""

    header: Header
    record_call: bytes = b""  # makes its hash known to the registry; empty: it is known
    transactions: float = 1  # like this one; above 1 it only leads towards the block


@dataclass(eq=False)
class HashClaims(ABC):
    """The claims that cover a block. For one pass: it caches answers."""

    registry: Registry
    destination: ChainClient
    source: SourceChain
    header: Header
    source_head: int  # no later block is known
    is_known: Callable[[Header], bool]  # whether the registry knows a header's hash

    @cached_property
    def covering_claim(self) -> HashClaim | None:
        """An accepted claim about the block or a later one."""
        return self._find_claim()

    @abstractmethod
    def _find_claim(self) -> HashClaim | None: ...

    @abstractmethod
    def wait_reason(self) -> Reason:
        """The reason why no accepted claim covers the block, with the time when one is expected."""

    def _source_header(self, number: int) -> Header:
        return self.source.headers(number, number)[0]

    def _call(self, contract: str, calls: Sequence[bytes]) -> Sequence[object]:
        return self.destination.call_contract(contract, calls) if calls else []

    def _ask(
        self, contract: str, signature: str, types: list[str], *values: Any
    ) -> tuple[Any, ...]:
        (answer,) = self._call(contract, [call_data(signature, *values)])
        return self._decode_answer(signature, types, answer)

    def _decode_answer(self, signature: str, types: list[str], answer: object) -> tuple[Any, ...]:
        try:
            return decode(types, answer if isinstance(answer, bytes) else b"")
        except DecodingError:
            chain = self.destination.chain.name
            sentence = f"The rollup's contracts on {chain} do not answer {signature}."
            raise RollupUnreadableError(sentence) from None
