"""`check_setup` finds what is wrong with an installation, and only that."""

import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.registry import HASH_HISTORY, slot_of_accumulated
from queries.config.registries import FACTORY, Registry, RegistryKind, address_of, deployment
from queries.config.routes import read_routes
from queries.contracts.abi import call_data, load_artifact
from tests.commands import Manage
from tests.queries.attacks.attestations import SIGNERS
from tests.queries.attacks.registry_attacks import L1_BLOCK, move_on, put_predeploy
from tests.queries.contracts.live_chain import LiveChain
from tests.queries.management.local_setup import ADDRESS, CHAIN_ID, KEY, LocalSetup
from tests.rigs.forged_code import planting
from tests.rigs.local_chain import Deployed, undone
from tests.rigs.relay import Asked, refusal, relay

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]

SOURCE, HOUR = 900, 3_600
Answer = dict[str, Any]

STATE_HORIZON = 4  # its slot, behind the accumulated blocks


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as one:
        # First, because the newest block's header does not follow what is put into its state.
        put_predeploy(one)
        one.rpc.ask("anvil_mine", hex(10))
        yield one


@pytest.fixture(scope="module")
def source() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1", "--chain-id", str(SOURCE)) as one:
        one.rpc.ask("anvil_mine", hex(10))
        yield one


@pytest.fixture(scope="module")
def native(node: LocalNode) -> str:
    return deployed_by_factory(node, RegistryKind.NATIVE, CHAIN_ID)


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path) -> LocalSetup:
    return LocalSetup(settings, tmp_path)


def deployed_by_factory(node: LocalNode, kind: RegistryKind, source: int, **arguments: Any) -> str:
    registry = Registry(kind, source, CHAIN_ID, **arguments)
    address = address_of(registry)
    if node.rpc.ask("eth_getCode", address, "latest") == "0x":
        node.send(FACTORY, deployment(registry))
    return address


def checksummed(deployed: Deployed) -> str:
    return str(to_checksum_address(deployed.address))


def changed(node: LocalNode, method: str, change: Any) -> AbstractContextManager[str]:
    def one(asked: str, params: list[Any], answer: Answer) -> Answer:
        return change(params, answer) if asked == method else answer

    return relay(node.url, one)


def wrong(printed: str) -> list[str]:
    """The lines that are not ok, and that the ending counts them."""
    lines = [line for line in printed.splitlines() if line.startswith(("ok  ", "not ok  "))]
    found = [line for line in lines if line.startswith("not ok")]
    ending = printed.splitlines()[-1]
    if found:
        are = "is" if len(found) == 1 else "are"
        assert ending == f"FAILED: {len(found)} of {len(lines)} checks {are} not ok."
    else:
        assert ending == f"All {len(lines)} checks are ok."
    return found


def test_a_right_setup_is_ok(
    setup: LocalSetup, node: LocalNode, source: LocalNode, native: str
) -> None:
    registries = attested_and_optimism(node, source)
    with undone(node):
        move_on(node, 7, LiveChain(source).header(7).hash)
        setup.add_chain(CHAIN_ID, "Local", [node.url])
        setup.add_chain(SOURCE, "Elsewhere", [source.url])
        setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
        setup.add_registry("optimism", SOURCE, CHAIN_ID, registries["OptimismRegistry"])
        printed = setup.run("check_setup")
    assert wrong(printed) == []
    for part in (
        f"signer                                        {ADDRESS}",
        "Local, node 1 ",
        "Local, node 1, proofs                         eth_getProof reaches back to the first",
        "Elsewhere, node 1, proofs ",
        "registry of Local on Local                    its address proves its code; sees 8191",
        "registry of Elsewhere on Local                its address proves its code; sees Elsewhere",
        f"signer on Local                               {ADDRESS} has ",
    ):
        assert part in printed
    assert "signer on Elsewhere" not in printed


def signed_by(count: int, threshold: int) -> tuple[str, str]:
    """The lines of a routes file that name the first of the signers."""
    named = ", ".join(f'"{signer.address}"' for signer in SIGNERS[:count])
    return f"signers = [{named}]", f"threshold = {threshold}"


SIGNED_BY_TWO = signed_by(3, 2)


def attested_and_optimism(node: LocalNode, source: LocalNode) -> dict[str, str]:
    assert source
    signers = tuple(signer.address for signer in SIGNERS[:3])
    return {
        "AttestedRegistry": deployed_by_factory(
            node, RegistryKind.ATTESTED, SOURCE, signers=signers, threshold=2
        ),
        "OptimismRegistry": deployed_by_factory(node, RegistryKind.OPTIMISM, SOURCE),
    }


def test_an_attested_registry_shows_its_signers(
    setup: LocalSetup, node: LocalNode, source: LocalNode
) -> None:
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_chain(SOURCE, "Elsewhere", [source.url])
    address = attested_and_optimism(node, source)["AttestedRegistry"]
    setup.add_registry("attested", SOURCE, CHAIN_ID, address, *SIGNED_BY_TWO)
    printed = setup.run("check_setup")
    assert wrong(printed) == []
    said = "its address proves its code; 2 of 3 signers must agree, until 2028-01-01T00:00:00Z"
    assert said in printed


def games(node: LocalNode, chain: int) -> str:
    """An AnchorStateRegistry with one valid game, which is about this chain."""
    anchors = Deployed(node, "DisputeGamesStandIn")
    anchors.send(call_data("propose(bytes32,uint256)", bytes(32), chain))
    game = anchors.ask(call_data("games(uint256)", 0))[12:]
    anchors.send(call_data("settle(address,bool)", game, True))  # noqa: FBT003
    return checksummed(anchors)


def test_an_output_registry_shows_whose_games_it_asks(
    setup: LocalSetup, node: LocalNode, source: LocalNode
) -> None:
    """Its address is left out of the file, because it follows."""
    asked = games(node, SOURCE)
    deployed_by_factory(node, RegistryKind.OUTPUT, SOURCE, anchor_state_registry=asked)
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_chain(SOURCE, "Elsewhere", [source.url])
    setup.add(
        "[[registries]]", 'kind = "output"', f"source = {SOURCE}", f"destination = {CHAIN_ID}",
        f'anchor_state_registry = "{asked}"',
    )  # fmt: skip
    printed = setup.run("check_setup")
    assert wrong(printed) == []
    said = f"its address proves its code; asks the AnchorStateRegistry {asked} which games are"
    assert said in printed


def test_games_that_count_later_than_nodes_prove_are_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode
) -> None:
    """Blocks of the local chain are younger than a week, and the node keeps three of them."""
    asked = games(node, SOURCE)
    address = deployed_by_factory(node, RegistryKind.OUTPUT, SOURCE, anchor_state_registry=asked)
    change = proving_only(3, LiveChain(source).newest())
    with changed(source, "eth_getProof", change) as short:
        setup.add_chain(CHAIN_ID, "Local", [node.url])
        setup.add_chain(SOURCE, "Elsewhere", [short])
        key = f'anchor_state_registry = "{asked}"'
        setup.add_registry("output", SOURCE, CHAIN_ID, address, key)
        (line,) = wrong(setup.run("check_setup"))
    assert "Elsewhere, provable " in line
    assert "A dispute game counts 7 days after its block, and the nodes prove only blocks" in line
    assert line.endswith("Use a node that keeps more state.")


@pytest.mark.parametrize("state", ["blacklisted", "retired"])
def test_a_game_that_does_not_count_any_more_is_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode, state: str
) -> None:
    asked = games(node, SOURCE)
    game = node.call(asked, call_data("games(uint256)", 0))[12:]
    undone = {
        "blacklisted": call_data("blacklist(address)", game),
        "retired": call_data("retire()"),
    }
    node.send(asked, undone[state])
    address = deployed_by_factory(node, RegistryKind.OUTPUT, SOURCE, anchor_state_registry=asked)
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_chain(SOURCE, "Elsewhere", [source.url])
    key = f'anchor_state_registry = "{asked}"'
    setup.add_registry("output", SOURCE, CHAIN_ID, address, key)
    (line,) = wrong(setup.run("check_setup"))
    assert f"does not count any more: it is {state}. Blocks wait for a newer one." in line


@pytest.mark.parametrize("case", ["another chain's games", "no contract", "another one"])
def test_an_output_registry_with_wrong_games_is_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode, case: str
) -> None:
    chain = SOURCE + 1 if case == "another chain's games" else SOURCE
    asked = "0x" + "66" * 20 if case == "no contract" else games(node, chain)
    address = deployed_by_factory(node, RegistryKind.OUTPUT, SOURCE, anchor_state_registry=asked)
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_chain(SOURCE, "Elsewhere", [source.url])
    named = "0x" + "65" * 20 if case == "another one" else asked
    key = f'anchor_state_registry = "{named}"'
    setup.add_registry("output", SOURCE, CHAIN_ID, address, key)
    (line,) = wrong(setup.run("check_setup"))
    said = {
        "another chain's games": f"are about chain {SOURCE + 1}, not {SOURCE}.",
        "no contract": "is not an AnchorStateRegistry whose games a registry can ask",
        "another one": f'arguments (source = {SOURCE}, anchor_state_registry = "{asked}"). The',
    }[case]
    assert said in line


def test_a_registry_whose_constructor_planted_a_fact_is_unverifiable(
    setup: LocalSetup, node: LocalNode
) -> None:
    """Its runtime code is the genuine one, and a block that never was is accumulated in it."""
    genuine = Deployed(node, "NativeRegistry").address
    runtime = bytes.fromhex(node.rpc.ask("eth_getCode", genuine, "latest")[2:])
    planted = b"\x66" * 32
    code = planting({slot_of_accumulated(7): planted}, runtime)
    forged = Deployed(node, "NativeRegistry", bytecode=code)
    assert forged.reads.accumulated(7) == planted
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, checksummed(forged))
    printed = setup.run("check_setup")
    (line,) = wrong(printed)
    assert "unverifiable: its code is genuine, but its address does not prove" in line


@pytest.mark.parametrize(("count", "threshold"), [(3, 1), (3, 3), (2, 2)])
def test_other_signers_than_the_registry_has_are_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode, count: int, threshold: int
) -> None:
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_chain(SOURCE, "Elsewhere", [source.url])
    address = attested_and_optimism(node, source)["AttestedRegistry"]
    setup.add_registry("attested", SOURCE, CHAIN_ID, address, *signed_by(count, threshold))
    (line,) = wrong(setup.run("check_setup"))
    assert "It was made with other arguments (source = 900, signers = [" in line
    assert "threshold = 2, valid_until = 2028-01-01T00:00:00Z). The registry of your" in line
    (registry,) = read_routes(setup.file).registries.values()
    own = address_of(registry)
    assert own != registry.address
    assert line.endswith(f"arguments is at {own}: leave `address` out, or deploy it.")


# What is wrong with nodes


def only_wrong(setup: LocalSetup, native: str, *urls: str, lines: tuple[str, ...] = ()) -> str:
    """The one finding that is not ok, where the chain has these nodes."""
    setup.add_chain(CHAIN_ID, "Local", urls, *lines)
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    found = wrong(setup.run("check_setup"))
    assert len(found) == 1
    return found[0]


def test_a_node_that_is_gone_is_named_by_its_number(
    setup: LocalSetup, node: LocalNode, native: str, caplog: pytest.LogCaptureFixture
) -> None:
    setup.add_chain(CHAIN_ID, "Local", [node.url, "http://127.0.0.1:1"])
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    (line,) = wrong(setup.run("check_setup"))
    assert line.split("  ")[1].strip() == "Local, node 2"
    assert line.endswith(
        "It does not answer (no connection). Check that it runs, and that `nodes` in "
        "ROUTES_FILE has its address."
    )
    assert caplog.messages == ["Node 2 of Local fails: nodes_unreachable."]


def older_by(seconds: int) -> Any:
    def change(_: list[Any], answer: Answer) -> Answer:
        old = int(answer["result"]["timestamp"], 16) - seconds
        return {"result": answer["result"] | {"timestamp": hex(old)}}

    return change


@pytest.mark.parametrize(("lag", "fits"), [(60, True), (61, False)])
def test_a_node_behind_the_others_is_named(
    setup: LocalSetup, node: LocalNode, native: str, lag: int, *, fits: bool
) -> None:
    with changed(node, "eth_getBlockByNumber", older_by(lag)) as behind:
        setup.add_chain(CHAIN_ID, "Local", [node.url, behind], "finality = 0")
        setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
        printed = setup.run("check_setup")
    (line,) = (line for line in printed.splitlines() if "Local, node 2  " in line)
    assert line.startswith("ok  " if fits else "not ok  ")
    assert ("61 seconds behind another node's" in line) is not fits


def test_a_node_of_another_chain_is_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode, native: str
) -> None:
    setup.add_chain(CHAIN_ID, "Local", [node.url, source.url])
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    (line,) = wrong(setup.run("check_setup"))
    assert "Local, node 2 " in line
    assert "It serves another chain. Correct `nodes` in ROUTES_FILE" in line


def test_nodes_with_different_histories_are_named(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    """Both have the chain's id, and each makes blocks of its own."""
    with changed(node, "", None) as same, local_node("--slots-in-an-epoch", "1") as other:
        other.rpc.ask("anvil_mine", hex(10))
        setup.add_chain(CHAIN_ID, "Local", [node.url, same, other.url])
        setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
        (line,) = wrong(setup.run("check_setup"))
    assert "Local, all nodes" in line
    assert "Nodes 1 and 3 have different blocks " in line


def proving_only(blocks: int, newest: int) -> Any:
    def change(params: list[Any], answer: Answer) -> Answer:
        if isinstance(params[2], dict):
            return refusal("invalid argument 2", -32602)
        if int(params[2], 16) < newest - blocks:
            return refusal("distance to target block exceeds maximum proof window", -32602)
        return answer

    return change


@pytest.mark.parametrize(("window", "told"), [(0, 0), (3, 3), (4, 4), (5, 5)])
def test_how_far_back_a_node_proves_is_reported(
    setup: LocalSetup, node: LocalNode, native: str, window: int, told: int
) -> None:
    change = proving_only(window, LiveChain(node).newest())
    with changed(node, "eth_getProof", change) as short:
        setup.add_chain(CHAIN_ID, "Local", [short], "finality = 0")
        setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
        printed = setup.run("check_setup")
    assert wrong(printed) == []
    assert f"eth_getProof reaches back {told} blocks, " in printed
    assert "only final blocks of the last " in printed


@pytest.mark.parametrize(
    ("window", "users"),
    [
        (128, "only final blocks of the last 4 minutes. Contracts know 8,191 blocks: name a node "),
        (1_500, "only final blocks of the last 50"),
        (9_000, "blocks of the last 5 hours; those more than 8,191 back by hops"),
        (50_000, "every block; those more than 8,191 back by hops"),
    ],
)
def test_what_users_get_of_a_pruning_node(setup: LocalSetup, window: int, users: str) -> None:
    """Blocks of two seconds; it takes few questions to find out.

    All blocks have one state, because anvil is slow to keep so many.
    """
    asked = Asked()
    with local_node("--prune-history") as node:
        node.rpc.ask("anvil_setCode", HASH_HISTORY, "0x")
        address = deployed_by_factory(node, RegistryKind.NATIVE, CHAIN_ID)
        node.rpc.ask("anvil_mine", hex(10_000 - LiveChain(node).newest()), hex(2))
        prunes = proving_only(window, 10_000)

        def change(method: str, params: list[Any], answer: Answer) -> Answer:
            if method != "eth_getProof":
                return answer
            proof = {"result": node.rpc.ask("eth_getProof", *params[:2], "latest")}
            pruned: Answer = prunes(params, proof)
            return pruned

        with relay(node.url, change, asked) as short:
            setup.add_chain(CHAIN_ID, "Local", [short], "finality = 1")
            setup.add_registry("native", CHAIN_ID, CHAIN_ID, address)
            printed = setup.run("check_setup")
    (proofs,) = (each for each in printed.splitlines() if "Local, node 1, proofs" in each)
    assert f"Local, provable                               {users}" in printed
    if window < 10_000:
        assert f"reaches back {window:,} blocks" in proofs
    assert asked.methods.count("eth_getProof") <= 2 * 27  # each by hash, and then by number


def test_a_node_too_slow_for_old_proofs_is_asked_no_further(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    """It may work on such a proof for minutes."""
    newest = LiveChain(node).newest()

    def change(params: list[Any], answer: Answer) -> Answer:
        if isinstance(params[2], dict):
            return refusal("invalid argument 2", -32602)
        if int(params[2], 16) < newest - 4:
            time.sleep(1)
        return answer

    with changed(node, "eth_getProof", change) as slow:
        setup.add("[limits]", "request_timeout = 0.5", "head_timeout = 0.5")
        setup.add_chain(CHAIN_ID, "Local", [slow], "finality = 3")
        setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
        printed = setup.run("check_setup")
    assert wrong(printed) == []
    assert "eth_getProof reaches back 3 blocks, " in printed


@pytest.mark.parametrize(("window", "fits"), [(5, False), (6, True), (7, True)])
def test_a_node_must_prove_as_far_back_as_blocks_are_final(
    setup: LocalSetup, node: LocalNode, native: str, window: int, *, fits: bool
) -> None:
    change = proving_only(window, LiveChain(node).newest())
    with changed(node, "eth_getProof", change) as short:
        setup.add_chain(CHAIN_ID, "Local", [short], "finality = 6")
        setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
        found = wrong(setup.run("check_setup"))
    if fits:
        assert found == []
    else:
        assert "Local, node 1, proofs" in found[0]
        assert (
            "The newest final block is 6 blocks behind the head, and the node does not prove"
            in found[0]
        )
        assert "keep proofs only for newer blocks" in found[0]


@pytest.mark.parametrize(
    ("method", "subject"),
    [
        ("eth_getProof", "Local, node 1, proofs"),
        ("eth_estimateGas", "signer on Local"),
        ("eth_maxPriorityFeePerGas", "signer on Local"),
        ("eth_getTransactionCount", "signer on Local"),
        ("eth_call", "registry of Local on Local"),
    ],
)
def test_a_missing_method_is_reported(
    setup: LocalSetup, node: LocalNode, native: str, method: str, subject: str
) -> None:
    def change(*_: object) -> Answer:
        return refusal(f"the method {method} does not exist/is not available", -32601)

    with changed(node, method, change) as address:
        line = only_wrong(setup, native, address)
    assert f"not ok  {subject}" in line
    assert f"do not offer {method}. Name another node in ROUTES_FILE." in line


def test_a_state_root_that_is_not_of_its_block_is_reported(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    """As by proposals whose headers have the root of the state before the block."""

    def change(params: list[Any], answer: Answer) -> Answer:
        assert answer
        number = LiveChain(node).newest() - 3
        return {"result": node.rpc.ask("eth_getProof", *params[:2], hex(number))}

    with changed(node, "eth_getProof", change) as address:
        line = only_wrong(setup, native, address, lines=("finality = 2",))
    assert "If every node answers so, a fork has changed the meaning of the state root" in line


# What is wrong with registries


def test_no_contract_or_another_one_is_reported(setup: LocalSetup, node: LocalNode) -> None:
    nowhere = "0x" + "66" * 20
    line = only_wrong(setup, nowhere, node.url)
    assert f"There is no contract at {nowhere}. Deploy one with manage.py deploy_regist" in line


def test_a_lowered_horizon_is_reported(setup: LocalSetup, node: LocalNode, native: str) -> None:
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    assert "takes headers until 2100-01-01T00:00:00Z" in setup.run("check_setup")
    with undone(node):
        lowered = f"0x{1_900_000_000:064x}"
        node.rpc.ask("anvil_setStorageAt", native, f"0x{STATE_HORIZON:064x}", lowered)
        (line,) = wrong(setup.run("check_setup"))
    assert "Accounts cannot be proven from 2030-03-17T17:46:40Z on" in line


@pytest.mark.parametrize("other", ["OptimismRegistry", "one byte", "longer"])
def test_code_that_is_not_as_built_is_reported(
    setup: LocalSetup, node: LocalNode, other: str
) -> None:
    code = bytearray(load_artifact("NativeRegistry").deployed_bytecode)
    if other == "one byte":
        code[5000] ^= 1
    elif other == "longer":
        code += b"\x00"
    else:
        code = bytearray(load_artifact(other).deployed_bytecode)
    place = "0x" + "65" * 20
    with undone(node):
        node.rpc.ask("anvil_setCode", place, f"0x{code.hex()}")
        line = only_wrong(setup, place, node.url)
    assert "is not this version's native registry" in line


@pytest.mark.parametrize("case", ["no predeploy", "another hash", "a further block"])
def test_an_l1_that_is_another_one_is_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode, case: str
) -> None:
    address = attested_and_optimism(node, source)["OptimismRegistry"]
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_chain(SOURCE, "Elsewhere", [source.url])
    setup.add_registry("optimism", SOURCE, CHAIN_ID, address)
    with undone(node):
        if case == "no predeploy":
            node.rpc.ask("anvil_setCode", L1_BLOCK, "0x")
            node.rpc.ask("evm_mine")
        else:
            move_on(node, 7 if case == "another hash" else 700, b"\xab" * 32)
        (line,) = wrong(setup.run("check_setup"))
    told = "it is not an OP-stack chain" if case == "no predeploy" else "than Elsewhere, or further"
    assert told in line


# What is wrong with the signer and the file


def test_a_signer_without_funds_is_reported(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    setup.sign_with("11" * 32)
    line = only_wrong(setup, native, node.url)
    assert "signer on Local" in line
    assert "has 0 ETH, too little for the 170,480 gas of a fact at " in line


def test_the_signers_pending_transactions_are_counted(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    """With one pending, a backup must not be restored, nor the signer's key be changed."""
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    with undone(node):
        node.rpc.ask("evm_setAutomine", False)  # noqa: FBT003  (JSON)
        for _ in range(2):
            node.rpc.ask("eth_sendTransaction", {"from": ADDRESS, "to": ADDRESS})
        assert re.search(
            "signer on Local .* gwei; 2 transactions pending\n", setup.run("check_setup")
        )
        node.rpc.ask("evm_mine")
        node.rpc.ask("evm_setAutomine", True)  # noqa: FBT003
        assert "pending" not in setup.run("check_setup")


@pytest.mark.parametrize("line", ["most_a_day = 1", "free = true", ""])
def test_a_chain_without_a_daily_budget_gets_a_hint(
    setup: LocalSetup, node: LocalNode, native: str, line: str
) -> None:
    setup.add_chain(CHAIN_ID, "Local", [node.url], line)
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    printed = setup.run("check_setup")
    assert wrong(printed) == []
    hints = [each for each in printed.splitlines() if each.startswith("hint ")]
    assert [
        hint.endswith("Set `most_a_day` in ROUTES_FILE if its gas costs money.") for hint in hints
    ] == ([] if line else [True])


def test_no_chain_and_a_broken_file_are_reported(setup: LocalSetup) -> None:
    assert (
        setup.run("check_setup")
        == "FAILED: ROUTES_FILE names no chains: there is nothing to prove."
    )
    setup.add("[chains]", "x = 1")
    assert setup.run("check_setup").startswith("FAILED: ROUTES_FILE, chains: x is not a chain id")


def test_the_exit_code_says_it_too(
    manage: Manage, setup: LocalSetup, node: LocalNode, native: str, tmp_path: Path
) -> None:
    """As a process, with the key in a file."""
    (tmp_path / "key").write_text(f"0x{KEY}\n")
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    variables = {"ROUTES_FILE": str(setup.file), "DEVELOPMENT": "1"}
    key = {"SIGNER_KEY_FILE": str(tmp_path / "key")}
    done = manage("check_setup", **variables, **key)
    (line,) = wrong(f"{done.stdout}FAILED: {done.stderr.removeprefix('CommandError: ')}")
    assert line.split("  ")[-1] == "The database is not migrated. Run: manage.py migrate"
    manage("migrate", **variables)
    done = manage("check_setup", **variables, **key)
    assert (done.returncode, done.stderr) == (0, "")
    done = manage("check_setup", **variables)
    assert done.returncode == 1
    assert done.stderr == "CommandError: 1 of 6 checks is not ok.\n"
