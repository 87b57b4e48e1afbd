"""Who asks for more of an account while its first facts are being proven is proven as well."""

from collections.abc import Sequence
from typing import Any

import pytest

from queries.models import SentTransaction
from queries.pipeline import prove, worker
from queries.pipeline.queue import claim_batch
from queries.pipeline.settle import settle
from queries.pipeline.work import Outcome
from tests.local_chain import CHAIN_ID, HOLDER
from tests.queries.pipeline.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
SLOT = {"accounts": {HOLDER: {"slots": ["0x5"]}}}
PARENT, GAS_USED = {"header": ["PARENT_HASH"]}, {"header": ["GAS_USED"]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (BALANCE, SLOT),
        (SLOT, BALANCE),
        (PARENT, GAS_USED),
        (BALANCE, GAS_USED),
    ],
    ids=["a slot", "a field", "a header's field", "of the header"],
)
def test_it_joins_between_the_proof_and_the_signature(
    service: Service, monkeypatch: pytest.MonkeyPatch, first: Any, second: Any
) -> None:
    """It waits for a fact that no transaction has proven yet, and one node says so."""
    block = service.head() - 2
    asked = [service.submit({str(CHAIN_ID): {f"block:{block}": first}})]
    chains = service.chains()

    def one_more_then_prove(ready: Sequence[prove.Ready]) -> list[Outcome]:
        if len(asked) == 1:
            asked.append(service.submit({str(CHAIN_ID): {f"block:{block}": second}}))
            lease = claim_batch()
            assert lease is not None
            settle(lease, chains)
            lease.close()
        return prove.prove(ready)

    monkeypatch.setattr(worker, "prove", one_more_then_prove)
    service.work(asked[0], chains=chains)
    service.work(*asked, chains=chains)
    assert [service.status(each)["queryStatus"] for each in asked] == ["DONE", "DONE"]
    assert SentTransaction.objects.count() == 2
