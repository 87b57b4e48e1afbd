"""The receiver that the API's page shows, run as it stands there: it knows ours from others'."""

import html
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from django.conf import LazySettings

from queries.chain.local_node import LocalNode
from queries.models import WebhookAttempt
from tests.queries.pipeline.service import Service, deliver_all, ended_batch, running_service

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(shared_node: LocalNode, settings: LazySettings) -> Iterator[Service]:
    settings.WEBHOOKS_TO_PRIVATE = True
    with running_service(shared_node) as running:
        yield running


def test_it_takes_what_its_owners_secret_signed(service: Service) -> None:
    page = service.client.get("/docs/api").text
    shown = re.search(r'<code id="receiver">(.*?)</code>', page, re.DOTALL)
    assert shown
    told = service.client.get("/webhook-secret", headers={"api-key": service.key}).json()
    ended: list[tuple[str, int | None, str]] = []
    for secret in (told["secret"], "whs_another"):
        with _running(html.unescape(shown[1]), secret) as (url, program):
            batch = ended_batch(service, url)
            deliver_all(service)
            answered = WebhookAttempt.objects.get(delivery__batch=batch).answered
            program.terminate()
            said, _ = program.communicate(timeout=10)
        ended.append((batch, answered, said))
    (batch, answered, said), (_, refused, nothing) = ended
    event, _, body = said.partition(" ")
    assert (answered, json.loads(body)["batchQueryId"]) == (204, batch)
    assert json.loads(body)["event"] == event
    assert (refused, nothing) == (403, "")


@contextmanager
def _running(source: str, secret: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = subprocess.Popen(
        [sys.executable, "-c", source, str(port)],
        env={**os.environ, "WEBHOOK_SECRET": secret},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/", program
    finally:
        program.kill()
        program.wait()
