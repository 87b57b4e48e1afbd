"""The whole service in one process: a chain, its registry, a prover, and a client."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import ModuleType
from typing import Any

from django.test import Client, override_settings
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from accounts.keys import manage
from accounts.models import Account
from accounts.wallets import Wallet
from explorer import endpoints as api
from explorer import urls, wiring
from explorer.demo.local_node import LocalNode
from explorer.pages.feeds import feed_words
from queries.chain.signer import Signer
from queries.config.chains import Chain, NodeAddress
from queries.config.limits import Limits
from queries.contracts.abi import load_artifact
from queries.contracts.create2 import FACTORY, SALT, verifier_init_code
from queries.database.clock import shared_now
from queries.engines import POST, PROVE, WATCH
from queries.models import Batch, BlockJob, ChainRecord, WebhookPost
from queries.prover.handlers import HANDLERS, seconds_until_due, work_once
from queries.schema.batch_checks import BatchLimits
from queries.sources.native import NativeRegistry
from queries.sources.registry import Registry
from queries.sources.routes import Routes
from queries.transactions.context import ProverContext
from tests.rigs.deployed_contracts import CHAIN_ID, ETHER, HOLDER, HORIZON_WORD, SIGNER_KEY
from tests.rigs.registry_reads import RegistryReads

__all__ = ["CHAIN_ID", "ETHER", "HOLDER", "SIGNER_KEY", "Service", "running_service"]
EXTRA_PASSES = 2
NO_ROUTES = Routes({})


@dataclass
class Service:
    """What a client and an operator have."""

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

    def context(self) -> ProverContext:
        return ProverContext(self.routes, Signer(SIGNER_KEY))

    def ask(self, data: dict[str, Any], **more: Any) -> Any:
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
        answer = self.client.get(
            "/batch-query-status", {"batchQueryId": batch}, headers={"api-key": self.key}
        )
        assert answer.status_code == 200, answer.content
        content: dict[str, Any] = answer.json()
        if rejection := content.get("rejection"):
            content |= rejection | {"error": rejection["message"]}
        return content

    def wait_code(self, batch: str) -> str:
        """The batch's wait code. Its queries whose blocks are known have the same."""
        status = self.status(batch)
        assert status["queryStatus"] == "IN_PROGRESS", status
        assert re.fullmatch(r"[A-Z].*\.", status["waitsFor"])
        reasons = {(query["waitCode"], query["waitsFor"]) for query in status["queries"]}
        assert reasons <= {(status["waitCode"], status["waitsFor"]), (None, None)}
        return str(status["waitCode"])

    def with_nodes(self, *addresses: str) -> "Service":
        """The same service with a prover that has only these nodes."""
        nodes = tuple(NodeAddress(address) for address in addresses)
        chain = replace(self.routes.chains[CHAIN_ID], nodes=nodes)
        return replace(self, routes=replace(self.routes, chains={CHAIN_ID: chain}))

    def with_limits(self, **limits: Any) -> "Service":
        return replace(
            self, routes=replace(self.routes, limits=replace(self.routes.limits, **limits))
        )

    def work(
        self, *batches: str, seconds: float = 30, context: ProverContext | None = None
    ) -> None:
        """Work like one prover until these batches have ended."""
        batches_left = Batch.objects.filter(pk__in=batches, ended_at=None)
        self.work_until(lambda: not batches_left.exists(), seconds, context)

    def work_until(
        self,
        is_ready: Callable[[], bool],
        seconds: float = 30,
        context: ProverContext | None = None,
    ) -> None:
        context = context or self.context()
        deadline = time.monotonic() + seconds
        while not is_ready():
            if time.monotonic() > deadline:
                rows = Batch.objects.values("pk", "status", "waits_for")
                jobs = BlockJob.objects.values("block", "waits_for", "failures")
                raise AssertionError(f"not done in {seconds} s: {list(rows)}, {list(jobs)}")
            if not work_once(PROVE, context):
                due = seconds_until_due(PROVE, context)
                time.sleep(min(max(due or 0, 0.01), 0.1))

    def work_until_code(self, batch: str, code: str, context: ProverContext | None = None) -> None:
        """Work like one prover until the batch has this wait code, also after further passes."""
        context = context or self.context()
        self.work_until(lambda: self.status(batch)["waitCode"] == code, context=context)
        for _ in range(EXTRA_PASSES):
            self.make_all_due()
            # If resolving batches took long, one pass is for jobs alone.
            assert any(work_once(PROVE, context) for _ in range(2)), "nothing is due"
        assert self.wait_code(batch) == code

    def work_until_sentence(
        self, text: str, batch: str, context: ProverContext | None = None
    ) -> None:
        """Work like one prover until a row waits for this. The batch is open then, also after
        further passes.
        """
        context = context or self.context()
        queues = [model.objects.filter(waits_for__contains=text) for model in (Batch, BlockJob)]
        self.work_until(lambda: any(rows.exists() for rows in queues), context=context)
        for _ in range(EXTRA_PASSES):
            self.make_all_due()
            work_once(PROVE, context)
        assert Batch.objects.get(pk=batch).ended_at is None

    def make_all_due(self) -> None:
        for rows in (Batch.objects, BlockJob.objects):
            rows.exclude(due_at=None).update(due_at=shared_now())

    def balance(self, account: str, block: int) -> int:
        """The account's balance at the block, from the source node."""
        return int(self.node.rpc.ask("eth_getBalance", account, hex(block)), 16)

    def header(self, block: int) -> dict[str, str]:
        (answer,) = self.node.rpc.ask_many("eth_getBlockByNumber", [(hex(block), False)])
        assert isinstance(answer, dict)
        return answer

    def mine(self, blocks: int = 1) -> None:
        self.node.rpc.ask("anvil_mine", hex(blocks), "0x2")

    def head(self) -> int:
        return int(self.node.rpc.ask("eth_blockNumber"), 16)


def poll(context: ProverContext) -> None:
    """Poll all chains of the prover, as if they were due."""
    for handler in HANDLERS[WATCH]:
        handler.prepare(context.routes)
    ChainRecord.objects.update(due_at=shared_now())
    while work_once(WATCH, context):
        pass


def post_all(service: Service) -> None:
    """Attempt all pending webhooks, even if they are not due."""
    context = service.context()
    while work_once(PROVE, context):
        pass
    pending = WebhookPost.objects.exclude(due_at=None)
    keys = list(pending.values_list("pk", flat=True))
    now = shared_now() - timedelta(seconds=1)
    for key in keys:  # a failure delays others of the same account
        WebhookPost.objects.filter(pk__in=keys).update(due_at=now + timedelta(days=1))
        WebhookPost.objects.filter(pk=key).update(due_at=now)
        work_once(POST, context)


def ended_batch(service: Service, url: str) -> str:
    """A DONE batch whose webhook is not sent yet."""
    service.mine(2)
    service.context().head(CHAIN_ID)  # stored: otherwise the block would be refused
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit(
        {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}},
        webhook={"url": url, "headers": {"X-Mine": "yes", "Content-Type": "text/x"}},
    )
    service.work(batch)
    return batch


@contextmanager
def running_service(
    node: LocalNode,
    *,
    other_routes: Routes = NO_ROUTES,
    limits: BatchLimits = wiring.LIMITS,
    **chain: Any,
) -> Iterator[Service]:
    """Serve a native registry on `node`, and these other routes."""
    signer = Key.from_key(SIGNER_KEY)
    node.rpc.ask("anvil_setBalance", signer.address, hex(1_000 * ETHER))
    address = to_checksum_address(
        node.deploy(load_artifact("NativeRegistry").bytecode, HORIZON_WORD)
    )
    node.send(FACTORY, SALT + verifier_init_code(address))
    settings = {"finality": 0, "free": True, **chain}
    here = Chain(CHAIN_ID, "Local", (NodeAddress(node.url),), **settings)
    registry = NativeRegistry(CHAIN_ID, CHAIN_ID, address)
    routes = Routes(
        {**other_routes.chains, CHAIN_ID: here},
        {**other_routes.registries, (CHAIN_ID, CHAIN_ID): registry},
        # Gather all due jobs, even if the machine is busy.
        limits=Limits(gather_seconds=60),
    )
    with serving(node, routes, limits) as running:
        yield running


@contextmanager
def serving(
    node: LocalNode, routes: Routes, limits: BatchLimits = wiring.LIMITS
) -> Iterator[Service]:
    """Serve these routes to the owner of an API key. `node` is the destination's."""
    owner, _ = Account.objects.get_or_create_for_wallet(Wallet(Key.create().address))
    text = manage.reveal(manage.add_key(owner, "Tests"))
    assert text is not None
    with override_settings(ROOT_URLCONF=_urls(routes, limits)):
        yield Service(node, routes, text)


def _urls(routes: Routes, limits: BatchLimits) -> ModuleType:
    module = ModuleType("urls_of_the_test")
    vars(module)["urlpatterns"] = [
        *api.url_patterns(routes, limits, feed_words),
        *urls.account_pages(routes, limits),
        *urls.explorer_pages(routes),
        *urls.urlpatterns,
    ]
    vars(module).update(handler400=urls.handler400, handler500=urls.handler500)
    return module
