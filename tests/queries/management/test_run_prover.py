"""`manage.py run_prover` where what it says cannot be written."""

import io
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from queries.engines.alarm import Alarm
from queries.management.commands import run_prover

ROUTES = """
[chains.31337]
name = "Nowhere"
nodes = ["http://127.0.0.1:1"]
finality = 1
free = true
[[registries]]
kind = "native"
source = 31337
destination = 31337
address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""
ENDINGS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture
def signals_as_before() -> Iterator[None]:
    before = {each: signal.getsignal(each) for each in ENDINGS}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.django_db
@pytest.mark.usefixtures("signals_as_before")
def test_a_full_disk_under_its_log_does_not_end_it(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told to end before it begins, and so nobody waits for a node."""
    settings.ROUTES_FILE, settings.SIGNER_KEY = tmp_path / "routes.toml", "0x" + 32 * "01"
    settings.ROUTES_FILE.write_text(ROUTES)
    (ended := Alarm()).stop()
    monkeypatch.setattr(run_prover, "ALARM", ended)
    monkeypatch.setattr(run_prover, "listen", ended.until_stopped)
    with io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True) as full:
        call_command("run_prover", stdout=full, stderr=full)
