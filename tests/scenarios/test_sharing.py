"""A fact is proven and paid for once, and accounts share a prover fairly."""

from collections import Counter
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from tests.rigs.anvil import Chain
from tests.rigs.service import BALANCE, SIGNER, Service, accounts
from tests.scenarios.fixtures import NewService

MAX_TRANSACTION_BYTES = 128 * 1024  # that nodes accept
BATCHES, BLOCKS, HOLDERS, PROVERS = 200, 8, 12, 4
LARGE_BATCHES, ACCOUNTS_PER_BATCH = 20, 60


def new_accounts(count: int) -> list[str]:
    return [Key.create().address for _ in range(count)]


def count_proofs(service: Service, among: Collection[str]) -> Counter[tuple[str, int]]:
    """The number of events by account and block."""
    logs = service.events("AccountProven(address,uint256,uint8)")
    pairs = ((to_checksum_address(log["topics"][1][-40:]), log["topics"][2]) for log in logs)
    return Counter((account, int(block, 16)) for account, block in pairs if account in among)


def mined_calls(service: Service) -> list[str]:
    """The calldata of the signer's mined transactions."""
    return [transaction["input"] for transaction in service.chain.transactions_of(SIGNER)]


def count_mentions(calls: list[str], account: str) -> int:
    return sum(call.count(account[2:].lower()) for call in calls)


def test_proven_facts_cost_no_transaction(service: Service) -> None:
    """For another account too, and in a batch with facts that are not proven yet."""
    first, second = new_accounts(2)
    block = service.chain.mine(2) - 1
    service.wait(service.submit_balance(block, first))
    calls = mined_calls(service)
    status = service.wait(service.submit_balance(block, first, key=service.keys[1]))
    assert status["spent"] == "0"
    assert mined_calls(service) == calls
    service.wait(service.submit({31337: {block: accounts(first, second)}}))
    assert count_mentions(mined_calls(service), second) == 1
    assert count_mentions(mined_calls(service), first) == 1


def test_a_third_party_that_proves_the_facts_first_does_no_harm(service: Service) -> None:
    """Its transaction is mined before ours, which then proves nothing and does not fail."""
    chain = service.chain
    block = chain.mine(2) - 1
    chain.automine(on=False)
    batch = service.submit_balance(block)
    service.wait_for(batch, "transaction_pending")
    (ours,) = chain.rpc("txpool_content")["pending"][SIGNER.lower()].values()
    theirs = chain.rpc(
        "eth_sendTransaction",
        {"from": chain.payer, "to": ours["to"], "data": ours["input"], "gasPrice": hex(10**12)},
    )
    chain.mine()
    service.wait(batch)
    first, second = (chain.receipt(transaction) for transaction in (theirs, ours["hash"]))
    assert first["blockNumber"] == second["blockNumber"]
    assert first["logs"]
    assert (second["status"], second["logs"]) == ("0x1", [])


def test_a_thousand_accounts_of_a_block_are_proven(shared_service: Service) -> None:
    holders = new_accounts(1_000)
    for number, holder in enumerate(holders):
        shared_service.chain.set_balance(holder, number)
    block = shared_service.chain.mine(2) - 1
    status = shared_service.wait(shared_service.submit({31337: {block: accounts(*holders)}}))
    assert status["nextQuery"] is not None  # an answer has a page of them
    assert count_proofs(shared_service, holders) == dict.fromkeys(
        ((holder, block) for holder in holders), 1
    )
    for number in range(0, 1_000, 111):
        assert shared_service.field(holders[number], block, BALANCE) == number
    for transaction in shared_service.chain.transactions_of(SIGNER):
        raw = shared_service.chain.rpc("eth_getRawTransactionByHash", transaction["hash"])
        assert len(bytes.fromhex(raw[2:])) <= MAX_TRANSACTION_BYTES


def test_four_provers_prove_each_fact_of_two_hundred_batches_once(
    chain: Chain, new_service: NewService
) -> None:
    service, holders = new_service(), new_accounts(HOLDERS)
    service.add_native_chain(chain)
    service.serve()
    top = chain.mine(BLOCKS) - 1
    batches = [
        (top - number % BLOCKS, holders[number % HOLDERS], holders[(number // BLOCKS) % HOLDERS])
        for number in range(BATCHES)
    ]
    for _ in range(PROVERS):
        service.prove(threads=1)

    def submit(batch: tuple[int, str, str]) -> str:
        block, *pair = batch
        return service.submit({31337: {block: accounts(*pair)}})

    with ThreadPoolExecutor(4) as clients:
        service.wait(*clients.map(submit, batches), seconds=180)
    facts = {(holder, block) for block, *pair in batches for holder in pair}
    assert count_proofs(service, holders) == dict.fromkeys(facts, 1)
    calls = mined_calls(service)
    for holder in holders:
        assert count_mentions(calls, holder) == sum(account == holder for account, _ in facts)


def test_two_accounts_share_a_prover_fairly(chain: Chain, new_service: NewService) -> None:
    service, holders = new_service(), new_accounts(ACCOUNTS_PER_BATCH)
    service.add_native_chain(chain)
    service.serve()
    top = chain.mine(LARGE_BATCHES + 1) - 1
    blocks = range(top, top - LARGE_BATCHES, -1)
    large = [service.submit({31337: {block: accounts(*holders)}}) for block in blocks]
    small = service.submit_balance(top - LARGE_BATCHES, key=service.keys[1])
    service.prove(threads=1)
    ended = service.wait(small)["ended"]
    service.wait(*large)
    assert sum(service.status(batch)["ended"] < ended for batch in large) < LARGE_BATCHES / 2
