"""Commands deploy beacon registries where their chains allow it, or say in a sentence why not."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from accounts.wording import DAY
from explorer.demo.beacon_server import Content
from explorer.demo.beacon_stand_in import BeaconStandIn
from explorer.demo.local_node import LocalNode, local_node
from queries.config.measured_costs import update_cost
from queries.config.routes_file import RoutesFileError
from queries.proving.beacon import UPDATE_SELECTOR
from queries.proving.beacon_chains import BEACON_CHAINS
from queries.sources.beacon import BeaconRegistry
from queries.sources.deployment import has_built_code
from queries.sources.registry import has_derived_address
from queries.sources.routes import read_routes
from tests.queries.management.local_setup import CHAIN_ID, LocalSetup
from tests.rigs.anvil import Chain
from tests.rigs.beacon_node import ANSWERS, SLOT_SECONDS, BeaconNode, Fault, KnownChainRig
from tests.rigs.faulty_node import Question, Relay, refusal

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]

ETHEREUM, GOERLI = 1, 5  # a beacon chain is known of the first one
NOWHERE = "http://127.0.0.1:1"
ROOT = f"0x{32 * 'a5'}"
FULU_EPOCH = 411_392
BEACON = (f'beacon = ["{NOWHERE}/beacon"]', f'beacon_checkpoint = "{ROOT}"')
NEW = ("--source", str(ETHEREUM), "--destination", str(CHAIN_ID), "--kind", "beacon")
CHECKPOINT = ("--checkpoint", ROOT)


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        running.rpc.ask("anvil_mine", hex(3))
        yield running


@pytest.fixture(scope="module")
def ethereum() -> Iterator[Chain]:
    """A chain with Ethereum's id, whose blocks are of the last two hours."""
    with closing(Chain(ETHEREUM)) as chain:
        chain.reach_time(int(time.time()) - 7_200)
        chain.mine(20, SLOT_SECONDS)
        yield chain


@pytest.fixture(scope="module")
def rig(ethereum: Chain) -> KnownChainRig:
    rig = KnownChainRig(ethereum)
    rig.finalize("latest")
    return rig


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path) -> LocalSetup:
    local_setup = LocalSetup(settings, tmp_path)
    local_setup.add_chain(ETHEREUM, "Ethereum", [NOWHERE], *BEACON)
    return local_setup


def test_a_beacon_registry_is_deployed_with_the_known_forks(
    settings: LazySettings, tmp_path: Path, node: LocalNode, ethereum: Chain, rig: KnownChainRig
) -> None:
    setup, root = LocalSetup(settings, tmp_path), rig.checkpoint(10)
    with closing(BeaconNode(rig)) as beacon:
        lines = f'beacon = ["{beacon.url}"]', f'beacon_checkpoint = "{root}"'
        setup.add_chain(ETHEREUM, "Ethereum", [ethereum.url], *lines)
        setup.add_chain(CHAIN_ID, "Local", [node.url])
        beacon.falsify(with_fork("0x06000001", FULU_EPOCH))
        refused = setup.run("deploy_registry", *NEW, "--checkpoint", root)
        assert "FAILED: Ethereum, forks of beacon node 1: " in refused
        assert "begins the fork 0x06000001, not the fork 0x06000000. " in refused
        assert "Deploying" not in refused
        beacon.falsify(with_fork("0x07000000", 8_000_000))
        printed = setup.run("deploy_registry", *NEW, "--checkpoint", root)
        announced = "It announces the fork 0x07000000 for 2118-"
        assert f"Ethereum, forks of beacon node 1: {announced}" in printed
        setup.add(f"[[registries]]{printed.partition('[[registries]]')[2]}")
        (registry,) = read_routes(setup.file).registries.values()
        forks = BEACON_CHAINS[ETHEREUM].forks
        assert isinstance(registry, BeaconRegistry)
        assert registry.fork_versions == tuple(fork.version for fork in forks)
        assert f"0x{registry.checkpoint.hex()}" == root
        assert has_derived_address(registry)
        code = node.rpc.ask("eth_getCode", registry.address, "latest")
        assert has_built_code(BeaconRegistry, bytes.fromhex(code[2:]))
        assert "already, and nothing was sent" in setup.run("deploy_registry")
        cost = setup.run("cost", "--gas-price-gwei", "1")
        assert "The registry and its events verifier are deployed." in cost
        assert re.search("321 updates a year: .* ETH, which you pay", cost)
        checked = setup.run("check_setup")
        assert f"begins with the checkpoint {root}" in checked
        assert forks_line(checked).startswith("hint ")
        assert announced in forks_line(checked)
        beacon.recover()
        assert forks_line(setup.run("check_setup")).startswith("ok ")


def forks_line(printed: str) -> str:
    return line_about("forks of beacon node", printed)


def line_about(subject: str, printed: str) -> str:
    (line,) = (line for line in printed.splitlines() if subject in line)
    return line


@dataclass
class Route:
    """From Ethereum to the local chain, by a beacon node."""

    setup: LocalSetup
    rig: KnownChainRig
    beacon: BeaconNode

    def add_chains(self, url: str, checkpoint: str) -> None:
        lines = f'beacon = ["{self.beacon.url}"]', f'beacon_checkpoint = "{checkpoint}"'
        self.setup.add_chain(ETHEREUM, "Ethereum", [self.rig.chain.url], *lines)
        self.setup.add_chain(CHAIN_ID, "Local", [url])

    def deploy(self, checkpoint: str, *options: str) -> str:
        """Deploy a registry and add it to the routes file. Return what is printed."""
        printed = self.setup.run("deploy_registry", *NEW, "--checkpoint", checkpoint, *options)
        if "[[registries]]" in printed:
            self.setup.add(f"[[registries]]{printed.partition('[[registries]]')[2]}")
        return printed

    def registry_line(self) -> str:
        """What `check_setup` says of the registry."""
        return line_about("registry of Ethereum on Local", self.setup.run("check_setup"))


@pytest.fixture
def route(settings: LazySettings, tmp_path: Path, rig: KnownChainRig) -> Iterator[Route]:
    with closing(BeaconNode(rig)) as beacon:
        yield Route(LocalSetup(settings, tmp_path), rig, beacon)


FORK_EPOCH, FORK_DAY = 750_000, "2030-01-16"


def test_a_horizon_beyond_an_announced_fork_is_refused(route: Route, node: LocalNode) -> None:
    root, other_root = map(route.rig.checkpoint, (13, 14))
    route.add_chains(node.url, root)
    route.beacon.falsify(with_fork("0x07000000", FORK_EPOCH))
    refused = route.deploy(root)
    assert f"FAILED: On {FORK_DAY}T20:00:23Z the fork 0x07000000 begins on the beacon" in refused
    assert "pass --beyond-fork" in refused
    assert "Deploying" not in refused
    early = route.deploy(root, "--horizon", FORK_DAY)
    assert "Deployed in block" in early
    line = route.registry_line()
    assert line.startswith("ok ")
    assert f"does not know the fork 0x07000000, so it takes updates only until {FORK_DAY}" in line
    accepted = route.deploy(other_root, "--beyond-fork")
    assert "Deployed in block" in accepted


def test_a_horizon_beyond_a_fork_that_the_routes_file_leaves_out_is_refused(
    route: Route, node: LocalNode
) -> None:
    root, first_slot = route.rig.checkpoint(15), f"{FORK_EPOCH * 32}"
    gloas = FULU.replace("13_164_544", first_slot).replace("0x06", "0x07")
    route.add_chains(node.url, root)
    route.setup.add(beacon_table(FULU, gloas.replace("electra", "gloas")))
    route.setup.add(f'{REGISTRY}\ncheckpoint = "{root}"\nforks = ["0x06000000"]')
    refused = route.setup.run("deploy_registry")
    assert f"On {FORK_DAY}T20:00:23Z the fork 0x07000000 begins on the beacon" in refused
    assert "FAILED: Not deployed: 1 of 1." in refused
    assert "Deployed in block" in route.setup.run("deploy_registry", "--beyond-fork")


def test_check_setup_says_until_which_fork_a_registry_works(route: Route, node: LocalNode) -> None:
    """A node lists forks that have no date yet: so a client did for mainnet."""
    root = route.rig.checkpoint(16)
    recorded = json.loads((ANSWERS / "lodestar_config.json").read_text())["mainnet"]
    route.add_chains(node.url, root)
    assert "Deployed in block" in route.deploy(root)
    none = "no beacon node announces a fork after 0x06000000, the last one it knows"
    assert none in route.registry_line()

    def configuration(name: str, content: Content) -> Content:
        return json.dumps({"data": recorded[name]}).encode() if name in recorded else content

    route.beacon.falsify(configuration)
    undated = "takes updates until the fork 0x07000000 (Gloas), which has no date yet"
    assert undated in route.registry_line()


# What an update costs that 509 members have signed, with the committee's slots

# PIP-88 of Polygon above EIP-2537 and EIP-2929: a pairing of two pairs, two maps to G2, an addition
# there, one in G1 for each of three absent members, and four slots that are read first
PIP_88 = 195_510 + 2 * 42_840 + 1_020 + 3 * 675 + 4 * 3_360
ETHEREUM_GAS = round(update_cost().gas)
PRICE = re.compile(
    rf"An update costs ([0-9,]+) gas here \(Ethereum: {ETHEREUM_GAS:,}\)[.] Keeping the registry "
    r"awake costs ([0-9,]+) gas, [0-9.…]+ ETH at the current price, a year[.]"
)


def estimated_gas(printed: str) -> tuple[int, int]:
    """The gas of an update and of a year."""
    match = PRICE.search(printed)
    assert match, printed
    update, year = (int(number.replace(",", "")) for number in match.groups())
    return update, year


def with_polygon_prices(node: Relay) -> None:
    def fault(question: Question) -> dict[str, Any] | None:
        if not is_update_estimate(question):
            return None
        answer = node.forward(question)
        return answer | {"result": hex(int(answer["result"], 16) + PIP_88)}

    node.set_fault(fault)


def is_update_estimate(question: Question) -> bool:
    """Whether a state override comes with an update."""
    if question["method"] != "eth_estimateGas" or len(question["params"]) < 3:
        return False
    data = question["params"][0]["data"]
    return bool(data.startswith(f"0x{UPDATE_SELECTOR.hex()}"))


@pytest.mark.parametrize(("block", "change", "more"), [
    (17, lambda _: None, 0),
    (18, with_polygon_prices, PIP_88),
])  # fmt: skip
def test_an_update_is_priced_by_the_destination(
    route: Route, node: LocalNode, block: int, change: Callable[[Relay], None], more: int
) -> None:
    root, expected = route.rig.checkpoint(block), pytest.approx(ETHEREUM_GAS + more, rel=0.02)
    with closing(Relay(node.url)) as priced:
        change(priced)
        route.add_chains(priced.url, root)
        printed = route.deploy(root)
        update, year = estimated_gas(printed.partition("Deploying")[0])
        assert update == expected
        assert year == update * 321
        line = line_about("updates of Ethereum on Local", route.setup.run("check_setup"))
        assert line.startswith("ok ")
        assert estimated_gas(line) == (update, year)
        cost = route.setup.run("cost", "--gas-price-gwei", "1")
        assert re.search(f"321 updates a year: +{year:,} gas ", cost)
        single = int(re.findall("one balance alone +([0-9,]+) gas", cost)[0].replace(",", ""))
        assert single == pytest.approx(672_470 + more, rel=0.02)


def refuse_overrides(node: Relay, question: Question) -> dict[str, Any] | None:
    if not is_update_estimate(question):
        return None
    error = refusal("too many arguments, want at most 2", code=-32602)
    return {"jsonrpc": "2.0", "id": question["id"], **error}


def ignore_overrides(node: Relay, question: Question) -> dict[str, Any] | None:
    if not is_update_estimate(question):
        return None
    return node.forward(question | {"params": question["params"][:2]})


def create_nothing(node: Relay, question: Question) -> dict[str, Any] | None:
    if question["method"] != "eth_call" or "to" in question["params"][0]:
        return None
    return {"jsonrpc": "2.0", "id": question["id"], "result": "0x"}


@pytest.mark.parametrize("answer", [refuse_overrides, ignore_overrides, create_nothing])
def test_nodes_that_estimate_no_update_are_named(
    route: Route, node: LocalNode, answer: Callable[[Relay, Question], dict[str, Any] | None]
) -> None:
    """Then Ethereum's figure is shown as such."""
    root = route.rig.checkpoint(19)
    with closing(Relay(node.url)) as limited:
        limited.set_fault(lambda question: answer(limited, question))
        route.add_chains(limited.url, root)
        route.setup.add(f'{REGISTRY}\ncheckpoint = "{root}"')
        line = line_about("updates of Ethereum on Local", route.setup.run("check_setup"))
        cost = route.setup.run("cost", "--gas-price-gwei", "1")
        assert limited.spoilt
    assert line.startswith("hint ")
    sentence = "The nodes of Local do not estimate what an update costs: on Ethereum it is "
    assert f"{sentence}{ETHEREUM_GAS:,} gas." in line
    assert "An update is counted as on Ethereum, because the nodes do not estimate it." in cost


def with_fork(version: str, epoch: int) -> Fault:
    """Have the node's configuration name another fork at the end, or the last one differently."""

    def fault(name: str, content: Content) -> Content:
        if name != "fork_schedule" or not isinstance(content, bytes):
            return content
        rows = json.loads(content)["data"]
        kept = [row for row in rows if row["epoch"] != str(epoch)]
        row = {"current_version": version, "epoch": str(epoch)}
        return json.dumps({"data": [*kept, row]}).encode()

    return fault


def test_a_checkpoint_that_is_unknown_or_old_is_refused_before_anything_is_sent(
    settings: LazySettings, tmp_path: Path, node: LocalNode, ethereum: Chain, rig: KnownChainRig
) -> None:
    setup = LocalSetup(settings, tmp_path)
    old_slot = rig.slot_of("latest") - 15 * DAY // SLOT_SECONDS
    old = f"0x{rig.stand_in.make_block(old_slot, bytes(32)).root.hex()}"
    with closing(BeaconNode(rig)) as beacon:
        lines = f'beacon = ["{beacon.url}"]', f'beacon_checkpoint = "{rig.checkpoint(10)}"'
        setup.add_chain(ETHEREUM, "Ethereum", [ethereum.url], *lines)
        setup.add_chain(CHAIN_ID, "Local", [node.url])
        unknown = setup.run("deploy_registry", *NEW, "--checkpoint", ROOT)
        assert "The beacon nodes of Ethereum do not have the beacon block" in unknown
        too_old = setup.run("deploy_registry", *NEW, "--checkpoint", old)
        sentence = "The checkpoint is older than 7 days: the registry would take no update."
        assert f"FAILED: {sentence}" in too_old
    unreachable = setup.run("deploy_registry", *NEW, "--checkpoint", rig.checkpoint(11))
    assert "FAILED: No beacon node of Ethereum answers" in unreachable
    assert "Check that it runs" in unreachable
    assert "Deploying" not in unknown + too_old + unreachable


def test_a_registry_that_does_not_know_the_present_fork_is_refused(
    settings: LazySettings, tmp_path: Path, node: LocalNode, ethereum: Chain, rig: KnownChainRig
) -> None:
    setup, root = LocalSetup(settings, tmp_path), rig.checkpoint(10)
    with closing(BeaconNode(rig)) as beacon:
        lines = f'beacon = ["{beacon.url}"]', f'beacon_checkpoint = "{root}"'
        setup.add_chain(ETHEREUM, "Ethereum", [ethereum.url], *lines)
        setup.add_chain(CHAIN_ID, "Local", [node.url])
        setup.add(f'{REGISTRY}\ncheckpoint = "{root}"\nforks = ["0x05000000"]')
        printed = setup.run("deploy_registry")
    assert "does not know the fork 0x06000000 of the beacon chain" in printed
    assert "Deploying" not in printed


def test_a_checkpoint_of_another_chain_is_refused_although_its_beacon_node_has_it(
    settings: LazySettings, tmp_path: Path, node: LocalNode, ethereum: Chain
) -> None:
    """The committee of the checkpoint signs for the genesis of its own chain."""
    setup, other = LocalSetup(settings, tmp_path), KnownChainRig(ethereum)
    other.facts = replace(other.facts, genesis_validators_root=bytes.fromhex(ROOT[2:]))
    other.stand_in = BeaconStandIn(other.facts)
    with closing(BeaconNode(other)) as beacon:
        lines = f'beacon = ["{beacon.url}"]', f'beacon_checkpoint = "{ROOT}"'
        setup.add_chain(ETHEREUM, "Ethereum", [ethereum.url], *lines)
        setup.add_chain(CHAIN_ID, "Local", [node.url])
        arguments = "deploy_registry", *NEW, "--checkpoint", other.checkpoint(12)
        unsigned = setup.run(*arguments)
        assert "FAILED: The beacon nodes of Ethereum do not have a finality update" in unsigned
        other.finalize("latest")
        printed = setup.run(*arguments)
    assert "signature is not by those members" in printed
    assert "Check that the checkpoint, and `beacon` and `beacon_chain`" in printed
    assert "Deploying" not in unsigned + printed


def test_a_chain_without_the_precompiles_is_refused_before_anything_is_sent(
    setup: LocalSetup,
) -> None:
    with local_node(hardfork="cancun") as old:
        old.rpc.ask("anvil_mine", hex(3))
        setup.add_chain(CHAIN_ID, "Local", [old.url])
        printed = setup.run("deploy_registry", *NEW, *CHECKPOINT)
    assert "FAILED: Local lacks the precompile 0x0b of EIP-2537 for BLS12-381" in printed
    assert "Deploying" not in printed


REGISTRY = f'[[registries]]\nkind = "beacon"\nsource = 1\ndestination = {CHAIN_ID}'
WITH_ROOT = f'{REGISTRY}\ncheckpoint = "{ROOT}"'
FIVE_FORKS = "".join(
    f'\n[[chains.1.beacon_chain.forks]]\nfirst_slot = {number}\nversion = "0x0{number}000000"'
    '\nlayout = "electra"'
    for number in range(5)
)
CUSTOM = (
    "[chains.1.beacon_chain]\ngenesis_time = 0\nseconds_per_slot = 12\n"
    f'genesis_validators_root = "{ROOT}"{FIVE_FORKS}'
)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([REGISTRY], "entry 1.checkpoint: it must be set, because the kind is beacon"),
        ([WITH_ROOT, 'checkpoint = "0x12"'], "ROUTES_FILE is not TOML"),
        ([f'{REGISTRY}\ncheckpoint = "0x12"'], "entry 1.checkpoint: it must be 32 bytes in hex"),
        ([f'{WITH_ROOT}\nforks = ["0x66000000"]'], "Ethereum has no fork 0x66000000"),
        ([f"{WITH_ROOT}\nforks = [6]"], "entry 1.forks, entry 1: it must be 4 bytes in hex"),
        ([f"{WITH_ROOT}\nmax_age = 86_400"], "entry 1.max_age: it must be at least 393216"),
        ([f"{WITH_ROOT}\nmax_age = 60"], "entry 1.max_age: it must be seconds, an hour or more"),
        ([f"{WITH_ROOT}\nthreshold = 1"], "entry 1: threshold is unknown; the keys are"),
        ([CUSTOM, WITH_ROOT], "entry 1.forks: a registry knows at most 4 forks"),
        (
            [WITH_ROOT.replace("source = 1", f"source = {GOERLI}")],
            "does not know the beacon chain of Goerli; add [chains.5.beacon_chain]",
        ),
    ],
)
def test_a_wrong_entry_of_the_routes_file_is_named(
    setup: LocalSetup, lines: list[str], sentence: str
) -> None:
    setup.add_chain(CHAIN_ID, "Local", [NOWHERE])
    setup.add_chain(GOERLI, "Goerli", [NOWHERE])
    setup.add(*lines)
    with pytest.raises(RoutesFileError, match="ROUTES_FILE") as error:
        read_routes(setup.file)
    assert sentence in str(error.value)


FULU = 'first_slot = 13_164_544, version = "0x06000000", layout = "electra"'
DIFFERENT = "`beacon_chain` is not as this release knows it: "


def beacon_table(*forks: str) -> str:
    """Ethereum's table `beacon_chain`, with these forks."""
    root = BEACON_CHAINS[ETHEREUM].genesis_validators_root.hex()
    lines = "genesis_time = 1_606_824_023", "seconds_per_slot = 12"
    table = ", ".join(f"{{ {fork} }}" for fork in forks)
    return "\n".join([
        "[chains.1.beacon_chain]", *lines, f'genesis_validators_root = "0x{root}"',
        f"forks = [{table}]", "",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("table", "option", "sentence"),
    [
        (beacon_table(FULU), "", ""),
        ("", "", ""),
        (
            beacon_table(FULU, FULU.replace("13_164", "93_164").replace("0x06", "0x07")),
            "",
            "this release does not know the fork 0x07000000",
        ),
        (
            beacon_table(FULU.replace("electra", "gloas")),
            "",
            "the fork 0x06000000 has finalizedRoot 735, not 169; ",
        ),
        (
            beacon_table(FULU.replace("13_164_544", "13_164_545")),
            "",
            "the fork 0x06000000 begins with slot 13,164,545, not 13,164,544",
        ),
        ("", "max_age = 8_640_000", "the maximum age is 8,640,000 seconds, more than 604,800"),
        ("", 'forks = ["0x04000000", "0x06000000"]', "the fork 0x05000000 is left out"),
    ],
)
def test_a_beacon_chain_other_than_the_known_one_is_a_hint(
    setup: LocalSetup, table: str, option: str, sentence: str
) -> None:
    setup.add_chain(CHAIN_ID, "Local", [NOWHERE])
    setup.add(table, WITH_ROOT, option)
    hints = [line for line in setup.run("check_setup").splitlines() if line.startswith("hint")]
    of_chain = [line for line in hints if DIFFERENT in line]
    of_registry = [line for line in hints if "Clients do not call it genuine: " in line]
    assert len(of_chain) == bool(sentence and table)
    assert len(of_registry) == bool(sentence)
    for line in of_chain + of_registry:
        assert f": {sentence}" in line
