"""What this server takes: its limits, and the chains and routes that its operator configured."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from accounts.counting import counted
from accounts.errors import Refusal
from queries.errors import TOO_MANY_ACCOUNTS, TOO_MANY_BLOCKS, TOO_MANY_SLOTS

from .batch_request import BatchWarning
from .places import Place


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most that one batch may have."""

    blocks: int
    accounts: int  # over all blocks
    slots: int  # over all accounts
    webhook_headers: int
    webhook_header_bytes: int  # names and values together
    body_bytes: int


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What a request is held against."""

    limits: BatchLimits
    chains: Mapping[str, int]  # what a request may call a chain: its id in decimal, its aliases
    routes: AbstractSet[tuple[int, int]]  # source, destination
    ens_chains: AbstractSet[int]


@dataclass(slots=True)
class BatchSoFar:
    """What was read of a batch up to now.

    It is counted while it is read, so that a batch that is far too large costs little.
    """

    rules: BatchRules
    blocks: int = 0
    accounts: int = 0
    slots: int = 0
    warnings: list[BatchWarning] = field(default_factory=list)

    def count_block(self, place: Place) -> None:
        self.blocks += 1
        if self.blocks > self.rules.limits.blocks:
            raise Refusal(
                TOO_MANY_BLOCKS, _too_many("block", self.rules.limits.blocks), path=place.path
            )

    def count_account(self, place: Place) -> None:
        self.accounts += 1
        if self.accounts > self.rules.limits.accounts:
            raise Refusal(
                TOO_MANY_ACCOUNTS, _too_many("account", self.rules.limits.accounts), path=place.path
            )

    def count_slot(self, place: Place) -> None:
        self.slots += 1
        if self.slots > self.rules.limits.slots:
            raise Refusal(
                TOO_MANY_SLOTS, _too_many("slot", self.rules.limits.slots), path=place.path
            )

    def warn(self, sentence: str, place: Place) -> None:
        self.warnings.append(BatchWarning(sentence, place.path))


def _too_many(what: str, limit: int) -> str:
    most = counted(limit, what)
    return f"A batch may ask for at most {most} in all here. Split it into several batches."
