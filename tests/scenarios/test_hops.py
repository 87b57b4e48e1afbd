"""Blocks far below all that a registry knows: hops lead down to them (EIP-2935)."""

from collections.abc import Callable

import pytest

from tests.scenarios.chain import Chain
from tests.scenarios.node import Node
from tests.scenarios.service import BALANCE, HELD, HOLDER, SIGNER, Service, accounts, request

L2, L1 = 31337, 1337
HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935"
RING = 8191  # blocks whose hashes a state holds
NEAR_THE_EDGE = 12  # blocks, from which hops begin while this test mines its transactions


@pytest.mark.either_database
def test_a_block_20_000_back_on_the_same_chain(
    new_service: Callable[[], Service],
    new_chain: Callable[..., Chain],
    new_node: Callable[[Chain], Node],
) -> None:
    """The chain knows the last 8,191 itself; two hops lead further. The estimate is within 5 %."""
    chain, service = new_chain(proofs=False), new_service()
    node = new_node(chain)
    service.add_chain(chain, node, free=False)
    service.add_registry("native", chain, chain)
    block = chain.mine(50)
    kept = [chain.proof(HOLDER)]
    chain.mine(RING - block)
    kept.append(chain.proof(HISTORY, block % RING))
    chain.mine(3700)
    for _ in range(NEAR_THE_EDGE):
        kept.append(chain.proof(HISTORY, RING % RING))
        chain.mine()
    edge = chain.head - NEAR_THE_EDGE // 2
    chain.mine(edge + RING - RING // 128 - chain.head)
    assert chain.head >= block + 20_000
    node.keeps(*kept)
    with service.serve(), service.prove():
        data = {chain.id: {block: accounts(HOLDER)}}
        estimate = service.post("/estimate", request(data)).json()
        assert estimate["complete"], estimate
        assert estimate["blocks"][0]["hops"] == 2
        batch = service.submit(data, fee=estimate["feeNeeded"])
        service.wait(batch)
    assert service.field(HOLDER, block, BALANCE) == HELD
    mined = chain.transactions_of(SIGNER, since=edge + RING // 2)
    gas = sum(int(chain.receipt(each["hash"])["gasUsed"], 16) for each in mined)
    assert len(mined) == estimate["transactions"] == 2
    assert gas == pytest.approx(estimate["gas"], rel=0.05)


def test_an_l1_block_is_read_on_an_l2_that_never_recorded_it(
    new_service: Callable[[], Service], new_chain: Callable[..., Chain]
) -> None:
    l1, l2, service = new_chain(L1), new_chain(L2), new_service()
    service.add_chain(l1, finality=2)
    service.add_chain(l2)
    service.add_registry("optimism", l1, l2)
    block = l1.mine(300) - 290
    l2.take_in(l1, l1.head - 2)
    with service.serve(), service.prove():
        service.wait(service.submit({L1: {block: accounts(HOLDER)}}))
        service.wait(
            service.submit(
                {L1: {f"timestamp:{int(l1.header(block + 1)['timestamp'], 16)}": accounts(HOLDER)}}
            )
        )
    assert service.field(HOLDER, block, BALANCE, route=(L1, L2)) == HELD
    assert service.field(HOLDER, block + 1, BALANCE, route=(L1, L2)) == HELD
