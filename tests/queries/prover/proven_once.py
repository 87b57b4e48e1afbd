"""What is on the chain and in the database when nothing was done twice."""

from queries.models import SentTransaction
from tests.queries.prover.service import Service


def assert_nothing_is_twice(service: Service) -> None:
    """Each fact was proven by one transaction, each nonce used once, none skipped."""
    logs = service.node.rpc.ask(
        "eth_getLogs", {"address": service.registry.address, "fromBlock": "0x0"}
    )
    assert len({tuple(log["topics"]) for log in logs}) == len(logs)
    paid = {log["transactionHash"] for log in logs}
    rows = list(SentTransaction.objects.order_by("nonce"))
    assert len(rows) == len(paid)
    assert [row.nonce for row in rows] == list(range(rows[0].nonce, rows[0].nonce + len(rows)))
