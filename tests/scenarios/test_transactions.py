"""The signer's transactions: dropped, stuck, replaced, or newer than a backup."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice
from typing import Any

import pytest
from eth_account import Account

from tests.rigs.anvil import ETHER, Chain, RpcError
from tests.rigs.faulty_node import Node, Question
from tests.rigs.service import HOLDER, SIGNER, SIGNER_KEY, Service, accounts, wait_until
from tests.scenarios.fixtures import Install, NewChain, NewService

OTHER_KEY = "0x" + 32 * "5b"


@pytest.fixture(scope="module")
def served(install: Install) -> Iterator[Service]:
    """Without a prover; scenarios start their own."""
    with closing(Chain()) as chain, install() as service:
        service.set_limits(resend_after=1, replace_after=4, max_retry_delay=1, max_cooldown=1)
        service.add_native_chain(chain)
        chain.set_balance(Account.from_key(OTHER_KEY).address, ETHER)
        chain.mine(40)
        service.serve()
        yield service


def mined_nonces(chain: Chain, key: str = SIGNER_KEY) -> list[int]:
    sent = chain.transactions_of(Account.from_key(key).address)
    return [int(transaction["nonce"], 16) for transaction in sent]


def pending_hashes(chain: Chain) -> list[str]:
    """Hashes of all transactions in the node's pool."""
    senders = chain.rpc("txpool_content")["pending"].values()
    return [transaction["hash"] for by_nonce in senders for transaction in by_nonce.values()]


def pay_elsewhere(chain: Chain, nonce: int) -> None:
    """Send a payment with the signer's key, as if it was used outside of the service."""
    payment = {"chainId": chain.id, "nonce": nonce, "to": HOLDER, "value": 1}
    signed = Account.from_key(SIGNER_KEY).sign_transaction(
        {**payment, "gas": 21_000, "gasPrice": 10**12}
    )
    chain.rpc("eth_sendRawTransaction", f"0x{bytes(signed.raw_transaction).hex()}")


def test_a_transaction_that_the_node_forgot_is_sent_again(
    served: Service, blocks: Iterator[int]
) -> None:
    chain, before = served.chain, mined_nonces(served.chain)
    chain.automine(on=False)
    with served.prove():
        batch = served.submit_balance(next(blocks))
        (sent,) = wait_until(lambda: pending_hashes(chain))
        chain.rpc("anvil_dropTransaction", sent)
        assert pending_hashes(chain) == []
        wait_until(
            lambda: pending_hashes(chain) == [sent], what="the same transaction is sent again"
        )
        chain.automine(on=True)
        chain.mine()
        served.wait(batch)
    assert mined_nonces(chain) == [*before, len(before)]


@pytest.mark.parametrize("original_is_mined", [False, True])
def test_a_stuck_transaction_is_replaced(
    served: Service, blocks: Iterator[int], *, original_is_mined: bool
) -> None:
    """By one with a higher fee. Whichever is mined, the fact is DONE and paid for once."""
    chain, before = served.chain, mined_nonces(served.chain)
    chain.automine(on=False)
    with served.prove():
        batch = served.submit_balance(next(blocks))
        (stuck,) = wait_until(lambda: pending_hashes(chain))
        raw = chain.rpc("eth_getRawTransactionByHash", stuck)
        fee = int(chain.rpc("eth_getTransactionByHash", stuck)["maxFeePerGas"], 16)
        (replacement,) = wait_until(
            lambda: [transaction for transaction in pending_hashes(chain) if transaction != stuck]
        )
        assert int(chain.rpc("eth_getTransactionByHash", replacement)["maxFeePerGas"], 16) > fee

        def send_original() -> bool:
            """The prover may send the replacement again in between."""
            for transaction in pending_hashes(chain):
                chain.rpc("anvil_dropTransaction", transaction)
            with suppress(RpcError):
                chain.rpc("eth_sendRawTransaction", raw)
            return pending_hashes(chain) == [stuck]

        mined = replacement
        if original_is_mined:
            wait_until(send_original)
            mined = stuck
        chain.mine()
        chain.automine(on=True)
        assert int(served.wait(batch)["spent"]) == chain.cost(mined)
    assert mined_nonces(chain) == [*before, len(before)]


def test_only_the_next_nonce_is_replaced(served: Service, blocks: Iterator[int]) -> None:
    """Later transactions wait for it, and a higher fee would not help them."""
    chain = served.chain
    chain.automine(on=False)
    with served.prove():
        batches = [served.submit_balance(next(blocks))]
        (stuck,) = wait_until(lambda: pending_hashes(chain))
        batches.append(served.submit_balance(next(blocks)))
        later = wait_until(
            lambda: [transaction for transaction in pending_hashes(chain) if transaction != stuck]
        )
        seen = {stuck, *later}

        def replaced_twice() -> bool:
            seen.update(pending_hashes(chain))
            return len(seen) >= len({stuck, *later}) + 2

        wait_until(replaced_twice)
        assert set(later) < set(pending_hashes(chain))
        chain.automine(on=True)
        chain.mine()
        served.wait(*batches)


def test_facts_are_proven_again_if_their_nonce_was_used_elsewhere(
    served: Service, blocks: Iterator[int]
) -> None:
    """Once the other transaction is final and the operator has resumed sending, the next nonce
    proves the facts of the lost one.
    """
    chain, before = served.chain, mined_nonces(served.chain)
    chain.automine(on=False)
    with served.prove():
        batch = served.submit_balance(next(blocks))
        (sent,) = wait_until(lambda: pending_hashes(chain))
        chain.rpc("anvil_dropTransaction", sent)
        pay_elsewhere(chain, nonce=len(before))
        chain.mine()
        chain.rpc("anvil_setIntervalMining", 1)
        served.wait_for(batch, "key_used_elsewhere")
        served.manage("resume_sending", "31337", "--yes")
        served.wait(batch)
        chain.automine(on=True)  # this also ends interval mining
    assert mined_nonces(chain) == [*before, len(before), len(before) + 1]


def test_two_provers_with_one_key_are_noticed(
    new_service: NewService, new_chain: NewChain, chain: Chain
) -> None:
    """The one that loses a nonce sends nothing more on that chain until its operator resumes it."""
    first, second, other_chain = new_service(), new_service(), new_chain(31338)
    for service in (first, second):
        service.set_limits(resend_after=1, replace_after=600, max_retry_delay=1)
        service.add_native_chain(chain)
    second.add_native_chain(other_chain)
    block, other_block = chain.mine(2) - 2, other_chain.mine(4) - 2
    for service in (first, second):
        service.serve()
    chain.automine(on=False)
    with first.prove():
        winner = first.submit_balance(block)
        wait_until(lambda: pending_hashes(chain))
        with second.prove():
            loser = second.submit_balance(block)
            second.wait_for(loser, "transaction_pending")
            chain.mine()
            chain.rpc("anvil_setIntervalMining", 1)
            first.wait(winner)
            waiting = second.wait_for(loser, "key_used_elsewhere")
            assert "who else uses the key" in waiting["waitsFor"]
    with second.prove():  # also after a restart
        later = second.submit_balance(block + 1)
        second.wait_for(later, "key_used_elsewhere")
        entry = {f"block:{other_block}": accounts(HOLDER)}
        second.wait(second.submit({31338: entry}, to=31338))
        assert mined_nonces(chain) == [0]

        def lanes() -> set[str]:
            lines = second.get("/metrics").text.splitlines()
            return {line for line in lines if line.startswith("tacitus_sending_stopped{")}

        samples = (f'tacitus_sending_stopped{{chain="{n}"}}' for n in ("31337", "31338"))
        expected = {f"{sample} {value}" for sample, value in zip(samples, (1, 0), strict=True)}
        wait_until(lambda: lanes() == expected)  # a prover stores its signer when it has looked
        assert "Proving on Chain 31337 has stopped" in second.get("/status").text
        checked = second.manage("check_setup", fails=True)
        assert re.search("^not ok +.*resume_sending 31337", checked.stdout, re.MULTILINE)
        router = second.manage("deploy_router", "--destination", "31337", fails=True)
        assert "tacitus resume_sending 31337" in router.stderr
        elsewhere = second.manage("resume_sending", "31338", "--yes", fails=True)
        assert "Sending to chain 31338 is not stopped. It is to: 31337." in elsewhere.stderr
        second.manage("resume_sending", "31337", "--yes")
        second.wait(loser, later)
    second.manage("resume_sending", "31337", "--yes", fails=True)  # nothing is stopped


def await_funds_of(signer: str, service: Service) -> None:
    """Wait until the metrics show this key's funds, which they do at its first check."""
    wait_until(lambda: f'signer="{signer}"' in service.get("/metrics").text, what=signer)


def test_a_former_keys_nonce_that_was_used_elsewhere_stops_nothing(
    served: Service, blocks: Iterator[int]
) -> None:
    chain, other_key = served.chain, "0x" + 32 * "5c"
    chain.set_balance(Account.from_key(other_key).address, ETHER)
    nonce = len(mined_nonces(chain))
    chain.automine(on=False)
    with served.prove():
        before = served.submit_balance(next(blocks))
        (sent,) = wait_until(lambda: pending_hashes(chain))
        await_funds_of(SIGNER, served)
    chain.rpc("anvil_dropTransaction", sent)
    pay_elsewhere(chain, nonce)
    chain.mine()
    chain.rpc("anvil_setIntervalMining", 1)
    with served.prove(SIGNER_KEY=other_key):
        served.wait(before, served.submit_balance(next(blocks)))
        await_funds_of(Account.from_key(other_key).address, served)
    chain.automine(on=True)  # this also ends interval mining
    served.manage("resume_sending", "31337", "--yes")  # the former key may be used again


def test_an_outage_cancels_nothing(served: Service, blocks: Iterator[int]) -> None:
    """A transaction that a node accepted stays in its pool while the node fails."""
    chain, before = served.chain, mined_nonces(served.chain)
    attempts = set[str]()

    def fail_sending(question: Question) -> dict[str, Any] | None:
        if question["method"] != "eth_sendRawTransaction":
            return None
        attempts.add(question["params"][0])
        error = {"code": -32603, "message": "Internal error"}
        return {"jsonrpc": "2.0", "id": question["id"], "error": error}

    with closing(Node(chain)) as node:
        chain.automine(on=False)
        with served.prove(ROUTES_FILE=served.routes_with(nodes=[node.url])):
            batch = served.submit_balance(next(blocks))
            sent = wait_until(lambda: pending_hashes(chain))
            node.set_fault(fail_sending)
            wait_until(lambda: len(attempts) > 1, what="it is replaced")
            spoilt = node.spoilt
            wait_until(lambda: node.spoilt > spoilt + 2, what="it is sent again")
            node.recover()
            wait_until(lambda: pending_hashes(chain) != sent, what="the replacement is in the pool")
            chain.automine(on=True)
            chain.mine()
            served.wait(batch)
    assert mined_nonces(chain) == [*before, len(before)]


def test_transactions_of_a_former_key_are_followed(served: Service, blocks: Iterator[int]) -> None:
    """The old key's transaction is sent again as signed, after the node has dropped it."""
    chain, former = served.chain, mined_nonces(served.chain)
    first, second = islice(blocks, 2)
    chain.automine(on=False)
    with served.prove():
        before = served.submit_balance(first)
        (sent,) = wait_until(lambda: pending_hashes(chain))
    chain.rpc("anvil_dropTransaction", sent)
    chain.automine(on=True)
    with served.prove(SIGNER_KEY=OTHER_KEY):
        served.wait(after := served.submit_balance(second))
        served.wait(before)
    assert served.is_proven(HOLDER, first)
    assert served.is_proven(HOLDER, second)
    assert mined_nonces(chain) == [*former, len(former)]
    assert mined_nonces(chain, OTHER_KEY) == [0]
    spent = [int(served.status(batch)["spent"]) for batch in (before, after)]
    other = chain.transactions_of(Account.from_key(OTHER_KEY).address)
    assert spent == [chain.cost(sent), chain.cost(other[0]["hash"])]


def test_nonces_used_elsewhere_are_skipped(served: Service, blocks: Iterator[int]) -> None:
    chain, before = served.chain, mined_nonces(served.chain)
    with served.prove():
        for block in islice(blocks, 2):
            served.wait(served.submit_balance(block))
            signer = Account.from_key(SIGNER_KEY).address
            pay_elsewhere(
                chain, nonce=int(chain.rpc("eth_getTransactionCount", signer, "latest"), 16)
            )
        served.wait(served.submit_balance(next(blocks)))
    assert mined_nonces(chain) == [*before, *range(len(before), len(before) + 5)]


def test_an_older_backup_is_restored_without_a_stuck_nonce(
    new_service: NewService, chain: Chain, back_up: Callable[[Service], str]
) -> None:
    """Facts proven after the backup are not paid for again, and no nonce is used twice."""
    service = new_service()
    service.add_native_chain(chain)
    first, second, third = (chain.mine(2) - 1 for _ in range(3))
    with service.serve():
        with service.prove():
            service.wait(service.submit_balance(first))
        waiting = service.submit_balance(second)
    backup = back_up(service)
    with service.prove():
        wait_until(lambda: service.is_proven(HOLDER, second))
    assert mined_nonces(chain) == [0, 1]
    service.settings["DATABASE_URL"] = backup
    with service.serve(), service.prove():
        assert service.wait(waiting)["spent"] == "0"
        assert mined_nonces(chain) == [0, 1]
        service.wait(service.submit_balance(third))
    assert mined_nonces(chain) == [0, 1, 2]
