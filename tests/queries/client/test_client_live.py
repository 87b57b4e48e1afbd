"""The client as a module, against the whole service as it is run."""

from decimal import Decimal
from pathlib import Path

import pytest

from queries.client.tacitus import Ask, Refused, Rejected, Status, Tacitus, batch_of
from tests.guides import code_of, run
from tests.queries.contracts.holder import NESTED, NESTED_VALUE
from tests.scenarios.service import HELD, HOLDER, Service

pytestmark = pytest.mark.either_database
CHAIN_ID = 31337


@pytest.fixture
def client(shared: Service) -> Tacitus:
    return Tacitus(f"{shared.url}/", shared.keys[0])


def test_it_submits_waits_and_has_the_facts(
    shared: Service, client: Tacitus, contract: str, block: int
) -> None:
    position, value = NESTED, NESTED_VALUE
    head = shared.chain.header(block)
    shared.chain.mine(2)  # which block a time is of shows with the next
    asked = batch_of(
        CHAIN_ID,
        Ask(CHAIN_ID, block=block, accounts=[HOLDER.lower()], props=["BALANCE", "CODE_HASH"]),
        Ask(CHAIN_ID, block=block, accounts=[contract], props=["NONCE"], slots=[position.slot]),
        Ask(CHAIN_ID, block=block, header=["PARENT_HASH", "TIMESTAMP", "COINBASE"]),
        Ask(CHAIN_ID, timestamp=int(head["timestamp"], 16), accounts=[HOLDER], props=["NONCE"]),
    )
    estimate = client.estimate(asked)
    assert (estimate.free, estimate.fee_needed, len(estimate.answer["blocks"])) == (True, 0, 1)
    seen: list[Status] = []
    sent = client.submit(asked)
    done = client.wait(sent.id, timeout=60, progress=seen.append, steps=True)
    assert done == seen[-1]
    assert {step.mark for step in done.steps} == {"✓"}
    assert done.steps[0].name == "INITIAL_STATE"
    facts = client.facts(sent.id)
    assert {(fact.chain, fact.block) for fact in facts} == {(CHAIN_ID, block)}
    of = {(fact.account, fact.name): fact for fact in facts}
    balance = of[HOLDER, "BALANCE"]
    assert (balance.number, balance.units, balance.ens) == (HELD, Decimal(HELD) / 10**18, None)
    assert of[HOLDER, "CODE_HASH"].number is None
    slots = [fact for fact in facts if fact.name == f"0x{position.slot:064x}"]
    assert [(fact.number, fact.units) for fact in slots] == [(value, None)]
    assert of[None, "PARENT_HASH"].word == head["parentHash"]
    assert of[None, "TIMESTAMP"].number == int(head["timestamp"], 16)
    (at_a_time,) = [fact for fact in facts if fact.selector.startswith("timestamp:")]
    assert (at_a_time.name, at_a_time.number) == ("NONCE", 0)


def test_what_is_refused_says_where(shared: Service, client: Tacitus) -> None:
    wrong = batch_of(CHAIN_ID, Ask(CHAIN_ID, block=1, accounts=["0x12"], props=["BALANCE"]))
    with pytest.raises(Refused) as raised:
        client.submit(wrong)
    told = raised.value
    assert (told.code, told.retryable, told.http_status) == ("account_malformed", False, 400)
    assert told.path == f"data.{CHAIN_ID}.block:1.accounts.0x12"
    with pytest.raises(Refused) as raised:
        client.wait("01J2VM6JSA6VKKZ0ENWGYYPR18")
    assert raised.value.code == "batch_unknown"
    with pytest.raises(Refused) as raised:
        Tacitus(shared.url, "tct_wrong").submit(wrong)
    assert raised.value.code == "key_unknown"
    with pytest.raises(Refused) as raised:
        client.proof("01J2VM6JSA6VKKZ0ENWGYYPR18")
    assert raised.value.http_status == 404


def test_a_rejected_batch_shows_its_step(client: Tacitus) -> None:
    asked = batch_of(CHAIN_ID, Ask(CHAIN_ID, timestamp=1, header=["GAS_USED"]))
    with pytest.raises(Rejected) as raised:
        client.wait(client.submit(asked).id, timeout=60)
    assert (raised.value.step, raised.value.retryable) == ("INITIAL_STATE", False)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("from tacitus import", " BALANCE 123.456789"),
        ("submit --wait", f"BALANCE  {HELD / 10**18} ({HELD:,} wei)"),
        ("slot 3 --key", "0x"),
    ],
)
def test_what_the_guide_shows_works_as_it_stands(
    shared: Service, tmp_path: Path, words: str, printed: str
) -> None:
    language = "python" if "import" in words else "sh"
    shown = code_of(shared.url, "api", words)
    own = {"TACITUS_URL": shared.url, "TACITUS_KEY": shared.keys[0]}
    assert printed in run(language, shown, tmp_path, **own)
