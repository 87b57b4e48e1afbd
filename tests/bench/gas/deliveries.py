"""What a call through the courier costs beside the same call without it."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from explorer.demo.local_node import LocalNode, local_node
from queries.contracts.create2 import courier_init_code, delivery_calldata

STORES_A_WORD = bytes.fromhex("645f355f5500") + bytes.fromhex("5f526005601bf3")
GAS_LIMIT = 200_000
# Nonzero bytes, as most of a proof's are.
CALLS = {"a function of two words": 68, "one that takes a proof": 4_000}


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """The gas of two transactions."""

    name: str
    bytes: int
    direct: int
    delivered: int

    @property
    def overhead(self) -> int:
        return self.delivered - self.direct

    def __str__(self) -> str:
        figures = f"{self.bytes:9,} {self.direct:9,} {self.delivered:9,} {self.overhead:9,}"
        return f"  {self.name:44} {figures}"


def delivery_lines() -> Iterator[str]:
    """A row for each call."""
    yield ""
    names = " ".join(f"{name:>9}" for name in ("bytes", "directly", "courier", "overhead"))
    yield f"{'Courier, to a contract that stores a word':46} {names}"
    with local_node() as node:
        yield from map(str, delivery_rows(node))


def delivery_rows(node: LocalNode) -> Iterator[DeliveryRow]:
    courier = node.deploy(courier_init_code())
    for name, length in CALLS.items():
        data = bytes(1 + byte % 255 for byte in Random(0).randbytes(length))
        direct, delivered = (node.deploy(STORES_A_WORD) for _ in range(2))
        call = delivery_calldata(delivered, GAS_LIMIT, data)
        totals = [node.send(to, sent).gas_used for to, sent in ((direct, data), (courier, call))]
        yield DeliveryRow(name, length, *totals)
