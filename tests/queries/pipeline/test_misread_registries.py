"""A node of the destination that says of the registry what was never proven to it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queries.chain.local_node import LocalNode, local_node
from queries.chain.registry_reads import selector
from queries.models import Batch, BlockJob
from queries.pipeline import truth
from queries.pipeline.clock import shared_now
from queries.pipeline.truth import Truths
from queries.pipeline.worker import TRIES_OF_LIES, work_once
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import between
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import (
    CHAIN_ID,
    ETHER,
    HOLDER,
    Service,
    running_service,
)

pytestmark = pytest.mark.django_db(transaction=True)
READS = {
    f"0x{selector(signature).hex()}"
    for signature in (
        "tryAccountField(address,uint256,uint8)",
        "tryAccountStorageSlotValues(address,uint256,bytes32)",
        "tryHeaderField(uint256,uint8)",
    )
}
SEVEN = f"{1:064x}{7:064x}"
ENTRIES: dict[str, Any] = {
    "a balance": {"accounts": {HOLDER: {"props": ["BALANCE"]}}},
    "a slot": {"accounts": {HOLDER: {"slots": ["0x1"]}}},
    "a header field": {"header": ["GAS_LIMIT"]},
}


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node) as running:
        running.mine(3)
        yield running


def _with_sevens(connection: LyingNode, question: Any, pass_on: Callable[[], bytes]) -> None:
    """Each fact that is proven is told as 7."""
    asked = question if isinstance(question, list) else [question]
    answers = json.loads(pass_on())
    for each, answer in zip(
        asked, answers if isinstance(answers, list) else [answers], strict=True
    ):
        data = each["params"][0].get("data", "") if each["method"] == "eth_call" else ""
        if data[:10] in READS and int(answer["result"][2:66] or "0", 16) == 1:
            answer["result"] = f"0x{SEVEN}"
    connection.answer(json.dumps(answers).encode())


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@pytest.mark.parametrize("reused", [False, True])
def test_a_wrong_value_is_never_done(
    service: Service, monkeypatch: pytest.MonkeyPatch, entry: Any, *, reused: bool
) -> None:
    data = {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}}
    if reused:
        service.work(service.submit(data))
        monkeypatch.setattr(truth, "TRUTHS", Truths())  # of a process that did not prove it
    batch = service.submit(data)
    with between(service.node.url, _with_sevens) as (address, _):
        chains = through(service, address).chains()
        for _ in range(3 * TRIES_OF_LIES):
            for rows in (Batch.objects, BlockJob.objects):
                rows.exclude(look_again=None).update(look_again=shared_now())
            work_once(chains)
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "registry_misread")
    assert told["retryable"]
    assert f"0x{7:064x}" in told["error"]
    again = service.submit(data)
    service.work(again)
    (values,) = [query["values"] for query in service.status(again)["queries"]]
    assert 7 not in {int(word, 16) for word in values.values()}
