"""A block with a delayed state root (EIP-7862) that the registry can know only by a hop."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account as Key

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import HOLDER, SIGNER, Service, accounts
from tests.scenarios.test_horizon import ATTESTER, ENDED_BY, HISTORY, L1, L2, Fork


def test_a_block_behind_a_hop_is_accumulated_before_its_state_root_is_reported(
    new_service: Callable[[], Service],
    new_chain: Callable[..., Chain],
    new_node: Callable[[Chain], Node],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`endedBy` takes no hop, so it needs the header first."""
    source, to, service = new_chain(L1), new_chain(L2), new_service()
    service.set_limits(max_retry_delay=1, poll_interval=1, check_interval=1)
    node, route = new_node(source), (L1, L2)
    service.add_chain(source, node, finality=1)
    service.add_chain(to)
    source.mine(20)
    block, prove = source.head + 5, source.proof

    def prove_with_hop(account: str, *slots: int) -> dict[str, Any]:
        return prove(account, *dict.fromkeys([*slots, *([block] if account == HISTORY else [])]))

    monkeypatch.setattr(source, "proof", prove_with_hop)
    fork = Fork(source, 16)
    node.set_fault(fork.fault(node))
    signer = Key.from_key(ATTESTER).address
    service.add_registry("attested", source, to, signers=[signer], threshold=1)
    with service.serve(), service.prove():
        batch = service.submit({L1: {block: accounts(HOLDER)}})
        service.wait_for(batch, "not_attested")
        ends = ("--source", str(L1), "--destination", str(L2), "--post", service.url)
        service.manage("attest", *ends, "--block", str(block + 11), ATTESTER_KEY=ATTESTER)
        assert service.rejection(batch)["code"] == "beyond_horizon"
    assert any(service.read("accumulated(uint256)", block, route=route))
    horizon = int.from_bytes(service.read("stateHorizon()", route=route))
    assert horizon == int(fork.header(block)["timestamp"], 16)
    calls = [transaction["input"] for transaction in to.transactions_of(SIGNER)]
    # The attestation, the hop with the header, the evidence.
    assert [call.startswith(ENDED_BY) for call in calls] == [False, False, True]
