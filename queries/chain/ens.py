"""Resolve ENS names at one block, by a quorum of nodes.

A name without a resolver uses that of its nearest parent, if that resolver supports ENSIP-10. Names
that need an off-chain lookup are refused, because its answer cannot be checked.
"""

from collections.abc import Callable, Collection, Sequence

from queries.chain.client import ChainClient, ContractCall
from queries.chain.errors import CallRevertedError, ChainError, EnsOffChainError, EnsUnresolvedError
from queries.contracts.abi import call_data, selector
from queries.proving import Header, keccak256

# A resolver reverts with this to refer the client to a server (ERC-3668).
OFF_CHAIN = selector("OffchainLookup(address,string[],bytes,bytes4,bytes)")
EXTENDED_RESOLVER_ID = selector("resolve(bytes,bytes)")  # the interface id of ENSIP-10
WORD = 32  # bytes
YES = (1).to_bytes(WORD, "big")
BYTES_PREFIX = 2 * WORD.to_bytes(WORD, "big")  # offset and length of ABI-encoded `bytes` of a word

Answer = bytes | CallRevertedError
CallAll = Callable[[Sequence[ContractCall]], list[Answer]]
Resolution = bytes | ChainError  # an account, or why the name has none


def resolve_names(source: ChainClient, header: Header, names: Sequence[str]) -> list[Resolution]:
    """The account of each name at this block, by quorum; or why it has none, as an error."""
    return source.ask_quorum(_resolve, header, tuple(names))


def can_resolve_names(source: ChainClient) -> bool:
    """Whether a node answers a call to the ENS registry in time."""
    call = call_data("resolver(bytes32)", name_hash("eth"))
    try:
        source.call_contracts([(source.chain.ens_registry, call)])
    except ChainError:
        return False
    return True


def name_hash(name: str) -> bytes:
    """The name's key in the registry: `namehash` of EIP-137."""
    node = bytes(WORD)
    for label in reversed(name.split(".")):
        node = keccak256(node + keccak256(label.encode()))
    return node


def dns_name(name: str) -> bytes:
    """The name in DNS wire format."""
    labels = [label.encode() for label in name.split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def _resolve(node: ChainClient, header: Header, names: Sequence[str]) -> list[Resolution]:
    """The account of each name, by one node."""

    def call_all(calls: Sequence[ContractCall]) -> list[Answer]:
        # With a transaction's gas: a stranger's resolver decides how long it computes.
        # By the block's number, so that no node can name a block that the others do not know.
        return node.call_contracts(calls, hex(header.number), node.chain.gas_cap)

    resolvers = _find_resolvers(call_all, node.chain.ens_registry, names)
    extended_resolvers = _find_extended(call_all, {resolver for resolver, _ in resolvers.values()})
    calls: dict[str, ContractCall] = {}
    for name, (resolver, owner) in resolvers.items():
        call = call_data("addr(bytes32)", name_hash(name))
        if resolver in extended_resolvers:
            calls[name] = resolver, call_data("resolve(bytes,bytes)", dns_name(name), call)
        elif owner == name:
            calls[name] = resolver, call
    answers = dict(zip(calls, call_all(list(calls.values())), strict=True))
    return [_resolution(name, header.number, answers.get(name, b"")) for name in names]


def _find_resolvers(
    call_all: CallAll, registry: str, names: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """The nearest resolver at or above each name, and the name that it is set for."""
    lineages = {name: _lineage(name) for name in names}
    unique_names = list(dict.fromkeys(name for lineage in lineages.values() for name in lineage))
    calls = [(registry, call_data("resolver(bytes32)", name_hash(name))) for name in unique_names]
    resolvers = dict(zip(unique_names, call_all(calls), strict=True))
    nearest_resolvers: dict[str, tuple[str, str]] = {}
    for name, lineage in lineages.items():
        owner = next((parent for parent in lineage if resolvers[parent] != bytes(WORD)), name)
        if resolver := _decode_account(resolvers[owner]):
            nearest_resolvers[name] = f"0x{resolver.hex()}", owner
    return nearest_resolvers


def _lineage(name: str) -> list[str]:
    """The name and its parents."""
    labels = name.split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]


def _find_extended(call_all: CallAll, resolvers: Collection[str]) -> set[str]:
    """The resolvers that support ENSIP-10."""
    call = call_data("supportsInterface(bytes4)", EXTENDED_RESOLVER_ID)
    answers = call_all([(resolver, call) for resolver in resolvers])
    return {resolver for resolver, answer in zip(resolvers, answers, strict=True) if answer == YES}


def _resolution(name: str, block: int, answer: Answer) -> Resolution:
    if isinstance(answer, CallRevertedError) and answer.data[:4] == OFF_CHAIN:
        return EnsOffChainError(f"{name} needs an off-chain lookup at block {block:,}.")
    unresolved_error = EnsUnresolvedError(f"{name} has no address at block {block:,}.")
    return _decode_account(answer) or unresolved_error


def _decode_account(answer: Answer) -> bytes:
    """The account in an answer, which `resolve` wraps in `bytes`; empty if there is none."""
    word = b"" if isinstance(answer, CallRevertedError) else answer.removeprefix(BYTES_PREFIX)
    return word[12:] if len(word) == WORD and not any(word[:12]) and any(word) else b""
