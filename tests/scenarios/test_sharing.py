"""Work is shared: a fact is proven and paid for once, and accounts share a prover fairly."""

from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor

from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from tests.rigs.anvil import Chain
from tests.rigs.service import BALANCE, SIGNER, Service, accounts

LARGEST = 128 * 1024  # bytes that nodes take of one transaction
BATCHES, BLOCKS, PEOPLE, PROVERS = 200, 8, 12, 4
MANY, EACH = 20, 60


def new_accounts(count: int) -> list[str]:
    return [Key.create().address for _ in range(count)]


def proven(service: Service, among: Collection[str]) -> Counter[tuple[str, int]]:
    """How often something new was proven of each of these accounts, by block."""
    logs = service.events("AccountProven(address,uint256,uint8)")
    read = ((to_checksum_address(log["topics"][1][-40:]), log["topics"][2]) for log in logs)
    return Counter((account, int(block, 16)) for account, block in read if account in among)


def sent(service: Service) -> list[str]:
    """The calldata of each transaction of the signer that is mined."""
    return [transaction["input"] for transaction in service.chain.transactions_of(SIGNER)]


def shown(calls: list[str], account: str) -> int:
    """How often these calls name the account."""
    return sum(call.count(account[2:].lower()) for call in calls)


def test_proven_facts_cost_no_transaction(shared: Service) -> None:
    """Whoever asks for them, and beside others that do not exist yet."""
    first, second = new_accounts(2)
    block = shared.chain.mine(2) - 1
    shared.wait(shared.submit_balance(block, first))
    calls = sent(shared)
    status = shared.wait(shared.submit_balance(block, first, key=shared.keys[1]))
    assert sent(shared) == calls
    assert status["spent"] == "0"
    shared.wait(shared.submit({31337: {block: accounts(first, second)}}))
    assert shown(sent(shared), second) == 1
    assert shown(sent(shared), first) == shown(calls, first) == 1


def test_a_third_party_that_proves_the_facts_first_does_no_harm(service: Service) -> None:
    """Its transaction is mined before ours, which then writes nothing and does not fail."""
    chain = service.chain
    block = chain.mine(2) - 1
    chain.automine(on=False)
    batch = service.submit_balance(block)
    service.wait_for(batch, "transaction_on_its_way")
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


def test_a_thousand_accounts_of_a_block_are_proven(shared: Service) -> None:
    holders = new_accounts(1_000)
    for number, holder in enumerate(holders):
        shared.chain.set_balance(holder, number)
    block = shared.chain.mine(2) - 1
    status = shared.wait(shared.submit({31337: {block: accounts(*holders)}}))
    assert status["nextQuery"] is not None  # an answer shows some of them
    assert proven(shared, holders) == dict.fromkeys(((holder, block) for holder in holders), 1)
    for number in range(0, 1_000, 111):
        assert shared.field(holders[number], block, BALANCE) == number
    for transaction in shared.chain.transactions_of(SIGNER):
        raw = shared.chain.rpc("eth_getRawTransactionByHash", transaction["hash"])
        assert len(bytes.fromhex(raw[2:])) <= LARGEST


def test_four_provers_prove_each_fact_of_two_hundred_batches_once(
    chain: Chain, new_service: Callable[[], Service]
) -> None:
    service, people = new_service(), new_accounts(PEOPLE)
    service.add_chain(chain)
    service.add_registry("native", chain, chain)
    service.serve()
    top = chain.mine(BLOCKS) - 1
    asked = [
        (top - number % BLOCKS, people[number % PEOPLE], people[(number // BLOCKS) % PEOPLE])
        for number in range(BATCHES)
    ]
    provers = [service.start("run_prover", "--threads", "1") for _ in range(PROVERS)]
    for prover in provers:
        prover.await_log("Proving on")

    def submit(what: tuple[int, str, str]) -> str:
        return service.submit({31337: {what[0]: accounts(*what[1:])}})

    with ThreadPoolExecutor(4) as clients:
        service.wait(*clients.map(submit, asked), seconds=180)
    wanted = {(person, block) for block, *both in asked for person in both}
    assert proven(service, people) == dict.fromkeys(wanted, 1)
    calls = sent(service)
    for person in people:
        assert shown(calls, person) == sum(asker == person for asker, _ in wanted)


def test_two_accounts_share_a_prover_fairly(
    chain: Chain, new_service: Callable[[], Service]
) -> None:
    service, people = new_service(), new_accounts(EACH)
    service.add_chain(chain)
    service.add_registry("native", chain, chain)
    service.serve()
    top = chain.mine(MANY + 1) - 1
    many = [service.submit({31337: {top - n: accounts(*people)}}) for n in range(MANY)]
    one = service.submit_balance(top - MANY, key=service.keys[1])
    service.prove(threads=1)
    ended = service.wait(one)["ended"]
    service.wait(*many)
    before = sum(service.status(batch)["ended"] < ended for batch in many)
    assert before < MANY / 2
