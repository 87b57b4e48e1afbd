"""Blocks far before those that a registry knows are reached by hops (EIP-2935)."""

from pathlib import Path
from typing import Any

import pytest
import requests
import rlp
from eth_utils.crypto import keccak

from queries.proving.headers import HeaderField, header_from_json
from tests.rigs.anvil import ETHER, HISTORY, RING, Chain
from tests.rigs.service import (
    AMSTERDAM,
    BALANCE,
    HOLDER,
    HOLDER_BALANCE,
    HORIZON,
    SIGNER,
    Service,
    accounts,
    request,
)
from tests.scenarios.fixtures import NewChain, NewNode, NewService

pytestmark = pytest.mark.either_database

L2, L1 = 31337, 1337
WINDOW = 256  # block hashes that contracts see without it


def test_hops_reach_a_block_20_000_back(
    new_service: NewService, new_chain: NewChain, new_node: NewNode, tmp_path: Path
) -> None:
    """Hops lead by multiples of 8,191, and a later batch starts from these blocks.

    The estimate is within 5 %. The proof file proves the same to another registry. Anvil would take
    minutes to write 20,000 hashes and cannot keep so many states, so only the hashes on the way are
    written, and the node keeps proofs of them.
    """
    chain, service = new_chain(proofs=False), new_service()
    chain.rpc("anvil_setCode", HISTORY, "0x")
    node = new_node(chain)
    service.add_native_chain(chain, node, free=False)
    block = chain.mine(50)
    older = block - 20
    kept = [chain.proof(HOLDER), chain.recent_hashes()]
    for stop, targets in ((RING, [block, older]), (2 * RING, [RING])):
        chain.mine(stop - 1 - chain.head)
        kept.append(chain.record_hashes(*targets))
    chain.mine(20_100 - WINDOW - chain.head)
    kept.append(chain.record_hashes(2 * RING))
    while chain.head < 20_100 - WINDOW // 2:
        chain.mine()
        kept.append(chain.proof(HISTORY, 0))
    chain.mine(20_100 - chain.head)
    node.keep_proofs(*kept)
    with service.serve(), service.prove():
        data = {chain.id: {block: accounts(HOLDER)}}
        (witness,) = service.post("/witness", request(data)).json()["witnesses"]
        verified = bytes.fromhex(witness["proof"][2:])
        assert chain.call(witness["registry"], "verify(bytes)", verified)
        estimate = service.post("/estimate", request(data)).json()
        assert estimate["complete"], estimate
        assert estimate["blocks"][0]["hops"] == 3
        batch = service.submit(data, fee=estimate["feeNeeded"])
        (query,) = service.wait(batch)["queries"]
        page = requests.get(f"{service.url}/explorer/query/{batch}/0", timeout=30).text
        (file := tmp_path / "proof").write_bytes(
            service.get(f"/batch-queries/{batch}/proof").content
        )
        mined = chain.transactions_of(SIGNER, since=20_000)
        data = {chain.id: {older: {"header": ["TIMESTAMP"]}}}
        service.wait(service.submit(data, fee=estimate["feeNeeded"]))
        alone = len(chain.transactions_of(SIGNER, since=20_000)) - len(mined)
    assert service.field(HOLDER, block, BALANCE) == HOLDER_BALANCE
    gas = sum(int(chain.receipt(transaction["hash"])["gasUsed"], 16) for transaction in mined)
    assert len(mined) == estimate["transactions"] == 2
    assert alone == 1
    hashes = [step["transactionHash"] for step in query["steps"]]
    assert hashes == [None, *(transaction["hash"] for transaction in mined), mined[-1]["hash"]]
    assert all(hops in page for hops in ("2 hops<", "1 hop<"))
    assert gas == pytest.approx(int(estimate["gas"]), rel=0.01)
    trusted = chain.header(block)["hash"]
    assert (
        f"{HOLDER_BALANCE} wei"
        in service.manage("verify_proof", str(file), "--hash", trusted).stdout
    )
    other = chain.deploy("NativeRegistry", ["uint256"], [HORIZON])
    nodes = ("--node", node.url, "--source-node", node.url)
    published = service.manage(
        "publish_proof", str(file), *nodes, "--registry", other, "--unverifiable"
    )
    assert published.stderr.count("waiting for a block") == 2  # hops, and one more with the proof
    word = chain.call(other, "accountField(address,uint256,uint8)", HOLDER, block, BALANCE)
    assert int.from_bytes(word) == HOLDER_BALANCE


@pytest.fixture
def op_stack(
    new_service: NewService, new_chain: NewChain, request: pytest.FixtureRequest
) -> tuple[Service, Chain, Chain]:
    """A service without processes, an L1, and the L2 that it is proven to, with these gas rules."""
    l1, l2, service = new_chain(L1), new_chain(L2), new_service()
    service.add_chain(l1, finality=2)
    service.add_chain(l2, free=False, **getattr(request, "param", {}))
    service.add_registry("optimism", l1, l2)
    return service, l1, l2


@pytest.mark.parametrize("op_stack", [{}, AMSTERDAM], ids=["osaka", "amsterdam"], indirect=True)
def test_an_l1_block_that_the_l2_never_recorded_is_proven(
    op_stack: tuple[Service, Chain, Chain],
) -> None:
    """Its header is accumulated, because a hop takes more bytes than a slot is worth."""
    service, l1, l2 = op_stack
    block = l1.mine(300) - 290
    l2.set_l1_block(l1, l1.head - 2)
    at_time = f"timestamp:{int(l1.header(block + 1)['timestamp'], 16)}"
    several = block + 10, block + 20, block + 30, block + 200
    with service.serve(), service.prove():
        for selectors in ([block], [at_time], several):
            data, before = {L1: {selector: accounts(HOLDER) for selector in selectors}}, l2.head
            estimate = service.post("/estimate", request(data)).json()
            hops = [block["hops"] for block in estimate["blocks"]]
            assert (estimate["complete"], hops) == (True, [1] * len(selectors))
            service.wait(service.submit(data, fee=estimate["feeNeeded"]))
            mined = l2.transactions_of(SIGNER, since=before + 1)
            gas = sum(int(l2.receipt(transaction["hash"])["gasUsed"], 16) for transaction in mined)
            # Jobs that become ready together share a transaction; here some may come later.
            alone = sum(int(block["price"]["gas"]) for block in estimate["blocks"])
            assert 0.95 * int(estimate["gas"]) <= gas <= 1.05 * alone
            assert len(selectors) > 1 or len(mined) == estimate["transactions"]
    assert any(service.read("accumulated(uint256)", block, route=(L1, L2)))
    assert service.field(HOLDER, block, BALANCE, route=(L1, L2)) == HOLDER_BALANCE
    assert service.field(HOLDER, block + 1, BALANCE, route=(L1, L2)) == HOLDER_BALANCE


def test_a_hop_waits_for_a_node_with_the_state_at_its_start(
    new_service: NewService, new_chain: NewChain, new_node: NewNode
) -> None:
    l1, l2, service = new_chain(L1), new_chain(L2), new_service()
    node = new_node(l1)
    node.prune_proofs(10)
    service.set_limits(max_retry_delay=1, poll_interval=0.5)
    service.add_chain(l1, node, finality=2)
    service.add_chain(l2)
    service.add_registry("optimism", l1, l2)
    block = l1.mine(300) - 290
    start = l1.head - 100
    l2.set_l1_block(l1, start)
    with service.serve(), service.prove():
        batch = service.submit({L1: {block: {"header": ["TIMESTAMP"]}}})
        service.wait_for_sentence(batch, "Its nodes prove the last ")
        status = service.wait_for(batch, "state_not_available")
        assert f"the state of block {start}, which no node of chain {L1} has" in status["waitsFor"]
        node.recover()
        service.wait(batch)


def test_one_nodes_header_does_not_reject_a_batch(
    new_service: NewService, new_chain: NewChain, new_node: NewNode
) -> None:
    """The node returns a header from before EIP-2935, whose hash matches its content."""
    l1, l2, service = new_chain(L1), new_chain(L2), new_service()
    bad, good = new_node(l1), new_node(l1)
    service.add_chain(l1, bad, good, finality=2)
    service.add_chain(l2)
    service.add_registry("optimism", l1, l2)
    block = l1.mine(300) - 290
    l2.set_l1_block(l1, l1.head - 2)
    older = _before_prague(l1.header(block))

    def lie(params: list[Any], result: Any) -> Any:
        return older if params[0] == hex(block) else result

    bad.falsify("eth_getBlockByNumber", lie)
    with service.serve(), service.prove():
        service.wait(service.submit({L1: {block: accounts(HOLDER)}}))
    assert service.field(HOLDER, block, BALANCE, route=(L1, L2)) == HOLDER_BALANCE
    assert bad.spoilt


def _before_prague(block: dict[str, Any]) -> dict[str, Any]:
    """The block without `requestsHash`, with its new hash."""
    fields = rlp.decode(header_from_json(block).rlp)
    left = {name: value for name, value in block.items() if name != "requestsHash"}
    return left | {"hash": f"0x{keccak(rlp.encode(fields[: HeaderField.REQUESTS_HASH])).hex()}"}


def test_nothing_is_sent_if_the_history_contract_lacks_the_hash(
    op_stack: tuple[Service, Chain, Chain],
) -> None:
    """The source's own state has another hash; the registry would refuse the proof."""
    service, l1, l2 = op_stack
    block = l1.mine(300) - 290
    l1.set_slot(HISTORY, block % RING, 2**255)
    l1.mine(3)
    l2.set_l1_block(l1, l1.head - 2)
    with service.serve(), service.prove():
        batch = service.submit({L1: {block: accounts(HOLDER)}}, fee=str(ETHER))
        status = service.wait_for(batch, "history_missing")
    assert f"does not hold the hash of block {block}" in status["waitsFor"]
    assert not service.is_proven(HOLDER, block, route=(L1, L2))
