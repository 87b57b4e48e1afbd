"""A batch is rejected by what two nodes said, and not by one beside others that are only there; and
once they did, those who wait for the same block need not wait for it again.
"""

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.conf import LazySettings

from queries.models import Batch
from queries.pipeline.chains import Chains
from queries.pipeline.verdicts import KEPT, LOOKS_WITH_ONE, Heard, is_heard_from_all
from tests.queries.pipeline.between import Handle, between, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, Service
from tests.queries.pipeline.test_heard_from_all import is_beyond_reach
from tests.queries.pipeline.test_outvoted import looks_until_ended

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
ONE, OTHER = 1, 2  # chains
LIMITED = {"code": -32005, "message": "daily request count exceeded, request rate limited"}
KEEPS_LITTLE = {
    "code": -32602,
    "message": "distance to target block exceeds maximum proof window",
}


class _Busy:
    """It says that it is there, and nothing else, until it has rested."""

    is_over = False

    def handle(self) -> Handle:
        def change(asked: Any, answer: Any) -> None:
            if not self.is_over and asked["method"] not in {"eth_blockNumber", "eth_chainId"}:
                answer.pop("result", None)
                answer["error"] = LIMITED

        return retold(change)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("busy", [1, 2])
def test_one_beside_others_that_are_busy_has_nobody_rejected(
    service: Service, monkeypatch: pytest.MonkeyPatch, place: int, busy: int
) -> None:
    impatient(monkeypatch, patience=0)
    others = _Busy()
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(between(service.node.url, others.handle()))[0] for _ in range(busy)
        ]
        lies = between(service.node.url, is_beyond_reach(service))
        nodes.insert(place, stack.enter_context(lies)[0])
        prover = through(service, *nodes)
        batch = _ask(prover, service.head() - 2, accounts=1)
        assert looks_until_ended(prover, batch, most=9) == 9
        others.is_over = True
        if busy > 1:  # of two that say otherwise neither outvotes the other
            looks_until_ended(prover, batch)
            assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("says", [True, False])
def test_one_that_is_away_on_another_chain_keeps_nobodys_turn_from_counting(
    place: int, *, says: bool
) -> None:
    """Of one chain's three nodes one says otherwise; of the other chain's two one is away. `says`:
    whether it is the one that refuses, or the other two do.
    """
    looks = [
        Heard("refused" if (look % 3 == place) is says else "", [ONE] if look % 2 else [ONE, OTHER])
        for look in range(20)
    ]
    asking = _chains({ONE: 3, OTHER: 2})
    enough = [
        is_heard_from_all(asking, looks[:look][-KEPT:], {ONE, OTHER}, {"refused"})
        for look in range(20)
        if looks[look].code
    ]
    assert any(enough) is not says
    assert not any(enough[: LOOKS_WITH_ONE // 2])


@pytest.mark.parametrize(
    ("error", "code"), [(None, "block_out_of_reach"), (KEEPS_LITTLE, "proof_window_exceeded")]
)
def test_what_is_rejected_in_parts_is_heard_once(
    service: Service, settings: LazySettings, error: Any, code: str
) -> None:
    """Of more than one look is at, three batches of three accounts each."""

    def keeps_little(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getProof":
            answer.pop("result", None)
            answer["error"] = error

    handle = retold(keeps_little) if error else is_beyond_reach(service)
    with between(service.node.url, handle) as (address, _):
        prover = through(service, address, address)
        batches = [_ask(prover, service.head() - 2, accounts=3) for _ in range(3)]
        settings.BATCH_ACCOUNTS, settings.BATCH_SLOTS = 1, 0
        first = looks_until_ended(prover, batches[0])
        rest = sum(looks_until_ended(prover, batch) for batch in batches[1:])
    assert {Batch.objects.get(pk=batch).error_code for batch in batches} == {code}
    assert first > rest
    assert rest <= len(batches)


def _ask(prover: Service, block: int, accounts: int) -> str:
    asked = {f"0x{place + 1:040x}": {"props": ["BALANCE"]} for place in range(accounts)}
    return prover.submit({str(CHAIN_ID): {f"block:{block}": {"accounts": asked}}})


def _chains(nodes: dict[int, int]) -> Chains:
    """So many of each; of one no two answer."""
    listed = {chain: SimpleNamespace(nodes=["one"] * count) for chain, count in nodes.items()}
    routes = SimpleNamespace(chains=listed)
    source = SimpleNamespace(two_answer=lambda: False)
    return cast("Chains", SimpleNamespace(routes=routes, source=lambda _: source))
