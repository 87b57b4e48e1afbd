"""Beacon nodes in the routes file, and what tells known beacon chains apart."""

from itertools import pairwise
from pathlib import Path

import pytest

from queries.config.chains import NodeAddress
from queries.config.routes_file import RoutesFileError
from queries.proving.beacon import (
    BeaconChain,
    check_bootstrap,
    check_update,
    decode_bootstrap,
    decode_update,
    deneb,
    electra,
    gloas,
)
from queries.proving.beacon_chains import BEACON_CHAINS
from queries.sources.routes import read_routes

pytestmark = pytest.mark.no_database

ROOT = f"0x{32 * 'ab'}"
MAINNET = '[chains.1]\nname = "Ethereum"\nnodes = ["https://node.example/"]'
LOCAL = MAINNET.replace("chains.1", "chains.31337")
BEACON = f'beacon = ["http://127.0.0.1:5052"]\nbeacon_checkpoint = "{ROOT}"'
FORK = 'first_slot = 0, version = "0x06000000", layout = "electra"'
TABLE = f"""[chains.31337.beacon_chain]
genesis_time = 1700000000
seconds_per_slot = 5
genesis_validators_root = "{ROOT}"
"""
HERE = "chains.31337.beacon_chain"


def test_a_known_chain_needs_only_nodes_and_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("https://beacon.example/hunter2\n")
    nodes = '["http://127.0.0.1:5052", { file = "secret" }]'
    file = tmp_path / "routes.toml"
    file.write_text(f'{MAINNET}\nbeacon = {nodes}\nbeacon_checkpoint = "{ROOT}"')
    chain = read_routes(file).chains[1]
    secret = NodeAddress("https://beacon.example/hunter2")
    assert chain.beacon == (NodeAddress("http://127.0.0.1:5052"), secret)
    assert chain.beacon_checkpoint == bytes.fromhex(ROOT[2:])
    assert chain.beacon_chain == BEACON_CHAINS[1]
    assert "hunter2" not in repr(chain)


def test_another_chain_is_described_by_a_table(tmp_path: Path) -> None:
    later = '{ first_slot = 64, version = "0x07000000", layout = "gloas" }'
    file = tmp_path / "routes.toml"
    file.write_text(f"{LOCAL}\n{BEACON}\n{TABLE}\nforks = [{{ {FORK} }}, {later}]")
    forks = electra(0, bytes.fromhex("06000000")), gloas(64, bytes.fromhex("07000000"))
    expected = BeaconChain(1_700_000_000, 5, bytes.fromhex(ROOT[2:]), forks, slots_per_epoch=32)
    assert read_routes(file).chains[31337].beacon_chain == expected


WRONG = [
    (f'{MAINNET}\nbeacon = ["http://127.0.0.1:5052"]', "chains.1.beacon_checkpoint: it must be"),
    (f'{MAINNET}\nbeacon_checkpoint = "{ROOT}"', "chains.1.beacon: it must be set beside"),
    (f'{MAINNET}\nbeacon = []\nbeacon_checkpoint = "{ROOT}"', "beacon: it must be a list of at"),
    (f'{MAINNET}\nbeacon = ["hunter2"]', "chains.1.beacon, entry 1: it is not an http or https"),
    (f'{MAINNET}\nbeacon_checkpoint = "0xab"', "beacon_checkpoint: it must be 32 bytes in hex"),
    (f"{MAINNET}\n{BEACON}\nfinality = 64", "chains.1.finality: leave it out, because `beacon`"),
    (f"{LOCAL}\n{BEACON}", "this version does not know the beacon chain; add a table"),
    (f"{LOCAL}\nbeacon_chain = 1", f"{HERE}: it must be a table"),
    (f"{LOCAL}\n{TABLE}", f"{HERE}.forks: it must be a list of at least one fork"),
    (f"{LOCAL}\n{TABLE}forks = []", f"{HERE}.forks: it must be a list of at least one fork"),
    (f"{LOCAL}\n{TABLE}forks = [1]", f"{HERE}.forks, entry 1: it must be a table"),
    (
        f"{LOCAL}\n{TABLE}forks = [{{ {FORK.replace('electra', 'fulu')} }}]",
        f'{HERE}.forks, entry 1.layout: it must be "deneb", "electra"',
    ),
    (
        f"{LOCAL}\n{TABLE}forks = [{{ {FORK} }}, {{ {FORK} }}]",
        f"{HERE}.forks, entry 2: it must begin after the fork before it",
    ),
]


@pytest.mark.parametrize(("content", "sentence"), WRONG)
def test_errors_name_the_place(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "routes.toml"
    file.write_text(content)
    with pytest.raises(RoutesFileError) as caught:
        read_routes(file)
    assert sentence in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_forks_of_known_chains_are_in_order_and_differ() -> None:
    for chain in BEACON_CHAINS.values():
        slots = [fork.first_slot for fork in chain.forks]
        assert all(earlier < later for earlier, later in pairwise(slots))
        assert all(slot % chain.slots_per_epoch == 0 for slot in slots)
        versions = [fork.version for fork in chain.forks]
        assert sorted(set(versions)) == versions
    roots = {chain.genesis_validators_root for chain in BEACON_CHAINS.values()}
    assert len(roots) == len(BEACON_CHAINS)


def test_recorded_updates_of_ethereum_are_signed_by_its_committees(corpus_folder: Path) -> None:
    """Deneb and Electra, across the fork: the wrong root or version would make these fail."""
    chain, folder = BEACON_CHAINS[1], corpus_folder / "beacon"
    assert chain.forks[0] == deneb(269_568 * 32, bytes.fromhex("04000000"))
    bootstrap = decode_bootstrap((folder / "bootstrap_1421.ssz").read_bytes(), chain)
    check_bootstrap(bootstrap, bootstrap.header.root, chain)
    committee = bootstrap.committee
    for period in (1421, 1422):
        row = (folder / f"updates_{period}.ssz").read_bytes()
        update = decode_update(row[12:], chain)
        assert update.period == period
        check_update(update, committee, chain)
        assert update.next_committee
        committee = update.next_committee
