"""The proof on the page of a fact is the real one."""

import re
from dataclasses import replace
from typing import Any

import pytest
from eth_utils.crypto import keccak

from accounts.wallets import short_hash
from queries.config.chains import NodeAddress
from queries.models import Proof, Query
from tests.explorer.proven_facts import HOLDER, SLOT, fact_page, proven_batch
from tests.queries.prover.service import CHAIN_ID, Service, serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


def _drawn_nodes(page: Any) -> list[tuple[str, int]]:
    """Hashes and sizes on hover."""
    matches = re.findall(r"<title>(0x[0-9a-f]{64}), ([\d,]+) bytes</title>", page.text)
    return [(node_hash, int(size.replace(",", ""))) for node_hash, size in matches]


def _nodes(encodings: list[str]) -> list[tuple[str, int]]:
    nodes = [bytes.fromhex(encoding[2:]) for encoding in encodings]
    return [(f"0x{keccak(node).hex()}", len(node)) for node in nodes]


def test_the_drawn_nodes_are_those_of_the_chain(service: Service) -> None:
    batch = proven_batch(service)
    block = Query.objects.values_list("block", flat=True).get(batch=batch, position=0)
    proof = service.node.rpc.ask("eth_getProof", HOLDER, [f"0x{SLOT:064x}"], hex(block or 0))
    header = service.header(block or 0)
    state, storage = _nodes(proof["accountProof"]), _nodes(proof["storageProof"][0]["proof"])

    unreachable = (NodeAddress("http://127.0.0.1:1"),)
    chain = replace(service.routes.chains[CHAIN_ID], nodes=unreachable)
    with serving(service.node, replace(service.routes, chains={CHAIN_ID: chain})):
        balance = fact_page(batch, "BALANCE")
        slot = fact_page(batch, f"0x{SLOT:064x}")
        timestamp = fact_page(batch, "TIMESTAMP")
    # The next header is part of the proof, because the batch asks for the block at a time.
    child = service.header((block or 0) + 1)["hash"]
    for page, nodes in ((balance, state), (slot, state + storage)):
        (later, _), *drawn = _drawn_nodes(page)
        assert (later, drawn) == (child, nodes)
    for page in (balance, slot, timestamp):
        assert f'<code class="exact">{header["hash"]}</code>' in page.text
        assert "known by BLOCKHASH" in page.text
    levels = re.findall(r'<div class="level">\s*<strong>([^<]+)</strong>', slot.text)
    trusted = f"Hash of block {(block or 0) + 1:,}"
    header_levels = ["1 later header", f"Header of block {block:,}"]
    tries = ["State trie", "Account", "Storage trie", "Value"]
    assert levels == [trusted, *header_levels, *tries]
    assert f'aria-label="state trie, {len(state)} nodes' in slot.text
    for name, value in (("balance", "123 ETH"), ("storage root", short_hash(proof["storageHash"]))):
        assert f"{name} <code>{value}</code>" in slot.text


def test_a_proof_of_absence_is_explained(service: Service) -> None:
    service.mine(4)
    service.context().head(CHAIN_ID)
    accounts = {f"0x{0xDEAD:040x}": {"props": ["BALANCE"]}}
    batch = service.submit({str(CHAIN_ID): {f"block:{service.head() - 2}": {"accounts": accounts}}})
    service.work(batch)
    text = fact_page(batch, "BALANCE").text
    assert "the proof shows that its place in the trie is empty" in text
    assert "storage root" not in text


def test_the_page_says_that_a_proof_by_others_is_not_stored(service: Service) -> None:
    batch = proven_batch(service)
    Query.objects.update(
        blockhash_transaction=None, header_transaction=None, account_transaction=None
    )
    assert _drawn_nodes(fact_page(batch, "BALANCE"))  # whoever sent them
    Proof.objects.all().delete()
    page = fact_page(batch, "BALANCE")
    assert page.status_code == 200
    assert "The trie nodes are not stored here" in page.text
    assert "accumulated in the registry before" in page.text
    assert "Download the proof" not in page.text
