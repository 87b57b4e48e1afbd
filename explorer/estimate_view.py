"""An estimate as the page of a new batch shows it, read from what the API answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# How a block stands, for people, and the mark it is shown with.
STANDING = {
    "PROVEN": ("proven already", "proven"),
    "READY": ("can be proven now", "proven"),
    "NOT_FINAL": ("not final yet: it will wait", "waiting"),
    "NOT_KNOWN": ("its hash is not known on the destination yet: it will wait", "waiting"),
    "OUT_OF_REACH": ("out of reach: it would be rejected", "rejected"),
    "FAILS": ("would be rejected", "rejected"),
}


@dataclass(frozen=True, slots=True)
class ProvenView:
    """Facts that the registry holds already."""

    whose: str  # an address or a name; empty: the header's
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockView:
    """What one block would take."""

    source: int
    selectors: tuple[str, ...]
    block: int | None
    last_final: int
    words: str
    mark: str
    sentence: str  # why it waits or fails
    proven: tuple[ProvenView, ...]
    gas: int | None
    transactions: int


@dataclass(frozen=True, slots=True)
class EstimateView:
    """What the whole batch would take."""

    free: bool
    fee_needed: int  # wei, as are all amounts
    complete: bool
    transactions: int
    gas: int
    gas_price: int
    cost: int
    blocks: tuple[BlockView, ...]

    @property
    def is_proven(self) -> bool:
        return all(each.mark == "proven" and each.gas == 0 for each in self.blocks)

    @property
    def waits(self) -> bool:
        return any(each.mark == "waiting" for each in self.blocks)

    @property
    def fails(self) -> bool:
        return any(each.mark == "rejected" for each in self.blocks)


def estimate_view(told: Mapping[str, Any]) -> EstimateView:
    return EstimateView(
        free=told["free"],
        fee_needed=int(told["feeNeeded"]),
        complete=told["complete"],
        transactions=told["transactions"],
        gas=int(told["gas"]),
        gas_price=int(told["gasPrice"]),
        cost=int(told["cost"]),
        blocks=tuple(_block(each) for each in told["blocks"]),
    )


def _block(told: Mapping[str, Any]) -> BlockView:
    words, mark = STANDING[told["readiness"]]
    price = told["price"]
    return BlockView(
        source=int(told["originChainId"]),
        selectors=tuple(told["selectors"]),
        block=None if told["block"] is None else int(told["block"]),
        last_final=int(told["lastFinalBlock"]),
        words=words,
        mark=mark,
        sentence=told["waitsFor"] or told["error"] or "",
        proven=tuple(
            ProvenView(each["name"] or each["account"] or "", tuple(each["facts"]))
            for each in told["proven"]
        ),
        gas=int(price["gas"]) if price else None,
        transactions=price["transactions"] if price else 0,
    )
