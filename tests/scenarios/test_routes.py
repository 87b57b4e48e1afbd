"""How each kind of route gets block hashes, and what batches wait for until then."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
import requests
from eth_account import Account as Key

from tests.rigs.anvil import ETHER, Chain
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, Service, accounts, request
from tests.scenarios.fixtures import Install, NewChain, NewService

pytestmark = pytest.mark.either_database

L2, L1, OTHER = 31337, 1337, 1338
ATTESTERS = sorted(
    (f"0x{32 * f'{n:02x}'}" for n in (1, 2, 3)), key=lambda k: Key.from_key(k).address
)
BLOCK_NUMBER, TIMESTAMP = 8, 11


@pytest.fixture(scope="module")
def chains() -> Iterator[dict[int, Chain]]:
    with ExitStack() as stack:
        yield {
            chain_id: stack.enter_context(closing(Chain(chain_id))) for chain_id in (L2, L1, OTHER)
        }


@pytest.fixture(scope="module")
def routes(install: Install, chains: dict[int, Chain]) -> Iterator[Service]:
    """A chain that is proven to itself, and two other chains that are proven to it."""
    signers = [Key.from_key(attester).address for attester in ATTESTERS]
    with install() as service:
        for chain in chains.values():
            chain.mine(40)
            service.add_chain(chain)
        to = chains[L2]
        service.add_registry("optimism", chains[L1], to)
        service.add_registry("attested", chains[OTHER], to, signers=signers, threshold=2)
        service.add_registry("native", to, to)
        service.serve()
        service.prove()
        yield service


def test_headers_reach_blocks_of_a_chain_without_eip_2935(
    new_service: NewService, new_chain: NewChain
) -> None:
    """Its contracts see the last 256 block hashes (EIP-2935 comes with Prague)."""
    chain = new_chain(hardfork="cancun")
    service = new_service()
    service.add_native_chain(chain)
    block = chain.mine(300) - 299
    with service.serve(), service.prove():
        service.wait(service.submit_balance(block))
    assert service.field(HOLDER, block, BALANCE) == HOLDER_BALANCE


def test_an_older_l1_block_is_reached_from_a_known_one(
    routes: Service, chains: dict[int, Chain]
) -> None:
    """The L2 knows its newest L1 block only; recorded and accumulated blocks stay known."""
    known = chains[L1].mine(30) - 5
    chains[L2].set_l1_block(chains[L1], known)
    routes.wait(routes.submit({L1: {known: {"header": ["TIMESTAMP"]}}}))
    chains[L1].mine(60)
    chains[L2].set_l1_block(chains[L1], chains[L1].head)
    older = known - 3
    routes.wait(routes.submit({L1: {older: accounts(HOLDER)}}))
    assert routes.field(HOLDER, older, BALANCE, route=(L1, L2)) == HOLDER_BALANCE


def test_an_estimate_covers_transactions_after_the_headers(
    new_service: NewService, new_chain: NewChain
) -> None:
    """The header is sent first, and the accounts in later transactions."""
    l1, l2, service = new_chain(L1), new_chain(L2), new_service()
    service.add_chain(l2, free=False, gas_cap=500_000)
    service.add_chain(l1, finality=2)
    service.add_registry("optimism", l1, l2)
    block = l1.mine(20) - 10
    with service.serve(), service.prove():
        l2.set_l1_block(l1, block + 6)
        first = {L1: {block + 5: accounts(HOLDER)}}
        service.wait(service.submit(first, fee=str(ETHER)))
        data = {L1: {block: accounts(*(f"0x{number:040x}" for number in range(1, 30)))}}
        estimate = service.post("/estimate", request(data)).json()
        batch = service.submit(data, fee=estimate["feeNeeded"])
        status = service.wait(batch)
    assert estimate["transactions"] > 1
    assert int(status["spent"]) <= int(estimate["feeNeeded"])


def test_the_registrys_page_compares_the_l1_of_its_l2(
    routes: Service, chains: dict[int, Chain]
) -> None:
    """An optimism registry cannot know which chain its L1 is."""
    block = chains[L1].mine(3)
    page = f"{routes.url}/explorer/registry/{L2}/{routes.registries[L1, L2]}?compare"
    chains[L2].set_l1_block(chains[L1], block)
    text = requests.get(page, timeout=30).text
    assert f"up to block {block}, and a node of Chain {L1} gives that block the same hash." in text
    chains[OTHER].mine(block - chains[OTHER].head + 1)
    chains[L2].set_l1_block(chains[OTHER], block)
    text = requests.get(page, timeout=30).text
    assert f"sees is not block {block} of Chain {L1}." in text
    chains[L2].set_l1_block(chains[L1], block)


def test_an_attested_block_waits_for_enough_signers(
    routes: Service, chains: dict[int, Chain]
) -> None:
    block = chains[OTHER].mine(10) - 5
    batch = routes.submit({OTHER: {block: accounts(HOLDER)}})
    routes.wait_for(batch, "not_attested")
    route = ("--source", str(OTHER), "--destination", str(L2))
    attest = ("attest", *route, "--block", str(block), "--post", routes.url)
    assert str(block) in routes.manage(*attest, ATTESTER_KEY=ATTESTERS[0]).stdout
    assert routes.wait_for(batch, "not_attested")["status"] == "IN_PROGRESS"
    routes.start("attest", *route, "--watch", "--post", routes.url, ATTESTER_KEY=ATTESTERS[2])
    routes.wait(batch)
    assert routes.field(HOLDER, block, BALANCE, route=(OTHER, L2)) == HOLDER_BALANCE
    block_hash = routes.read("attested(uint256)", block, route=(OTHER, L2)).hex()
    assert f"0x{block_hash}" == chains[OTHER].header(block)["hash"]


def test_one_batch_asks_for_several_blocks_of_two_sources(
    routes: Service, chains: dict[int, Chain]
) -> None:
    holders = [Key.create().address for _ in range(3)]
    for chain in (chains[L2], chains[L1]):
        chain.set_balance(holders[0], 1)
        chain.set_slot(holders[1], 7, chain.id)
    first, second = chains[L2].mine(4) - 3, chains[L2].head - 2
    l1 = chains[L1].mine(5) - 3
    chains[L2].set_l1_block(chains[L1], l1)
    entry = accounts(*holders, slots=["0x7"]) | {"header": ["TIMESTAMP", "BLOCK_NUMBER"]}
    status = routes.wait(routes.submit({L2: {first: entry, second: entry}, L1: {l1: entry}}))
    assert len(status["queries"]) == 3 * (1 + len(holders))
    for source, block in ((L2, first), (L2, second), (L1, l1)):
        route = (source, L2)
        balances = [routes.field(holder, block, BALANCE, route=route) for holder in holders]
        assert balances == [1, 0, 0]
        slots = [routes.slot(holder, block, 7, route=route) for holder in holders]
        assert slots == [0, source, 0]
        for field, name in ((BLOCK_NUMBER, "number"), (TIMESTAMP, "timestamp")):
            word = routes.read("headerField(uint256,uint8)", block, field, route=route)
            assert int.from_bytes(word) == int(chains[source].header(block)[name], 16)


def test_a_block_before_the_history_window_is_reached_from_an_accumulated_one(
    new_chain: NewChain, new_service: NewService
) -> None:
    """A chain has the hashes of 8191 blocks; before them, only accumulated ones are known."""
    chain, service = new_chain(proofs=False), new_service()
    chain.mine(400)
    service.add_native_chain(chain)
    service.serve()
    service.prove()
    accumulated = chain.mine(2) - 1
    service.wait(service.submit({31337: {accumulated: {"header": ["TIMESTAMP"]}}}))
    # Anvil copies the contract's 8191 slots for every block, which would take minutes.
    chain.rpc("anvil_setCode", "0x0000F90827F1C53a10cb7A02335B175320002935", "0x")
    chain.mine(8_200, seconds=1)
    block, older = accumulated - 5, accumulated - 300
    service.wait(service.submit({31337: {block: {"header": ["TIMESTAMP"]}}}))
    word = service.read("headerField(uint256,uint8)", block, TIMESTAMP)
    assert int.from_bytes(word) == int(chain.header(block)["timestamp"], 16)
    # Earlier blocks need a hop, and thus a state that this node no longer has.
    batch = service.submit({31337: {older: {"header": ["TIMESTAMP"]}}})
    status = service.wait_for(batch, "state_not_available")
    assert f"the state of block {accumulated}, which no node" in status["waitsFor"]
