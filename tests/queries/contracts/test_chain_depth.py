"""A chain that ends above where it begins would compare a node with digits that lie above it.

Two accounts part at digit 1, in a branch with two children. Compared at digit 0, the branch has
no child where the present account's path goes on, so the account would be shown as absent.
"""

import pytest
from trie.hexary import HexaryTrie

from queries.chain.local_node import LocalNode, TransactionReverted
from queries.chain.solidity import call_data, selector
from queries.proving.accounts import AccountState, encode_account
from queries.proving.errors import WitnessMalformed
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witness_building import build_witness
from queries.proving.witness_reading import read_witness
from queries.proving.witnesses import AccountField, NodeKind
from tests.local_chain import Deployed, error_name
from tests.queries.contracts.simulated_registry import SimulatedRegistry, believe, proof_of
from tests.queries.tries.random_tries import RandomAccount, RandomKey
from tests.queries.tries.second_opinion import BuiltState

pytestmark = pytest.mark.no_database

PRESENT = bytes.fromhex("12" + "00" * 31)
OTHERS = [bytes.fromhex(first + "00" * 31) for first in ("13", "20")]
BY_HASH = (1).to_bytes(32, "big") * 2
HASH = bytes(31) + b"\x01"


def forged_absence() -> tuple[bytes, bytes]:
    """The root of the three accounts, and a witness that shows one of them as absent."""
    trie = HexaryTrie({})
    for key in (PRESENT, *OTHERS):
        trie[key] = encode_account(AccountState(1, 7, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH))
    root_node, branch = trie.get_proof(PRESENT)[:2]
    asked = b"\x00\x01" + PRESENT + b"\x0f" + b"\x00\x00"
    chains = bytes((NodeKind.CHAIN, 1, NodeKind.CHAIN, 0))
    return bytes(trie.root_hash), b"".join((asked, chains, told(branch, -1), told(root_node, 1)))


def told(branch: list[bytes], own: int) -> bytes:
    there = sum(1 << digit for digit in range(16) if branch[digit])
    hashes = [child for digit, child in enumerate(branch[:16]) if child and digit != own]
    return bytes((NodeKind.BRANCH,)) + there.to_bytes(2, "big") + b"".join(hashes)


def test_the_reader_refuses_it() -> None:
    _, witness = forged_absence()
    with pytest.raises(WitnessMalformed, match=r"a chain that begins at depth .* ends at"):
        read_witness(witness, by_hash=True)


def test_the_contract_refuses_it(shared_node: LocalNode) -> None:
    registry = Deployed(shared_node, "SettableRegistry", BY_HASH)
    root, witness = forged_absence()
    block = (1, 1, HASH)
    registry.send(call_data("setAccumulated(uint256,uint256,bytes32,bytes32)", *block, root))
    with pytest.raises(TransactionReverted) as refused:
        registry.send(prove_call([accumulated_section(*block, witness)]))
    assert refused.value.data[:4] == selector("ChainWithoutNodes(uint256,uint256)")
    assert registry.reads.account_field(PRESENT[:20], 1, 1) is None


def test_more_levels_than_a_walk_goes_down_are_refused_by_name(shared_node: LocalNode) -> None:
    """Two accounts share 32 or 33 branches, and two slots of one 30: 64 levels with their leaves,
    or 65. The stack would run out by 76.
    """
    for shared, success in ((32, True), (33, False)):
        state = BuiltState.of([_deep_account(key, asked=asked) for key, asked in _fan(shared)])
        witness = build_witness(state.requests())
        registry = SimulatedRegistry(shared_node)
        *_, proof = registry.run([believe(1, state.trie.root), proof_of({1: witness})])
        assert proof.success == success
        if not success:
            assert error_name("SettableRegistry", proof.data) == "TooManyLevels"


def _fan(shared: int) -> list[tuple[bytes, bool]]:
    """Two keys that part after `shared` nibbles and are requested, and one beside each branch."""
    pair = [bytes.fromhex("0" * shared + digit + "0" * (63 - shared)) for digit in "12"]
    beside = [bytes.fromhex("0" * place + "f" * (64 - place)) for place in range(shared)]
    return [*((key, True) for key in pair), *((key, False) for key in beside)]


def _deep_account(key: bytes, *, asked: bool) -> RandomAccount:
    slots = [RandomKey(each, held=True, asked=of) for each, of in _fan(30)] if asked else []
    fields = frozenset({AccountField.BALANCE})
    of = RandomKey(key, held=True, asked=asked)
    values = tuple(range(1, len(slots) + 1))
    return RandomAccount(of, 1, 1, EMPTY_CODE_HASH, fields, tuple(slots), values)
