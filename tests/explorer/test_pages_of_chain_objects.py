"""The pages of blocks, accounts, transactions, registries and routes."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Account
from explorer.pages import fact_rows
from queries.database import statistics
from queries.models import (
    Batch,
    BlockJob,
    ChainRecord,
    Fact,
    NodeRecord,
    Query,
    SentTransaction,
    Share,
)
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from tests.explorer.page_text import page_text
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    OTHER,
    attach,
    header_of,
    prove,
    set_word,
    submit_accounts,
    submit_balances,
)
from tests.queries.api.batch_states import BEGIN, HASHES, send_transaction
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
GWEI = 10**9
NOT_MINED = {"mined_block": None, "mined_hash": "", "gas_used": None}
TRANSACTION = f"/explorer/transaction/{SEPOLIA}/{HASHES[0]}"
REGISTRY = f"/explorer/registry/{SEPOLIA}/{ROUTES.registries[SEPOLIA, SEPOLIA].address}"
PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"


def _get(address: str) -> Any:
    return Client().get(address)


@pytest.mark.parametrize("page", [ACCOUNT, PAGE, TRANSACTION, "fact", "batch"])
def test_pages_say_if_an_account_is_proven_not_to_exist(page: str) -> None:
    storage, code = int.from_bytes(EMPTY_TRIE_ROOT), int.from_bytes(EMPTY_CODE_HASH)
    words = {"NONCE": 0, "BALANCE": 0, "STORAGE_ROOT": storage, "CODE_HASH": code}
    batch = submit_accounts({ADDRESS: {"props": list(words)}})
    prove(batch, nonce=0)
    urls = {
        "fact": f"/explorer/fact/{SEPOLIA}/{BLOCK}/{ADDRESS}/NONCE",
        "batch": f"/explorer/query/{batch}",
    }
    for exists in (True, False):
        words["NONCE"] = exists
        for name, word in words.items():
            set_word(batch, name, word)
        assert ("No such account" in page_text(urls.get(page, page))) is not exists


def _facts(address: str) -> list[str]:
    """The facts that a page links to, as block and field or slot."""
    links = re.findall(r'href="/explorer/fact/\d+/(\d+)/\w+/(\w+)', _get(address).text)
    return [f"{int(block) - BLOCK} {name.removeprefix('0x').lstrip('0')}" for block, name in links]


def _all_facts(address: str) -> list[str]:
    """Those of all pages of the list."""
    facts, page = [], address
    while page:
        facts += _facts(page)
        older = re.search(r'<a href="([^"]+)" rel="next"', _get(page).text)
        page = address + older[1].replace("&amp;", "&") if older else ""
    return facts


def test_a_page_of_facts_links_to_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_rows, "FACTS_PER_PAGE", 3)
    prove(submit_balances(blocks=3))

    def follow(address: str, rel: str) -> str:
        link = re.search(rf'<a href="([^"]+)" rel="{rel}"', _get(address).text)
        assert link, address
        return ACCOUNT + link[1]

    second = follow(ACCOUNT, "next")
    third = follow(second, "next")
    assert _facts(follow(third, "prev")) == _facts(second)


def test_an_account_page_begins_with_the_newest_balance() -> None:
    batch = submit_balances(blocks=3)
    prove(batch)
    prove(submit_accounts({OTHER: {"props": ["BALANCE"]}}, BLOCK + 9))
    text, words = _get(ACCOUNT).text, page_text(ACCOUNT)
    sentence = f"0xd8dA…6045 on Sepolia: balance 23 ETH at block {BLOCK + 2:,}, the newest proven"
    assert f'<h1 class="headline"><code>{ADDRESS}</code></h1>' in text
    assert f"balance at block {BLOCK + 2:,} readable on Sepolia 23 ETH" in words
    assert f"<title>{sentence} · Tacitus</title>" in text
    assert f'<meta name="description" content="{sentence}.">' in text
    assert "9 facts proven" in re.sub(r"(facts proven) (\d+)", r"\2 \1", words)
    assert _facts(ACCOUNT) == [
        f"{n} {name}" for n in (2, 1, 0) for name in ("NONCE", "BALANCE", "1")
    ]
    assert text.count(f'href="/explorer/query/{batch}') == 3  # in each block's row
    assert f"rose by 2 ETH from block {BLOCK:,} to block {BLOCK + 2:,}, to 23 ETH" in words
    assert f'href="https://scan.example/address/{ADDRESS}' in text
    assert f'/dashboard/new-batch?source={SEPOLIA}&amp;account={ADDRESS}"' in text
    assert "style=" not in text
    set_word(batch, "BALANCE", 21 * 10**18)
    sentence = f"The balance was 21 ETH in all 3 blocks proven, from block {BLOCK:,} to block"
    assert sentence in page_text(ACCOUNT)


def test_an_account_page_draws_a_balance_that_changed() -> None:
    batches = [submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, BLOCK + n) for n in (0, 3, 7, 9)]
    for batch, ether in zip(batches, (100, 100, 123, 123), strict=True):
        prove(batch)
        set_word(batch, "BALANCE", ether * 10**18)
    words = page_text(ACCOUNT)
    assert "Balance rose by 23 ETH from block " in words
    assert f"{BLOCK:,} to {BLOCK + 3:,} 100 ETH 2 blocks" in words
    assert f"{BLOCK + 7:,} to {BLOCK + 9:,} 123 ETH 2 blocks" in words
    assert "The blocks between two dots are not proven." in words
    text = _get(ACCOUNT).text
    assert text.count("<circle") == 4
    assert text.index("<circle") < text.index('id="facts"')
    set_word(batches[3], "BALANCE", 100 * 10**18)
    words = page_text(ACCOUNT)
    assert "Balance is 100 ETH at block " in words
    assert f" {BLOCK + 7:,} 123 ETH 1 block {BLOCK + 9:,} 100 ETH 1 block" in words
    set_word(batches[2], "BALANCE", 100 * 10**18)
    assert "<circle" not in _get(ACCOUNT).text
    Fact.objects.filter(block__gt=BLOCK).delete()
    assert "<circle" not in _get(ACCOUNT).text


def test_a_fact_that_several_batches_asked_for_stands_once() -> None:
    batches = [submit_balances() for _ in range(4)]
    for batch in batches:
        prove(batch)
    for page in (ACCOUNT, PAGE):
        assert _facts(page) == ["0 NONCE", "0 BALANCE", "0 1"]
        text = _get(page).text
        for batch in batches[1:]:
            assert f'href="/explorer/query/{batch}?query=0#query-0"' in text
        assert "and 1 more" in page_text(page)


def test_an_account_has_facts_on_each_chain() -> None:
    prove(submit_balances())
    prove(submit_accounts({ADDRESS: {"props": ["NONCE"]}}, BLOCK + 1, source=OPTIMISM))
    words = page_text(f"{ACCOUNT}?chain={OPTIMISM}")
    assert f"0xd8dA…6045 on OP Mainnet: 1 fact proven, the newest at block {BLOCK + 1:,}" in words
    assert _facts(f"{ACCOUNT}?chain={OPTIMISM}") == ["1 NONCE"]
    assert "on Sepolia: balance 21 ETH" in page_text(f"{ACCOUNT}?chain={SEPOLIA}")
    for chain in (OPTIMISM, SEPOLIA):
        assert f'<a href="?chain={chain}"' in _get(ACCOUNT).text


def test_pages_without_facts_offer_to_prove_something() -> None:
    form = "/dashboard/new-batch?"
    account, block = _get(ACCOUNT).text, _get(PAGE).text
    assert "Nothing about this account has been requested yet." in account
    assert f'{form}account={ADDRESS}">Prove a fact of this account</a>' in account
    assert f"Block {BLOCK:,} of Sepolia</h1>" in block
    assert "Nothing about this block has been requested yet." in block
    assert f'{form}source={SEPOLIA}&amp;block={BLOCK}">Prove a fact of this block</a>' in block
    batch = submit_balances()
    for is_attached in (False, True):
        assert "0xd8dA…6045 on Sepolia: nothing is proven yet" in page_text(ACCOUNT)
        assert f"Block {BLOCK:,} of Sepolia: not final yet" in page_text(PAGE)
        assert page_text(PAGE).count("being proven") == 3 * is_attached
        attach(batch)
        BlockJob.objects.update(header=b"", due_at=timezone.now())
    attach(submit_accounts({OTHER: {"props": ["NONCE"]}}))
    Query.objects.filter(batch=batch).update(has_ended=True, failed=True)
    assert page_text(PAGE).count("being proven") == 1
    assert page_text(PAGE).count("not proven") == 3


def test_a_block_page_counts_its_facts_and_names_its_registries() -> None:
    prove(submit_balances(count=2))
    header = submit_accounts({OTHER: {"props": ["NONCE"]}}, header=["TIMESTAMP", "GAS_LIMIT"])
    prove(header, nonce=0)
    words = page_text(PAGE)
    assert f"Block {BLOCK:,} of Sepolia: 7 facts of 3 accounts and the header" in words
    assert "readable on Sepolia mined 2025-11-04 04:57:" in words  # of `header_of`
    assert "in the registry on Sepolia native · trusts nobody" in words
    assert _facts(PAGE)[:2] == ["0 GAS_LIMIT", "0 TIMESTAMP"]
    assert len(_facts(PAGE)) == 7
    block_hash = header_of(BLOCK).hash.hex()
    assert f'data-copy="0x{block_hash}"' in _get(PAGE).text
    Fact.objects.exclude(account="").delete()
    assert "of Sepolia: 2 facts of its header" in page_text(PAGE)


def test_names_are_escaped_and_marked_as_unproven() -> None:
    batch = submit_accounts({"example.eth": {"props": ["BALANCE"]}})
    Query.objects.filter(batch=batch).update(account=ADDRESS)
    prove(batch)
    words = page_text(ACCOUNT)
    assert "Asked for as example.eth . " in words
    assert "state, not the link from a name to the address." in words
    hostile = "<b>\u202ex</b>"
    Query.objects.filter(batch=batch).update(name=hostile)
    for address in (ACCOUNT, PAGE, f"/explorer/query/{batch}"):
        text = _get(address).text
        assert "<b>" not in text
        assert "\u202e" not in text
    assert "<bdi>&lt;b&gt;" in _get(ACCOUNT).text


@pytest.mark.parametrize("facts", [2, 4, 50])
def test_each_fact_is_on_one_page_and_pages_end_with_a_block(
    monkeypatch: pytest.MonkeyPatch, facts: int
) -> None:
    monkeypatch.setattr(fact_rows, "FACTS_PER_PAGE", facts)
    prove(submit_balances(blocks=2))
    prove(submit_balances(blocks=3))
    names = ("NONCE", "BALANCE", "1")
    all_facts = [f"{n} {name}" for n in (2, 1, 0) for name in names]
    assert sorted(_all_facts(ACCOUNT)) == sorted(all_facts)
    if facts > len(names):
        assert _all_facts(ACCOUNT) == all_facts
        assert len(_facts(ACCOUNT)) % len(names) == 0
    prove(submit_balances(count=5))
    assert sorted(_all_facts(PAGE)) == sorted(
        [*(f"0 {name}" for name in names), *["0 BALANCE"] * 4]
    )


def test_a_list_shows_the_first_of_many_slots_and_counts_the_others() -> None:
    slots = [f"0x{slot:x}" for slot in range(40)]
    prove(submit_accounts({ADDRESS: {"props": ["NONCE"], "slots": slots}}), nonce=0)
    for page in (ACCOUNT, PAGE, TRANSACTION):
        words = page_text(page)
        assert "30 more slots" in words
        assert "41 facts" in words
        assert len(_all_facts(page)) == 11


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        (NOT_MINED, "is signed, not sent yet: at most 200,000 gas, 0.0002 gwei"),
        ({**NOT_MINED, "sent_at": BEGIN}, "is sent, not mined yet: at most 200,000 gas"),
        ({**NOT_MINED, "confirmed": True}, "was never mined: another transaction used its nonce"),
        ({"succeeded": False}, "failed and proved nothing: 170,480 gas, 0.00034096 ETH"),
        ({}, "proved 3 facts for 2 batches: 170,480 gas, 0.00034096 ETH"),
        (
            {"data_fee": f"{40 * GWEI:064x}", "max_cost": f"{40 * GWEI:064x}"},
            "proved 3 facts for 2 batches: 170,480 gas, 0.000341 ETH",
        ),
        ({"is_preparation": True}, "recorded a block hash for 2 batches"),
        ({"is_preparation": True, "hops": 3}, "accumulated earlier blocks by 3 hops for 2 batches"),
    ],
)
def test_a_transaction_page_begins_with_the_result(changes: dict[str, object], status: str) -> None:
    batches = [submit_balances(), submit_balances()]
    prove(batches[0])
    sent = send_transaction(batches[0])
    for batch in batches:
        Share.objects.create(transaction=sent, batch_id=batch, max_cost=f"{1:064x}")
    SentTransaction.objects.update(**{"succeeded": True, "gas_price": f"{2 * GWEI:064x}"} | changes)
    text = page_text(TRANSACTION)
    hash_ = "0x1111…1111" if sent.mined_hash and "mined_block" not in changes else "0x2222…2222"
    assert f"Transaction {hash_} on Sepolia {status}" in text
    for batch in batches:
        assert f'<a href="/explorer/query/{batch}">' in _get(TRANSACTION).text


def test_a_transaction_page_has_shares_confirmations_and_replaced_hashes() -> None:
    batches = [submit_balances(), submit_balances()]
    sent = send_transaction(batches[0])
    for batch, paid in zip(batches, (30, 10), strict=True):
        Share.objects.create(
            transaction=sent,
            batch_id=batch,
            max_cost=f"{1:064x}",
            paid=f"{paid * 8_524 * GWEI:064x}",
        )
    SentTransaction.objects.update(succeeded=True, gas_price=f"{2 * GWEI:064x}")
    record_head(SEPOLIA, number=6_000_000, timestamp=1)
    words = page_text(TRANSACTION)
    assert "mined, being confirmed 1 of 1 confirmation" in words
    assert words.count("once it is confirmed") == 2
    SentTransaction.objects.update(confirmed=True)
    words = page_text(TRANSACTION)
    assert "mined and confirmed 1 block deep, 1 required" in words
    assert "127,860 0.00025572 ETH" in words
    assert "42,620 0.00008524 ETH" in words
    assert f"nonce, balance and slot 1 of 0xd8dA…6045 · Sepolia, block {BLOCK:,}" in words
    assert f"2 hashes, oldest first, each at a higher fee than the one before: {HASHES[0]}" in words
    assert f"instead of {HASHES[1]}" in page_text(TRANSACTION.replace(HASHES[0], HASHES[1]))


def test_a_registry_page_says_who_is_trusted_and_what_is_proven() -> None:
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    prove(submit_balances(count=2, blocks=2))
    words = page_text(REGISTRY)
    assert "No one: the contract reads block hashes from Sepolia itself." in words
    assert "Unverifiable. The address does not prove what the constructor wrote" in words
    assert "unverifiable" in page_text("/explorer/routes")
    assert "8 facts of Sepolia, proven by this server, can be read on Sepolia." in words
    assert "Blocks 2 have facts" in words
    assert f"block {BLOCK + 70:,}, final up to {BLOCK + 70:,} seen " in words
    assert "accountField(account, blockNumber, 1)); Copy" in words
    assert f'href="{PAGE}"' in _get(REGISTRY).text
    assert f"{BLOCK + 1:,} 2025-11-04 04:57:" in words
    job = BlockJob.objects.create(source=SEPOLIA, destination=SEPOLIA, block=BLOCK + 60)
    assert f"{BLOCK + 60:,}" not in page_text(REGISTRY)  # nothing of it was proven
    BlockJob.objects.filter(pk=job.pk).update(due_at=timezone.now())
    assert f"{BLOCK + 60:,}" in page_text(REGISTRY)  # not final yet
    far = ROUTES.registries[SEPOLIA, OPTIMISM].address
    empty = page_text(f"/explorer/registry/{OPTIMISM}/{far}")
    assert "OP Mainnet alone" in empty
    assert "No batch on this server has asked for a block of Sepolia yet." in empty
    assert "no prover has seen a block yet" in empty


def test_routes_list_chains_and_registries() -> None:
    words = page_text("/explorer/routes")
    for label in (
        *("Sepolia → OP Mainnet", "SN_SEPOLIA", "free", "for a fee", "native · trusts nobody"),
        *("attested · 2 of 2 signers", ROUTES.registries[SEPOLIA, OPTIMISM].address),
    ):
        assert label in words
    assert "127.0.0.1" not in words  # a node's address may hold a key


def test_a_route_says_what_its_facts_have_cost() -> None:
    assert "no fact yet" in page_text("/explorer/routes")
    prove(submit_balances())
    gas = statistics.route_gas_key(SEPOLIA, SEPOLIA)
    statistics.add_counts(timezone.now(), {gas: 600_000})
    seconds = timedelta(seconds=754)
    Batch.objects.update(submitted_at=timezone.now(), ended_at=timezone.now() + seconds)
    for address in ("/explorer/routes", REGISTRY):
        words = page_text(address)
        for figure in ("12 min 34 s", "200,000"):
            assert figure in words
    assert "facts proven 3" in page_text(REGISTRY)
    statistics.add_counts(timezone.now() - timedelta(days=7), {gas: 300_000})
    assert "300,000 gas a fact in the last 8 days" in page_text(REGISTRY)


@pytest.mark.parametrize(
    ("windows", "label", "blocks_back"),
    [
        ([None, None], "not measured yet", None),
        ([127, None, 1_500], f"the last 1,500 blocks (from {BLOCK - 1_430:,} on)", 1_500),
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
    assert label in page_text("/explorer/routes").partition("Registries")[2]
    _, heading, reach = page_text(REGISTRY).partition("How far back")
    assert heading
    assert label in reach.partition("Can I")[0]
    connections = _get("/chain-connections").json()["connections"]
    names = ("newestBlock", "finalBlock", "blocksBack")
    reach_of_routes = {
        (int(route["originChainId"]), int(route["destinationChainId"])): [
            route[name] for name in names
        ]
        for route in connections
    }
    head, parent = str(BLOCK + 70), str(BLOCK + 69)  # a chain's own blocks need one on top
    assert reach_of_routes == {
        (SEPOLIA, SEPOLIA): [head, parent, blocks_back],
        (SEPOLIA, OPTIMISM): [head, head, blocks_back],
        (OPTIMISM, SEPOLIA): [None, None, None],
        (OPTIMISM, OPTIMISM): [None, None, None],
    }


def test_pages_and_api_show_a_lowered_horizon() -> None:
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    address = REGISTRY.rpartition("/")[2]
    for horizon, is_lowered in ((4_102_444_800, False), (1_900_000_000, True)):
        ChainRecord.objects.update(state_horizons={address: horizon})
        assert (
            "No accounts from 2030-03-17T17:46:40Z on" in page_text("/explorer/routes")
        ) is is_lowered
        _, heading, words = page_text(REGISTRY).partition("How far back")
        assert heading
        assert "Headers of 2100-01-01T00:00:00Z or later are refused" in words
        assert ("of blocks from 2030-03-17T17:46:40Z on" in words) is is_lowered
        connections = _get("/chain-connections").json()["connections"]
        (route,) = (route for route in connections if route["registry"] == address)
        assert route["horizon"] == "2100-01-01T00:00:00.000Z"
        assert (route["stateHorizon"] == "2030-03-17T17:46:40.000Z") is is_lowered


def test_a_registrys_page_says_what_a_false_hash_does() -> None:
    for registry in ROUTES.registries.values():
        words = page_text(f"/explorer/registry/{registry.destination}/{registry.address}")
        trust = words.partition("Whom to trust")[2].partition("Read it")[0]
        is_said = "end the registry for its whole past" in trust
        assert is_said is (registry.kind != "native"), registry.kind


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
    data = {str(SEPOLIA): {f"block:{BLOCK}": {"accounts": {ADDRESS: {"props": ["NONCE"]}}}}}
    webhook = {"url": "https://hook.example/secret", "headers": {"X-Mine": "hunter2"}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data, "webhook": webhook}
    key = make_key(OTHER)
    batch = submitted(key, content)
    prove(batch, nonce=1)
    owner = Account.objects.get().address
    pages = (PAGE, ACCOUNT, TRANSACTION, REGISTRY, "/explorer/routes", "/explorer/batches")
    for address in (*pages, f"/explorer/query/{batch}"):
        text = _get(address).text
        for private in ("hunter2", "hook.example", key, owner, OTHER[:6], "Key "):
            assert private not in text
