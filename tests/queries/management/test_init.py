"""`init` writes routes files for public networks, which the other commands accept unchanged."""

import os
import pty
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import product
from pathlib import Path

import pytest
from django.conf import LazySettings

from accounts.wording import DAY
from explorer.demo.local_node import LocalNode, local_node
from queries.config.beacon_chains import BEACON_EXPLORERS
from queries.config.networks import NETWORKS
from queries.contracts.abi import load_artifact
from queries.contracts.create2 import courier_address
from queries.sources.attested import AttestedRegistry
from queries.sources.beacon import BeaconRegistry
from queries.sources.registry import RegistryKind, has_derived_address
from queries.sources.routes import Routes, read_routes
from tests.commands import clean_environment, run_program
from tests.queries.attacks.hash_sources import SIGNERS
from tests.queries.attacks.registry_attacks import put_predeploy, set_l1_block
from tests.queries.contracts.live_chain import LiveChain
from tests.queries.management.local_setup import ADDRESS, KEY, LocalSetup
from tests.rigs.anvil import Chain
from tests.rigs.beacon_node import BeaconNode, BeaconRig, KnownChainRig

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]

NOWHERE = "http://127.0.0.1:1/hunter2"
TWO_SIGNERS = ",".join(signer.address for signer in SIGNERS[:2])
BASE_SEPOLIA = 84_532
FIVE_YEARS = 5 * 365 * DAY
# The rollups' contracts on Sepolia
STAND_INS = {
    "base-sepolia": "DisputeGamesStandIn",
    "optimism-sepolia": "DisputeGamesStandIn",
    "arbitrum-sepolia": "RollupStandIn",
}
# All other pairs of different networks need an attested registry.
KINDS = {
    ("ethereum", "optimism"): RegistryKind.OPTIMISM,
    ("ethereum", "base"): RegistryKind.OPTIMISM,
    ("sepolia", "optimism-sepolia"): RegistryKind.OPTIMISM,
    ("sepolia", "base-sepolia"): RegistryKind.OPTIMISM,
    ("ethereum", "unichain"): RegistryKind.OPTIMISM,
    ("sepolia", "unichain-sepolia"): RegistryKind.OPTIMISM,
    ("optimism", "ethereum"): RegistryKind.OUTPUT,
    ("base", "ethereum"): RegistryKind.OUTPUT,
    ("unichain", "ethereum"): RegistryKind.OUTPUT,
    ("optimism-sepolia", "sepolia"): RegistryKind.OUTPUT,
    ("base-sepolia", "sepolia"): RegistryKind.OUTPUT,
    ("unichain-sepolia", "sepolia"): RegistryKind.OUTPUT,
    ("arbitrum", "ethereum"): RegistryKind.ARBITRUM,
    ("arbitrum-nova", "ethereum"): RegistryKind.ARBITRUM,
    ("arbitrum-sepolia", "sepolia"): RegistryKind.ARBITRUM,
}
# Routes from these need neither signers nor another L1, if a checkpoint is named.
BEACON_DESTINATIONS = {
    "ethereum": ("arbitrum", "arbitrum-nova", "bnb", "polygon", "gnosis", "linea"),
    "sepolia": (
        "arbitrum-sepolia", "bnb-testnet", "polygon-amoy", "gnosis-chiado", "linea-sepolia",
    ),
}  # fmt: skip
CHEAPER_DESTINATIONS = {  # OP-stack chains, which know the hashes of their L1
    "ethereum": ("base", "optimism"),
    "sepolia": ("base-sepolia", "optimism-sepolia"),
}
BEACON_ROUTES = [
    (source, destination, kind)
    for kind, destinations in (
        (RegistryKind.BEACON, BEACON_DESTINATIONS),
        (RegistryKind.OPTIMISM, CHEAPER_DESTINATIONS),
    )
    for source, names in destinations.items()
    for destination in names
]
ROOT = f"0x{32 * 'a5'}"
WITHOUT_NATIVE = {"arbitrum", "arbitrum-nova", "arbitrum-sepolia"}


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path) -> LocalSetup:
    local_setup = LocalSetup(settings, tmp_path)
    local_setup.file.unlink()
    return local_setup


def written_routes(setup: LocalSetup, *arguments: str) -> Routes:
    _, printed = setup.run_apart("init", *arguments)
    assert printed.startswith(f"Wrote {setup.file}."), printed
    return read_routes(setup.file)


def test_every_pair_of_networks_gets_its_kind_of_registry(setup: LocalSetup) -> None:
    nodes = (f"--node={name}={NOWHERE}" for name in NETWORKS)
    signers = ("--signers", TWO_SIGNERS, "--threshold", "2")
    routes = written_routes(setup, *NETWORKS, *nodes, *signers)
    for source, destination in product(NETWORKS, NETWORKS):
        pair = NETWORKS[source].chain, NETWORKS[destination].chain
        if source == destination and source in WITHOUT_NATIVE:
            assert pair not in routes.registries
            continue
        registry = routes.registries[pair]
        default = RegistryKind.NATIVE if source == destination else RegistryKind.ATTESTED
        assert registry.kind is KINDS.get((source, destination), default), pair
        assert has_derived_address(registry)
        assert registry.horizon < time.time() + FIVE_YEARS  # logs carry value
        assert routes.chains[registry.destination].daily_budget
    assert all(chain.explorer for chain in routes.chains.values())


def test_networks_get_all_routes_between_them_that_need_no_signers(setup: LocalSetup) -> None:
    networks = ("ethereum", "base", "arbitrum")
    nodes = (f"--node={name}={NOWHERE}" for name in networks)
    _, printed = setup.run_apart("init", *networks, *nodes)
    registries = read_routes(setup.file).registries
    kinds = {route: registry.kind for route, registry in registries.items()}
    ethereum, base, arbitrum = (NETWORKS[name].chain for name in networks)
    assert kinds == {
        (ethereum, ethereum): RegistryKind.NATIVE,
        (base, base): RegistryKind.NATIVE,
        (ethereum, base): RegistryKind.OPTIMISM,
        (base, ethereum): RegistryKind.OUTPUT,
        (arbitrum, ethereum): RegistryKind.ARBITRUM,
    }
    for route in ("Base → Arbitrum One", "Arbitrum One → Base"):
        assert f"{route}: left out, because it needs --signers." in printed
    needed = "--beacon and --checkpoint of Ethereum, or --signers"
    assert f"Ethereum → Arbitrum One: left out, because it needs {needed}." in printed


def test_with_a_checkpoint_routes_from_ethereum_need_no_signers(setup: LocalSetup) -> None:
    networks = ("ethereum", "arbitrum", "gnosis")
    nodes = [f"--node={name}={NOWHERE}" for name in networks]
    options = ("--beacon", f"ethereum={NOWHERE}", "--checkpoint", f"ethereum={ROOT}")
    routes = written_routes(setup, *networks, *nodes, *options)
    ethereum, arbitrum, gnosis = (NETWORKS[name].chain for name in networks)
    for destination in (arbitrum, gnosis):
        registry = routes.registries[ethereum, destination]
        assert isinstance(registry, BeaconRegistry)
        assert registry.checkpoint.hex() == 32 * "a5"
        assert registry.fork_versions == tuple(version for _, version, *_ in registry.fork_table)
        assert has_derived_address(registry)
        assert routes.chains[ethereum].beacon_checkpoint == registry.checkpoint
    assert (gnosis, ethereum) not in routes.registries


@pytest.mark.parametrize(("source", "destination", "kind"), BEACON_ROUTES)
def test_a_route_from_a_beacon_chain_gets_its_kind(
    setup: LocalSetup, source: str, destination: str, kind: RegistryKind
) -> None:
    """The file is accepted, and `init` names the registry's kind and its address."""
    nodes = (f"--node={name}={NOWHERE}" for name in (source, destination))
    beacon = ("--beacon", f"{source}={NOWHERE}", "--checkpoint", f"{source}={ROOT}")
    _, printed = setup.run_apart("init", f"{source}:{destination}", *nodes, *beacon)
    routes = read_routes(setup.file)
    ((route, registry),) = routes.registries.items()
    assert route == (NETWORKS[source].chain, NETWORKS[destination].chain)
    assert registry.kind is kind
    titles = f"{NETWORKS[source].title} → {NETWORKS[destination].title}"
    assert f"{titles}: {kind} registry {registry.address}" in printed
    assert routes.chains[route[0]].beacon_checkpoint.hex() == ROOT[2:]
    if isinstance(registry, BeaconRegistry):
        assert registry.checkpoint.hex() == ROOT[2:]


@pytest.mark.parametrize(
    ("source", "destination"),
    [(source, name) for source, names in BEACON_DESTINATIONS.items() for name in names],
)
def test_a_route_from_a_beacon_chain_asks_for_a_checkpoint(
    setup: LocalSetup, source: str, destination: str
) -> None:
    """It says where to look one up: in the beacon node, and in an explorer of this network."""
    nodes = [f"--node={name}={NOWHERE}" for name in (source, destination)]
    explorer = BEACON_EXPLORERS[NETWORKS[source].chain]
    for beacon in ((), ("--beacon", f"{source}={NOWHERE}")):
        printed = setup.run("init", f"{source}:{destination}", *nodes, *beacon)
        assert printed.startswith("FAILED: ")
        assert "--checkpoint" in printed
        assert "/eth/v1/beacon/headers/finalized" in printed
        assert f"such as {explorer}." in printed
        assert not setup.file.exists()


def test_a_new_file_is_private_and_force_replaces_it_atomically(
    setup: LocalSetup, tmp_path: Path
) -> None:
    written_routes(setup, "sepolia", "--node", f"sepolia={NOWHERE}")
    assert setup.file.stat().st_mode & 0o777 == 0o600
    before = setup.file.read_bytes()
    hoodi = ("hoodi", "--node", f"hoodi={NOWHERE}")
    sentence = f"FAILED: {setup.file} is there already. Name another one, or use --force."
    assert setup.run("init", *hoodi) == sentence
    assert setup.file.read_bytes() == before
    setup.file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(setup.file, 1, 2)
    with setup.file.open("rb") as reader:  # such as a prover that starts now
        assert set(written_routes(setup, *hoodi, "--force").chains) == {560_048}
        assert reader.read() == before
    replaced = setup.file.stat()
    assert replaced.st_mode & 0o777 == 0o640
    assert os.geteuid() != 0 or (replaced.st_uid, replaced.st_gid) == (1, 2)
    assert list(tmp_path.iterdir()) == [setup.file]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name networks, like sepolia or ethereum:base. Known: ethereum, optimism,"),
        (["goerli"], "goerli is not a known network. Known are ethereum, optimism,"),
        (["sepolia"], "Name a node of Sepolia: --node sepolia=URL."),
        (
            ["base", "--node", f"base={NOWHERE}", "--node", f"sepolia={NOWHERE}"],
            "--node sepolia=… is of a network that is not named.",
        ),
        (
            ["sepolia", "--node", f"sepolia={NOWHERE}", "--beacon", f"sepolia={NOWHERE}"],
            "Name both of sepolia: --beacon and --checkpoint. A checkpoint is the root of",
        ),
        (
            [
                "base",
                "--node",
                f"base={NOWHERE}",
                "--beacon",
                f"base={NOWHERE}",
                "--checkpoint",
                f"base={ROOT}",
            ],
            "Base has no beacon chain.",
        ),
        (["sepolia", "--checkpoint", "sepolia=0x12"], "--checkpoint takes NAME=0x… with the 64"),
        (
            ["sepolia", *["--checkpoint", f"sepolia={ROOT}"] * 2],
            "--checkpoint sepolia=… is given twice.",
        ),
        (["sepolia", "--node", NOWHERE], "--node takes NAME=URL; the names are ethereum,"),
        (["sepolia", "--node", f"{NOWHERE}?key=1"], "FAILED: That is not a known network."),
        (["sepolia", "--node", "sepolia"], "--node takes NAME=URL"),
        (["sepolia", "--node", "sepolia=nowhere"], "entry 1: it is not an http or https address."),
        (["sepolia", "--node", "sepolia=@nowhere"], "entry 1: the file it names cannot be read"),
        (["sepolia", *["--node", f"sepolia={NOWHERE}"] * 2], "the same address is listed twice"),
        (
            ["base:arbitrum", f"--node=base={NOWHERE}", f"--node=arbitrum={NOWHERE}"],
            "signers vouch for block hashes. Name them: --signers 0x…,0x… --threshold N.",
        ),
        (["arbitrum", f"--node=arbitrum={NOWHERE}"], "There is no route for Arbitrum One alone."),
        (
            ["arbitrum:arbitrum", f"--node=arbitrum={NOWHERE}"],
            "BLOCKHASH on Arbitrum One is not that of its own blocks.",
        ),
        (["sepolia", "--signers", "0x12"], "--signers takes different checksummed addresses"),
        (
            [
                "base:arbitrum",
                f"--node=base={NOWHERE}",
                f"--node=arbitrum={NOWHERE}1",
                "--signers",
                TWO_SIGNERS,
                "--threshold",
                "3",
            ],
            "threshold: it must be a whole number from 1 to 2.",
        ),
    ],
)
def test_missing_and_invalid_arguments_are_reported(
    setup: LocalSetup, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    printed = setup.run("init", *arguments)
    assert printed.startswith("FAILED: ")
    assert sentence in printed
    assert list(tmp_path.iterdir()) == []


def test_single_and_silent_nodes_are_warned_of(setup: LocalSetup) -> None:
    nodes = [f"--node=base={NOWHERE}", f"--node=gnosis={NOWHERE}", f"--node=gnosis={NOWHERE}2"]
    progress, printed = setup.run_apart(
        "init", "base:gnosis", *nodes, "--signers", TWO_SIGNERS, "--threshold", "2"
    )
    assert "Node 2 of Gnosis does not answer, so it is not checked." in progress
    assert "Base → Gnosis: attested registry 0x" in printed
    assert "One node only: Base." in printed
    routes = read_routes(setup.file)
    (registry,) = routes.registries.values()
    assert isinstance(registry, AttestedRegistry)
    assert registry.threshold == 2
    assert len(routes.chains[100].nodes) == 2


def test_beacon_nodes_are_checked(setup: LocalSetup) -> None:
    """One of another chain is refused; one that is silent or lacks the checkpoint is warned of."""
    route = ("sepolia:arbitrum-sepolia", "--force", f"--node=arbitrum-sepolia={NOWHERE}")
    with closing(Chain(NETWORKS["sepolia"].chain)) as chain:
        chain.reach_time(int(time.time()) - 600)
        chain.mine(40, 12)
        rig, other = KnownChainRig(chain), BeaconRig(chain)
        checkpoint, other_checkpoint = rig.checkpoint(3), other.checkpoint(3)
        with closing(BeaconNode(rig)) as node, closing(BeaconNode(other)) as other_node:

            def init(url: str, root: str) -> tuple[str, str]:
                beacon = (f"--beacon=sepolia={url}", f"--checkpoint=sepolia={root}")
                return setup.run_apart("init", *route, f"--node=sepolia={chain.url}", *beacon)

            for root in (checkpoint, other_checkpoint):
                refusal = init(other_node.url, root)[1]
                assert refusal.startswith("FAILED: Beacon node 1 of Sepolia is of another chain")
                assert other.facts.genesis_validators_root.hex() in refusal
                assert not setup.file.exists()
            warnings, printed = init(node.url, checkpoint)
            assert "Beacon node" not in warnings
            *before, deploying, after = printed.partition("tacitus deploy_registry")
            assert deploying
            assert "tacitus check_setup" in before[0]
            assert "tacitus check_setup" in after
            warnings, _ = init(node.url, ROOT)
            assert "Beacon node 1 of Sepolia cannot be used yet. " in warnings
            assert "do not have the beacon block 0xa5a5a5a5…" in warnings
            node.hang_up()
            warnings, _ = init(node.url, checkpoint)
            silent = "Beacon node 1 of Sepolia does not answer, so it is not checked."
            assert silent in warnings


def on_a_terminal(folder: Path, answers: str, *arguments: str, **variables: str) -> str:
    """Run a command on a terminal where these answers are typed, and return its output."""
    keyboard, terminal = pty.openpty()
    os.write(keyboard, answers.encode())
    completed = run_program(
        [sys.executable, "manage.py", *arguments],
        stdin=terminal,
        env=clean_environment(folder, DEVELOPMENT="1", **variables),
    )
    os.close(terminal)
    os.close(keyboard)
    return completed.stderr + completed.stdout


# With local chains


@pytest.fixture(scope="module")
def chains() -> Iterator[dict[str, LocalNode]]:
    """Local chains with the ids of Sepolia and of rollups on it."""
    with ExitStack() as stack:
        nodes = {
            name: stack.enter_context(
                local_node("--slots-in-an-epoch", "1", "--chain-id", str(NETWORKS[name].chain))
            )
            for name in ("sepolia", "base-sepolia", "optimism-sepolia", "arbitrum-sepolia")
        }
        for node in nodes.values():
            put_predeploy(node)
            node.rpc.ask("anvil_mine", hex(10))
        for name, stand_in in STAND_INS.items():
            network, ask = NETWORKS[name], nodes["sepolia"].rpc.ask
            contract = network.portal or network.outbox
            code = load_artifact(stand_in).deployed_bytecode
            ask("anvil_setCode", contract, f"0x{code.hex()}")
            ask("anvil_setStorageAt", contract, "0x0", f"0x{network.chain:064x}")
        nodes["sepolia"].rpc.ask("evm_mine")
        for name in ("base-sepolia", "optimism-sepolia"):
            set_l1_block(nodes[name], 7, LiveChain(nodes["sepolia"]).header(7).hash)
        yield nodes


def test_a_node_of_another_chain_is_refused(
    setup: LocalSetup, chains: dict[str, LocalNode]
) -> None:
    nodes = (f"--node=sepolia={chains[name].url}" for name in ("sepolia", "base-sepolia"))
    sentence = f"FAILED: Node 2 of Sepolia is of chain {BASE_SEPOLIA}."
    assert setup.run("init", "sepolia", *nodes).startswith(sentence)
    assert not setup.file.exists()


ROUTES = (
    "sepolia:sepolia", "base-sepolia:base-sepolia", "sepolia:base-sepolia",
    "sepolia:optimism-sepolia", "optimism-sepolia:sepolia", "base-sepolia:sepolia",
    "arbitrum-sepolia:sepolia", "base-sepolia:optimism-sepolia",
)  # fmt: skip


def test_an_operator_can_init_deploy_and_check(
    setup: LocalSetup, chains: dict[str, LocalNode]
) -> None:
    nodes = [f"--node={name}={node.url}" for name, node in chains.items()]
    printed = setup.run("init", *ROUTES, *nodes, "--signers", TWO_SIGNERS, "--threshold", "1")
    assert (
        f"send ETH on Sepolia and ETH on Base Sepolia and ETH on OP Sepolia to {ADDRESS}" in printed
    )
    missing = setup.run("check_setup")
    for source, destination in (route.split(":") for route in ROUTES):
        titles = f"{NETWORKS[source].title} on {NETWORKS[destination].title}"
        assert f"not ok  registry of {titles}" in missing
    assert missing.count("There is no contract at ") == len(ROUTES)
    before = setup.run("cost")
    assert before.count("Deploying the registry and its events verifier, once: ") == len(ROUTES)
    progress, lines = setup.run_apart("deploy_registry")
    assert lines == ""
    destinations = {route.partition(":")[2] for route in ROUTES}
    assert progress.count("Deploying the courier ") == len(destinations)
    assert progress.count("Deployed in block") == 2 * len(ROUTES) + len(destinations)
    assert progress.count(" gas: 0.00") == 2 * len(ROUTES) + len(destinations)
    assert "All " in (checked := setup.run("check_setup")), checked
    assert "already, and nothing was sent" in setup.run("deploy_registry")
    after = setup.run("cost", "--gas-price-gwei", "2")
    assert after.count("The registry and its events verifier are deployed.") == len(ROUTES)


def test_deploying_asks_before_it_pays(tmp_path: Path, chains: dict[str, LocalNode]) -> None:
    file, node = tmp_path / "routes.toml", chains["optimism-sepolia"]
    variables = {"ROUTES_FILE": str(file), "SIGNER_KEY": KEY}
    init = ("init", "optimism-sepolia", "--node", f"optimism-sepolia={node.url}")
    assert "tacitus deploy_registry" in on_a_terminal(tmp_path, "", *init, **variables)
    nonce = node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest")
    printed = on_a_terminal(tmp_path, "n\n", "deploy_registry", **variables)
    refusal = "The native registry of OP Sepolia's facts on OP Sepolia: Nothing was sent."
    assert f"Deploy it? [y/N] {refusal}" in printed
    assert printed.rstrip().endswith("Not deployed: 1 of 1.")
    assert node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest") == nonce
    # Another test may have deployed the courier on this chain.
    has_courier = node.rpc.ask("eth_getCode", courier_address(), "latest") != "0x"
    printed = on_a_terminal(tmp_path, "y\ny\ny\n", "deploy_registry", **variables)
    assert printed.count("Deployed in block") == 3 - has_courier
