"""How a registry on a chain is recognised, and on which chains one works."""

import re

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from queries.chain.errors import BlockUnknown, CallReverted
from queries.chain.games import INVALID_STATES
from queries.chain.reader import SourceChain, any_bytes
from queries.chain.registry import HASH_HISTORY, L1_BLOCK, RegistryFacts
from queries.chain.sender import Destination
from queries.config.registries import CONSTRUCTORS, Registry, RegistryKind, artifact_of, with_words
from queries.config.routes import Chain
from queries.contracts.abi import call_data
from queries.proving.keccak import HASH_BYTES

BLOCKHASH_WINDOW, HISTORY_WINDOW = 256, 8191  # blocks: of BLOCKHASH, and of EIP-2935's contract
# The compiler leaves 32 zeros after PUSH32 where the constructor puts a word. Another zero would
# not be pushed like that.
_LEFT_OPEN = re.compile(b"(?<=\x7f)" + b"\x00{32}", re.DOTALL)


class Unfit(Exception):  # noqa: N818
    """A node, registry or signer is not as proving needs it; the sentence says what to do."""


def is_as_built(kind: RegistryKind, deployed: bytes) -> bool:
    """Whether this is the kind's runtime code, whatever its constructor's arguments were."""
    built = artifact_of(kind).deployed_bytecode
    if len(deployed) != len(built):
        return False
    blank = bytearray(deployed)
    for match in _LEFT_OPEN.finditer(built):
        blank[match.start() : match.end()] = bytes(32)
    return blank == built


def as_deployed(destination: Destination, registry: Registry) -> Registry:
    """The registry with the constructor arguments, such as its source, that the contract names."""
    views = CONSTRUCTORS[registry.kind]
    answers = destination.call_contract(registry.address, [call_data(view) for *_, view in views])
    try:
        words = [
            decode([kind], b"" if isinstance(answer, CallReverted) else answer)[0]
            for (_, kind, _), answer in zip(views, answers, strict=True)
        ]
    except DecodingError:
        raise Unfit("It does not name what its constructor was given.") from None
    return with_words(registry, words)


def check_chain(destination: Destination, kind: RegistryKind) -> int:
    """How many of the chain's own hashes a native registry sees; 0 for other kinds.

    `Unfit` where such a registry could know no hashes.
    """
    chain = destination.chain.name
    if kind is RegistryKind.OPTIMISM and not destination.code(L1_BLOCK):
        raise Unfit(
            f"{chain} has no L1Block contract at {L1_BLOCK}: it is no OP-stack chain. Take an "
            "attested registry."
        )
    seen = own_hashes(destination) if kind is RegistryKind.NATIVE else 0
    if kind is RegistryKind.NATIVE and not seen:
        raise Unfit(
            f"Contracts on {chain} do not see its own block hashes, so a native registry knows "
            "none. Take an attested registry."
        )
    return seen


def l1_seen(registry: Registry, source: SourceChain, destination: Destination) -> int:
    """The newest L1 block that an OP-stack chain sees; `Unfit` where the source has another one.

    No optimism registry knows which chain its L1 is, so it has to be compared.
    """
    number, block_hash = RegistryFacts(destination, registry).newest_l1_block()
    try:
        same = source.header(number).hash == block_hash
    except BlockUnknown:
        same = False
    if not same:
        raise Unfit(
            f"The L1 that {destination.chain.name} sees has another block {number:,} than "
            f"{source.chain.name}, or further ones. Correct the route's source, or check that its "
            "nodes keep up."
        )
    return number


def newest_game(registry: Registry, destination: Destination) -> str | None:
    """The anchor game of the AnchorStateRegistry that an output registry asks, if there is one.

    `Unfit` where there are no such games, or they are about another chain.
    """
    anchors = registry.anchor_state_registry

    def ask(contract: str, call: bytes) -> bytes:
        (answer,) = destination.call_contract(contract, [call])
        if not isinstance(answer, bytes) or len(answer) != HASH_BYTES:
            raise Unfit(
                f"At {anchors} on {destination.chain.name} is no AnchorStateRegistry whose games a "
                "registry can ask (isGameClaimValid, l2ChainId)."
            )
        return answer

    newest = ask(anchors, call_data("anchorGame()"))[12:]
    if newest == bytes(20):
        return None
    game = to_checksum_address(newest)
    if not any(ask(anchors, call_data("isGameClaimValid(address)", newest))):
        states = [
            state
            for name, state in INVALID_STATES.items()
            if any(ask(anchors, call_data(f"{name}(address)", newest)))
        ]
        raise Unfit(
            f"The last game of {anchors}, {game}, does not count any more"
            f"{''.join(f': it is {state}' for state in states)}. Blocks wait for a newer one."
        )
    chain = int.from_bytes(ask(game, call_data("l2ChainId()")))
    if chain != registry.source:
        raise Unfit(f"The games of {anchors} are about chain {chain}, not {registry.source}.")
    return game


def l1_seen_now(registry: Registry, source: Chain, destination: Chain) -> int:
    """As `l1_seen`, for a visitor: `ChainError` where no node answers within `visitor_timeout`."""
    with (
        SourceChain.open_for_visitor(source) as of,
        Destination.open_for_visitor(destination) as on,
    ):
        return l1_seen(registry, of, on)


def own_hashes(destination: Destination) -> int:
    """For how many blocks contracts see the chain's own hashes, tried with a recent block."""
    number = destination.head(known_final=0).number - 1
    if number < 0:
        raise Unfit(
            f"{destination.chain.name} has no blocks yet. Wait for its first one; a development "
            "node makes it on evm_mine."
        )
    expected = destination.header(number).hash
    # PUSH32 number, BLOCKHASH, and return the hash after a zero byte: nodes take the output for a
    # contract's code, and since EIP-3541 that must not begin with EF.
    program = b"\x7f" + number.to_bytes(32, "big") + bytes.fromhex("40" + "60015260215ff3")
    try:
        call = {"data": f"0x{program.hex()}"}
        seen = destination.fetch("eth_call", (call, "latest"), any_bytes)
    except CallReverted:
        return 0  # a chain without PUSH0, where no registry of ours runs
    if seen != b"\0" + expected:
        return 0
    (kept,) = destination.call_contract(HASH_HISTORY, [number.to_bytes(32, "big")])
    return HISTORY_WINDOW if kept == expected else BLOCKHASH_WINDOW
