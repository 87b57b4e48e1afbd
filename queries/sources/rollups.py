"""A rollup on its L1, whose contracts there accept claims about its blocks: what `output` and
`arbitrum` have in common.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wording import HOUR
from queries.chain import ChainClient, RollupUnreadableError
from queries.config.chains import Chain
from queries.config.networks import Network, claim_delay, claims_after
from queries.contracts.abi import call_data
from queries.proving import HASH_BYTES
from queries.sources.hashes import HashNotKnown, VouchedHashes
from queries.sources.registry import Expectation, Registry, SetupError
from queries.statuses import Readiness
from queries.wait_reasons import Reason, WaitCode


class RollupRegistry(Registry):
    claim: ClassVar[str]  # what covers a block, such as "A dispute game"
    reach_remark = "about a week after they are mined"
    max_pause = HOUR

    @abstractmethod
    def newest_claim(self, destination: ChainClient) -> str:
        """What the rollup's contracts accepted last, in a few words.

        Raises `SetupError` if the registry cannot read them, or they are about another chain.
        """

    def check_deployable(self, source: Chain, destination: ChainClient) -> None:
        self.newest_claim(destination)

    @classmethod
    def provable_after(cls, source: Network) -> str:
        return source.claims_after

    @property
    def claims_after(self) -> str:
        """The time until a claim about a block is accepted, in words."""
        return claims_after(self.source)

    @property
    def claim_delay(self) -> int:
        return claim_delay(self.source)

    def expectation(self, age: int | None) -> Expectation:
        seconds = None if age is None else self.claim_delay - age
        if (seconds or 0) < 0:
            sentence = f"{self.claim} that covers the block should be accepted by now."
            return Expectation(None, Reason("", sentence))
        sentence = f"{self.claim} that covers the block has to be decided first."
        reason = Reason(WaitCode.OUTPUT_NOT_RECORDED, sentence)
        return Expectation(Readiness.NOT_KNOWN, reason, seconds)


Rollup = TypeVar("Rollup", bound=RollupRegistry)


class RollupCalls:
    """Calls of a rollup's contracts on the destination."""

    destination: ChainClient

    def call(self, contract: str, calls: Sequence[bytes]) -> Sequence[object]:
        return self.destination.call_contract(contract, calls) if calls else []

    def ask(self, contract: str, signature: str, types: list[str], *values: Any) -> tuple[Any, ...]:
        (answer,) = self.call(contract, [call_data(signature, *values)])
        return self.decode_answer(signature, types, answer)

    def decode_answer(self, signature: str, types: list[str], answer: object) -> tuple[Any, ...]:
        try:
            return decode(types, answer if isinstance(answer, bytes) else b"")
        except DecodingError:
            chain = self.destination.chain.name
            sentence = f"The rollup's contracts on {chain} do not answer {signature}."
            raise RollupUnreadableError(sentence) from None

    def optional_number(self, contract: str, signature: str) -> int | None:
        """None if the contract has no such function."""
        (answer,) = self.call(contract, [call_data(signature)])
        if not isinstance(answer, bytes) or len(answer) < HASH_BYTES:
            return None
        return int.from_bytes(answer[:HASH_BYTES])


@dataclass(eq=False)
class RollupHashes(RollupCalls, VouchedHashes[Rollup]):
    """The claims that cover a block, as the rollup's contracts on the destination have them."""

    def not_known(self) -> HashNotKnown:
        return HashNotKnown(self.wait_reason())

    @abstractmethod
    def wait_reason(self) -> Reason:
        """The reason why no accepted claim covers the block, with the time when one is expected."""


@dataclass(frozen=True, slots=True)
class RollupReader:
    """Reads words from a rollup's contracts; `SetupError` if they do not answer as expected."""

    destination: ChainClient
    problem: str

    def number(self, contract: str, signature: str, *values: object) -> int:
        (answer,) = self.destination.call_contract(contract, [call_data(signature, *values)])
        if not isinstance(answer, bytes) or len(answer) < HASH_BYTES:
            problem = self.problem.format(chain=self.destination.chain.name)
            raise SetupError(f"{problem} that a registry can read: {contract} has no {signature}.")
        return int.from_bytes(answer[:HASH_BYTES])

    def address(self, contract: str, signature: str) -> str:
        return to_checksum_address(f"0x{self.number(contract, signature):040x}"[-40:])


def check_named_chain(registry: Registry, chain: int, title: str, address: str) -> None:
    if chain != registry.source:
        raise SetupError(f"The {title} {address} is of chain {chain}, not {registry.source}.")
