"""Signatures of contract wallets: only the exact answer of EIP-1271 counts as acceptance."""

from dataclasses import dataclass

import pytest
from eth_account import Account

from accounts.wallets import WalletAnswer
from explorer.demo.local_node import LocalNode
from queries.chain.contract_wallets import ask_contract_wallet
from queries.config.chains import Chain, NodeAddress
from tests.queries.contracts.wallets import (
    MAGIC,
    WRAPPER_END,
    Maker,
    deploy_wallet,
    same_answer,
    wrapped,
)

pytestmark = pytest.mark.no_database

ACCEPTED, REFUSED = WalletAnswer.ACCEPTED, WalletAnswer.REFUSED
NO_CONTRACT = WalletAnswer.NO_CONTRACT
CHAIN_ID = 31337  # the local node's
DIGEST = bytes(range(32))
OWNER = Account.from_key(32 * b"\1")
SIGNED = bytes(OWNER.unsafe_sign_hash(DIGEST).signature)
UNUSED_ADDRESS = "0x00000000000000000000000000000000000000Aa"


@dataclass
class Asking:
    """Asks wallets on a node."""

    node: LocalNode

    def __call__(self, wallet: str, signature: bytes, digest: bytes = DIGEST) -> WalletAnswer:
        chain = Chain(CHAIN_ID, "Local", (NodeAddress(self.node.url),))
        return ask_contract_wallet(chain, wallet, digest, signature, lambda: None)


@pytest.fixture(scope="module")
def ask(shared_node: LocalNode) -> Asking:
    return Asking(shared_node)


@pytest.fixture(scope="module")
def owned_wallet(shared_node: LocalNode) -> str:
    return deploy_wallet(shared_node, "OwnedWallet", ("address",), OWNER.address)


@pytest.fixture(scope="module")
def accepting_wallet(shared_node: LocalNode) -> str:
    """A wallet that accepts everything."""
    return same_answer(shared_node, MAGIC)


@pytest.fixture
def maker(shared_node: LocalNode) -> Maker:
    return Maker(shared_node, OWNER.address, DIGEST)


# EIP-1271


def test_a_wallet_accepts_what_its_owner_signed(ask: Asking, owned_wallet: str) -> None:
    assert ask(owned_wallet, SIGNED) is ACCEPTED
    assert ask(owned_wallet.upper().replace("X", "x"), SIGNED) is ACCEPTED
    other = bytes(Account.from_key(32 * b"\2").unsafe_sign_hash(DIGEST).signature)
    assert ask(owned_wallet, other) is REFUSED
    assert ask(owned_wallet, SIGNED, digest=bytes(32)) is REFUSED
    assert ask(owned_wallet, b"") is REFUSED


@pytest.mark.parametrize(
    "answer",
    [
        b"", MAGIC[:4], MAGIC[:31], MAGIC + b"\0", MAGIC + bytes(32), bytes(32), MAGIC[:31] + b"\1",
        MAGIC[:4] + b"\1" + bytes(27), bytes(28) + MAGIC[:4], bytes(31) + b"\1", 32 * b"\xff",
    ],
    ids=bytes.hex,
)  # fmt: skip
def test_answers_other_than_the_magic_value_are_refusals(
    ask: Asking, shared_node: LocalNode, answer: bytes
) -> None:
    assert ask(same_answer(shared_node, answer), SIGNED) is REFUSED


def test_reverts_are_refusals_even_with_the_magic_value(
    ask: Asking, shared_node: LocalNode
) -> None:
    assert ask(same_answer(shared_node, MAGIC, reverts=True), SIGNED) is REFUSED
    assert ask(same_answer(shared_node, b"", reverts=True), SIGNED) is REFUSED


@pytest.mark.parametrize("reverts", [False, True])
def test_an_answer_of_a_megabyte_is_a_refusal(
    ask: Asking, shared_node: LocalNode, *, reverts: bool
) -> None:
    assert ask(deploy_wallet(shared_node, "HugeWallet", ("bool",), reverts), SIGNED) is REFUSED


@pytest.mark.parametrize("name", ["OpenableWallet", "WritingWallet", "TrialWallet"])
def test_wallets_that_burn_gas_write_state_or_detect_simulations_do_not_accept(
    ask: Asking, shared_node: LocalNode, name: str
) -> None:
    assert ask(deploy_wallet(shared_node, name), SIGNED) is REFUSED


@pytest.mark.parametrize(
    "address", [UNUSED_ADDRESS, OWNER.address, f"0x{0:040x}", f"0x{1:040x}", f"0x{4:040x}"]
)
def test_an_account_without_code_is_not_a_wallet(ask: Asking, address: str) -> None:
    """Calls to it succeed with an empty answer."""
    assert ask(address, SIGNED) is NO_CONTRACT
    assert ask(address, b"") is NO_CONTRACT


# EIP-6492


def test_an_undeployed_wallet_accepts_and_is_not_deployed(ask: Asking, maker: Maker) -> None:
    assert ask(maker.wallet, SIGNED) is NO_CONTRACT
    assert ask(maker.wallet, maker.sign(SIGNED)) is ACCEPTED
    assert ask(maker.wallet, maker.sign(bytes(65))) is REFUSED
    assert maker.node.rpc.ask("eth_getCode", maker.wallet, "latest") == "0x"


@pytest.mark.parametrize("function", ["makeElsewhere", "makeAndRevert", "makeAndBurn", "nothing"])
def test_a_factory_must_deploy_the_wallet(ask: Asking, maker: Maker, function: str) -> None:
    assert ask(maker.wallet, maker.sign(SIGNED, function)) is NO_CONTRACT


def _words(*words: int | bytes, factory: int = 1) -> bytes:
    return b"".join(w.to_bytes(32, "big") if isinstance(w, int) else w for w in (factory, *words))


MAX_UINT256 = 2**256 - 1
# Two parts of 32 bytes, with their lengths at 96 and 160; the end is at 224.
PARTS = _words(32, 7, 32, 7)[32:]
MALFORMED = {
    "nothing": b"",
    "a byte": b"\1",
    "a word": _words(),
    "a word less a byte": _words()[:31],
    "two words": _words(64),
    "two words and most of one": _words(64, 96)[:-1],
    "a head alone": _words(96, 96),
    "a factory of 21 bytes": _words(96, 160, PARTS, factory=1 + 2**160),
    "a factory of 32 bytes": _words(96, 160, PARTS, factory=MAX_UINT256),
    "the first part at the end": _words(224, 160, PARTS),
    "the second part at the end": _words(96, 224, PARTS),
    "the first part's length across the end": _words(193, 160, PARTS),
    "the second part's length across the end": _words(96, 193, PARTS),
    "the first part nowhere": _words(MAX_UINT256, 160, PARTS),
    "the second part nowhere": _words(96, MAX_UINT256, PARTS),
    "the second part before the beginning": _words(96, 2**256 - 32, PARTS),
    "the second part where 2^64 wraps": _words(96, 2**64 + 160, PARTS),
    "the first part too long by one": _words(96, 160, 97, 7, 32, 7),
    "the second part too long by one": _words(96, 160, 32, 7, 33, 7),
    "the first part of all bytes there are": _words(96, 160, MAX_UINT256, 7, 32, 7),
    "the second part of all bytes there are": _words(96, 160, 32, 7, MAX_UINT256, 7),
    "the second part of more than a node holds": _words(96, 160, 32, 7, 2**40, 7),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_wrappers_are_refused_even_if_the_wallet_accepts(
    ask: Asking, accepting_wallet: str, kind: str
) -> None:
    signature = MALFORMED[kind] + WRAPPER_END
    assert ask(accepting_wallet, signature) is REFUSED
    assert ask(UNUSED_ADDRESS, signature) is REFUSED


def test_truncated_wrappers_are_refused(ask: Asking, accepting_wallet: str) -> None:
    content = wrapped(UNUSED_ADDRESS, 40 * b"\7", 33 * b"\7").removesuffix(WRAPPER_END)
    padding = 31
    answers = [
        ask(accepting_wallet, content[:end] + WRAPPER_END) for end in range(len(content) + 1)
    ]
    assert answers == (len(content) - padding) * [REFUSED] + (padding + 1) * [ACCEPTED]
