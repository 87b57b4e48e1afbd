"""What was backed up is brought back by the guide's commands, and is older than the chain by then.

One batch was done when it was backed up, one was on its way, and one came afterwards.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest
import requests
from eth_account import Account as Key
from eth_account.signers.local import LocalAccount

from queries.chain.local_node import LocalNode
from tests.commands import Manage, free_port
from tests.explorer.backups import FILE, Backups, guide
from tests.installation import HOLDER, Prepared, prepared, proving
from tests.local_chain import CHAIN_ID, SIGNER_KEY
from tests.own_database import own_database
from tests.queries.receiver import Receiver, receiver
from tests.served import served
from tests.signed_in import signed_in

BLOCKS = 20
SETTINGS = {"WEBHOOKS_TO_PRIVATE": "1", "REQUESTS_PER_MINUTE": "1000000"}


@dataclass(frozen=True)
class Service:
    """What a client, a person and an operator have of it, whichever database it has."""

    address: str
    folder: Path
    it: Prepared
    manage: Manage
    backups: Backups
    hook: Receiver
    person: LocalAccount

    @property
    def node(self) -> LocalNode:
        return self.it.node

    @contextmanager
    def running(self, repository: Path) -> Iterator[None]:
        port = self.address.rpartition(":")[2]
        with (
            proving(repository, self.folder, self.it.settings),
            served(repository, self.folder, port=port, **self.it.settings),
        ):
            yield

    def ask(self, block: int) -> str:
        """For a balance, whose end is told."""
        entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        batch = {
            "destinationChainId": str(CHAIN_ID),
            "fee": "0",
            "data": {str(CHAIN_ID): {f"block:{block}": entry}},
            "webhook": {"url": self.hook.url},
        }
        own = {"api-key": self.it.key}
        answer = requests.post(
            f"{self.address}/submit-batch-query", json=batch, headers=own, timeout=30
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["internalId"])

    def told(self, path: str, **parameters: str) -> requests.Response:
        own = {"api-key": self.it.key}
        return requests.get(self.address + path, parameters, headers=own, timeout=30)

    def status(self, batch: str) -> dict[str, Any]:
        told: dict[str, Any] = self.told("/batch-query-status", batchQueryId=batch).json()
        return told

    def until_done(self, *batches: str) -> None:
        """And told."""
        until(lambda: all(self.status(each)["queryStatus"] == "DONE" for each in batches))
        until(lambda: set(batches) <= self.delivered())

    def delivered(self) -> set[str]:
        deliveries = self.told("/webhook-deliveries").json()["deliveries"]
        return {str(each["batchQueryId"]) for each in deliveries if each["delivered"]}

    def times_told(self, batch: str) -> int:
        return sum(batch.encode() in body for *_, body in self.hook.got)

    def mine(self) -> None:
        self.node.rpc.ask("evm_mine")
        self.node.rpc.ask_many("evm_setAutomine", [(True,)])

    def pending(self) -> int:
        return int(self.node.rpc.ask("txpool_status")["pending"], 16)

    def has_sent(self, nonce: int) -> bool:
        return f" nonce {nonce}." in (self.folder / "prover").read_text()


def until(came: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not came():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def service(tmp_path: Path, manage: Manage) -> Iterator[Service]:
    (folder := tmp_path / "var").mkdir()
    with (
        receiver() as hook,
        own_database(folder, Path(FILE).stem) as url,
        prepared(tmp_path, manage, BLOCKS, DATABASE_URL=url, **SETTINGS) as it,
    ):
        with Path(it.settings["ROUTES_FILE"]).open("a") as routes:
            routes.write("[limits]\nresend_after = 0.5\n")
        backups = Backups(tmp_path, url.rpartition("/")[2], guide())
        address = f"http://127.0.0.1:{free_port()}"
        yield Service(address, tmp_path, it, manage, backups, hook, Key.create())


@pytest.mark.django_db
@pytest.mark.parametrize("mined", [True, False], ids=["mined", "pending"])
def test_what_was_backed_up_is_brought_back(
    service: Service, repository: Path, *, mined: bool
) -> None:
    """`mined`: what was sent since the backup, when the restored database is used."""
    with service.running(repository):
        person = signed_in(service.address, service.person)
        service.until_done(done := service.ask(11))
        service.node.rpc.ask_many("evm_setAutomine", [(False,)])
        on_its_way = service.ask(12)
        until(lambda: service.pending() == 1)
        service.backups.back_up()
        # Webhooks' headers are in it.
        assert S_IMODE(service.backups.made().stat().st_mode) == 0o600
        since = service.ask(13)
        until(lambda: service.pending() == 2)
        if mined:
            service.mine()
            service.until_done(on_its_way, since)
    assert service.manage("flush", "--no-input", **service.it.settings).returncode == 0
    service.backups.bring_back()
    with service.running(repository):
        dashboard = person.get(f"{service.address}/dashboard", allow_redirects=False, timeout=30)
        assert (dashboard.status_code, service.person.address in dashboard.text) == (200, True)
        assert HOLDER in service.told("/api-key").text
        assert service.told("/batch-query-status", batchQueryId=since).status_code == 404
        new = service.ask(14)
        if not mined:
            until(lambda: service.has_sent(2))  # which is the nonce of what came since
            service.mine()
        service.until_done(done, on_its_way, new)
        service.until_done(again := service.ask(13))
        assert service.status(again)["spent"] == "0"
    assert service.times_told(done) == 1
    assert service.times_told(on_its_way) == (2 if mined else 1)
    _assert_four_are_paid_for_once(service)


def _assert_four_are_paid_for_once(service: Service) -> None:
    """Each transaction of the signer proved something, and nothing was proven twice."""
    logs = service.node.rpc.ask("eth_getLogs", {"address": service.it.registry, "fromBlock": "0x0"})
    assert len({tuple(log["topics"]) for log in logs}) == len(logs)
    signer = Key.from_key(SIGNER_KEY).address
    sent = int(service.node.rpc.ask("eth_getTransactionCount", signer, "latest"), 16)
    assert len({log["transactionHash"] for log in logs}) == sent == 4
