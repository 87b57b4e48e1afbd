"""Facts that a block's header shows, and the next one's for a time."""

from dataclasses import dataclass
from typing import Self

from queries.proving.facts.fact import Argument, BlockFact
from queries.proving.headers import HeaderField


@dataclass(frozen=True, slots=True)
class HeaderFieldFact(BlockFact):
    kind = "HEADER_FIELD"
    pattern = "|".join(HeaderField.__members__)
    view = "headerField(uint256,uint8)"

    @property
    def name(self) -> str:
        return HeaderField(self.key).name

    @classmethod
    def from_name(cls, name: str) -> Self:
        return cls(HeaderField[name])

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return block, self.key


@dataclass(frozen=True, slots=True)
class BlockAtTimeFact(BlockFact):
    """The block was the last one at this Unix time."""

    kind = "BLOCK_AT_TIME"
    pattern = "[0-9]{1,78}"
    view = "blockNumberAt(uint256)"
    outputs = ("uint256",)
    needs_child = True

    @property
    def name(self) -> str:
        return str(self.key)

    @classmethod
    def from_name(cls, name: str) -> Self:
        return cls(int(name))

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return (self.key,)
