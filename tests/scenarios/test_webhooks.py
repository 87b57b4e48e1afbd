"""Webhooks are signed, retried, replayed, and never posted to private addresses."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from standardwebhooks import Webhook, WebhookVerificationError

from tests.commands import free_port
from tests.guides import code_of
from tests.rigs.anvil import Chain
from tests.rigs.receiver import Receiver, receiver
from tests.rigs.service import HOLDER, HOLDER_BALANCE, Service, accounts, request, wait_until
from tests.scenarios.fixtures import Install

# Names of this machine.
LOOPBACK = (
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0", "0.0.0.0", "[::1]",
    "[::ffff:127.0.0.1]", "localhost", "LOCALHOST",
)  # fmt: skip


# Request headers that the documented receiver refuses without failing.
NOW = f"webhook-id: x\r\nwebhook-timestamp: {int(time.time())}\r\nContent-Length: 2"
MALFORMED = (
    "X-Nothing: 1",
    "Content-Length: x",
    "Content-Length: -1",
    f"Content-Length: {10**12}",
    "Content-Length: 2",
    "Content-Length: 2\r\nwebhook-timestamp: x\r\nwebhook-signature: v1,x",
    f"Content-Length: 2\r\nwebhook-timestamp: {9 * '99'}\r\nwebhook-signature: v1,x",
    NOW,
    *(
        f"{NOW}\r\nwebhook-signature: {signature}"
        for signature in ("x", "v1", "v1,", "v1,\xe9", "v1,x v1,y")
    ),
)


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def open_service(install: Install) -> Iterator[Service]:
    """A service with ALLOW_PRIVATE_WEBHOOKS."""
    with ExitStack() as stack:
        chain = stack.enter_context(closing(Chain()))
        service = stack.enter_context(install())
        service.settings["ALLOW_PRIVATE_WEBHOOKS"] = "1"
        service.add_native_chain(chain)
        service.set_limits(poll_interval=1)
        service.serve()
        service.prove()
        yield service


def submit(service: Service, url: str) -> str:
    """Submit a batch with a webhook to this URL, and wait until it is DONE."""
    block = service.chain.mine(2) - 1
    webhook = {"url": url, "headers": {"X-Mine": "yes"}}
    batch = service.submit({31337: {block: accounts(HOLDER)}}, webhook=webhook)
    service.wait(batch)
    return batch


def deliveries(service: Service, batch: str) -> list[dict[str, Any]]:
    """The batch's webhook deliveries, newest first."""
    listed = service.get("/webhook-deliveries").json()["deliveries"]
    return [item for item in listed if item["batchQueryId"] == batch]


def delivery(service: Service, batch: str) -> dict[str, Any]:
    return deliveries(service, batch)[0]


def answer_statuses(service: Service, batch: str) -> list[int | None]:
    """HTTP statuses of all attempts, oldest first; None if there was no answer."""
    return [attempt["status"] for attempt in reversed(delivery(service, batch)["attempts"])]


def test_a_webhook_is_retried_until_accepted_and_replayed_by_its_owner(
    open_service: Service, hook: Receiver
) -> None:
    service, hook.statuses = open_service, [302]
    batch = submit(service, hook.url)
    wait_until(lambda: answer_statuses(service, batch) == [302])
    hook.statuses = [204]
    assert delivery(service, batch)["state"] == "PENDING"
    wait_until(lambda: delivery(service, batch)["state"] == "DELIVERED")
    assert answer_statuses(service, batch) == [302, 204]
    first, second = hook.deliveries
    assert first.body == second.body
    signed = Webhook(service.get("/webhook-secret").json()["secret"])
    for attempt in (first, second):
        assert signed.verify(attempt.body, attempt.headers)["batchQueryId"] == batch
        with pytest.raises(WebhookVerificationError):
            signed.verify(attempt.body + b" ", attempt.headers)
    assert {first.path, second.path} == {"/hook?a=b"}  # redirects are not followed
    assert first.headers["X-Mine"] == "yes"
    content = json.loads(first.body)
    assert (content["batchQueryId"], content["queryStatus"]) == (batch, "DONE")
    assert int(content["facts"][0]["values"]["BALANCE"], 16) == HOLDER_BALANCE
    # Only its owner can replay it.
    replay = f"/webhook-deliveries/{delivery(service, batch)['event']}/replay"
    assert service.post(replay, key=service.keys[1]).status_code == 404
    assert service.get("/webhook-deliveries", key=service.keys[1]).json()["deliveries"] == []
    assert service.post(replay).status_code == 200
    wait_until(lambda: len(hook.deliveries) == 3)
    assert hook.deliveries[2].body == first.body


def test_an_event_corrects_an_earlier_one_after_a_reorg(
    open_service: Service, hook: Receiver
) -> None:
    service, chain, block = open_service, open_service.chain, open_service.chain.mine(2)
    chain.send(HOLDER, "0x", value=1)  # in the next block, which the reorg replaces
    chain.mine()
    data = {31337: {number: accounts(HOLDER) for number in (block, block + 1)}}
    batch = service.submit(data, webhook={"url": hook.url})
    unchanged = service.submit({31337: {block: accounts(HOLDER)}}, webhook={"url": hook.url})
    service.wait(batch, unchanged)
    wait_until(lambda: delivery(service, batch)["state"] == "DELIVERED")
    wait_until(lambda: delivery(service, unchanged)["state"] == "DELIVERED")
    chain.reorganise(chain.head - block)

    def corrected() -> bool:
        chain.mine()  # until the facts are final and confirmed again
        return len(deliveries(service, batch)) == 2

    wait_until(corrected)
    wait_until(lambda: delivery(service, batch)["state"] == "DELIVERED")
    second, first = deliveries(service, batch)
    assert (first["corrects"], second["corrects"]) == (None, first["event"])
    assert service.post(f"/webhook-deliveries/{first['event']}/replay").status_code == 200
    wait_until(lambda: len(hook.deliveries) == 4)
    sent, correction, replayed = (
        post.body for post in hook.deliveries if batch in post.body.decode()
    )
    assert replayed == sent
    events = [json.loads(body) for body in (sent, correction)]
    assert [event["event"] for event in events] == [first["event"], second["event"]]
    assert [event["corrects"] for event in events] == [None, first["event"]]
    values = [[int(fact["values"]["BALANCE"], 16) for fact in event["facts"]] for event in events]
    assert values == [[HOLDER_BALANCE, HOLDER_BALANCE + 1], [HOLDER_BALANCE, HOLDER_BALANCE]]
    assert len(deliveries(service, unchanged)) == 1


@contextmanager
def documented_receiver(service: Service, folder: Path, secret: str, name: str) -> Iterator[str]:
    """Run the guide's receiver as documented; yield its URL."""
    (folder / name).write_text(code_of(service.url, "webhooks", name + "\n"))
    port = str(free_port())
    start = code_of(service.url, "webhooks", name + " 9000").replace("9000", port)
    program = subprocess.Popen(
        ["sh", "-ec", start.replace("whsec_YOUR_SECRET", secret).replace("\n", "\nexec ", 1)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # `node` may be a wrapper
    )
    try:
        url = f"http://127.0.0.1:{port}/"
        wait_until(lambda: answers(url), what="the receiver starts")
        yield url
    finally:
        os.killpg(program.pid, signal.SIGTERM)
        program.wait()


def post_status(url: str, head: str) -> int:
    """HTTP status of a POST with these headers and a body of two bytes."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n{{}}".encode("latin-1"))
        return int(connection.makefile("rb").readline().split()[1])


def answers(url: str) -> bool:
    try:
        requests.get(url, timeout=5)
    except requests.ConnectionError:
        return False
    return True


@pytest.mark.parametrize("name", ["receiver.py", "receiver.mjs"])
def test_the_documented_receiver_accepts_only_the_owners_signature(
    open_service: Service, tmp_path: Path, name: str
) -> None:
    service = open_service
    secret = service.get("/webhook-secret").json()["secret"]
    other = service.get("/webhook-secret", key=service.keys[1]).json()["secret"]
    for configured, status in ((secret, 204), (other, 403)):
        with documented_receiver(service, tmp_path, configured, name) as url:
            assert {post_status(url, head) for head in MALFORMED} <= {400, 403}
            batch = submit(service, url)
            assert wait_until(partial(answer_statuses, service, batch))[0] == status


def test_no_webhook_reaches_a_loopback_address(shared_service: Service, hook: Receiver) -> None:
    block = shared_service.chain.mine(2) - 1
    submitted = []
    for host in LOOPBACK:
        content = request({31337: {block: accounts(HOLDER)}})
        content["webhook"] = {"url": f"http://{host}:{hook.port}/hook"}
        answer = shared_service.post("/submit-batch-query", content)
        # Some names are refused at once.
        assert answer.status_code == 200 or answer.json()["code"] == "webhook_malformed"
        submitted += [answer.json()["internalId"]] if answer.ok else []
    shared_service.wait(*submitted)
    for batch in submitted:
        assert wait_until(partial(answer_statuses, shared_service, batch)) == [None]
        assert delivery(shared_service, batch)["attempts"][0]["fault"]
    assert hook.deliveries == []
