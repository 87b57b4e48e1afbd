"""Whether what was brought to a registry twice is found, on a chain whose proofs are made here."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from eth_utils.address import to_canonical_address
from eth_utils.crypto import keccak

from queries.chain.local_node import GAS_LIMIT, LocalNode
from queries.proving.header_fields import HeaderField
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest
from tests.chaos.brought_again import brought_again
from tests.chaos.calldata import (
    ACCOUNT_FIELD,
    HEADER,
    HEADER_FIELD,
    SLOT,
    TIME,
    Brought,
    brought_by,
)
from tests.chaos.chains import WRITER
from tests.chaos.evidence import Chain
from tests.local_chain import Deployed
from tests.queries.contracts.live_chain import LiveChain

pytestmark = pytest.mark.no_database

NONCE, BALANCE, CODE = AccountField.NONCE, AccountField.BALANCE, AccountField.CODE_HASH


class Scene:
    """A registry, and one block of its own chain in which a contract holds slots."""

    def __init__(self, node: LocalNode) -> None:
        self.chain = LiveChain(node)
        self.registry = Deployed(node, "NativeRegistry")
        writer = node.deploy(WRITER)
        self.writer = to_canonical_address(writer)
        for slot in range(4):
            node.send(writer, slot.to_bytes(32) + (7 + slot).to_bytes(32))
        node.rpc.ask("anvil_mine", "0x3", "0xc")
        self.block = self.chain.newest() - 1

    @property
    def node(self) -> LocalNode:
        return self.chain.node

    def witness(self, slots: Sequence[int] = (), *fields: AccountField) -> bytes:
        proof = self.chain.proof(self.block, self.writer, slots)
        return build_witness([AccountRequest(proof, frozenset(fields))])

    def shown(self, slots: Sequence[int] = (), *fields: AccountField) -> HeaderStep:
        return HeaderStep(self.chain.header(self.block), self.witness(slots, *fields))

    def again(self, *calls: bytes) -> list[Brought]:
        """Of what these bring in one block."""
        ask = self.node.rpc.ask
        ask("evm_setAutomine", False)  # noqa: FBT003
        to = {"from": self.node.payer, "to": self.registry.address, "gas": hex(GAS_LIMIT // 4)}
        nonce = int(ask("eth_getTransactionCount", self.node.payer, "latest"), 16)
        sent = [
            ask(
                "eth_sendTransaction", to | {"data": f"0x{call.hex()}", "nonce": hex(nonce + place)}
            )
            for place, call in enumerate(calls)
        ]
        ask("anvil_mine", "0x1")
        ask("evm_setAutomine", True)  # noqa: FBT003
        assert {ask("eth_getTransactionReceipt", each)["status"] for each in sent} == {"0x1"}
        told = [ask("eth_getTransactionByHash", each) for each in sent]
        assert len({each["blockNumber"] for each in told}) == 1
        return [thing for _, thing in brought_again(Chain(self.node.url), told)]

    def field(self, field: AccountField) -> Brought:
        return Brought(ACCOUNT_FIELD, (int.from_bytes(self.writer), self.block, field))

    def slot(self, slot: int) -> Brought:
        return Brought(SLOT, (int.from_bytes(self.writer), self.block, slot))


@pytest.fixture
def scene(shared_node: LocalNode) -> Iterator[Scene]:
    made = Scene(shared_node)
    with shared_node.undone():
        yield made


def call(*steps: HeaderStep) -> bytes:
    return prove_call([headers_section(steps)])


def test_a_slot_that_comes_again_beside_a_new_one_is_found(scene: Scene) -> None:
    assert not scene.again(call(scene.shown([0, 1])))
    assert scene.again(call(scene.shown([1, 2]))) == [scene.slot(1)]


def test_so_is_one_that_an_earlier_transaction_of_its_block_brought(scene: Scene) -> None:
    two = call(scene.shown([0, 1])), call(scene.shown([1, 2]))
    assert scene.again(*two) == [scene.slot(1)]


def test_a_balance_came_with_the_nonce_already(scene: Scene) -> None:
    assert not scene.again(call(scene.shown([], NONCE)))
    assert scene.again(call(scene.shown([3], BALANCE, CODE))) == [scene.field(BALANCE)]


def test_both_of_them_in_one_transaction_come_once(scene: Scene) -> None:
    assert not scene.again(call(scene.shown([], NONCE, BALANCE)))


def test_in_one_block_as_well(scene: Scene) -> None:
    two = call(scene.shown([], BALANCE)), call(scene.shown([], NONCE, CODE))
    assert scene.again(*two) == [scene.field(NONCE)]


def test_so_are_a_header_its_fields_and_times(scene: Scene) -> None:
    before, after = (scene.chain.header(scene.block + each) for each in (-1, 0))
    first = HeaderStep(before, accumulate=True, fields=frozenset({HeaderField.BLOCK_NUMBER}))
    then = HeaderStep(after, timestamps=(before.timestamp,))
    assert not scene.again(call(first, then))
    more = frozenset({HeaderField.BLOCK_NUMBER, HeaderField.EXTRA_DATA})
    told = scene.again(call(replace(first, fields=more), replace(then, accumulate=True)))
    assert told == [
        Brought(HEADER_FIELD, (before.number, HeaderField.BLOCK_NUMBER)),
        Brought(HEADER, (before.number,)),
        Brought(TIME, (before.timestamp,)),
    ]


def test_against_an_accumulated_header_as_well(scene: Scene) -> None:
    header = scene.chain.header(scene.block)
    assert not scene.again(call(HeaderStep(header, accumulate=True)))
    words = header.number, header.timestamp, header.hash
    brings = [prove_call([accumulated_section(*words, scene.witness(s))]) for s in ([0], [0, 1])]
    assert scene.again(*brings) == [scene.slot(0)]


def test_of_a_full_trie_all_is_read_to_the_end(shared_node: LocalNode) -> None:
    """Of accounts that are there and of some that are not, whose paths meet and part."""
    chain = LiveChain(shared_node)
    names = [keccak(text=f"account {number}")[:20] for number in range(300)]
    for name in names[:250]:
        chain.set_balance(name, 10**18)
    writer = to_canonical_address(shared_node.deploy(WRITER))
    for slot in range(40):
        shared_node.send(f"0x{writer.hex()}", slot.to_bytes(32) + bytes([1] * 32))
    block = chain.newest()
    for some in (names[:1], names[-1:], names[::7], names[200:]):
        for slots in ([0], [41], range(0, 60, 3)):
            asked: dict[bytes, Sequence[int]] = {**dict.fromkeys(some, ()), writer: slots}
            header = chain.header(block)
            section = accumulated_section(block, 5, header.hash, chain.witness(block, asked))
            read = brought_by(prove_call([section, section]))
            assert read[: len(read) // 2] == read[len(read) // 2 :]
            wanted = {Brought(SLOT, (int.from_bytes(writer), block, slot)) for slot in slots}
            wanted |= {
                Brought(ACCOUNT_FIELD, (int.from_bytes(name), block, field))
                for name in asked
                for field in AccountField
            }
            assert set(read) == wanted
            assert len(read) == 2 * len(wanted)
