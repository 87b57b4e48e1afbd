"""A due row of each kind, made as users and chains make it, and how its work has to end."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import astuple, replace
from datetime import timedelta
from typing import Any, ClassVar

from django.db.models import F
from django.test import override_settings
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode
from queries.chain.signer import Signer
from queries.config.chains import Chain, NodeAddress
from queries.config.limits import Limits
from queries.contracts.abi import call_data
from queries.contracts.create2 import FACTORY, SALT, courier_address, courier_init_code
from queries.database.clock import shared_now
from queries.database.handler import Handler
from queries.deliveries.send import DeliveryHandler
from queries.feeds.scheduled_runs import insert_scheduled_runs
from queries.feeds.submit import FeedRunHandler
from queries.models import (
    Batch,
    BlockJob,
    ChainRecord,
    Delivery,
    Feed,
    FeedRun,
    Query,
    RegistryRecord,
    SentTransaction,
    WebhookPost,
)
from queries.prover.batches import BatchHandler
from queries.prover.chains import ChainHandler
from queries.prover.jobs import JobHandler
from queries.prover.upkeep import UpkeepHandler
from queries.proving.beacon import SLOTS_PER_PERIOD
from queries.sources.beacon import BeaconRegistry
from queries.sources.registry import Registry
from queries.sources.routes import Routes
from queries.statuses import DeliveryState
from queries.transactions.context import ProverContext
from queries.webhooks.posts import PostHandler
from tests.builds import contract_for_tests
from tests.queries.prover.service import (
    CHAIN_ID,
    ETHER,
    HOLDER,
    SIGNER_KEY,
    Service,
    running_service,
)
from tests.rigs.anvil import DAY
from tests.rigs.anvil import Chain as LocalChain
from tests.rigs.beacon_node import BeaconNode, BeaconRig
from tests.rigs.receiver import Receiver, receiver

EVERY = 5  # blocks, of a feed
BALANCE_OF = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
NO_NODE = "http://127.0.0.1:1"
SECONDS = 60  # for a row's work
PERIODS = 6  # of a sync committee, which one transaction follows


class HandlerCase(ABC):
    """Rows of one kind, and a service whose workers work on them."""

    handler: ClassVar[Handler[Any, Any]]
    asks_nodes: ClassVar[bool] = True
    stride: ClassVar[int] = 1  # statements between those at which a worker dies

    def __init__(self, routes: Routes) -> None:
        self.routes = routes

    @abstractmethod
    def begin(self) -> None:
        """Make one row due."""

    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing is left to do for the rows that `begin` has made."""

    @abstractmethod
    def check(self) -> None:
        """Check that all rows so far have ended as they should, and each but once."""

    @property
    def helpers(self) -> tuple[Handler[Any, Any], ...]:
        """Handlers of other rows that its own ones wait for."""
        return ()

    def context(self, *nodes: str, **chain: Any) -> ProverContext:
        """The context of a worker, with these nodes and settings of each chain instead."""
        addresses = tuple(NodeAddress(node) for node in nodes)
        chains = {
            number: replace(known, nodes=addresses or known.nodes, **chain)
            for number, known in self.routes.chains.items()
        }
        return ProverContext(replace(self.routes, chains=chains), Signer(SIGNER_KEY))

    def finish(self, context: ProverContext, passes: int | None = None) -> None:
        """Work until the rows are done, or for so many passes. No pause is waited for."""
        deadline = time.monotonic() + SECONDS
        while not self.is_over() and passes != 0:
            assert time.monotonic() < deadline, list(self.handler.rows(context).values())
            passes = None if passes is None else passes - 1
            self.make_due()
            self.handler.work_once(context)
            for helper in self.helpers:
                for _ in self.routes.chains:
                    helper.work_once(context)

    def make_due(self) -> None:
        for handler in (self.handler, *self.helpers):
            handler.model.objects.exclude(due_at=None).update(due_at=shared_now())

    def expire_leases(self) -> None:
        for handler in (self.handler, *self.helpers):
            rows = handler.model.objects.exclude(lease_until=None)
            rows.update(lease_until=shared_now())


class LocalCase(HandlerCase):
    """On a chain that proves itself, with its own native registry."""

    def __init__(self, service: Service, hook: Receiver) -> None:
        super().__init__(service.routes)
        self.service, self.hook = service, hook

    def next_block(self) -> int:
        """A block that no batch is about yet."""
        self.service.mine(4)
        self.service.context().head(CHAIN_ID)  # stored: otherwise it would be refused
        return self.service.head() - 1

    def submit(self, **more: Any) -> tuple[str, int]:
        block = self.next_block()
        return self.service.submit({str(CHAIN_ID): {f"block:{block}": BALANCE_OF}}, **more), block

    def check_sent_once(self) -> None:
        """Each nonce is used once, and none is skipped."""
        rows = list(SentTransaction.objects.order_by("nonce"))
        assert [row.nonce for row in rows] == list(range(rows[0].nonce, rows[0].nonce + len(rows)))
        assert all(row.succeeded for row in rows)


class BatchCase(LocalCase):
    """A batch of a time and a number, and two more that are resolved with others."""

    handler: ClassVar[Handler[Any, Any]] = BatchHandler()

    def begin(self) -> None:
        block = self.next_block()
        seconds = int(self.service.header(block - 2)["timestamp"], 16)
        blocks = {f"timestamp:{seconds}": BALANCE_OF, f"block:{block}": BALANCE_OF}
        self.service.submit({str(CHAIN_ID): blocks})
        for _ in range(2):
            self.service.ask_balance(HOLDER, block)

    def is_over(self) -> bool:
        return not Batch.objects.filter(status="RECEIVED").exists()

    def check(self) -> None:
        assert not Query.objects.filter(job=None).exists()
        blocks = set(Query.objects.values_list("block", flat=True))
        assert set(BlockJob.objects.values_list("block", flat=True)) == blocks
        assert not BlockJob.objects.filter(due_at=None).exists()
        assert not Batch.objects.exclude(due_at=None).exists()


class JobCase(BatchCase):
    """Jobs of two blocks, one of which three batches ask for."""

    handler = JobHandler()

    def begin(self) -> None:
        super().begin()
        while not super().is_over():
            assert BatchHandler().work_once(self.context())

    def is_over(self) -> bool:
        return not BlockJob.objects.exclude(due_at=None).exists()

    def check(self) -> None:
        assert set(Batch.objects.values_list("status", flat=True)) == {"DONE"}
        address = self.service.registry.address
        logs = self.service.node.rpc.ask("eth_getLogs", {"address": address, "fromBlock": "0x0"})
        assert len({tuple(log["topics"]) for log in logs}) == len(logs)
        assert len({log["transactionHash"] for log in logs}) == SentTransaction.objects.count()
        self.check_sent_once()


class DeliveryCase(LocalCase):
    handler = DeliveryHandler()

    def __init__(self, service: Service, hook: Receiver) -> None:
        super().__init__(service, hook)
        if not service.node.rpc.ask("eth_getCode", courier_address(), "latest").strip("0x"):
            service.node.send(FACTORY, SALT + courier_init_code())
        self.target = to_checksum_address(service.node.deploy(contract_for_tests("Receiver")))
        self.batches = 0

    def begin(self) -> None:
        args = [HOLDER, "$block", f"$value({HOLDER}.BALANCE)"]
        function = "onBalance(address,uint256,uint256)"
        call = {"to": self.target, "function": function, "args": args, "gas": "200000"}
        batch, _ = self.submit(deliver=[call])
        self.batches += 1
        context = self.context()
        assert BatchHandler().work_once(context)
        while not Batch.objects.filter(pk=batch, status="DONE").exists():
            BlockJob.objects.exclude(due_at=None).update(due_at=shared_now())
            JobHandler().work_once(context)

    def is_over(self) -> bool:
        return not Delivery.objects.exclude(state=DeliveryState.DELIVERED).exists()

    def check(self) -> None:
        count = self.service.node.call(self.target, call_data("count()"))
        assert int.from_bytes(count) == self.batches == Delivery.objects.count()
        self.check_sent_once()


class PostCase(LocalCase):
    handler = PostHandler()
    asks_nodes = False

    def begin(self) -> None:
        batch, _ = self.submit(webhook={"url": self.hook.url})
        self.service.work(batch)

    def is_over(self) -> bool:
        return not WebhookPost.objects.filter(delivered_at=None).exists()

    def check(self) -> None:
        """A receiver may get a post again, with the same id and bytes."""
        bodies = {(post.headers["webhook-id"], post.body) for post in self.hook.deliveries}
        rows = WebhookPost.objects.values_list("pk", "body")
        assert bodies == {(key, bytes(body)) for key, body in rows}
        assert len(rows) == Batch.objects.count()


class FeedCase(LocalCase):
    """A feed of blocks; `catchUp` makes each due one a run."""

    def __init__(self, service: Service, hook: Receiver) -> None:
        super().__init__(service, hook)
        ChainHandler().prepare(self.routes)
        ChainHandler().work_once(self.context())
        data = {str(CHAIN_ID): {"block:$due": {"header": ["TIMESTAMP"]}}}
        batch = {"destinationChainId": str(CHAIN_ID), "fee": "0", "data": data}
        content = {"every": f"{EVERY} blocks", "catchUp": "all", "batch": batch}
        answer = service.client.post(
            "/feeds", content, "application/json", headers={"api-key": service.key}
        )
        assert answer.status_code == 200, answer.content
        self.first = int(answer.json()["nextDue"].removeprefix("block:"))

    def check_each_due_once(self) -> None:
        dues = list(FeedRun.objects.order_by("due").values_list("due", flat=True))
        assert dues == list(range(self.first, self.service.head() + 1, EVERY))


class FeedRunCase(FeedCase):
    handler = FeedRunHandler()
    asks_nodes = False

    def begin(self) -> None:
        self.service.mine(EVERY)
        self.service.context().head(CHAIN_ID)
        insert_scheduled_runs(ChainRecord.objects.get(chain=CHAIN_ID))

    def is_over(self) -> bool:
        return not FeedRun.objects.filter(submitted_at=None).exists()

    def check(self) -> None:
        self.check_each_due_once()
        batches = set(FeedRun.objects.values_list("batch", flat=True))
        assert None not in batches
        assert len(batches) == FeedRun.objects.count() == Batch.objects.count()


class ChainCase(FeedCase):
    """A poll that makes a run due."""

    handler = ChainHandler()

    def begin(self) -> None:
        self.service.mine(EVERY)

    def is_over(self) -> bool:
        return Feed.objects.filter(due__gt=self.service.head()).exists()

    def check(self) -> None:
        assert ChainRecord.objects.get(chain=CHAIN_ID).number == self.service.head()
        self.check_each_due_once()


class UpkeepCase(HandlerCase):
    """A beacon registry whose newest committee gets old."""

    handler = UpkeepHandler()
    stride = 4  # each update takes a second
    SOURCE, DESTINATION = 1337, 31337

    def __init__(self, l1: LocalChain, other: LocalChain, rig: BeaconRig, node: BeaconNode) -> None:
        checkpoint = rig.checkpoint(10)
        rig.finalize("latest")  # names the next committee
        max_age = 10 * SLOTS_PER_PERIOD
        types, values = rig.constructor_arguments(checkpoint, max_age)
        horizon = Registry.__dataclass_fields__["horizon"].default
        address = other.deploy(
            "BeaconRegistry", ["uint256", "uint256", *types], [horizon, l1.id, *values],
            by_factory=True,
        )  # fmt: skip
        facts = rig.facts
        registry = BeaconRegistry(
            l1.id,
            other.id,
            address,
            checkpoint=bytes.fromhex(checkpoint[2:]),
            max_age=max_age,
            genesis_time=facts.genesis_time,
            seconds_per_slot=facts.seconds_per_slot,
            genesis_validators_root=facts.genesis_validators_root,
            fork_versions=tuple(fork.version for fork in facts.forks),
            fork_table=tuple(map(astuple, facts.forks)),
        )
        chains = {
            l1.id: rig.routes_chain(node, checkpoint=checkpoint),
            other.id: Chain(other.id, "Other", (NodeAddress(other.url),), finality=0),
        }
        limits = Limits(update_wait=0, poll_interval=0.1)
        super().__init__(Routes(chains, {(l1.id, other.id): registry}, limits=limits))
        other.set_balance(Signer(SIGNER_KEY).address, 100 * ETHER)
        self.l1, self.other, self.rig, self.begun = l1, other, rig, 0
        for handler in (self.handler, *self.helpers):
            handler.prepare(self.routes)

    @property
    def helpers(self) -> tuple[Handler[Any, Any], ...]:
        return (ChainHandler(),)  # follows updates

    def begin(self) -> None:
        """Pass half of the registry's `max_age`, and a period."""
        SentTransaction.objects.update(signed_at=F("signed_at") - timedelta(days=1))
        for _ in range(PERIODS):
            self.l1.mine(1, SLOTS_PER_PERIOD)
            self.rig.finalize("latest")
        slot = self.rig.slot_of("latest") + 2
        self.other.reach_time(self.rig.facts.start_of(slot))
        self.begun += 1

    def make_due(self) -> None:
        super().make_due()
        self.other.mine()  # on top of updates

    def is_over(self) -> bool:
        rows = SentTransaction.objects.all()
        return rows.count() >= self.begun and not rows.filter(confirmed=False).exists()

    def check(self) -> None:
        sent = self.other.transactions_of(Signer(SIGNER_KEY).address)
        assert len(sent) == self.begun == SentTransaction.objects.count()
        assert RegistryRecord.objects.get().awake_until


LOCAL_CASES: dict[str, type[LocalCase]] = {
    "batch": BatchCase,
    "job": JobCase,
    "delivery": DeliveryCase,
    "post": PostCase,
    "feed run": FeedRunCase,
    "chain": ChainCase,
}
CASES = (*LOCAL_CASES, "upkeep")


@contextmanager
def new_case(name: str, node: LocalNode) -> Iterator[HandlerCase]:
    with ExitStack() as stack:
        if name in LOCAL_CASES:
            stack.enter_context(override_settings(ALLOW_PRIVATE_WEBHOOKS=True))
            service, hook = stack.enter_context(running_service(node)), receiver()
            service.mine(12)
            yield LOCAL_CASES[name](service, stack.enter_context(hook))
            return
        l1, other = (
            stack.enter_context(closing(LocalChain(chain, age=40 * DAY)))
            for chain in (UpkeepCase.SOURCE, UpkeepCase.DESTINATION)
        )
        l1.mine(20)
        rig = BeaconRig(l1)
        yield UpkeepCase(l1, other, rig, stack.enter_context(closing(BeaconNode(rig))))
