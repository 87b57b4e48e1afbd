"""Facts of a recent block, which the gateway chooses: on each kind of route, and as chains move."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from eth_account import Account as Key

from queries.sources.registry import RegistryKind
from tests.builds import contract_for_tests
from tests.guides import code_of, run
from tests.rigs.anvil import Chain
from tests.rigs.service import BALANCE, HOLDER, Service, accounts
from tests.scenarios.fixtures import Install
from tests.scenarios.lookups import (
    HEADER_RECENT,
    LIBRARIES,
    RECENT,
    SLOT_RECENT,
    add_route,
    ask,
    gateway,
    is_error,
    link_packages,
    lookup_of,
    lying_gateway,
    read,
)

pytestmark = pytest.mark.either_database

L2, L1, OTHER = 31337, 1337, 1338
FINALITY = 40  # of the L1: more headers than a proof holds, so that a hop leads there
ATTESTER = f"0x{32 * '01'}"
MAX_AGE = 600
NUMBER = 8  # of a header's fields
SHARE = "function recent(address,uint256,string[]) view returns (uint256, uint256)"


@pytest.fixture(scope="module")
def chains() -> Iterator[dict[int, Chain]]:
    with ExitStack() as stack:
        yield {
            chain_id: stack.enter_context(closing(Chain(chain_id))) for chain_id in (L2, L1, OTHER)
        }


@pytest.fixture(scope="module")
def routes(install: Install, chains: dict[int, Chain]) -> Iterator[Service]:
    """An L2 that is proven to itself, its L1 and another chain, each with a lookup."""
    signer = Key.from_key(ATTESTER).address
    l2, l1, other = chains.values()
    with install() as service:
        for chain in chains.values():
            chain.mine(60)
        service.add_chain(l2)
        service.add_chain(l1, finality=FINALITY)
        service.add_chain(other, finality=2)
        add_route(service, RegistryKind.NATIVE, l2, l2)
        add_route(service, RegistryKind.OPTIMISM, l1, l2)
        add_route(service, RegistryKind.ATTESTED, other, l2, signers=[signer], threshold=1)
        l2.set_l1_block(l1, l1.head)
        service.manage("deploy_registry", "--yes")
        service.serve()
        yield service


@pytest.mark.parametrize("library", LIBRARIES)
def test_recent_facts_of_the_chain_itself(routes: Service, library: str) -> None:
    """Four blocks before the newest: the callback may reach a node that is behind."""
    chain, urls = routes.chain, [gateway(routes)]
    chain.set_slot(HOLDER, 6, 78)
    head = chain.mine(20)
    balance, slot, number = read(
        library,
        routes,
        (RECENT, [HOLDER, BALANCE, MAX_AGE, urls]),
        (SLOT_RECENT, [HOLDER, f"0x{6:064x}", MAX_AGE, urls]),
        (HEADER_RECENT, [NUMBER, MAX_AGE, [f"{routes.url}/ccip"]]),
    )
    block = head - 4
    assert (int(balance[0], 16), int(balance[1])) == (chain.balance(HOLDER, block), block)
    assert (int(slot[0], 16), int(slot[1])) == (78, block)
    assert (int(number[0], 16), int(number[1])) == (block, block)
    assert chain.head == head


def test_the_guides_viem_code_uses_the_lookup_of_its_route(routes: Service, tmp_path: Path) -> None:
    """The server lists lookups of other routes before it."""
    head = routes.chain.mine(20)
    link_packages(tmp_path)
    code = code_of(routes.url, "contracts", "readRecent")
    for pattern, value in (
        (r'ChainId === "\d+"', f'ChainId === "{L2}"'),
        (r"https://your-node-of-chain-\d+\.example", routes.chain.url),
        (r"\[\]\]", f'["{gateway(routes)}"]]'),
    ):
        code, count = re.subn(pattern, value, code)
        assert count
    printed = run("js", code, tmp_path)
    assert printed == f"{routes.chain.balance(HOLDER, head - 4)} wei in block {head - 4}\n"


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_consumer_contract_reads_a_recent_fact(routes: Service, library: str) -> None:
    code, lookup = contract_for_tests("LookupConsumer"), lookup_of(routes)
    creation = f"0x{code.hex()}{lookup[2:].lower():0>64}"
    consumer = routes.chain.send(None, creation)["contractAddress"]
    head = routes.chain.mine(20)
    asked = [HOLDER, MAX_AGE, [gateway(routes)]]
    (found,) = read(library, routes, (SHARE, asked), contract=consumer)
    assert found == [str(routes.chain.balance(HOLDER, head - 4)), str(head - 4)]


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_old_block_is_refused(routes: Service, library: str) -> None:
    """A gateway that repeats an answer; and a caller whom no block is young enough."""
    answers: list[str] = []

    def first_answer(_: str, answer: str) -> str:
        answers.append(answer)
        return answers[0]

    with lying_gateway(routes, first_answer) as url:
        asked = (RECENT, [HOLDER, BALANCE, MAX_AGE, [url]])
        (true,) = read(library, routes, asked)
        routes.chain.mine(100, seconds=10)
        (old,) = read(library, routes, asked)
    assert int(true[0], 16) == routes.chain.balance(HOLDER)
    (impatient,) = read(library, routes, (RECENT, [HOLDER, BALANCE, 0, [gateway(routes)]]))
    for error in (old, impatient):
        assert is_error(error, "BlockTooOld(uint256,uint256)"), error


def moves(chains: dict[int, Chain], times: int) -> Callable[[str, str], str]:
    """After each of so many answers the L2 follows another block of its L1."""
    left = iter(range(times))

    def move(_: str, answer: str) -> str:
        if next(left, None) is not None:
            chains[L2].set_l1_block(chains[L1], chains[L1].mine())
        return answer

    return move


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_recent_lookup_survives_three_new_l1_blocks(
    routes: Service, chains: dict[int, Chain], library: str
) -> None:
    """Nothing is recorded: the proof starts at the block that the L2 follows, and hops."""
    lookup = lookup_of(routes, L1)
    for times in (0, 3, 4):
        chains[L2].set_l1_block(chains[L1], chains[L1].mine(50))
        with lying_gateway(routes, moves(chains, times)) as url:
            asked = [HOLDER, BALANCE, MAX_AGE, [url]]
            (result,) = read(library, routes, (RECENT, asked), contract=lookup)
        if times > 3:
            assert is_error(result, "CallReverted(address,bytes)"), result
            return
        block = chains[L1].head - FINALITY
        assert (int(result[0], 16), int(result[1])) == (chains[L1].balance(HOLDER, block), block)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_newest_attested_block_is_read(
    routes: Service, chains: dict[int, Chain], library: str
) -> None:
    """The caller bounds its age."""
    lookup, other = lookup_of(routes, OTHER), chains[OTHER]
    block = other.mine(10) - 5
    attest = ("attest", "--source", str(OTHER), "--destination", str(L2), "--block", str(block))
    batch = routes.submit({OTHER: {block: accounts(HOLDER)}})
    with routes.prove():
        routes.wait_for(batch, "not_attested")
        routes.manage(*attest, "--post", routes.url, ATTESTER_KEY=ATTESTER)
        routes.wait(batch)
    urls = [gateway(routes)]
    asked = [(RECENT, [HOLDER, BALANCE, age, urls]) for age in (10**9, 0)]
    other.mine(5)
    chains[L2].mine(2, seconds=40_000)  # its clock is behind at first, which makes no block old
    found, old = read(library, routes, *asked, contract=lookup)
    assert (int(found[0], 16), int(found[1])) == (other.balance(HOLDER, block), block)
    assert is_error(old, "BlockTooOld(uint256,uint256)"), old


def test_an_answer_is_cached_for_a_block(routes: Service) -> None:
    """The question names the block that the caller has seen, so the next block has another one."""
    questions: list[str] = []

    def keep(data: str, answer: str) -> str:
        questions.append(data)
        return answer

    routes.chain.mine(20)  # two seconds apart
    with lying_gateway(routes, keep) as url:
        read("viem", routes, (RECENT, [HOLDER, BALANCE, MAX_AGE, [url]]))
        routes.chain.mine()
        read("viem", routes, (RECENT, [HOLDER, BALANCE, MAX_AGE, [url]]))
    first, second = questions
    assert first != second
    maximum = int(ask(routes, second).headers["Cache-Control"].split(", ")[1][len("max-age=") :])
    assert 1 <= maximum <= 12  # the chain adds the time that has passed meanwhile
