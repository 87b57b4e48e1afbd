"""What scenarios about deliveries share: targets, and the states of a batch's deliveries."""

from typing import Any

from tests.builds import contract_for_tests
from tests.rigs.anvil import Chain, call_data
from tests.rigs.service import HOLDER, Service, wait_until

ON_BALANCE = "onBalance(address,uint256,uint256)"
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


def deliveries(service: Service, batch: str) -> list[dict[str, Any]]:
    return list(service.status(batch)["deliveries"])


def ended(service: Service, batch: str) -> list[dict[str, Any]]:
    """The batch's deliveries, once it is DONE and they have ended."""
    service.wait(batch)

    def if_ended() -> list[dict[str, Any]]:
        rows = deliveries(service, batch)
        return [] if any(row["state"] in OPEN for row in rows) else rows

    return wait_until(if_ended, what=lambda: str(deliveries(service, batch)))
