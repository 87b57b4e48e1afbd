"""What the form of a new batch says of a real chain, and the fee that it fills in."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from explorer.demo.local_node import LocalNode, local_node
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


def _visitor() -> Client:
    client = Client()
    owner = Account.objects.get()
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    return client


def _send(client: Client, do: str, block: object, **more: str) -> Any:
    typed = {
        "do": do,
        "part": "0",
        "destination": str(CHAIN_ID),
        "source-0": str(CHAIN_ID),
        "block-0": str(block),
        "account-0": HOLDER,
        "props-0": ["BALANCE"],
        "key": Account.objects.get().keys.get().pk,
        "idempotency-key": "page-1",
    }
    return client.post("/dashboard/new-batch", typed | more)


def _check(client: Client, block: object, **more: str) -> str:
    return str(_send(client, "check", block, **more).text)


def _value(text: str, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]*)"', text)
    assert found
    return found[1]


def test_the_fee_is_filled_in_and_enough(node: LocalNode) -> None:
    with running_service(node, free=False) as service:
        service.mine(3)
        block = service.head() - 1
        client = _visitor()
        text = _check(client, block)
        fee = _value(text, "fee")
        assert int(fee) > 50_000
        assert f"&quot;fee&quot;: &quot;{fee}&quot;" in text
        assert "This can be submitted" in text
        kept = {"fee": "7", "filled-fee": fee}
        assert _value(_check(client, block, **kept), "fee") == "7"
        renewed = {"fee": "1", "filled-fee": "1"}
        assert int(_value(_check(client, block, **renewed), "fee")) > 50_000
        answer = _send(client, "submit", block, fee=fee)
        batch = answer["Location"].rpartition("/")[2]
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"
        proven = _check(client, block)
        assert "All of this is proven already" in proven
        assert "Proven already: <code><bdi>0xd8dA…6045</bdi></code> BALANCE" in proven
