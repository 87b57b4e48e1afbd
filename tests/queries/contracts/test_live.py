"""The native registry on a chain of real transactions, proving that chain's own past to it.

An earlier block's state is proven after it has changed, with what the node answers, and compared
with what the node says of that block when it is asked plainly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from explorer.demo.local_node import local_node
from queries.chain.solidity import call_data
from queries.proving.accounts import ABSENT_ACCOUNT
from queries.proving.headers import Header
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.witnesses import AccountField
from tests.local_chain import Deployed
from tests.queries.contracts.holder import SLOTS, VARIABLES, compiled_holder
from tests.queries.contracts.live_chain import LiveChain
from tests.queries.contracts.simulated_registry import field_value

pytestmark = pytest.mark.no_database

BALANCES = (0, 1, 2**184 - 1, 2**184, 2**256 - 2, 2**256 - 1)
EDGE_ACCOUNTS = [bytes((0x50 + number,)) * 20 for number in range(len(BALANCES))]
NO_SIGNER = [bytes.fromhex("77" * 20), bytes.fromhex("00000000000000000000000000000000000000f0")]


@dataclass(frozen=True)
class Story:
    """A chain on which accounts were as told at block `before`, and are others at `after`."""

    chain: LiveChain
    holder: bytes
    payer: bytes
    before: int
    after: int

    @property
    def accounts(self) -> dict[bytes, Sequence[int]]:
        """Whom to ask for, each with slots; those without storage prove that they have none."""
        without: dict[bytes, Sequence[int]] = dict.fromkeys([*EDGE_ACCOUNTS, self.payer], ())
        return {self.holder: SLOTS, **without, NO_SIGNER[0]: (), NO_SIGNER[1]: (0, 2**256 - 1)}

    def registry(self) -> Deployed:
        return Deployed(self.chain.node, "NativeRegistry")

    def step(self, block: int) -> HeaderStep:
        """A block's header, to be accumulated, with all that there is to prove of it."""
        witness = self.chain.witness(block, self.accounts)
        return HeaderStep(self.chain.header(block), witness, accumulate=True)


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with local_node("--slots-in-an-epoch", "1") as node:
        chain = LiveChain(node)
        holder = bytes.fromhex(node.deploy(compiled_holder())[2:])
        for account, balance in zip(EDGE_ACCOUNTS, BALANCES, strict=True):
            chain.set_balance(account, balance)
        chain.mine(1)
        before = chain.newest()
        node.send(f"0x{holder.hex()}", call_data("change()"))
        for account, balance in zip(EDGE_ACCOUNTS, reversed(BALANCES), strict=True):
            chain.set_balance(account, balance)
        chain.mine(1)
        yield Story(chain, holder, bytes.fromhex(node.payer[2:]), before, chain.newest())


def assert_all_is_read(story: Story, registry: Deployed, block: int) -> None:
    """Every fact is read as the node states it of that block, and in both ways of reading."""
    for account, slots in story.accounts.items():
        state = story.chain.state(block, account)
        for field in AccountField:
            value = field_value(state, field).to_bytes(32, "big")
            assert registry.reads.account_field(account, block, field) == value
            asked = call_data("accountField(address,uint256,uint8)", account, block, field)
            assert registry.ask(asked) == value
        for slot in slots:
            number = story.chain.slot_value(block, account, slot)
            assert registry.reads.slot_value(account, block, slot) == number
            signature = "accountStorageSlotValues(address,uint256,bytes32)"
            asked = call_data(signature, account, block, slot.to_bytes(32, "big"))
            assert registry.ask(asked) == number.to_bytes(32, "big")


def accumulated(header: Header, witness: bytes) -> bytes:
    return accumulated_section(header.number, header.timestamp, header.hash, witness)


def test_a_past_block_in_one_transaction(story: Story) -> None:
    registry = story.registry()
    registry.send(prove_call([headers_section([story.step(story.before)])]))
    assert_all_is_read(story, registry, story.before)
    balances = [story.chain.state(story.before, account).balance for account in EDGE_ACCOUNTS]
    assert balances == list(BALANCES)
    for account in NO_SIGNER:
        assert story.chain.state(story.before, account) == ABSENT_ACCOUNT


def test_a_variable_is_where_solidity_puts_it(story: Story) -> None:
    registry = story.registry()
    registry.send(prove_call([headers_section([story.step(story.before)])]))
    for name, (position, size, value) in VARIABLES.items():
        word = registry.reads.slot_value(story.holder, story.before, position.slot)
        assert word is not None
        assert word >> 8 * position.byte_offset & (1 << 8 * size) - 1 == value, name


def test_a_block_that_has_left_the_window_of_blockhash(story: Story) -> None:
    """From there on EIP-2935's contract is asked for its hash; the leaf needs neither."""
    known, accumulated_only = story.registry(), story.registry()
    header = story.chain.header(story.before)
    accumulated_only.send(prove_call([headers_section([HeaderStep(header, accumulate=True)])]))
    story.chain.mine(300)
    assert story.chain.newest() - story.before > 256
    step = story.step(story.before)
    known.send(prove_call([headers_section([step])]))
    accumulated_only.send(prove_call([accumulated(header, step.witness)]))
    for registry in (known, accumulated_only):
        assert_all_is_read(story, registry, story.before)


def test_a_block_that_has_left_every_window(story: Story) -> None:
    """Mining as many blocks takes the node a minute, so the number of the next one is made up."""
    registry = story.registry()
    header = story.chain.header(story.before)
    registry.send(prove_call([headers_section([HeaderStep(header, accumulate=True)])]))
    step = story.step(story.before)
    parent = HeaderStep(story.chain.header(story.before - 1), accumulate=True)
    last = story.before + 8191

    def outcomes(asked: Deployed, *sections: bytes) -> list[bool]:
        call = prove_call(sections)
        return [
            story.chain.would_succeed(asked.address, call, number) for number in (last, last + 1)
        ]

    by_hash = headers_section([step])
    assert outcomes(story.registry(), by_hash) == [True, False]
    by_leaf = accumulated(header, step.witness)
    for known in (by_hash, by_leaf, headers_section([parent, step])):
        assert outcomes(registry, known) == [True, True]
