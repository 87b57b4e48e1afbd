"""An honest section that uses much memory, so that later sections find memory that is not zero."""

from queries.proving.accounts import encode_account
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import accumulated_section
from queries.proving.tries import Branch, Leaf
from tests.queries.attacks.forgery import HASH, TIME, set_accumulated
from tests.queries.attacks.witness_parts import (
    EOA,
    branch,
    compact_account,
    encode_witness,
    key,
    leaf,
    request,
)

_NUMBER = 77
_LEVELS = 24  # full branches that the two accounts share


def _state() -> tuple[bytes, bytes]:
    """The state root, and a witness of two accounts without fields."""
    account = leaf(compact_account(EOA))
    end = keccak256(Leaf("0" * (63 - _LEVELS), encode_account(EOA)).encode())
    below, own = {1: account, 2: account}, {1: end, 2: end}
    for level in range(_LEVELS, -1, -1):
        children = [own.get(nibble) or keccak256(bytes((level, nibble))) for nibble in range(16)]
        node = Branch(tuple(children))
        below, own = {0: branch(node, below)}, {0: keccak256(node.encode())}
    names = [request(key("0" * _LEVELS + nibble), 0) for nibble in "12"]
    return own[0], encode_witness(names, below[0])


_root, _witness = _state()
SECTION, SETUP = accumulated_section(_NUMBER, TIME, HASH, _witness), set_accumulated(_root, _NUMBER)
