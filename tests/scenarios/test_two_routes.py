"""From one L2 to another, by the registry on their L1: the commands of the guide."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from eth_utils.crypto import keccak

from tests.guides import code_of, run
from tests.rigs.anvil import Chain, call_data
from tests.rigs.service import HOLDER, HOLDER_BALANCE, Service, accounts, request
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

SOURCE, L1, DESTINATION = 31337, 1337, 7331


@dataclass(frozen=True)
class Chains:
    service: Service
    source: Chain
    l1: Chain
    destination: Chain
    outbox: str


@pytest.fixture
def chains(install: Install, module_chain: NewChain) -> Iterator[Chains]:
    source, l1, destination = map(module_chain, (SOURCE, L1, DESTINATION))
    with install() as service:
        outbox = l1.deploy("RollupStandIn", ["uint256"], [SOURCE])
        service.add_chain(source, finality=2)
        service.add_chain(l1, finality=2)
        service.add_chain(destination)
        service.add_registry("arbitrum", source, l1, outbox=outbox)
        service.add_registry("optimism", l1, destination)
        with service.serve(), service.prove():
            yield Chains(service, source, l1, destination, outbox)


def test_a_balance_of_one_l2_is_read_on_another(chains: Chains, tmp_path: Path) -> None:
    service, registry = chains.service, chains.service.registries[SOURCE, L1]
    refused = service.post("/estimate", request({SOURCE: {1: accounts(HOLDER)}}, to=DESTINATION))
    assert f"Two routes lead there through {L1}: the guide Public networks" in refused.text
    block = chains.source.mine(20) - 10
    block_hash = bytes.fromhex(chains.source.header(block)["hash"][2:])
    for name in ("create", "confirm"):
        call = call_data(f"{name}(bytes32,bytes32)", bytes(32), block_hash)
        chains.l1.send(chains.outbox, call)
    code = code_of(service.url, "public-networks", "export TACITUS_URL")
    first, second = code.split("SLOT=")
    values = {
        "TACITUS_URL": service.url,
        "SOURCE": SOURCE, "L1": L1, "DESTINATION": DESTINATION, "BLOCK": block, "ACCOUNT": HOLDER,
        "REGISTRY": registry, "TACITUS_KEY": service.keys[0],
    }  # fmt: skip
    for name, value in values.items():
        first = re.sub(rf"\b{name}=\S+", f"{name}={value}", first)
    printed = run("sh", first, tmp_path, TACITUS_KEY=service.keys[0])
    assert f"{HOLDER_BALANCE}" in printed.replace(",", "")
    # The L1 goes on, and the destination sees its block.
    chains.l1.mine(10)
    chains.destination.set_l1_block(chains.l1, chains.l1.head - 2)
    now = int(chains.l1.header(chains.l1.head - 3)["timestamp"], 16)
    exports = "\n".join(re.findall("^export .*$", first, re.MULTILINE))
    second = f"{exports}\nSLOT={second}".replace("$(date +%s)", str(now))
    run("sh", second, tmp_path, TACITUS_KEY=service.keys[0])
    inner = keccak(block.to_bytes(32) + bytes(32))
    slot = keccak(bytes.fromhex(HOLDER[2:]).rjust(32, b"\0") + inner)
    record = int.from_bytes(
        service.read(
            "accountStorageSlotValues(address,uint256,bytes32)",
            registry,
            chains.l1.head - 3,
            slot,
            route=(L1, DESTINATION),
        )
    )
    assert record & 3 == 1
    assert (record << 64) % 2**256 >> 72 == HOLDER_BALANCE
