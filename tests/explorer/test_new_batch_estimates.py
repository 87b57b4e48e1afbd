"""The estimate in the form of a new batch, on a real chain, and the fee that it fills in."""

import json
import re
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from explorer.demo.local_node import LocalNode, local_node
from explorer.pages.formatting import parse_amount
from tests.explorer.batch_form import FEED_URL, check, send, signed_in
from tests.explorer.page_text import visible_text
from tests.queries.api.served_api import record_head
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, free=False) as running:
        running.mine(3)
        yield running


@pytest.fixture
def client(service: Service) -> Client:
    return signed_in(Account.objects.get().address or "")


def _request(block: int) -> dict[str, str]:
    chain = str(CHAIN_ID)
    return {"destination": chain, "source": chain, "block": str(block), "account": HOLDER}


def test_the_estimated_fee_is_filled_in_and_sufficient(service: Service, client: Client) -> None:
    request = _request(service.head() - 1)

    def checked(**more: str) -> str:
        return str(send(client, "check", **request, **more).text)

    text = checked()
    fee = _fee(text)
    wei = parse_amount(fee)
    assert wei > 50_000
    assert f"&quot;fee&quot;: &quot;{wei}&quot;" in text
    assert "This can be submitted" in text
    assert _fee(checked(fee="7 wei", filled__fee=fee)) == "7 wei"
    assert parse_amount(_fee(checked(fee="1", filled__fee="1"))) < 10**18
    response = send(client, **request, fee=fee)
    batch = response["Location"].rpartition("/")[2]
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    proven = " ".join(checked().split())
    assert "All of this is proven already" in proven
    assert '<p class="faded"> <code><bdi>0xd8dA…6045</bdi></code> balance' in proven


def test_a_block_that_is_not_ready_shows_what_batches_took(
    service: Service, client: Client
) -> None:
    request = _request(service.head() + 9)
    before = visible_text(check(client, **request).text)
    assert "will wait for its block" in before
    assert "a lone balance takes about 170,480 gas" in before
    assert "0 in 0 transactions" not in before
    done = send(client, **_request(service.head() - 1), fee="1 ETH")
    service.work(done["Location"].rpartition("/")[2])
    after = visible_text(check(client, **request).text)
    assert re.search(r"will wait for its block: about 0\.0\d+ ETH, about \d+ seconds?\.", after)
    assert re.search(r"the one batch took \d+ seconds?", after)
    far = str(check(client, **_request(service.head() + 10**6)).text)
    (chain,) = service.routes.chains.values()
    assert far.count(f"is not on {chain.name} yet") == 1
    assert "in a moment" not in far


def test_what_a_batch_costs_at_most_includes_its_deliveries(
    service: Service, client: Client
) -> None:
    block = service.head() - 1
    call = {"to": HOLDER, "function": "update(uint256)", "args": ["$block"], "gas": "100000"}
    content: dict[str, Any] = {
        "destinationChainId": str(CHAIN_ID),
        "fee": "0",
        "data": {str(CHAIN_ID): {f"block:{block}": {"accounts": {HOLDER: {"props": ["NONCE"]}}}}},
        "deliver": [call],
    }
    pattern = r"at most (\S+) (gwei|ETH), of which (\S+) (?:gwei|ETH) for 1 delivery"

    def checked(**changes: Any) -> str:
        return visible_text(check(client, json=json.dumps(content | changes)).text)

    alone = re.search(r"at most (\S+) (gwei|ETH)", checked(fee=str(10**18), deliver=[]))
    whole = re.search(pattern, words := checked(fee=str(10**18)))
    assert alone
    assert whole, words
    total, delivery = (Decimal(whole[number]) for number in (1, 3))
    assert total > delivery > 0
    assert total - delivery == pytest.approx(Decimal(alone[1]), rel=Decimal("0.3"))
    assert re.search("Deliveries at most 1[0-9]{2},[0-9]{3} gas", words)
    # The form refuses what POST /submit-batch-query refuses, and still says which fee it takes.
    refused = checked()
    assert "This can be submitted" not in refused
    assert "Refused" in refused
    fee = re.search("A sufficient fee is ([0-9]+) wei", refused)
    assert fee
    assert "This can be submitted" in checked(fee=fee[1])
    assert re.search(
        "This can be submitted: at most .* for 1 delivery", checked(fee="1", prove=False)
    )


def test_the_price_of_a_feed_includes_its_deliveries(service: Service, client: Client) -> None:
    chain = str(CHAIN_ID)
    record_head(CHAIN_ID, number=service.head(), timestamp=int(time.time()))
    feed = {"destination": chain, "source": chain, "account": HOLDER, "props": ["NONCE"]}
    call = {"to-0": HOLDER, "function-0": "update(uint256)", "arg-0-0": "", "menu-0-0": "$block"}
    form = feed | call | {"time": "4", "time-unit": "hours", "gas-0": "100000", "fee": "1"}
    words = visible_text(check(client, FEED_URL, **form).text)
    price = (
        r"This can be submitted: at most (\S+) (?:gwei|ETH), of which \S+ (?:gwei|ETH) for 1 deliv"
    )
    assert (run := re.search(price, words)), words
    assert (month := re.search(r"30 days cost at most (\S+) ETH", words)), words
    assert Decimal(month[1]) == pytest.approx(180 * Decimal(run[1]), rel=Decimal("0.05"))
    event = "Moved(uint256 indexed block)"
    of_log = form | {"trigger": "LOGS", "emitter": HOLDER, "event": event, "menu-0-0": "$topic1"}
    words = visible_text(check(client, FEED_URL, **of_log).text)
    assert "for 1 delivery" in words
    assert "Measured with sample values of the event" in words


def _fee(text: str) -> str:
    match = re.search('name="fee" value="([^"]*)"', text)
    assert match
    return match[1]
