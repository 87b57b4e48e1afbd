"""Batches that cannot be proven are REJECTED, with a code for programs."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from eth_account import Account as Key

from tests.rigs.anvil import Chain, call_data
from tests.rigs.faulty_node import Node, Question
from tests.rigs.service import BALANCE, HOLDER, HORIZON, Service, accounts, request
from tests.scenarios.ens import REGISTRY, set_name, set_off_chain
from tests.scenarios.fixtures import Install, NewChain, NewNode, NewService

pytestmark = pytest.mark.either_database

L1 = 1337
FEE = str(10**18)
REFUSAL = "0xdeadbeef"  # an error that no registry has
CAUSES = (  # cause, code, step, retryable
    ("a name without an address", "ens_unresolved", "INITIAL_STATE", False),
    ("a name that is resolved off chain", "ens_off_chain", "INITIAL_STATE", False),
    ("a time before the first block", "time_too_early", "INITIAL_STATE", False),
    ("a block far beyond the head", "block_beyond_head", "INITIAL_STATE", True),
    ("an account at a genesis without state", "state_root_empty", "INITIAL_STATE", False),
    ("a route that was removed", "route_unsupported", "INITIAL_STATE", False),
    ("a block too far before known ones", "block_out_of_reach", "BLOCKHASH_AVAILABLE", False),
    ("a fee below the cost", "fee_too_low", "HEADER_ACCUMULATED", False),
)
STEPS = ["INITIAL_STATE", "BLOCKHASH_AVAILABLE", "HEADER_ACCUMULATED", "ACCOUNT_ACCUMULATED"]


@dataclass(frozen=True)
class RejectedBatches:
    """A service, its batches by cause, and a server that must not be called."""

    service: Service
    batches: dict[str, str]
    outside: socket.socket


@pytest.fixture(scope="module")
def rejected(install: Install) -> Iterator[RejectedBatches]:
    """All batches are submitted before the prover starts, so that none is refused at once."""
    with (
        closing(Chain()) as chain,
        closing(Chain(L1, hardfork="cancun")) as l1,  # without EIP-2935
        closing(Node(chain)) as node,
        socket.create_server(("127.0.0.1", 0)) as outside,
        install() as service,
    ):
        outside.settimeout(0)
        block, l1_block = chain.mine(12) - 1, l1.mine(300)
        service.add_chain(chain, chain.url, node, free=False, ens_registry=REGISTRY)
        service.add_chain(l1)
        service.add_registry("optimism", l1, chain)
        service.add_registry("native", chain, chain)
        chain.set_l1_block(l1, l1_block)
        host = f"127.0.0.1:{outside.getsockname()[1]}/{{sender}}/{{data}}"
        # web3 would call a loopback server in this form too.
        mapped = host.replace("127.0.0.1", "[::ffff:127.0.0.1]")
        set_off_chain(chain, "far.eth", f"http://{host}", f"https://{mapped}")
        named_block = chain.mine(4) - 3
        routes = service.routes.read_text()
        service.add_registry("attested", chain, l1, signers=[Key.create().address], threshold=1)
        service.serve()

        def submit(data: dict[Any, Any], to: int = 31337, fee: str = FEE) -> str:
            return service.submit(data, to=to, fee=fee)

        entry = accounts(HOLDER)
        batches = (
            submit({31337: {block: accounts("nobody.eth")}}),
            submit({31337: {block: entry, named_block: accounts("far.eth")}}),
            submit({31337: {"timestamp:5": entry}}),
            submit({31337: {10**9: entry}}),
            submit({31337: {0: entry}}),
            submit({31337: {block: entry}}, to=L1),
            submit({L1: {5: entry}}),
            submit({31337: {block: entry}}, fee="1000"),
        )
        service.routes.write_text(routes)
        service.prove()
        names = (cause for cause, *_ in CAUSES)
        yield RejectedBatches(service, dict(zip(names, batches, strict=True)), outside)


@pytest.mark.parametrize(("cause", "code", "step", "retryable"), CAUSES)
def test_a_batch_that_cannot_be_proven_says_why(
    rejected: RejectedBatches, cause: str, code: str, step: str, *, retryable: bool
) -> None:
    batch = rejected.batches[cause]
    rejection = rejected.service.rejection(batch)
    assert rejection.pop("message")
    assert rejection == {"code": code, "step": step, "retryable": retryable}
    status = rejected.service.status(batch)
    assert (status["status"], status["waitCode"]) == ("REJECTED", None)
    assert status["ended"]
    (failing,) = [
        query for query in status["queries"] if any(step["error"] for step in query["steps"])
    ]
    reached = STEPS.index(step)
    statuses = [*reached * ["COMPLETED"], "IN_PROGRESS", *(3 - reached) * [None]]
    assert [step["status"] for step in failing["steps"]] == statuses
    assert failing["steps"][reached]["error"]["code"] == code
    assert failing["steps"][reached]["completed"] is None


def test_a_request_that_follows_the_rejections_advice_is_done(rejected: RejectedBatches) -> None:
    service, batches = rejected.service, rejected.batches
    message = {cause: service.rejection(batches[cause])["message"] for cause, *_ in CAUSES}
    genesis_time = int(service.chain.header(0)["timestamp"], 16)
    assert str(genesis_time) in message["a time before the first block"]
    too_far = message["a block too far before known ones"]
    assert "is 295 blocks before" in too_far
    estimate = service.post("/estimate", request({L1: {5: accounts(HOLDER)}})).json()
    (estimated,) = estimate["blocks"]
    assert (estimated["readiness"], estimated["distance"]) == ("OUT_OF_REACH", "295")
    assert (estimated["error"], estimated["price"]) == (too_far, None)
    *_, enough, _ = message["a fee below the cost"].split()  # … of at least 1234 wei.
    block = service.chain.head - 1
    service.wait(service.submit_balance(block, fee=enough))
    assert service.field(HOLDER, block, BALANCE) == service.chain.balance(HOLDER, block)


def test_accounts_of_a_genesis_without_state_cannot_be_proven(rejected: RejectedBatches) -> None:
    """Its header can be proven."""
    service, cause = rejected.service, "an account at a genesis without state"
    message = service.rejection(rejected.batches[cause])["message"]
    body = request({31337: {0: accounts(HOLDER)}})
    (estimated,) = service.post("/estimate", body).json()["blocks"]
    assert (estimated["readiness"], estimated["error"]) == ("FAILS", message)
    refused = service.post("/witness", body).json()
    assert (refused["code"], refused["error"]) == ("not_provable", message)
    status = service.wait(service.submit({31337: {0: {"header": ["STATE_ROOT"]}}}, fee=FEE))
    (query,) = status["queries"]
    assert query["values"]["STATE_ROOT"] == service.chain.header(0)["stateRoot"]
    again = service.submit({31337: {0: accounts(HOLDER, props=["NONCE"])}}, fee=FEE)
    assert service.rejection(again)["message"] == message


def test_off_chain_names_are_rejected_without_a_request(rejected: RejectedBatches) -> None:
    service = rejected.service
    service.rejection(rejected.batches["a name that is resolved off chain"])
    with pytest.raises(BlockingIOError):
        rejected.outside.accept()


def test_a_rejected_batch_stays_rejected(rejected: RejectedBatches) -> None:
    """Even if the same request would succeed now."""
    service = rejected.service
    before = {batch: service.rejection(batch) for batch in rejected.batches.values()}
    holder = Key.create().address
    set_name(service.chain, "nobody.eth", holder)
    block = service.chain.mine(4) - 3
    service.wait(service.submit({31337: {block: accounts("nobody.eth")}}, fee=FEE))
    assert service.is_proven(holder, block)
    assert {batch: service.rejection(batch) for batch in before} == before


@pytest.fixture(scope="module")
def pruned(install: Install) -> Iterator[tuple[Service, Node]]:
    """A service with a `batch_max_age` of two seconds, and its node."""
    with closing(Chain()) as chain, closing(Node(chain)) as node, install() as service:
        service.set_limits(batch_max_age=2, max_retry_delay=1)
        service.add_native_chain(chain, node)
        service.serve()
        service.prove()
        yield service, node


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("block not found", "block_unknown"),
        ("missing trie node 1f (path )", "state_not_available"),
        ("distance to target block exceeds maximum proof window", "proof_window_exceeded"),
    ],
)
def test_a_batch_that_no_node_can_prove_is_rejected_at_batch_max_age(
    pruned: tuple[Service, Node], error: str, code: str
) -> None:
    """The only node has no state of the block; retrying may find another."""
    service, node = pruned

    def fail_proofs(question: Question) -> dict[str, Any] | None:
        refusal = {"code": -32000, "message": error}
        if question["method"] != "eth_getProof":
            return None
        return {"id": question["id"], "error": refusal}

    node.set_fault(fail_proofs)
    batch = service.submit_balance(service.chain.mine(20) - 10)
    service.wait_for(batch, code)
    rejection = service.rejection(batch)
    assert rejection["message"]
    assert rejection["retryable"]
    assert rejection["step"] == "HEADER_ACCUMULATED"
    assert rejection["code"] == code


def test_the_wait_for_a_block_does_not_count_towards_batch_max_age(
    pruned: tuple[Service, Node],
) -> None:
    service, node = pruned
    node.recover()
    batch = service.submit_balance(service.chain.head + 1)
    service.wait_for(batch, "block_not_final")
    time.sleep(4)  # twice batch_max_age
    assert service.status(batch)["waitCode"] == "block_not_final"
    service.chain.mine(3)
    service.wait(batch)


def test_one_nodes_false_head_does_not_reject_a_batch(
    new_service: NewService, new_chain: NewChain, new_node: NewNode
) -> None:
    """Without EIP-2935, headers would not reach back to the block from such a head."""
    chain, service = new_chain(hardfork="cancun"), new_service()
    bad, *others = (new_node(chain) for _ in range(3))
    service.add_native_chain(chain, bad, *others)
    block = chain.mine(12) - 5
    bad.make_up_head()
    with service.serve(), service.prove():
        service.wait(service.submit_balance(block))
    assert service.field(HOLDER, block, BALANCE) == chain.balance(HOLDER, block)


def test_a_batch_is_rejected_if_the_registry_refuses_its_proof(
    new_service: NewService, new_chain: NewChain
) -> None:
    """The contract at the registry's address answers like a registry but refuses every proof.

    As long as there is none, the batch waits.
    """
    chain = new_chain()
    service = new_service()
    service.set_limits(max_retry_delay=1)
    service.add_chain(chain)
    registry = service.add_registry("native", chain, chain)
    genuine = chain.deploy("NativeRegistry", ["uint256"], [HORIZON])
    chain.rpc("anvil_setCode", registry, "0x")
    block = chain.mine(4) - 3
    with service.serve(), service.prove():
        batch = service.submit_balance(block)
        service.wait_for(batch, "registry_absent")
        chain.rpc("anvil_setCode", registry, refuses_proofs(genuine))
        rejection = service.rejection(batch)
    assert REFUSAL in rejection.pop("message")
    step = "HEADER_ACCUMULATED"
    assert rejection == {"code": "registry_refuses", "step": step, "retryable": True}


def refuses_proofs(genuine: str) -> str:
    """Code that reverts `prove` and delegates everything else to a genuine registry."""
    return (
        f"0x60003560e01c63{call_data('prove()')[2:]}14603557"  # to 0x35 if it is `prove()`
        f"365f5f375f5f365f73{genuine[2:].lower()}5af43d5f5f3e3d5ff3"  # delegate the call
        f"5b63{REFUSAL[2:]}60e01b5f5260045ffd"
    )


def test_a_batch_is_rejected_at_attestation_max_age(
    new_service: NewService, new_chain: NewChain
) -> None:
    chain, l1 = new_chain(), new_chain(L1)
    block = l1.mine(12) - 8
    service = new_service()
    service.set_limits(attestation_max_age=2)
    service.add_chain(chain)
    service.add_chain(l1)
    service.add_registry("attested", l1, chain, signers=[Key.create().address], threshold=1)
    with service.serve(), service.prove():
        rejection = service.rejection(service.submit({L1: {block: accounts(HOLDER)}}))
    assert rejection.pop("message")
    step = "BLOCKHASH_AVAILABLE"
    assert rejection == {"code": "not_attested", "step": step, "retryable": True}
