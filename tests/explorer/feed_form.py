"""Feeds of each trigger with a delivery: what is typed into the form, and the request it makes."""

from dataclasses import dataclass
from typing import Any

from tests.queries.api.served_api import OTHER_WALLET, SEPOLIA, WALLET

CONTRACT = "0x1111111111111111111111111111111111111111"
EVENT = "Transfer(address indexed from, address indexed to, uint256 value)"
BALANCE = f"$value({WALLET}.BALANCE)"
TOPIC = f"0x{OTHER_WALLET[2:].lower():0>64}"


@dataclass(frozen=True, slots=True)
class FeedCase:
    """`fields`: by their ids, in the order of the page; those of arguments are menus."""

    trigger: str
    fields: dict[str, str]
    content: dict[str, Any]
    function: str = "onValue(uint256 value, uint256 block)"
    args: tuple[str, ...] = (BALANCE, "$block")
    selector: str = "block:$due"

    @property
    def form(self) -> dict[str, Any]:
        """The form's data, as a browser sends it."""
        menus = {f"menu-0-{place}": value for place, value in enumerate(self.args)}
        return {
            "trigger": self.trigger,
            **self.fields,
            "to-0": CONTRACT,
            "function-0": self.function,
            **{name.replace("menu", "arg"): "" for name in menus},
            **menus,
        }

    @property
    def request(self) -> dict[str, Any]:
        block = {"accounts": {WALLET: {"props": ["BALANCE"]}}}
        call = {"to": CONTRACT, "function": self.function, "args": list(self.args)}
        batch = {
            "destinationChainId": str(SEPOLIA),
            "fee": "0",
            "data": {str(SEPOLIA): {self.selector: block}},
            "deliver": [call],
        }
        return {**self.content, "batch": batch}


FEEDS = {
    "time": FeedCase(
        "SECONDS",
        {"time": "4", "time-unit": "hours"},
        {"every": "4 hours"},
        selector="timestamp:$due",
    ),
    "blocks": FeedCase("BLOCKS", {"blocks": "300"}, {"every": "300 blocks"}),
    "value": FeedCase(
        "VALUE",
        {"change": "0.5", "read-blocks": "25", "heartbeat": "4", "heartbeat-unit": "days"},
        {
            "when": {
                "value": f"{WALLET}.BALANCE",
                "by": "50 bp",
                "every": "25 blocks",
                "heartbeat": "4 days",
            }
        },
    ),
    "log": FeedCase(
        "LOGS",
        {"emitter": CONTRACT, "event": EVENT, "topic-2": OTHER_WALLET},
        {"on": {"address": CONTRACT, "event": EVENT, "topics": [None, None, TOPIC]}},
        "onTransfer(address from, uint256 amount, uint256 balance)",
        ("$topic1", "$data[0]", BALANCE),
    ),
}
