"""What every kind of registry promises, whatever its source of block hashes is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from queries.sources import KINDS
from tests.explorer.page_text import visible_text
from tests.rigs.anvil import Chain
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, wait_until
from tests.scenarios.fixtures import Install
from tests.scenarios.source_cases import CASES, OLD_BLOCKS, SourceCase, running_case

Test = TypeVar("Test", bound=Callable[..., None])
Routes = tuple[SourceCase, SourceCase]


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, install: Install) -> Iterator[Routes]:
    with running_case(request.param, install) as routes:
        yield routes


@pytest.fixture
def case(running: Routes) -> SourceCase:
    return running[0]


@pytest.fixture
def old_case(running: Routes) -> SourceCase:
    """A route from a chain without EIP-2935, so that hops do not reach back."""
    return running[1]


def kinds(applies: Callable[[type[SourceCase]], object]) -> Callable[[Test], Test]:
    """Run the test for the kinds to which it applies."""
    names = [str(kind) for kind, case in CASES.items() if applies(case)]
    run_for_each = pytest.mark.parametrize("running", names, indirect=True, scope="module")
    return lambda test: pytest.mark.either_database(run_for_each(test))


every_kind = kinds(lambda _: True)


@pytest.mark.no_database
def test_each_kind_is_tried_here() -> None:
    assert list(CASES) == list(KINDS)


@every_kind
def test_a_batch_waits_with_a_reason_until_its_block_can_be_known(case: SourceCase) -> None:
    block, before = case.new_block(), case.destination.head
    batch = case.submit(block)
    status = case.service.wait_for(batch, case.wait_code)
    assert case.wait_words in status["waitsFor"]
    page = visible_text(case.service.get(f"/explorer/query/{batch}").text)
    assert case.wait_words in page
    assert case.awaited_words in _vouched_by(page)
    (query,) = status["queries"]
    waiting = [step["step"] for step in query["steps"] if step["status"] == "IN_PROGRESS"]
    assert waiting == [case.waits_in]
    assert not case.is_proven(block)
    case.make_known(block)
    case.service.wait(batch)
    assert case.balance(block) == HOLDER_BALANCE
    assert len(case.sent_since(before)) == case.preparations + 1
    vouched_by = _vouched_by(visible_text(case.service.get(f"/explorer/query/{batch}").text))
    assert [words for words in case.vouchers if words not in vouched_by] == []


def _vouched_by(page: str) -> str:
    return page.partition("vouched by")[2].partition("account 0x")[0]


@every_kind
def test_nothing_is_paid_twice(case: SourceCase) -> None:
    """Two batches at once prepare one block once. A later one pays neither for a block that is
    known, nor for a fact that is proven.
    """
    service, block = case.service, case.new_block()
    case.make_known(block + 2)
    before = case.destination.head
    batches = [case.submit(number) for number in (block, block + 1)]
    service.wait(*batches)
    assert case.balance(block) == case.balance(block + 1) == HOLDER_BALANCE
    assert len(case.preparations_since(before)) == case.preparations
    spent = sum(int(service.status(batch)["spent"]) for batch in batches)
    assert spent == case.cost_since(before)
    count = len(case.sent_since(before))
    again = case.submit(block, key=service.keys[1])
    assert service.wait(again)["spent"] == "0"
    assert len(case.sent_since(before)) == count
    case.prove(block + 2)
    assert len(case.sent_since(before)) == count + 1


@every_kind
def test_a_block_far_before_a_known_one_is_reached_as_estimated(case: SourceCase) -> None:
    block = case.new_block()
    case.source.mine(case.distance)
    case.make_known(block + case.distance)

    def complete_estimate() -> dict[str, Any]:
        estimate = case.estimate(block)
        return estimate if estimate.get("complete") else {}

    estimate = wait_until(complete_estimate)
    assert estimate["blocks"][0]["hops"] == case.hops
    before = case.destination.head
    batch = case.prove(block)
    page = case.service.get(f"/explorer/query/{batch}/0").text
    assert page.count("1 hop<") == case.hops
    sent = case.sent_since(before)
    assert len(sent) == estimate["transactions"] == case.preparations + 1
    gas = sum(int(case.destination.receipt(row["hash"])["gasUsed"], 16) for row in sent)
    assert gas == pytest.approx(int(estimate["gas"]), rel=0.05)


@kinds(lambda case: case.far_readiness == "OUT_OF_REACH")
def test_a_block_that_is_out_of_reach_is_refused(old_case: SourceCase) -> None:
    case, block = old_case, 5
    case.make_known(OLD_BLOCKS - 5)
    (estimated,) = wait_until(lambda: case.estimate(block))["blocks"]
    assert (estimated["readiness"], estimated["price"]) == ("OUT_OF_REACH", None)
    before = case.destination.head
    rejection = case.service.rejection(case.submit(block))
    assert (rejection["code"], rejection["retryable"]) == ("block_out_of_reach", False)
    assert rejection["step"] == "BLOCKHASH_AVAILABLE"
    assert rejection["message"] == estimated["error"]
    assert f"it is {int(estimated['distance']):,} blocks before the nearest" in estimated["error"]
    assert not case.sent_since(before)


@kinds(lambda case: case.far_readiness == "NOT_KNOWN")
def test_a_block_out_of_reach_waits_if_it_can_still_be_learned(old_case: SourceCase) -> None:
    case, block = old_case, 5
    case.make_known(OLD_BLOCKS - 5)
    batch = case.submit(block)
    status = case.service.wait_for(batch, case.wait_code)
    assert case.wait_words in status["waitsFor"]
    (estimated,) = wait_until(lambda: case.estimate(block))["blocks"]
    assert estimated["readiness"] == "NOT_KNOWN"
    case.make_known(block)
    case.service.wait(batch)
    assert case.balance(block) == HOLDER_BALANCE


@every_kind
def test_what_a_reorg_undoes_after_done_is_proven_again(case: SourceCase) -> None:
    """Its preparation too, once, and the batch stays DONE."""
    block = case.new_block()
    case.make_known(block + 2)
    before = case.destination.head
    batch = case.prove(block)
    case.destination.reorganise(case.preparations + 1)
    assert not case.is_proven(block)
    assert not case.sent_since(before)
    wait_until(lambda: case.is_proven(block), what="it is proven again")
    assert len(case.sent_since(before)) == case.preparations + 1
    assert case.balance(block) == HOLDER_BALANCE
    assert case.service.status(batch)["queryStatus"] == "DONE"


@contextmanager
def no_automine(chain: Chain) -> Iterator[None]:
    chain.automine(on=False)
    try:
        yield
    finally:
        chain.automine(on=True)


def await_pending(chain: Chain) -> None:
    """Wait until one transaction waits for a block."""
    wait_until(lambda: int(chain.rpc("txpool_status")["pending"], 16) == 1, what="one is pending")


@kinds(lambda case: case.preparations)
def test_a_preparation_that_a_reorg_removes_is_sent_again(case: SourceCase) -> None:
    """The proof, which was sent once the preparation was mined, waits for it."""
    block, chain = case.new_block(), case.destination
    case.make_known(block + 2)
    before = chain.head
    with no_automine(chain):
        batch = case.submit(block)
        await_pending(chain)
        chain.mine()
        assert len(case.preparations_since(before)) == case.preparations
        await_pending(chain)
        chain.reorganise(1)
        assert not case.preparations_since(before)
        assert case.service.status(batch)["queryStatus"] == "IN_PROGRESS"
    case.service.wait(batch)
    assert case.balance(block) == HOLDER_BALANCE
    assert len(case.preparations_since(before)) == case.preparations
    assert len(case.sent_since(before)) == case.preparations + 1


def registry_line(case: SourceCase, **settings: str) -> str:
    """What `check_setup` says of the route; other checks fail, as test chains are days old."""
    printed = case.service.manage("check_setup", fails=True, **settings).stdout
    return next(line for line in printed.splitlines() if " registry of " in line)


@every_kind
def test_check_setup_says_what_it_has_learned_or_what_is_missing(case: SourceCase) -> None:
    block = case.new_block()
    case.make_known(block)
    case.prove(block)
    line = registry_line(case)
    assert line.startswith("ok ")
    assert case.setup_words in line
    routes = case.service.routes.read_text()
    for text, replacement in case.broken_route().items():
        assert text in routes
        routes = routes.replace(text, replacement)
    file = case.service.folder / "broken.toml"
    file.write_text(routes)
    line = registry_line(case, ROUTES_FILE=str(file))
    assert line.startswith("not ok ")
    assert case.broken_words in line


@every_kind
def test_the_registrys_page_says_whom_one_trusts(case: SourceCase) -> None:
    page = case.service.get(f"/explorer/registry/{case.destination.id}/{case.registry}").text
    for words in case.trusted:
        assert words in visible_text(page)


def publish(case: SourceCase, file: Path, registry: str, *options: str, fails: bool = False) -> str:
    """Run the command as on a machine of its own, with neither database nor routes."""
    command = ("publish_proof", str(file), "--registry", registry, "--unverifiable")
    result = case.service.manage(
        *command, "--node", case.destination.url, *options, fails=fails,
        DATABASE_URL="postgres://127.0.0.1:1/none", ROUTES_FILE="",
    )  # fmt: skip
    return str(result.stdout + result.stderr)


@every_kind
def test_a_proof_file_is_published_without_the_server(case: SourceCase, tmp_path: Path) -> None:
    """Without the nodes that the kind needs, the command names them."""
    block = case.new_block()
    case.source.mine(case.publish_distance)
    case.make_known(block + case.publish_distance)
    batch = case.prove(block)
    file = tmp_path / "proof.json"
    file.write_bytes(case.service.get(f"/batch-queries/{batch}/proof").content)
    trusted = case.source.header(block)["hash"]
    verified = case.service.manage("verify_proof", str(file), "--hash", trusted)
    assert f"{HOLDER_BALANCE} wei" in verified.stdout
    registry = case.deploy_another()
    printed = publish(case, file, registry, fails=bool(case.publish_nodes))
    assert case.publish_option in printed
    publish(case, file, registry, *case.publish_nodes)
    read = "accountField(address,uint256,uint8)"
    word = case.destination.call(registry, read, HOLDER, block, BALANCE)
    assert int.from_bytes(word) == HOLDER_BALANCE
