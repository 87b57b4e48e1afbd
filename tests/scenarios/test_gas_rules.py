"""Gas prices are read from the chain, so a fork that changes them needs nobody."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.rigs.amsterdam_node import SLOT, AmsterdamNode
from tests.rigs.anvil import ETHER, Chain
from tests.rigs.service import (
    HOLDER,
    REPOSITORY,
    SIGNER,
    SIGNER_FUNDS,
    accounts,
    request,
    wait_until,
)
from tests.scenarios.deliveries import Spender, deliveries, ended
from tests.scenarios.fixtures import Install

GUIDE = REPOSITORY / "explorer" / "docs" / "public-networks.md"
SEPOLIA = 11_155_111
HOUR = 3_600
TEN = [f"0x{number:040x}" for number in range(0xA11CE, 0xA11CE + 10)]
PRICES = "a new slot costs 110,020, and a byte of calldata at least 64"


def number(pattern: str, text: str) -> int:
    """The number at this place of a text."""
    (match,) = re.findall(pattern, text)
    return int(match.replace(",", ""))


def chain_without_cap(chain_id: int) -> Chain:
    """A chain that takes transactions of more than 2^24 gas."""
    age = HOUR - chain_id  # to which `Chain` adds it
    return Chain(chain_id, "--gas-limit", "60000000", hardfork="prague", age=age)


@pytest.fixture
def sepolia() -> Iterator[Chain]:
    with closing(chain_without_cap(SEPOLIA)) as chain:
        for account in (SIGNER, *TEN):
            chain.set_balance(account, SIGNER_FUNDS)
        chain.mine(80, 40)
        yield chain


def test_a_network_with_amsterdams_prices(sepolia: Chain, install: Install) -> None:
    """`init`, `cost`, `deploy_registry`, `check_setup` and provers know them without a setting."""
    with install() as service, closing(AmsterdamNode(sepolia)) as node:
        printed = service.manage("init", "sepolia", f"--node=sepolia={node.url}", "--force")
        assert f"Gas on Sepolia: {PRICES}." in printed.stderr
        assert "gas" not in service.routes.read_text().replace("max_gas_price_gwei", "")

        cost = service.manage("cost", "--gas-price-gwei", "1").stdout
        assert PRICES in cost
        lone = number("one balance alone +([0-9,]+) gas", cost)
        assert lone == pytest.approx(256_000, rel=0.1)  # `make gas`: by a header not stored
        assert number("100 of a block, each +([0-9,]+) gas", cost) == pytest.approx(
            160_000, rel=0.1
        )

        before = sepolia.balance(SIGNER)
        printed = service.manage("deploy_registry", "--yes")
        deployments = re.findall(r"for ([0-9,]+) gas", printed.stderr)
        registry, verifier, courier = (int(gas.replace(",", "")) for gas in deployments)
        assert number("once: ([0-9,]+) gas", cost) == pytest.approx(registry + verifier, rel=0.1)
        millions = number("deployment takes some ([0-9]+) million gas", GUIDE.read_text())
        assert millions * 10**6 == pytest.approx(registry + verifier + courier, rel=0.1)
        fact = number("million gas, and a fact ([0-9,]+)", GUIDE.read_text())
        assert fact == pytest.approx(lone, rel=0.01)
        assert sepolia.balance(SIGNER) < before
        limits = [int(sent["gas"], 16) for sent in sepolia.transactions_of(SIGNER)]
        assert limits[0] == pytest.approx(1.1 * registry, rel=0.03)  # with a reserve
        assert not node.refused

        service.manage("migrate")
        assert PRICES in service.manage("check_setup").stdout
        service.serve()
        block, spender = sepolia.head - 2, Spender(sepolia)  # which writes two new slots
        facts = {SEPOLIA: {block: accounts(*TEN)}}
        more: dict[str, Any] = {"to": SEPOLIA, "fee": str(ETHER)}
        body = request(facts, **more)
        estimate = service.post("/estimate", body).json()
        before = sepolia.head
        with service.prove():
            wait_until(lambda: PRICES in service.logs(whole=True), what="gas is measured")
            batch = service.post("/submit-batch-query", body).json()["internalId"]
            service.wait_for(batch, "confirming")
            sepolia.mine(2)
            spent = int(service.wait(batch)["spent"])
            sent = sepolia.transactions_of(SIGNER, since=before + 1)
            batch = service.submit(facts, **more, deliver=[spender.call])
            wait_until(lambda: deliveries(service, batch)[0]["waitCode"] == "confirming")
            sepolia.mine(2)
            (delivery,) = ended(service, batch)
        used = [node.gas_used(transaction["hash"]) for transaction in sent]
        assert sum(used) == pytest.approx(int(estimate["gas"]), rel=0.1)
        assert all(int(tx["gas"], 16) > gas for tx, gas in zip(sent, used, strict=True))
        assert spent == sum(
            gas * int(sepolia.receipt(tx["hash"])["effectiveGasPrice"], 16)
            for tx, gas in zip(sent, used, strict=True)
        )
        assert spender.written(block) == 2
        assert int(delivery["gas"]) > 1.5 * 2 * SLOT
        assert not node.refused


@pytest.fixture
def chain() -> Iterator[Chain]:
    with closing(chain_without_cap(31337)) as chain:
        yield chain


def test_a_fork_while_a_prover_runs(chain: Chain, install: Install) -> None:
    """A transaction that the fork makes impossible is replaced, and its facts are sent again."""
    with install() as service, closing(AmsterdamNode(chain, is_forked=False)) as node:
        service.add_native_chain(chain, node)
        service.set_limits(resend_after=1, replace_after=2, poll_interval=1, node_check_interval=1)
        chain.mine(80, 40)
        service.serve()
        with service.prove() as prover:
            service.wait(service.submit_balance(10))
            assert any(service.read("accumulated(uint256)", 10))
            prover.await_log("a new slot costs 22,100, and a byte of calldata at least 40")
            node.drop_transactions()
            stuck = service.submit_balance(20)
            service.wait_for(stuck, "transaction_pending")
            node.fork()
            prover.await_log(PRICES)
            later = service.submit_balance(30)
            service.wait(stuck, later)
        assert node.refused
        assert service.is_proven(HOLDER, 20)
        assert service.is_proven(HOLDER, 30)
        assert not any(service.read("accumulated(uint256)", 30))
