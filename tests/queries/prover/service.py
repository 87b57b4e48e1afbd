"""The whole service in one process: a chain, its registry, a prover, and someone who asks."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import ModuleType
from typing import Any

from django.test import Client, override_settings
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from accounts.keys import manage
from accounts.models import Account
from accounts.shared.wallets import Wallet
from explorer import urls, wiring
from explorer.demo.local_node import LocalNode
from queries.api import endpoints as api
from queries.chain.signer import Signer
from queries.config.limits import Limits
from queries.config.registries import Registry, RegistryKind
from queries.config.routes import Chain, NodeAddress, Routes
from queries.contracts.abi import load_artifact
from queries.database.clock import shared_now
from queries.models import Batch, BlockJob, WebhookDelivery
from queries.prover.context import Chains
from queries.prover.loop import next_look
from queries.prover.worker import deliver_once, work_once
from queries.schema.batch_checks import BatchLimits
from tests.rigs.local_chain import CHAIN_ID, ETHER, HOLDER, HORIZON_WORD, SIGNER_KEY
from tests.rigs.registry_reads import RegistryReads

__all__ = ["CHAIN_ID", "ETHER", "HOLDER", "SIGNER_KEY", "Service", "running_service"]
MORE_LOOKS = 2
NOTHING = Routes({})


@dataclass
class Service:
    """What a client and an operator hold in their hands."""

    node: LocalNode
    routes: Routes
    key: str
    client: Client = field(default_factory=Client)

    @property
    def registry(self) -> Registry:
        return self.routes.registries[CHAIN_ID, CHAIN_ID]

    @property
    def reads(self) -> RegistryReads:
        return RegistryReads(lambda data: self.node.call(self.registry.address, data))

    def chains(self) -> Chains:
        return Chains(self.routes, Signer(SIGNER_KEY))

    def ask(self, data: dict[str, Any], **more: Any) -> Any:
        """The answer to a submission."""
        content = {"destinationChainId": str(CHAIN_ID), "fee": "0", "data": data, **more}
        return self.client.post(
            "/submit-batch-query", content, content_type="application/json",
            headers={"api-key": self.key},
        )  # fmt: skip

    def submit(self, data: dict[str, Any], **more: Any) -> str:
        answer = self.ask(data, **more)
        assert answer.status_code == 200, answer.content
        return str(answer.json()["internalId"])

    def estimate(self, data: dict[str, Any], **more: Any) -> Any:
        content = {"destinationChainId": str(CHAIN_ID), "fee": "0", "data": data, **more}
        return self.client.post(
            "/estimate", content, content_type="application/json", headers={"api-key": self.key}
        )

    def ask_balance(self, account: str, block: int) -> str:
        entry = {"accounts": {account: {"props": ["BALANCE"], "slots": []}}}
        return self.submit({str(CHAIN_ID): {f"block:{block}": entry}})

    def status(self, batch: str) -> dict[str, Any]:
        told = self.client.get(
            "/batch-query-status", {"batchQueryId": batch}, headers={"api-key": self.key}
        )
        assert told.status_code == 200, told.content
        content: dict[str, Any] = told.json()
        if rejection := content.get("rejection"):
            content |= rejection | {"error": rejection["message"]}
        return content

    def waits(self, batch: str) -> str:
        """The code of what it waits for; its queries that have their blocks say the same."""
        told = self.status(batch)
        assert told["queryStatus"] == "IN_PROGRESS", told
        assert re.fullmatch(r"[A-Z].*\.", told["waitsFor"])
        of_queries = {(query["waitCode"], query["waitsFor"]) for query in told["queries"]}
        assert of_queries <= {(told["waitCode"], told["waitsFor"]), (None, None)}
        return str(told["waitCode"])

    def work(self, *batches: str, seconds: float = 30, chains: Chains | None = None) -> None:
        """As one prover does, until these batches have ended."""
        batches_left = Batch.objects.filter(pk__in=batches, ended=None)
        self.work_until(lambda: not batches_left.exists(), seconds, chains)

    def work_until(
        self, ready: Callable[[], bool], seconds: float = 30, chains: Chains | None = None
    ) -> None:
        held = chains or self.chains()
        until = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > until:
                rows = Batch.objects.values("pk", "status", "waits_for")
                jobs = BlockJob.objects.values("block", "waits_for", "failures")
                raise AssertionError(f"not done in {seconds} s: {list(rows)}, {list(jobs)}")
            if not work_once(held):
                time.sleep(min(max(next_look(Batch, BlockJob) or 0.01, 0.01), 0.1))

    def work_until_it_waits(self, batch: str, code: str, chains: Chains | None = None) -> str:
        """As one prover does, until the batch waits for this; what it then says.

        It still waits for it after more looks, which come at once and not after their pauses.
        """
        held = chains or self.chains()
        self.work_until(lambda: self.status(batch)["waitCode"] == code, chains=held)
        for _ in range(MORE_LOOKS):
            self.look_now()
            # Where batches took long to settle, one turn is for jobs alone.
            assert any(work_once(held) for _ in range(2)), "nobody looks at it again"
        assert self.waits(batch) == code
        return str(self.status(batch)["waitsFor"])

    def work_until_it_says(self, said: str, *batches: str, chains: Chains | None = None) -> None:
        """As one prover does, until something waits for this; none of these has ended then, nor
        after more looks.
        """
        held = chains or self.chains()
        rows = (Batch.objects, BlockJob.objects)
        waiting = [each.filter(waits_for__contains=said) for each in rows]
        self.work_until(lambda: any(each.exists() for each in waiting), chains=held)
        for _ in range(MORE_LOOKS):
            self.look_now()
            work_once(held)
        assert not Batch.objects.filter(pk__in=batches).exclude(ended=None).exists()

    def look_now(self) -> None:
        """Whatever waits for another look is due, however long its pause."""
        for rows in (Batch.objects, BlockJob.objects):
            rows.exclude(look_again=None).update(look_again=shared_now())

    def balance(self, account: str, block: int) -> int:
        """What the source node says."""
        return int(self.node.rpc.ask("eth_getBalance", account, hex(block)), 16)

    def header(self, block: int) -> dict[str, str]:
        (answer,) = self.node.rpc.ask_many("eth_getBlockByNumber", [(hex(block), False)])
        assert isinstance(answer, dict)
        return answer

    def mine(self, blocks: int = 1) -> None:
        self.node.rpc.ask("anvil_mine", hex(blocks), "0x2")

    def head(self) -> int:
        return int(self.node.rpc.ask("eth_blockNumber"), 16)


def deliver_all(service: Service) -> None:
    """All webhooks that are still to be sent, whatever they wait for."""
    chains = service.chains()
    while work_once(chains):
        pass
    pending = WebhookDelivery.objects.exclude(look_again=None)
    keys = list(pending.values_list("pk", flat=True))
    now = shared_now() - timedelta(seconds=1)
    for key in keys:  # a failure puts off those of the same account
        WebhookDelivery.objects.filter(pk__in=keys).update(look_again=now + timedelta(days=1))
        WebhookDelivery.objects.filter(pk=key).update(look_again=now)
        deliver_once(Limits())


def ended_batch(service: Service, url: str) -> str:
    """A balance that is proven, with a webhook that is not sent yet."""
    service.mine(2)
    service.chains().head(CHAIN_ID)  # seen, or the block would be one that nobody knows of
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit(
        {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}},
        webhook={"url": url, "headers": {"X-Mine": "yes", "Content-Type": "text/x"}},
    )
    service.work(batch)
    return batch


@contextmanager
def running_service(
    node: LocalNode, *, beside: Routes = NOTHING, limits: BatchLimits = wiring.LIMITS, **chain: Any
) -> Iterator[Service]:
    """A native registry on `node`, and the routes that the web pages then know, `beside` others."""
    signer = Key.from_key(SIGNER_KEY)
    node.rpc.ask("anvil_setBalance", signer.address, hex(1_000 * ETHER))
    address = to_checksum_address(
        node.deploy(load_artifact("NativeRegistry").bytecode, HORIZON_WORD)
    )
    settings = {"finality": 0, "free": True, **chain}
    here = Chain(CHAIN_ID, "Local", (NodeAddress(node.url),), **settings)
    registry = Registry(RegistryKind.NATIVE, CHAIN_ID, CHAIN_ID, address)
    routes = Routes(
        {**beside.chains, CHAIN_ID: here},
        {**beside.registries, (CHAIN_ID, CHAIN_ID): registry},
        # Jobs that are due together go together, however busy the machine is.
        limits=Limits(work_slice=60),
    )
    with serving(node, routes, limits) as running:
        yield running


@contextmanager
def serving(
    node: LocalNode, routes: Routes, limits: BatchLimits = wiring.LIMITS
) -> Iterator[Service]:
    """These routes, with an owner of a key; `node` is the destination's."""
    owner, _ = Account.objects.of_wallet(Wallet(Key.create().address))
    text = manage.reveal(manage.add_key(owner, "Tests"))
    assert text is not None
    with override_settings(ROOT_URLCONF=_addresses(routes, limits)):
        yield Service(node, routes, text)


def _addresses(routes: Routes, limits: BatchLimits) -> ModuleType:
    """Those of the house, with these routes."""
    module = ModuleType("urls_of_the_test")
    vars(module)["urlpatterns"] = [
        *api.addresses(routes, limits),
        *urls.account_pages(routes, limits),
        *urls.explorer_pages(routes),
        *urls.urlpatterns,
    ]
    vars(module).update(handler400=urls.handler400, handler500=urls.handler500)
    return module
