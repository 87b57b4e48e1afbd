"""Attacks on BeaconRegistry's checkpoint and deployment."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from explorer.demo.beacon_stand_in import branch_at
from explorer.demo.local_node import local_node
from queries.proving.beacon import SLOTS_PER_PERIOD, Fork, begin_call, deneb
from queries.proving.registry_calls import HeaderFlag, prove_call
from queries.proving.ssz import WORD
from tests.queries.attacks.beacon_sources import (
    CHAIN,
    FORKS,
    MAX_AGE,
    STAND_IN,
    checkpoint_at,
    registry_arguments,
)
from tests.queries.attacks.beacon_trials import (
    CHECKPOINT,
    FINALIZED,
    FOREIGN,
    PERIOD,
    BeaconAttack,
    Deployer,
    Run,
    registry_of,
)
from tests.queries.attacks.forgery import NUMBER
from tests.queries.attacks.header_forgeries import FakeHeader, header_tail, raw_headers
from tests.queries.attacks.registry_attacks import simulated_error
from tests.queries.attacks.switched_checks import SWITCH
from tests.rigs.deployed_contracts import LARGE_CODE

SETUP_ATTACKS: dict[str, BeaconAttack] = {}


def attack(refusal: str) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        SETUP_ATTACKS[run.__name__] = BeaconAttack(run, refusal)
        return run

    return register


# The checkpoint and what is recorded


def _begin(deployer: Deployer, call: bytes) -> str:
    """The error with which a registry of the checkpoint refuses the call."""
    root = checkpoint_at(CHECKPOINT).header.root
    return simulated_error(registry_of(deployer, FINALIZED, MAX_AGE, root), call)


@attack("NotTheCheckpoint")
def a_foreign_checkpoint(deployer: Deployer) -> str:
    return _begin(deployer, begin_call(checkpoint_at(CHECKPOINT, FOREIGN)))


@attack("NotTheCheckpoint")
def a_foreign_committee_in_the_checkpoint(deployer: Deployer) -> str:
    checkpoint = checkpoint_at(CHECKPOINT)
    foreign = FOREIGN.members(PERIOD).committee
    return _begin(deployer, begin_call(replace(checkpoint, committee=foreign)))


@attack("NotTheCheckpoint")
def the_next_committee_of_the_checkpoint(deployer: Deployer) -> str:
    checkpoint = checkpoint_at(CHECKPOINT)
    block = STAND_IN.blocks[checkpoint.header.root]
    branch = branch_at(block.state, FORKS[0].next_committee)
    committee = STAND_IN.members(PERIOD + 1).committee
    return _begin(deployer, begin_call(replace(checkpoint, committee=committee, branch=branch)))


@attack("NotTheCheckpoint")
def a_checkpoint_of_another_slot(deployer: Deployer) -> str:
    checkpoint = checkpoint_at(CHECKPOINT)
    header = replace(checkpoint.header, slot=CHECKPOINT + SLOTS_PER_PERIOD // 4)
    return _begin(deployer, begin_call(replace(checkpoint, header=header)))


@attack("ProofEndMismatch")
def a_byte_behind_the_checkpoint(deployer: Deployer) -> str:
    return _begin(deployer, begin_call(checkpoint_at(CHECKPOINT)) + b"\0")


@attack("BlockNotKnown")
def a_header_that_no_committee_has_signed(deployer: Deployer) -> str:
    header = FakeHeader(header_tail(NUMBER, 1_700_000_000))
    return _begin(deployer, prove_call([raw_headers(header.compact(HeaderFlag.ACCUMULATE))]))


# Deployments


def _deploy_with(forks: Sequence[Fork]) -> Run:
    root = bytes(WORD)
    return lambda deployer: deployer.refusal(registry_arguments(CHAIN, root, forks=forks))


SETUP_ATTACKS |= {
    name: BeaconAttack(_deploy_with(forks), "ForksMalformed")
    for name, forks in {
        "a_registry_without_forks": (),
        "a_registry_of_five_forks": (*FORKS, deneb(2**64 - 1, bytes(4))),
        "forks_in_descending_order": FORKS[1::-1],
        "a_fork_listed_twice": (FORKS[0], FORKS[0]),
    }.items()
}

# What the precompiles answer, by address
_ANSWER_BYTES = {0x0B: 128, 0x0D: 256, 0x0F: 32, 0x11: 256}


@contextmanager
def _chain_without_precompiles(
    deployer: Deployer, stand_ins: dict[int, bytes]
) -> Iterator[Deployer]:
    """A node by the rules of Cancun, with this code in place of precompiles."""
    with local_node(*LARGE_CODE, hardfork="cancun") as node:
        # Without the same checks
        balance = deployer.node.rpc.ask("eth_getBalance", SWITCH, "latest")
        node.rpc.ask("anvil_setBalance", SWITCH, balance)
        for address, code in stand_ins.items():
            node.rpc.ask("anvil_setCode", f"0x{address:040x}", f"0x{code.hex()}")
        yield replace(deployer, node=node)


def _answering(length: int, opcode: str = "f3") -> bytes:
    """Code that returns so many zeros, or reverts with them."""
    return bytes.fromhex(f"61{length:04x}5f{opcode}")


def _deploy_beside(stand_ins: dict[int, bytes]) -> Run:
    def run(deployer: Deployer) -> str:
        with _chain_without_precompiles(deployer, stand_ins) as other:
            return other.refusal(registry_arguments(CHAIN, bytes(WORD)))

    return run


_ALL = {address: _answering(length) for address, length in _ANSWER_BYTES.items()}
_FIRST = min(_ALL)
_PRECOMPILE_RUNS = {
    "a_chain_without_the_precompiles": _deploy_beside({}),
    "a_precompile_whose_answer_is_longer": _deploy_beside(_ALL | {_FIRST: _answering(160)}),
    "a_precompile_whose_answer_is_shorter": _deploy_beside(_ALL | {_FIRST: _answering(96)}),
    "a_precompile_that_fails": _deploy_beside(_ALL | {_FIRST: _answering(128, "fd")}),
} | {
    f"a_chain_without_precompile_{missing:x}": _deploy_beside(
        {address: code for address, code in _ALL.items() if address != missing}
    )
    for missing in _ALL
}
SETUP_ATTACKS |= {
    name: BeaconAttack(run, "PrecompileFailed") for name, run in _PRECOMPILE_RUNS.items()
}
