"""The pages of registries that check a sync committee, and of the facts in them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from queries.models import ChainRecord, LightClient, RegistryRecord, SentTransaction
from queries.proving.beacon_chains import BEACON_CHAINS
from queries.sources.beacon import BeaconRegistry
from queries.sources.registry import Registry, with_derived_address
from tests.explorer.page_text import page_text
from tests.explorer.proven_facts import fact_page
from tests.explorer.stored_batches import ADDRESS, BLOCK, header_of, prove, submit_accounts
from tests.queries.api.served_api import (
    NODES,
    OPTIMISM,
    ROUTES,
    SEPOLIA,
    make_key,
    record_head,
    submitted,
)
from tests.queries.prover.service import serving

pytestmark = pytest.mark.django_db

LOCAL = 31_337
CHAIN = BEACON_CHAINS[SEPOLIA]
CHECKPOINT = bytes(range(32))
BEACON = BeaconRegistry(SEPOLIA, OPTIMISM, checkpoint=CHECKPOINT)
BEACON = BEACON.with_beacon_chain(replace(CHAIN, forks=CHAIN.forks[-2:]))
BEACON = with_derived_address(BEACON)
REGISTRY = f"/explorer/registry/{OPTIMISM}/{BEACON.address}"
MARK = "beacon · 342 of 512 validators"


@contextmanager
def _serving(beacon: Registry) -> Iterator[None]:
    """Sepolia is proven to OP Mainnet by its sync committees."""
    sepolia = replace(ROUTES.chains[SEPOLIA], beacon=NODES, beacon_checkpoint=CHECKPOINT)
    routes = replace(
        ROUTES,
        chains={**ROUTES.chains, SEPOLIA: sepolia},
        registries={**ROUTES.registries, (SEPOLIA, OPTIMISM): beacon},
    )
    with serving(None, routes):  # type: ignore[arg-type]  # no page asks a node
        yield


@pytest.fixture(autouse=True)
def routes() -> Iterator[None]:
    with _serving(BEACON):
        yield


def _finalize(block: int, moment: datetime) -> None:
    """Store that a block was made at this time, and that 507 validators say it is final."""
    slot = (int(moment.timestamp()) - CHAIN.genesis_time) // CHAIN.seconds_per_slot
    LightClient.objects.create(
        chain=SEPOLIA,
        checkpoint=CHECKPOINT.hex(),
        period=1_234,
        finalized_slot=slot,
        block_hash=header_of(block).hash.hex(),
        block_number=block,
        signers=507,
    )


def _record(block: int, *, to: str = BEACON.address, succeeded: bool | None = True) -> None:
    """Store a transaction that records the hash of this block."""
    SentTransaction.objects.create(
        chain=OPTIMISM,
        sender=ADDRESS,
        nonce=SentTransaction.objects.count(),
        to=to,
        max_fee=f"{0:064x}",
        gas_limit=0,
        max_cost=f"{0:064x}",
        is_preparation=True,
        recorded_block=block,
        signed_at=timezone.now(),
        succeeded=succeeded,
    )


def _prove_time(block: int) -> str:
    """A batch with a block's time, proven by a transaction of its own."""
    content = {
        "destinationChainId": str(OPTIMISM),
        "fee": "1000",
        "data": {str(SEPOLIA): {f"block:{block}": {"header": ["TIMESTAMP"]}}},
    }
    batch = submitted(make_key(), content)
    prove(batch, nonce=0)
    return batch


def _levels(batch: str) -> list[tuple[str, str]]:
    """Names and details of the levels of the drawn proof."""
    html = fact_page(batch, "TIMESTAMP").text
    form = r'<div class="level">\s*<strong>([^<]+)</strong>\s*<span class="faded">([^<]*)</span>'
    return re.findall(form, html)


def test_a_registrys_page_shows_what_its_sync_committee_has_signed() -> None:
    _finalize(BLOCK, timezone.now() - timedelta(minutes=16))
    _record(BLOCK - 40)
    _record(BLOCK - 80)
    words = page_text(REGISTRY)
    assert MARK in words
    for figure in (
        "validators signed the last update 507 of 512",
        "committee period of 27 hours each 1,234",
        f"final block made 16 minutes ago {BLOCK:,}",
        f"recorded block {BLOCK - 40:,}",
    ):
        assert figure in words
    assert "stops at a fork that it does not know" in words
    assert f"0x{CHECKPOINT.hex()}" in words
    link = f'href="https://sepolia.beaconcha.in/slot/0x{CHECKPOINT.hex()}"'
    assert link in Client().get(REGISTRY).text


def test_a_registrys_page_tells_how_old_the_newest_recorded_block_is() -> None:
    """Of a block other than the final one, the time is estimated from those that are known."""
    now = timezone.now()
    _finalize(BLOCK, now - timedelta(minutes=16))
    for block, minutes in ((BLOCK - 80, 32), (BLOCK - 40, 24), (BLOCK, 16)):
        _record(block)
        if block != BLOCK:
            assert f"recorded block {block:,}" in page_text(REGISTRY)  # nothing is known of it yet
            head = int((now - timedelta(minutes=14)).timestamp())
            record_head(SEPOLIA, number=BLOCK + 10, timestamp=head)
            ChainRecord.objects.update(block_times=[(BLOCK - 990, head - 12_000)])
        assert f"recorded block made {minutes} minutes ago {block:,}" in page_text(REGISTRY)
        ChainRecord.objects.all().delete()


def test_a_registrys_page_compares_it_with_the_known_beacon_chain() -> None:
    known = "slot length, forks and maximum age are those of Sepolia"
    words = page_text(REGISTRY)
    assert known in words
    assert "Not the known beacon chain" not in words
    assert "not genuine" not in page_text("/explorer/routes")
    *forks, last = BEACON.fork_table
    graffiti = (*last[:-1], 18)
    forged = replace(BEACON, max_age=10**9, fork_table=(*forks, graffiti), genesis_time=1)
    forged = with_derived_address(forged)
    with _serving(forged):
        words = page_text(f"/explorer/registry/{OPTIMISM}/{forged.address}")
        assert "not genuine" in page_text("/explorer/routes")
    assert known not in words
    assert "Not the known beacon chain. This registry can record false hashes" in words
    for sentence in (
        "The genesis time is 1, not 1655733600.",
        "The fork 0x90000076 has blockHash 18, not 2856.",
        "The maximum age is 1,000,000,000 seconds, more than 604,800 (7 days).",
    ):
        assert sentence in words


def test_a_registrys_page_says_that_an_unknown_beacon_chain_is_not_compared() -> None:
    """A local chain is not known here."""
    chain = replace(ROUTES.chains[SEPOLIA], id=LOCAL, name="Local", beacon=NODES)
    local = replace(BEACON, source=LOCAL)
    local = with_derived_address(local)
    chains = {**ROUTES.chains, LOCAL: chain}
    routes = replace(ROUTES, chains=chains, registries={(LOCAL, OPTIMISM): local})
    with serving(None, routes):  # type: ignore[arg-type]  # no page asks a node
        words = page_text(f"/explorer/registry/{OPTIMISM}/{local.address}")
    assert "are not compared, because this release does not know the beacon chain of Local" in words
    assert "Compare them with a node of your own" in words
    assert "Not the known beacon chain" not in words


def test_a_registrys_page_without_a_final_or_recorded_block_says_so() -> None:
    words = page_text(REGISTRY)
    assert "This server has checked no final block of Sepolia yet." in words
    assert "512 of 512" not in words
    _finalize(BLOCK, timezone.now())
    assert "recorded block none" in page_text(REGISTRY)


@pytest.mark.parametrize("columns", [{"succeeded": None}, {"succeeded": False}, {"to": ADDRESS}])
def test_neither_an_unmined_update_nor_that_of_another_registry_counts_as_recorded(
    columns: dict[str, Any],
) -> None:
    _finalize(BLOCK, timezone.now())
    _record(BLOCK, **columns)
    assert "recorded block none" in page_text(REGISTRY)
    (name, details), *_ = _levels(_prove_time(BLOCK))
    assert (name, details) == (f"Hash of block {BLOCK:,}", "known to the registry")


def _stay_awake(left: timedelta | None, fault: str = "") -> None:
    """Store how long the registry surely stays awake by the time of its destination."""
    now = timezone.now()
    ChainRecord.objects.filter(chain=OPTIMISM).delete()
    record_head(OPTIMISM, number=BLOCK, timestamp=int(now.timestamp()))
    RegistryRecord.objects.all().delete()
    RegistryRecord.objects.create(
        source=SEPOLIA,
        destination=OPTIMISM,
        address=BEACON.address,
        awake_until=None if left is None else now + left,
        waits_for=fault,
    )


def test_pages_show_until_when_a_registry_stays_awake() -> None:
    assert "Awake until" not in page_text(REGISTRY)
    _stay_awake(timedelta(days=4))
    assert "Awake until" in page_text(REGISTRY)
    assert "A prover reports:" not in page_text(REGISTRY)
    status = page_text("/status")
    assert "only until" not in status
    assert "Beacon registries" not in status  # operators see it
    fault = "No beacon node of Sepolia answers."
    _stay_awake(timedelta(days=1), fault)
    assert f"A prover reports: {fault}" in page_text(REGISTRY)
    assert "Newer blocks of Sepolia are proven on OP Mainnet only until" in page_text("/status")
    _stay_awake(timedelta(hours=-1), fault)  # it may take updates for another period
    assert "The registry has stopped for good." not in page_text(REGISTRY)
    _stay_awake(timedelta(seconds=-1 - BEACON.period_seconds), fault)
    assert "The registry has stopped for good." in page_text(REGISTRY)
    assert "Newer blocks of Sepolia are no longer proven on OP Mainnet" in page_text("/status")


def test_pages_do_not_promise_newer_blocks_of_a_stopped_registry() -> None:
    promises = {
        "/explorer/routes": "once its sync committee has signed",
        REGISTRY: "The newest one can be recorded at any time",
    }
    can_i = f"/explorer/routes?source={SEPOLIA}&to={OPTIMISM}&block={BLOCK}"
    for left in (timedelta(days=4), timedelta(days=-3)):
        _stay_awake(left)
        has_stopped = left < timedelta()
        for page, promise in promises.items():
            text = page_text(page)
            assert (promise in text, "topped for good" in text) == (not has_stopped, has_stopped)
    ChainRecord.objects.filter(chain=SEPOLIA).delete()
    record_head(SEPOLIA, number=BLOCK, timestamp=int(timezone.now().timestamp()))
    answer = page_text(can_i)
    assert "has stopped for good: it learns no newer block" in answer
    assert "nodes prove" not in answer


def test_the_status_page_tells_operators_why_an_update_was_not_sent(settings: LazySettings) -> None:
    settings.STATUS_PAGE = "FULL"
    fault = "The signer has too little funds."
    _stay_awake(timedelta(days=1), fault)
    row = page_text("/status").partition("Beacon registries")[2]
    assert "Sepolia on OP Mainnet stops soon" in row
    assert fault in row


def test_a_registry_that_cannot_begin_is_shown(settings: LazySettings) -> None:
    settings.STATUS_PAGE = "FULL"
    fault = "No beacon node of Sepolia answers."
    _stay_awake(None, fault)
    page = page_text(REGISTRY)
    assert f"Until when it stays awake is not known. A prover reports: {fault}" in page
    status = page_text("/status")
    assert "not known until when newer blocks of Sepolia are proven on OP Mainnet" in status
    assert f"Sepolia on OP Mainnet not known {fault}" in status


def test_a_former_registry_of_the_route_is_not_shown() -> None:
    _stay_awake(timedelta(days=5))
    RegistryRecord.objects.update(address=f"0x{1:040}")
    assert "Awake until" not in page_text(REGISTRY)
    assert "only until" not in page_text("/status")


def test_routes_and_a_batch_name_whom_to_trust() -> None:
    batch = submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, destination=OPTIMISM)
    period = int(timezone.now().timestamp() - CHAIN.genesis_time) // BEACON.period_seconds
    awaited = f"not yet: the sync committee of period {period:,} has to sign"
    assert awaited in page_text(f"/explorer/query/{batch}")
    for page in ("/explorer/routes", f"/explorer/query/{batch}"):
        assert MARK in page_text(page), page
    assert "when its sync committee has signed that it is" in page_text("/explorer/routes")


def test_the_drawn_proof_begins_with_the_signed_beacon_block() -> None:
    block = BLOCK + 100
    _record(block)
    voucher = {"signers": [], "period": 1_234, "signed": 507, "game": ""}
    SentTransaction.objects.update(voucher=voucher, hashes=[f"0x{7:064x}"])
    batch = _prove_time(block)
    slot = (header_of(block).timestamp - CHAIN.genesis_time) // CHAIN.seconds_per_slot
    (beacon, details), (execution, _), (header, _), (value, _) = _levels(batch)
    assert (beacon, details) == ("Beacon block", f"slot {slot:,}, signed by the sync committee")
    assert execution == f"Hash of execution block {block:,}"
    assert header == f"Header of block {block:,}"
    assert value == "Value"
    page = fact_page(batch, "TIMESTAMP")
    assert f"0x{header_of(block).hash.hex()}" in page.text
    assert "507 of 512 validators have signed that it is final" in page.text
    vouched_by = f"507 of 512 validators, the sync committee of period 1,234 signed block {block:,}"
    assert vouched_by in page_text(f"/explorer/query/{batch}")
    assert MARK in page_text(f"/explorer/query/{batch}")
    assert f"beacon block, slot {slot:,}" in page_text(f"/explorer/query/{batch}")


def test_since_gloas_a_later_beacon_block_has_the_hash() -> None:
    first_slot = CHAIN.forks[-1].first_slot
    seconds = CHAIN.start_of(first_slot + 1_000) - header_of(0).timestamp
    block = seconds // 12
    _record(block)
    (name, details), *_ = _levels(_prove_time(block))
    assert (name, details) == ("Beacon block", "signed by the sync committee")


def test_a_proof_that_begins_with_an_earlier_one_names_no_beacon_block() -> None:
    batch = _prove_time(BLOCK)
    (name, details), *_ = _levels(batch)
    assert (name, details) == (f"Hash of block {BLOCK:,}", "known to the registry")
