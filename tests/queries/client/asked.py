"""What tests of the client ask the service for."""

from queries.tacitus import Ask, batch_of
from tests.installation import Installation
from tests.local_chain import CHAIN_ID, HOLDER

AHEAD = 2  # blocks that a server takes before its chain has them


def newest(it: Installation) -> int:
    return int(it.node.rpc.ask("eth_blockNumber"), 16)


def balance_at(block: int) -> dict[str, object]:
    return batch_of(CHAIN_ID, Ask(CHAIN_ID, block=block, accounts=[HOLDER], props=["BALANCE"]))
