"""The native registry on a chain of real transactions, proving that chain's own past to it.

An earlier block's state is proven after it has changed, with what the node answers, and compared
with what the node says of that block when it is asked plainly.
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
NO_SIGNER = [bytes.fromhex("77" * 20), bytes.fromhex("00000000000000000000000000000000000000f0")]


@dataclass(frozen=True)
class Story:
    """A chain whose accounts have changed since `block`."""

    chain: LiveChain
    holder: bytes
    block: int

    @property
    def accounts(self) -> dict[bytes, Sequence[int]]:
        """Whom to ask for, each with slots; those without storage prove that they have none."""
        without: dict[bytes, Sequence[int]] = dict.fromkeys(EDGE_ACCOUNTS, ())
        payer = bytes.fromhex(self.chain.node.payer[2:])
        absent = {NO_SIGNER[0]: (), NO_SIGNER[1]: (0, 2**256 - 1)}
        return {self.holder: SLOTS, payer: (), **without, **absent}

    def registry(self, *sections: bytes) -> Deployed:
        deployed = Deployed(self.chain.node, "NativeRegistry")
        if sections:
            deployed.send(prove_call(sections))
        return deployed

    def header(self, number: int | None = None) -> HeaderStep:
        header = self.chain.header(self.block if number is None else number)
        return HeaderStep(header, accumulate=True)

    def whole(self) -> HeaderStep:
        """The header, to be accumulated, with all that there is to prove of the block."""
        witness = self.chain.witness(self.block, self.accounts)
        return HeaderStep(self.chain.header(self.block), witness, accumulate=True)

    def of_accumulated(self) -> bytes:
        header = self.chain.header(self.block)
        words = (header.number, header.timestamp, header.hash)
        return accumulated_section(*words, self.whole().witness)


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


def assert_all_is_read(story: Story, registry: Deployed) -> None:
    """Every fact is read as the node states it of that block, and in both ways of reading."""
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
        tried = f"try{question[0].upper()}{question[1:]}"
        assert registry.ask(call_data(tried, *arguments)) == word(1) + content


def test_a_past_block_in_one_transaction(story: Story) -> None:
    registry = story.registry(headers_section([story.whole()]))
    assert_all_is_read(story, registry)
    balances = [story.chain.state(story.block, account).balance for account in EDGE_ACCOUNTS]
    assert balances == list(BALANCES)
    for account in NO_SIGNER:
        assert story.chain.state(story.block, account) == ABSENT_ACCOUNT
    for name, (position, size, value) in VARIABLES.items():
        content = registry.reads.slot_value(story.holder, story.block, position.slot)
        assert content is not None
        assert content >> 8 * position.byte_offset & (1 << 8 * size) - 1 == value, name


def test_a_block_that_has_left_the_window_of_blockhash(story: Story) -> None:
    """From there on EIP-2935's contract is asked for its hash; the leaf needs neither."""
    accumulated = story.registry(headers_section([story.header()]))
    story.chain.mine(300)
    known = story.registry(headers_section([story.whole()]))
    accumulated.send(prove_call([story.of_accumulated()]))
    for registry in (known, accumulated):
        assert_all_is_read(story, registry)


def test_a_block_that_has_left_every_window(story: Story) -> None:
    """Mining as many blocks takes the node a minute, so the number of the next one is made up."""
    registry = story.registry(headers_section([story.header()]))
    last = story.block + 8191
    by_hash = headers_section([story.whole()])
    by_child = headers_section([story.header(story.block - 1), story.whole()])

    def outcomes(asked: Deployed, section: bytes) -> list[bool]:
        call = {"to": asked.address, "data": f"0x{prove_call([section]).hex()}"}
        given: list[Any] = [
            (call, "latest", {}, {"number": hex(number)}) for number in (last, last + 1)
        ]
        answers = story.chain.node.rpc.ask_many("eth_call", given)
        return [not isinstance(answer, NodeRefused) for answer in answers]

    assert outcomes(story.registry(), by_hash) == [True, False]
    for section in (by_hash, by_child, story.of_accumulated()):
        assert outcomes(registry, section) == [True, True]
