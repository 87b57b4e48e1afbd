"""Recognise a registry by its code, and read its constructor arguments from its views."""

import re
from typing import TypeVar

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError

from queries.chain import CallRevertedError, ChainClient
from queries.contracts.abi import call_data
from queries.sources.registry import Registry, SetupError, argument_fields, registry_artifact

# The compiler emits PUSH32 and 32 zeros for an immutable; it pushes no other zero like that.
_IMMUTABLE = re.compile(b"(?<=\x7f)" + b"\x00{32}", re.DOTALL)
Kind = TypeVar("Kind", bound=Registry)


def has_built_code(kind: type[Registry], code: bytes) -> bool:
    """Whether this is the kind's runtime code, with any constructor arguments."""
    artifact_code = registry_artifact(kind.kind).deployed_bytecode
    if len(code) != len(artifact_code):
        return False
    blanked_code = bytearray(code)
    for match in _IMMUTABLE.finditer(artifact_code):
        blanked_code[match.start() : match.end()] = bytes(32)
    return blanked_code == artifact_code


def deployed_registry(
    kind: type[Kind], source: int, destination: ChainClient, address: str
) -> Kind:
    """The registry at this address with the constructor arguments that its views return. `source`
    counts if they do not name one.
    """
    views = [call_data(argument.view) for argument in kind.arguments]
    answers = destination.call_contract(address, views)
    try:
        values = [
            decode([argument.type], b"" if isinstance(answer, CallRevertedError) else answer)[0]
            for argument, answer in zip(kind.arguments, answers, strict=True)
        ]
    except DecodingError:
        raise SetupError("It does not return its constructor's arguments.") from None
    fields = {"source": source, **argument_fields(kind, values)}
    return kind(destination=destination.chain.id, address=address, **fields)
