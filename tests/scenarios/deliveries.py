"""What scenarios about deliveries share: targets, and the states of a batch's deliveries."""

from typing import Any

from queries.contracts.create2 import courier_address
from tests.builds import contract_for_tests
from tests.rigs.anvil import Chain, RpcError, call_data
from tests.rigs.service import HOLDER, Service, wait_until

ON_BALANCE = "onBalance(address,uint256,uint256)"
DELIVER = "deliver(address,uint256,bytes)"
OPEN = {"WAITING", "SENT"}


def deploy(chain: Chain, code: bytes) -> str:
    return str(chain.send(None, f"0x{code.hex()}")["contractAddress"])


class Target:
    """A contract that counts what is delivered, or refuses it."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.address = chain, deploy(chain, contract_for_tests("Receiver"))

    def read(self, signature: str, *values: Any) -> int:
        return int.from_bytes(self.chain.call(self.address, signature, *values))

    def refuse(self, *, on: bool) -> None:
        self.chain.send(self.address, call_data("setRefuses(bool)", on))

    def balance_call(self, **more: Any) -> dict[str, Any]:
        """A delivery of the holder's balance."""
        args = [HOLDER, "$block", f"$value({HOLDER}.BALANCE)"]
        return {"to": self.address, "function": ON_BALANCE, "args": args, "gas": "200000", **more}


class Spender:
    """A contract that writes new slots for a block, two at first."""

    def __init__(self, chain: Chain, slots: int = 2) -> None:
        self.chain, self.address = chain, deploy(chain, contract_for_tests("Spender"))
        if slots != 2:
            self.set_slots(slots)

    def set_slots(self, slots: int) -> None:
        self.chain.set_slot(self.address, 0, slots)

    def written(self, block: int) -> int:
        """How many slots of the block are written; the first four are looked at."""
        values = (
            self.chain.call(self.address, "written(uint256,uint256)", block, i) for i in range(4)
        )
        return sum(int.from_bytes(value) == block for value in values)

    @property
    def call(self) -> dict[str, Any]:
        """A delivery without a number of gas."""
        return {"to": self.address, "function": "write(uint256)", "args": ["$block"]}

    def needed_gas(self, block: int) -> int:
        """The least gas with which the courier's call of the contract succeeds now."""
        data = bytes.fromhex(call_data("write(uint256)", block)[2:])
        low, high = 0, 5_000_000
        while high - low > 1:
            middle = (low + high) // 2
            try:
                self.chain.call(courier_address(), DELIVER, self.address, middle, data)
            except RpcError:
                low = middle
            else:
                high = middle
        return high


def deliveries(service: Service, batch: str) -> list[dict[str, Any]]:
    return list(service.status(batch)["deliveries"])


def ended(service: Service, batch: str) -> list[dict[str, Any]]:
    """The batch's deliveries, once it is DONE and they have ended."""
    service.wait(batch)

    def if_ended() -> list[dict[str, Any]]:
        rows = deliveries(service, batch)
        return [] if any(row["state"] in OPEN for row in rows) else rows

    return wait_until(if_ended, what=lambda: str(deliveries(service, batch)))
