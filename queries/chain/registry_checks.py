"""Recognise a registry by its code, and check if a chain supports its kind."""

import re
from dataclasses import dataclass

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from queries.chain.answers import read_hex
from queries.chain.client import ChainClient
from queries.chain.errors import BlockUnknownError, CallRevertedError
from queries.chain.games import BLACKLISTED, RETIRED
from queries.chain.registry import HASH_HISTORY, L1_BLOCK, RegistryReader
from queries.config.registries import (
    CONSTRUCTORS,
    Registry,
    RegistryKind,
    registry_artifact,
    registry_with_values,
)
from queries.config.routes import Chain
from queries.contracts.abi import call_data
from queries.proving.keccak import HASH_BYTES
from queries.proving.registry_calls import HISTORY_RING

# Blocks that a contract can look back, by BLOCKHASH and by the contract of EIP-2935.
BLOCKHASH_WINDOW, HISTORY_WINDOW = 256, HISTORY_RING
# Of EIP-2537: by address, how many bytes they take and answer
PRECOMPILES = {0x0B: (256, 128), 0x0D: (512, 256), 0x0F: (384, 32), 0x11: (128, 256)}
# The compiler emits PUSH32 and 32 zeros for an immutable; it pushes no other zero like that.
_IMMUTABLE = re.compile(b"(?<=\x7f)" + b"\x00{32}", re.DOTALL)


class SetupError(Exception):
    """A node, registry or signer cannot be used; the sentence says what to do."""


def has_built_code(kind: RegistryKind, code: bytes) -> bool:
    """Whether this is the kind's runtime code, with any constructor arguments."""
    artifact_code = registry_artifact(kind).deployed_bytecode
    if len(code) != len(artifact_code):
        return False
    blanked_code = bytearray(code)
    for match in _IMMUTABLE.finditer(artifact_code):
        blanked_code[match.start() : match.end()] = bytes(32)
    return blanked_code == artifact_code


def deployed_registry(destination: ChainClient, registry: Registry) -> Registry:
    """The registry with the constructor arguments, such as its source, that its views return."""
    views = CONSTRUCTORS[registry.kind]
    answers = destination.call_contract(registry.address, [call_data(view) for *_, view in views])
    try:
        values = [
            decode([kind], b"" if isinstance(answer, CallRevertedError) else answer)[0]
            for (_, kind, _), answer in zip(views, answers, strict=True)
        ]
    except DecodingError:
        raise SetupError("It does not return its constructor's arguments.") from None
    return registry_with_values(registry, values)


def check_chain(destination: ChainClient, kind: RegistryKind) -> int:
    """Return how many own hashes a native registry can read; `SetupError` if none can work here."""
    chain = destination.chain.name
    if kind is RegistryKind.OPTIMISM and not destination.code(L1_BLOCK):
        raise SetupError(
            f"{chain} is not an OP-stack chain (no code at {L1_BLOCK}). Use an attested registry."
        )
    if kind is RegistryKind.BEACON:
        _check_precompiles(destination)
    window = visible_own_hashes(destination) if kind is RegistryKind.NATIVE else 0
    if kind is RegistryKind.NATIVE and not window:
        raise SetupError(
            f"Contracts on {chain} do not see its own block hashes. Use an attested registry."
        )
    return window


def _check_precompiles(destination: ChainClient) -> None:
    """Call the precompiles of EIP-2537 that a beacon registry needs; all accept zeros."""
    for number, (length, answer_length) in PRECOMPILES.items():
        (answer,) = destination.call_contract(f"0x{number:040x}", [bytes(length)])
        if not isinstance(answer, bytes) or len(answer) != answer_length:
            raise SetupError(
                f"{destination.chain.name} lacks the precompile 0x{number:02x} of EIP-2537 for "
                "BLS12-381, so it cannot check sync committees. Use an attested registry."
            )


def visible_l1_block(registry: Registry, source: ChainClient, destination: ChainClient) -> int:
    """The newest L1 block that an OP-stack chain sees.

    Raises `SetupError` if the source has another block of that number. No optimism registry knows
    which chain its L1 is, so the hash has to be compared.
    """
    number, block_hash = RegistryReader(destination, registry).latest_l1_block()
    try:
        is_same = source.header(number).hash == block_hash
    except BlockUnknownError:
        is_same = False
    if not is_same:
        raise SetupError(
            f"Block {number:,} of the L1 that {destination.chain.name} sees is not block "
            f"{number:,} of {source.chain.name}. Correct the route's source, or check that its "
            "nodes keep up."
        )
    return number


def read_visible_l1_block(registry: Registry, source: Chain, destination: Chain) -> int:
    """The same for a visitor. Raises `ChainError` after `visitor_timeout` at the latest."""
    with (
        ChainClient.open_for_visitor(source) as source_chain,
        ChainClient.open_for_visitor(destination) as destination_chain,
    ):
        return visible_l1_block(registry, source_chain, destination_chain)


def newest_claim(registry: Registry, destination: ChainClient) -> str:
    """What the rollup's contracts accepted last, in a few words.

    Raises `SetupError` if the registry cannot read them, or they are about another chain.
    """
    if registry.kind is RegistryKind.ARBITRUM:
        return _newest_assertion(registry, destination)
    return _newest_game(registry, destination)


def _newest_game(registry: Registry, destination: ChainClient) -> str:
    reader = _WordReader(
        destination, f"{registry.portal} on {{chain}} is not the portal of a chain"
    )
    config = reader.address(registry.portal, "systemConfig()")
    _check_named_chain(registry, reader.number(config, "l2ChainId()"), "portal", registry.portal)
    anchors = reader.address(registry.portal, "anchorStateRegistry()")
    game = reader.address(anchors, "anchorGame()")
    if not int(game, 16):
        return "no game has been valid yet"
    (paused,) = destination.call_contract(anchors, [call_data("paused()")])
    if isinstance(paused, bytes) and any(paused):
        raise SetupError(f"{anchors} is paused by its guardian. Blocks wait until it goes on.")
    if not reader.number(anchors, "isGameClaimValid(address)", game):
        reasons = [
            f": it is {state}"
            for name, state in ((BLACKLISTED, "blacklisted"), (RETIRED, "retired"))
            if reader.number(anchors, f"{name}(address)", game)
        ]
        subject = f"The last game of {anchors}, {game}, is no longer valid"
        raise SetupError(f"{subject}{''.join(reasons)}. Blocks wait for a newer one.")
    return f"the newest valid game is {game}"


def _newest_assertion(registry: Registry, destination: ChainClient) -> str:
    reader = _WordReader(
        destination, f"{registry.outbox} on {{chain}} is not the outbox of a chain"
    )
    rollup = reader.address(registry.outbox, "rollup()")
    _check_named_chain(registry, reader.number(rollup, "chainId()"), "outbox", registry.outbox)
    if (outbox := reader.address(rollup, "outbox()")) != registry.outbox:
        raise SetupError(f"The rollup uses another outbox now, {outbox}. Deploy a new registry.")
    assertion = reader.number(rollup, "latestConfirmed()")
    reader.number(rollup, "getAssertion(bytes32)", assertion.to_bytes(32))  # none before BoLD
    reader.number(rollup, "confirmPeriodBlocks()")
    if not assertion:
        return "no assertion is confirmed yet"
    return f"the newest confirmed assertion is 0x{assertion:064x}"


def _check_named_chain(registry: Registry, chain: int, title: str, address: str) -> None:
    if chain != registry.source:
        raise SetupError(f"The {title} {address} is of chain {chain}, not {registry.source}.")


@dataclass(frozen=True, slots=True)
class _WordReader:
    """Reads words from a rollup's contracts; `SetupError` if they do not answer as expected."""

    destination: ChainClient
    problem: str

    def number(self, contract: str, signature: str, *values: object) -> int:
        (answer,) = self.destination.call_contract(contract, [call_data(signature, *values)])
        if not isinstance(answer, bytes) or len(answer) < HASH_BYTES:
            problem = self.problem.format(chain=self.destination.chain.name)
            raise SetupError(f"{problem} that a registry can read: {contract} has no {signature}.")
        return int.from_bytes(answer[:HASH_BYTES])

    def address(self, contract: str, signature: str) -> str:
        return to_checksum_address(f"0x{self.number(contract, signature):040x}"[-40:])


def visible_own_hashes(destination: ChainClient) -> int:
    """The number of own hashes that contracts on the chain can read, tried with a recent block."""
    number = destination.latest_head().number - 1
    if number < 0:
        raise SetupError(f"{destination.chain.name} has no blocks yet (evm_mine makes one).")
    block_hash = destination.header(number).hash
    # PUSH32 number, BLOCKHASH, and return a zero byte and the hash: nodes take the output for a
    # contract's code, which must not begin with EF (EIP-3541).
    program = b"\x7f" + number.to_bytes(32, "big") + bytes.fromhex("40" + "60015260215ff3")
    try:
        call = {"data": f"0x{program.hex()}"}
        answer = destination.fetch("eth_call", (call, "latest"), read_hex)
    except CallRevertedError:
        return 0  # a chain without PUSH0, where our registries do not run
    if answer != b"\0" + block_hash:
        return 0
    (stored_hash,) = destination.call_contract(HASH_HISTORY, [number.to_bytes(32, "big")])
    return HISTORY_WINDOW if stored_hash == block_hash else BLOCKHASH_WINDOW
