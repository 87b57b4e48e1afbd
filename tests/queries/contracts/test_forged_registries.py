"""Forged registries: the constructor stores lies, then returns the genuine code.

They show why the address has to prove the code: a node's answers about the code and the
constructor's arguments are as expected.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

import pytest
from eth_account import Account as Key
from eth_typing import Hash32
from trie.hexary import HexaryTrie

from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.config.chains import Chain, NodeAddress
from queries.contracts.abi import call_data
from queries.proving.accounts import AccountState, check_account_proof, encode_account
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from queries.sources.attested import AttestedRegistry
from queries.sources.deployment import deployed_registry, has_built_code
from queries.sources.native import NativeRegistry
from queries.sources.reader import accumulated_slot
from queries.sources.registry import Registry, constructor_arguments, has_derived_address
from tests.rigs.deployed_contracts import CHAIN_ID, HOLDER, HORIZON_WORD, DeployedContract
from tests.rigs.forged_code import code_that_stores

pytestmark = pytest.mark.no_database

BLOCK, TIME, HASH = 7, 1_700_000_000, b"\x66" * 32
INVENTED = 10**27  # wei
KEYS = sorted((Key.from_key(bytes([n]) * 32) for n in range(1, 6)), key=lambda key: key.address)
LISTED, HIDDEN = KEYS[:3], KEYS[3:]
STATE_HORIZON = (4).to_bytes(32, "big")  # in any registry's storage
# In AttestedRegistry's storage
IS_SIGNER, SIGNERS = (5).to_bytes(32, "big"), (7).to_bytes(32, "big")
YES = (1).to_bytes(32, "big")


def forge(node: LocalNode, registry: Registry, words: Mapping[bytes, bytes]) -> DeployedContract:
    """Deploy the code of a genuine registry with these words in its storage."""
    name = f"{registry.kind.capitalize()}Registry"
    genuine = DeployedContract(node, name, constructor_arguments(registry))
    code = bytes.fromhex(node.rpc.ask("eth_getCode", genuine.address, "latest")[2:])
    return DeployedContract(node, name, bytecode=code_that_stores(words, code))


def word_of(address: str) -> bytes:
    return bytes.fromhex(address[2:]).rjust(32, b"\0")


def check(forged: DeployedContract, registry: Registry) -> None:
    """A node's answers look genuine; the address does not."""
    configured = replace(registry, address=forged.address)
    with closing(ChainClient(Chain(CHAIN_ID, "Local", (NodeAddress(forged.node.url),)))) as chain:
        assert has_built_code(type(registry), chain.code(forged.address))
        forged_registry = deployed_registry(type(registry), registry.source, chain, forged.address)
        assert forged_registry == configured
    assert not has_derived_address(configured)


def test_an_invented_balance_is_proven_under_a_planted_block(shared_node: LocalNode) -> None:
    account, trie = bytes.fromhex(HOLDER[2:]), HexaryTrie({})
    state = AccountState(0, INVENTED, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)
    trie[keccak256(account)] = encode_account(state)
    root = bytes(trie.root_hash)
    answer = {
        "address": HOLDER,
        "balance": hex(INVENTED),
        "nonce": "0x0",
        "codeHash": f"0x{EMPTY_CODE_HASH.hex()}",
        "storageHash": f"0x{EMPTY_TRIE_ROOT.hex()}",
        "accountProof": [f"0x{trie.db[root].hex()}"],
        "storageProof": [],
    }
    request = AccountToStore(
        check_account_proof(answer, root, account), frozenset({AccountField.BALANCE})
    )
    leaf = keccak256(BLOCK.to_bytes(32, "big") + TIME.to_bytes(32, "big") + HASH + root)
    native = NativeRegistry(CHAIN_ID, CHAIN_ID)
    forged = forge(
        shared_node, native, {accumulated_slot(BLOCK): leaf, STATE_HORIZON: HORIZON_WORD}
    )
    forged.send(prove_call([accumulated_section(BLOCK, TIME, HASH, build_witness([request]))]))
    balance = forged.reads.account_field(account, BLOCK, AccountField.BALANCE)
    assert balance == INVENTED.to_bytes(32, "big")
    check(forged, native)


def test_hidden_signers_attest_in_a_registry_that_lists_others(shared_node: LocalNode) -> None:
    listed = tuple(key.address for key in LISTED)
    attested = AttestedRegistry(1, CHAIN_ID, signers=listed, threshold=2)
    words = {SIGNERS: len(listed).to_bytes(32, "big")}
    for index, key in enumerate(LISTED):
        slot = int.from_bytes(keccak256(SIGNERS), "big") + index
        words[slot.to_bytes(32, "big")] = word_of(key.address)
    for key in KEYS:
        words[keccak256(word_of(key.address) + IS_SIGNER)] = YES
    forged = forge(shared_node, attested, words)
    digest = forged.ask(call_data("attestationDigest(uint256,bytes32)", BLOCK, HASH))
    signatures = [bytes(key.unsafe_sign_hash(Hash32(digest)).signature) for key in HIDDEN]
    forged.send(call_data("attest(uint256,bytes32,bytes[])", BLOCK, HASH, signatures))
    assert forged.ask(call_data("attested(uint256)", BLOCK)) == HASH
    check(forged, attested)
