"""An Arbitrum chain on its L1, by the outbox that has the blocks of confirmed assertions."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from eth_utils.address import to_checksum_address

from accounts.wording import format_timestamp
from queries.chain import BlockUnknownError, ChainClient, ChainHead, StateNotAvailableError
from queries.config.networks import Network
from queries.config.routes_file import ContractAddress
from queries.contracts.abi import call_data
from queries.proving import (
    ARBITRUM_HISTORY_RING,
    ARBOS_WITH_HISTORY,
    HASH_BYTES,
    Header,
    HeaderField,
    arbos_version,
    keccak256,
)
from queries.sources.hashes import VouchedBlock
from queries.sources.registry import (
    HORIZON_ARGUMENT,
    SOURCE_ARGUMENT,
    Argument,
    RegistryKind,
    SetupError,
)
from queries.sources.rollups import RollupHashes, RollupReader, RollupRegistry, check_named_chain
from queries.wait_reasons import Reason, WaitCode

_STATE = "((bytes32[2],uint64[2]),uint8,bytes32)"
_CONFIGURATION = "(bytes32,uint256,address,uint64,uint64)"
_INPUTS = f"((bytes32,bytes32,{_CONFIGURATION}),{_STATE},{_STATE})"
ASSERTION_CREATED = keccak256(
    f"AssertionCreated(bytes32,bytes32,{_INPUTS},bytes32,uint256,bytes32,uint256,address,uint64)"
    .encode()
)  # fmt: skip
MAX_LOG_REQUESTS = 20  # after a block: more than a day, where assertions are made every hour
_SEND_ROOT_WORD = 14  # in the data of that event: of the state after the assertion


@dataclass(frozen=True, slots=True)
class ConfirmedBlock:
    """The newest block of which an assertion is confirmed."""

    header: Header
    asserted_in: int  # the destination's block


@dataclass(frozen=True, kw_only=True)
class ArbitrumRegistry(RollupRegistry):
    kind = RegistryKind.ARBITRUM
    arguments = (HORIZON_ARGUMENT, SOURCE_ARGUMENT, Argument("outbox", "address", "outbox()"))
    history_ring = ARBITRUM_HISTORY_RING
    details = "registries/arbitrum.html"
    # Nothing is recorded; the registry asks the outbox.
    block_work = ("outbox", "outbox-contracts", "hop")
    claim = "An assertion"
    trusted = "its assertions, its security council, and who may upgrade them"
    trust = "trusts its assertions"

    outbox: ContractAddress  # of the source, which has the hashes of confirmed blocks

    @classmethod
    def connects(cls, source: Network, destination: Network) -> bool:
        return source.l1 == destination.chain and bool(source.outbox)

    @classmethod
    def for_networks(cls, source: Network, destination: Network, **options: Any) -> Self:
        return cls(source.chain, destination.chain, outbox=source.outbox)

    def own_lines(self, *, with_defaults: bool) -> Iterator[str]:
        yield f'outbox = "{self.outbox}"'

    def check_setup(self, source: ChainClient, destination: ChainClient) -> str:
        newest = self.newest_claim(destination)
        return f"asks the outbox {self.outbox} for confirmed blocks; {newest}"

    def newest_claim(self, destination: ChainClient) -> str:
        problem = f"{self.outbox} on {{chain}} is not the outbox of a chain"
        reader = RollupReader(destination, problem)
        rollup = reader.address(self.outbox, "rollup()")
        check_named_chain(self, reader.number(rollup, "chainId()"), "outbox", self.outbox)
        if (outbox := reader.address(rollup, "outbox()")) != self.outbox:
            raise SetupError(
                f"The rollup uses another outbox now, {outbox}. Deploy a new registry."
            )
        assertion = reader.number(rollup, "latestConfirmed()")
        reader.number(rollup, "getAssertion(bytes32)", assertion.to_bytes(32))  # none before BoLD
        reader.number(rollup, "confirmPeriodBlocks()")
        (genesis,) = destination.call_contract(rollup, [call_data("genesisAssertionHash()")])
        if assertion.to_bytes(32) in {bytes(32), genesis}:  # that one has no block
            return "no assertion is confirmed yet"
        return f"the newest confirmed assertion is 0x{assertion:064x}"

    def has_history(self, header: Header) -> bool:
        return arbos_version(header) >= ARBOS_WITH_HISTORY or super().has_history(header)

    def trust_sentence(self, source: str, destination: str) -> str:
        return (
            f"What withdrawals from {source} rest on: its confirmed assertions, its security "
            "council, and those who may upgrade its contracts."
        )

    def reach_sentence(self, source: str) -> str:
        return (
            f"The contract knows the blocks of confirmed assertions: one an hour, "
            f"{self.claims_after} later."
        )

    @property
    def assumption(self) -> str:
        return f"that it asks the outbox {self.outbox} for confirmed blocks"

    def hash_origin(self, age: int) -> tuple[str, str]:
        sentence = (
            "The rollup's outbox holds it, because an assertion about the block is confirmed."
        )
        return "known by the outbox", sentence


class ArbitrumHashes(RollupHashes[ArbitrumRegistry]):
    """The assertions that cover a block."""

    def is_known(self, header: Header) -> bool:
        call = call_data("roots(bytes32)", header.word(HeaderField.EXTRA_DATA))
        return self.call(self.registry.outbox, [call]) == [header.hash]

    @cached_property
    def _rollup(self) -> str:
        (address,) = self.ask(self.registry.outbox, "rollup()", ["address"])
        return to_checksum_address(address)

    @cached_property
    def _newest(self) -> ConfirmedBlock | None:
        """None if no assertion has been confirmed, or if no node of the source has its block."""
        (assertion,) = self.ask(self._rollup, "latestConfirmed()", ["bytes32"])
        types = ["uint64", "uint64", "uint64", "bool", "uint8", "bytes32"]
        created_at = self.ask(self._rollup, "getAssertion(bytes32)", types, assertion)[2]
        headers = self._asserted_headers(created_at, created_at, assertion)
        return next((ConfirmedBlock(header, created_at) for header in headers), None)

    def find_vouched_block(self) -> VouchedBlock | None:
        """The first confirmed assertion that covers the block."""
        newest = self._newest
        if newest is None or newest.header.number < self.header.number:
            return None
        # An assertion about the block was made soon after it, if the rollup had assertions then.
        first = bisect_left(
            range(newest.asserted_in), self.header.timestamp, key=self._destination_time
        )
        span = MAX_LOG_REQUESTS * self.destination.chain.limits.max_log_blocks
        for header in self._asserted_headers(first, min(first + span - 1, newest.asserted_in)):
            if header.number >= self.header.number:
                return VouchedBlock(header)
        return VouchedBlock(newest.header)

    def _destination_time(self, number: int) -> int:
        """Treat blocks that nodes have dropped (EIP-4444) as earlier than any time."""
        try:
            return self.destination.header(number).timestamp
        except (BlockUnknownError, StateNotAvailableError):  # nodes report either
            return -1

    def _asserted_headers(
        self, first: int, last: int, assertion: bytes | None = None
    ) -> Iterator[Header]:
        """The blocks that assertions of these blocks of the destination are about, as far as they
        are confirmed. Of those with the same send root the outbox keeps the newest.
        """
        step = self.destination.chain.limits.max_log_blocks
        topics = [[topic] for topic in (ASSERTION_CREATED, assertion) if topic]
        for start in range(first, last + 1, step):
            end = min(start + step - 1, last)
            for found in self.destination.logs([self._rollup.lower()], topics, start, end):
                data = found.log.data
                words = [data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)]
                if len(words) <= _SEND_ROOT_WORD:
                    continue
                types = ["bytes32"]
                (confirmed_hash,) = self.ask(
                    self.registry.outbox, "roots(bytes32)", types, words[_SEND_ROOT_WORD]
                )
                if not any(confirmed_hash):
                    continue
                try:
                    header = self.source.header_by_hash(confirmed_hash)
                except BlockUnknownError:
                    continue
                if self.is_known(header):
                    yield header

    def wait_reason(self) -> Reason:
        """It is expected to be confirmed when the block is as old as the newest confirmed one is
        now, or as the rollup's confirmation period. A challenge may take as long again.
        """
        subject = "An assertion that covers the block"
        head = self.destination.latest_head()
        period, newest = self._confirm_seconds(head), self._newest
        overdue_at = self.header.timestamp + 2 * period
        if head.timestamp > overdue_at:
            known = "the outbox has no block that a node of the source knows"
            if newest:
                known = (
                    f"the newest confirmed block is of {format_timestamp(newest.header.timestamp)}"
                )
            time = format_timestamp(overdue_at)
            sentence = f"{subject} should have been confirmed since {time}; {known}."
            return Reason(WaitCode.NO_VALID_OUTPUT, sentence)
        age = head.timestamp - newest.header.timestamp if newest else 0
        due_at = self.header.timestamp + max(age, period)
        time = format_timestamp(due_at if due_at > head.timestamp else overdue_at)
        sentence = f"{subject} is expected to be confirmed from {time}."
        return Reason(WaitCode.OUTPUT_NOT_RECORDED, sentence)

    def _confirm_seconds(self, head: ChainHead) -> int:
        """For how long an assertion can be challenged, at the recent pace of the destination."""
        (period,) = self.ask(self._rollup, "confirmPeriodBlocks()", ["uint64"])
        blocks = min(period, head.number)
        first = self.destination.header(head.number - blocks)
        return int((head.timestamp - first.timestamp) * period // max(blocks, 1))
