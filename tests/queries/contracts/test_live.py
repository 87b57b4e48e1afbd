"""The native registry on a chain of real transactions.

An earlier block's state is proven after it has changed, and compared with what the node answers
about that block without proofs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from explorer.demo.local_node import local_node
from queries.chain.json_rpc import NodeRefused
from queries.contracts.abi import call_data
from queries.proving.accounts import ABSENT_ACCOUNT
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from tests.queries.attacks.witness_parts import field_words, word
from tests.queries.contracts.holder import SLOTS, VARIABLES, compiled_holder
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.local_chain import Deployed

pytestmark = pytest.mark.no_database

BALANCES = (0, 1, 2**184 - 1, 2**184, 2**256 - 2, 2**256 - 1)
EDGE_ACCOUNTS = [bytes((0x50 + number,)) * 20 for number in range(len(BALANCES))]
ABSENT = [bytes.fromhex("77" * 20), bytes.fromhex("00000000000000000000000000000000000000f0")]


@dataclass(frozen=True)
class Story:
    """A chain whose accounts have changed since `block`."""

    chain: LiveChain
    holder: bytes
    block: int

    @property
    def accounts(self) -> dict[bytes, Sequence[int]]:
        """Accounts with their slots; absent accounts have slots too."""
        without: dict[bytes, Sequence[int]] = dict.fromkeys(EDGE_ACCOUNTS, ())
        payer = bytes.fromhex(self.chain.node.payer[2:])
        absent = {ABSENT[0]: (), ABSENT[1]: (0, 2**256 - 1)}
        return {self.holder: SLOTS, payer: (), **without, **absent}

    def registry(self, *sections: bytes) -> Deployed:
        deployed = Deployed(self.chain.node, "NativeRegistry")
        if sections:
            deployed.send(prove_call(sections))
        return deployed

    def header(self, number: int | None = None) -> HeaderStep:
        header = self.chain.header(self.block if number is None else number)
        return HeaderStep(header, accumulate=True)

    def full_step(self) -> HeaderStep:
        """The header, to be accumulated, with all facts of the block."""
        witness = self.chain.witness(self.block, self.accounts)
        return HeaderStep(self.chain.header(self.block), witness, accumulate=True)

    def accumulated_section(self) -> bytes:
        header = self.chain.header(self.block)
        words = (header.number, header.timestamp, header.hash)
        return accumulated_section(*words, self.full_step().witness)


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with local_node("--slots-in-an-epoch", "1") as node:
        chain = LiveChain(node)
        holder = bytes.fromhex(node.deploy(compiled_holder())[2:])
        for account, balance in zip(EDGE_ACCOUNTS, BALANCES, strict=True):
            chain.set_balance(account, balance)
        chain.mine(1)
        block = chain.newest()
        node.send(f"0x{holder.hex()}", call_data("change()"))
        for account, balance in zip(EDGE_ACCOUNTS, reversed(BALANCES), strict=True):
            chain.set_balance(account, balance)
        chain.mine(1)
        yield Story(chain, holder, block)


def assert_all_facts(story: Story, registry: Deployed) -> None:
    """Every fact is read, with and without `try`, as the node states it."""
    facts: dict[tuple[str, bytes, int, object], bytes] = {}
    for account, slots in story.accounts.items():
        for field, content in enumerate(field_words(story.chain.state(story.block, account))):
            question = "accountField(address,uint256,uint8)"
            facts[question, account, story.block, field] = content
        for slot in slots:
            value = word(story.chain.slot_value(story.block, account, slot))
            question = "accountStorageSlotValues(address,uint256,bytes32)"
            facts[question, account, story.block, word(slot)] = value
    for (question, *arguments), content in facts.items():
        assert registry.ask(call_data(question, *arguments)) == content
        try_signature = f"try{question[0].upper()}{question[1:]}"
        assert registry.ask(call_data(try_signature, *arguments)) == word(1) + content


def test_every_fact_of_a_past_block_is_proven_in_one_transaction(story: Story) -> None:
    registry = story.registry(headers_section([story.full_step()]))
    assert_all_facts(story, registry)
    balances = [story.chain.state(story.block, account).balance for account in EDGE_ACCOUNTS]
    assert balances == list(BALANCES)
    for account in ABSENT:
        assert story.chain.state(story.block, account) == ABSENT_ACCOUNT
    for name, (position, size, value) in VARIABLES.items():
        content = registry.reads.slot_value(story.holder, story.block, position.slot)
        assert content is not None
        assert content >> 8 * position.byte_offset & (1 << 8 * size) - 1 == value, name


def test_blocks_older_than_256_are_proven(story: Story) -> None:
    """EIP-2935's contract has the hash; an accumulated leaf needs none."""
    accumulated = story.registry(headers_section([story.header()]))
    story.chain.mine(300)
    known = story.registry(headers_section([story.full_step()]))
    accumulated.send(prove_call([story.accumulated_section()]))
    for registry in (known, accumulated):
        assert_all_facts(story, registry)


def test_blocks_older_than_8191_need_a_child_or_an_accumulated_leaf(story: Story) -> None:
    """The block number is overridden, because mining so many blocks takes a minute."""
    registry = story.registry(headers_section([story.header()]))
    last = story.block + 8191
    by_hash = headers_section([story.full_step()])
    by_child = headers_section([story.header(story.block - 1), story.full_step()])

    def outcomes(registry: Deployed, section: bytes) -> list[bool]:
        call = {"to": registry.address, "data": f"0x{prove_call([section]).hex()}"}
        parameters: list[Any] = [
            (call, "latest", {}, {"number": hex(number)}) for number in (last, last + 1)
        ]
        answers = story.chain.node.rpc.ask_many("eth_call", parameters)
        return [not isinstance(answer, NodeRefused) for answer in answers]

    assert outcomes(story.registry(), by_hash) == [True, False]
    for section in (by_hash, by_child, story.accumulated_section()):
        assert outcomes(registry, section) == [True, True]
