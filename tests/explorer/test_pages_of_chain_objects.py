"""The pages of blocks, accounts, transactions, registries and routes."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Account
from explorer.pages import chain_objects
from queries.database import daily_counts
from queries.models import Batch, ChainRecord, NodeRecord, Query, SentTransaction
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    OTHER,
    prove,
    submit_accounts,
    submit_balances,
)
from tests.queries.api.batch_states import HASHES, send_transaction
from tests.queries.api.served_api import (
    HERE,
    OPTIMISM,
    ROUTES,
    SEPOLIA,
    make_key,
    record_head,
    submitted,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

ACCOUNT = f"/explorer/account/{ADDRESS}"
TRANSACTION = f"/explorer/transaction/{SEPOLIA}/{HASHES[0]}"
REGISTRY = f"/explorer/registry/{SEPOLIA}/{ROUTES.registries[SEPOLIA, SEPOLIA].address}"
PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"


def _get(address: str) -> Any:
    return Client().get(address)


def _text(address: str) -> str:
    """The visible text, on one line."""
    answer = _get(address)
    assert answer.status_code == 200
    return " ".join(re.sub("<[^>]*>", " ", answer.text).split())


@pytest.mark.parametrize("page", [ACCOUNT, PAGE, TRANSACTION, "fact", "batch"])
def test_pages_say_if_an_account_is_proven_not_to_exist(page: str) -> None:
    zero, storage, code = f"{0:064x}", EMPTY_TRIE_ROOT.hex(), EMPTY_CODE_HASH.hex()
    words = {"NONCE": zero, "BALANCE": zero, "STORAGE_ROOT": storage, "CODE_HASH": code}
    batch = submit_accounts({ADDRESS: {"props": list(words)}})
    prove(batch, nonce=0)
    urls = {
        "fact": f"/explorer/fact/{SEPOLIA}/{BLOCK}/{ADDRESS}/NONCE",
        "batch": f"/explorer/query/{batch}",
    }
    for exists in (True, False):
        words["NONCE"] = f"{exists:064x}"
        Query.objects.filter(batch=batch).update(values=words)
        assert ("No such account" in _text(urls.get(page, page))) is not exists


def test_an_account_page_lists_facts_by_block_and_charts_the_balance() -> None:
    prove(submit_balances(blocks=3))
    prove(submit_accounts({OTHER: {"props": ["BALANCE"]}}, BLOCK + 9))
    text = _get(ACCOUNT).text
    blocks = re.findall(rf'data-name="Block"><a href="/explorer/block/{SEPOLIA}/(\d+)"', text)
    assert blocks == [str(BLOCK + number) for number in (2, 1, 0)]
    words = _text(ACCOUNT)
    assert f"rose by 2 ETH from block {BLOCK:,} to block {BLOCK + 2:,}, to 23 ETH" in words
    assert text.count("<svg class=") == 1
    assert "21 ETH 21,000,000,000,000,000,000" in words  # in the table
    assert 'href="https://scan.example/address/' in text
    assert "style=" not in text


def test_names_are_escaped_and_marked_as_unproven() -> None:
    batch = submit_accounts({"example.eth": {"props": ["BALANCE"]}})
    Query.objects.filter(batch=batch).update(account=ADDRESS)
    prove(batch)
    words = _text(ACCOUNT)
    assert "Asked for as example.eth . " in words
    assert "state, not the link from a name to the address." in words
    hostile = "<b>\u202ex</b>"
    Query.objects.filter(batch=batch).update(name=hostile)
    for address in (ACCOUNT, PAGE, f"/explorer/query/{batch}"):
        text = _get(address).text
        assert "<b>" not in text
        assert "\u202e" not in text
    assert "<bdi>&lt;b&gt;" in _get(ACCOUNT).text


def test_facts_are_paged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_objects, "FACTS_PER_PAGE", 2)
    prove(submit_balances(blocks=2))
    prove(submit_balances(blocks=3))
    blocks, address = [], ACCOUNT
    for _ in range(9):
        text = _get(address).text
        blocks += re.findall(rf'data-name="Block"><a href="/explorer/block/{SEPOLIA}/(\d+)"', text)
        older = re.search(r'<a href="([^"]+)" rel="next"', text)
        if not older:
            break
        address = ACCOUNT + older[1].replace("&amp;", "&")
    assert blocks == [str(BLOCK + number) for number in (2, 1, 1, 0, 0)]
    assert 'rel="prev"' in text


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"mined_block": None, "mined_hash": "", "gas_used": None}, "signed, not sent yet"),
        ({"succeeded": False}, "mined, and failed"),
        ({"succeeded": True}, "mined, being confirmed"),
        (
            {"mined_block": None, "mined_hash": "", "gas_used": None, "confirmed": True},
            "never mined: another transaction used its nonce",
        ),
    ],
)
def test_the_status_of_a_transaction(changes: dict[str, object], status: str) -> None:
    send_transaction(submit_balances())
    SentTransaction.objects.update(**changes)
    assert status in _text(TRANSACTION)


def test_a_registry_page_says_who_is_trusted_and_what_is_proven() -> None:
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    prove(submit_balances(count=2, blocks=2))
    words = _text(REGISTRY)
    assert "No one: the contract reads block hashes from Sepolia itself." in words
    assert "Unverifiable. The address does not prove what the constructor wrote" in words
    assert "Unverifiable" in _text("/explorer/routes")
    assert "8 facts of Sepolia, proven by this server, can be read on Sepolia." in words
    assert "blocks with facts 2" in words
    assert f"block {BLOCK + 70:,}, final up to {BLOCK + 70:,} seen " in words
    assert "accountField(account, blockNumber, 1)); Copy" in words
    assert f'href="{PAGE}"' in _get(REGISTRY).text
    far = ROUTES.registries[SEPOLIA, OPTIMISM].address
    empty = _text(f"/explorer/registry/{OPTIMISM}/{far}")
    assert "OP Mainnet alone" in empty
    assert "No batch on this server has asked for a block of Sepolia yet." in empty
    assert "no prover has seen a block yet" in empty


def test_routes_list_chains_and_registries() -> None:
    words = _text("/explorer/routes")
    for label in (
        *("Sepolia → OP Mainnet", "SN_SEPOLIA", "free", "for a fee", "native · trusts nobody"),
        *("attested · 2 of 2 signers", ROUTES.registries[SEPOLIA, OPTIMISM].address),
    ):
        assert label in words
    assert "127.0.0.1" not in words  # a node's address may hold a key


def test_a_route_says_what_its_facts_have_cost() -> None:
    assert "No fact is proven yet." in _text("/explorer/routes")
    prove(submit_balances())
    gas = daily_counts.route_gas_key(SEPOLIA, SEPOLIA)
    daily_counts.add_counts(timezone.now(), {gas: 600_000})
    seconds = timedelta(seconds=754)
    Batch.objects.update(submitted_at=timezone.now(), ended_at=timezone.now() + seconds)
    for address in ("/explorer/routes", REGISTRY):
        words = _text(address)
        for figure in ("facts proven 3", "DONE 12 min 34 s", "gas a fact 200,000"):
            assert figure in words
    assert "drawn here after a week" in _text("/explorer/routes")
    daily_counts.add_counts(timezone.now() - timedelta(days=7), {gas: 300_000})
    for address in ("/explorer/routes", REGISTRY):
        assert "300,000 gas a fact in the last 8 days" in _text(address)


@pytest.mark.parametrize(
    ("windows", "label", "blocks_back"),
    [
        ([None, None], "not measured yet", None),
        ([127, None, 1_500], "the last 1,500 blocks", 1_500),
        ([8_191], "the last 8,191 blocks or more", 8_191),
        ([-1], "no block", -1),
    ],
)
def test_the_proof_window_is_that_of_the_best_node(
    windows: list[int | None], label: str, blocks_back: int | None
) -> None:
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    for position, window in enumerate(windows, 1):
        NodeRecord.objects.create(
            chain=SEPOLIA, position=position, recorded_at=timezone.now(), proof_window=window
        )
    assert f" free {label} block {BLOCK + 70:,}" in _text("/explorer/routes")
    reach = _text(REGISTRY).partition("How far back")[2]
    assert label in reach.partition("Can I")[0]
    connections = _get("/chain-connections").json()["connections"]
    back = {route["originChainId"]: route["blocksBack"] for route in connections}
    assert back == {str(SEPOLIA): blocks_back, str(OPTIMISM): None}


def test_pages_and_api_show_a_lowered_horizon() -> None:
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    address = REGISTRY.rpartition("/")[2]
    for horizon, is_lowered in ((4_102_444_800, False), (1_900_000_000, True)):
        ChainRecord.objects.update(state_horizons={address: horizon})
        assert (
            "No accounts from 2030-03-17T17:46:40Z on" in _text("/explorer/routes")
        ) is is_lowered
        words = _text(REGISTRY).partition("How far back")[2]
        assert "Headers before 2100-01-01T00:00:00Z are accepted." in words
        assert ("of blocks from 2030-03-17T17:46:40Z on" in words) is is_lowered
        connections = _get("/chain-connections").json()["connections"]
        (route,) = (route for route in connections if route["registry"] == address)
        assert route["horizon"] == "2100-01-01T00:00:00.000Z"
        assert (route["stateHorizon"] == "2030-03-17T17:46:40.000Z") is is_lowered


INVALID_URLS = [
    f"/explorer/{page}"
    for page in (
        "block/424242/1", f"block/{SEPOLIA}/-1", f"block/{SEPOLIA}/{2**63}", f"block/{SEPOLIA}/007",
        f"block/{SEPOLIA}/٣", f"block/{SEPOLIA}/1%00", f"block/{SEPOLIA}/1?before=x",
        "account/0x12", f"account/{ADDRESS}?chain=-1", f"account/0x{'g' * 40}",
        f"transaction/{SEPOLIA}/0x{'a' * 64}", f"registry/{SEPOLIA}/{ADDRESS}", "query/x",
    )
]  # fmt: skip


def test_invalid_urls_are_not_found() -> None:
    send_transaction(submit_balances())
    for address in INVALID_URLS:
        answer = _get(address)
        assert answer.status_code == 404, address
        assert "There is nothing at this address" in answer.text


def test_public_pages_show_nothing_private() -> None:
    content = {
        "destinationChainId": str(SEPOLIA),
        "fee": "0",
        "data": {str(SEPOLIA): {f"block:{BLOCK}": {"accounts": {ADDRESS: {"props": ["NONCE"]}}}}},
        "webhook": {"url": "https://hook.example/secret", "headers": {"X-Mine": "hunter2"}},
    }
    key = make_key(OTHER)
    batch = submitted(key, content)
    prove(batch, nonce=1)
    owner = Account.objects.get().address
    pages = (PAGE, ACCOUNT, TRANSACTION, REGISTRY, "/explorer/routes", "/explorer/batches")
    for address in (*pages, f"/explorer/query/{batch}"):
        text = _get(address).text
        for private in ("hunter2", "hook.example", key, owner, OTHER[:6], "Key "):
            assert private not in text
