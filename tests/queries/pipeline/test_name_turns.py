"""Names that hang are asked for by one thread at a time, and rest: others' go first."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from eth_account import Account as Key

from accounts import api_keys
from accounts.models import Account
from accounts.wallets import Wallet
from queries.chain import ens, name_turns
from queries.chain.ens_resolvers import name_hash
from queries.chain.local_node import LocalNode
from queries.models import Batch, Query
from queries.pipeline import names
from tests.queries.chain.lying_node import LyingNode, stall
from tests.queries.contracts.local_ens import LocalEns
from tests.queries.pipeline.between import PassOn, between
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
GOOD, SLOW = "good.eth", "slow.eth"
TIMEOUT = 0.5
NODE_RESTS = TIMEOUT * name_turns.REST
WHO_ASKS_RESTS = 2 * NODE_RESTS


@pytest.fixture
def service(shared_node: LocalNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(ens, "TIMEOUT", TIMEOUT)
    monkeypatch.setattr(name_turns, "SLOW", TIMEOUT / 2)
    registry = LocalEns(shared_node)
    for name in (GOOD, SLOW):
        registry.set_address(name, HOLDER)
    with running_service(shared_node, ens_registry=registry.address) as running:
        running.mine(9)
        running.chains().head(CHAIN_ID)
        yield running


@dataclass
class Hanging:
    """A node that never answers what this name is asked for."""

    name: str
    at: list[float] = field(default_factory=list)

    def handle(self, connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if name_hash(self.name).hex() in str(question):
            self.at.append(time.monotonic())
            stall(connection, question)
        else:
            connection.answer(pass_on())


def _submit(service: Service, *asked: str, back: int = 1) -> str:
    accounts = {name: {"props": ["BALANCE"]} for name in asked}
    block = f"block:{service.head() - back}"
    return service.submit({str(CHAIN_ID): {block: {"accounts": accounts}}})


def _of_another_account(service: Service) -> Service:
    owner, _ = Account.objects.of_wallet(Wallet(Key.create().address))
    key = api_keys.shown(api_keys.add_key(owner, "Other"))
    assert key
    return replace(service, key=key)


def test_who_names_what_hangs_rests_longer_each_time_and_others_go_first(service: Service) -> None:
    hanging = Hanging(SLOW)
    with between(service.node.url, hanging.handle) as (address, _):
        prover = through(service, address)
        chains = prover.chains()
        batches = [_submit(prover, SLOW, back=back) for back in range(1, 4)]
        for batch in batches:
            prover.work_until_it_waits(batch, "names_unanswered", chains)
        said = prover.status(batches[-1])["waitsFor"]
        assert said == "The nodes of Local do not say in time whom its ENS names mean."
        assert len(hanging.at) == 1
        other = _of_another_account(prover)
        asked = _submit(other, GOOD)
        other.work_until(lambda: Query.objects.filter(account=HOLDER).exists(), chains=chains)
        assert len(hanging.at) == 1
        other.work(asked, chains=chains)
        assert other.status(asked)["queryStatus"] == "DONE"
        prover.work_until(lambda: len(hanging.at) == 3, chains=chains)
    first, second = (later - one for one, later in zip(hanging.at, hanging.at[1:], strict=False))
    assert first > TIMEOUT + WHO_ASKS_RESTS
    assert second > TIMEOUT + 2 * WHO_ASKS_RESTS


def test_a_node_that_hangs_for_names_is_left_out_while_others_are_enough(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_turns, "REST", 40)
    hanging = Hanging(GOOD)
    with between(service.node.url, hanging.handle) as (address, _):
        more = [service.node.url, service.node.url.replace("127.0.0.1", "localhost")]
        prover = through(service, address, *more)
        chains = prover.chains()
        for back in range(1, 4):
            prover.work(_submit(prover, GOOD, back=back), chains=chains)
            assert len(hanging.at) == 1
    assert set(Batch.objects.values_list("status", flat=True)) == {"DONE"}


def test_one_thread_at_a_time_asks(service: Service) -> None:
    chains = service.chains()
    batch = _submit(service, GOOD)
    with chains.name_turns.place(service.routes.chains[CHAIN_ID], None):
        service.work_until_it_waits(batch, "names_in_turn", chains)
    service.work(batch, chains=chains)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_many_names_let_others_go_between_and_are_kept_as_they_are_found(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "AT_ONCE", 1)
    monkeypatch.setattr(names, "SECONDS", 0.0)
    batch = _submit(service, GOOD, SLOW)
    chains = service.chains()
    service.work_until(_is_half_found, chains=chains)
    assert service.waits(batch) == "names_in_turn"
    service.work(batch, chains=chains)
    assert service.status(batch)["queryStatus"] == "DONE"


def _is_half_found() -> bool:
    return Query.objects.exclude(account="").count() == 1


def test_an_account_that_names_nothing_slow_never_rests(service: Service) -> None:
    chains = service.chains()
    for back in range(1, 4):
        service.work(_submit(service, GOOD, back=back), chains=chains)
        chains.names(CHAIN_ID).be_awake(Batch.objects.latest("pk").owner_id)
