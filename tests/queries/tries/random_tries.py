"""Random state tries of raw keys, and requests for them.

Hashed keys diverge after a few nibbles, so tries of real accounts have no branch at depth 63, no
embedded node and no long extension. Here every key is an earlier one changed at one nibble, so
paths diverge anywhere, and absent keys end at foreign leaves and extensions as often as at empty
children.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from queries.proving.keccak import EMPTY_CODE_HASH, keccak256
from queries.proving.witnesses import AccountField

EDGES = (
    1, 0x7F, 0x80, 0xFF, 0x100, 2**64, 2**184 - 1, 2**184, 2**184 + 1, 2**248 - 1, 2**248,
    2**256 - 2, 2**256 - 1,
)  # fmt: skip
DIGITS = 64


@dataclass(frozen=True)
class RandomKey:
    """A key that is in the trie, or requested, or both."""

    key: bytes
    exists: bool
    requested: bool


@dataclass(frozen=True)
class RandomAccount:
    """An account, in the trie or not, and the slots of its storage trie."""

    key: RandomKey
    nonce: int
    balance: int
    code_hash: bytes
    fields: frozenset[AccountField]
    slots: tuple[RandomKey, ...]
    values: tuple[int, ...]  # one per slot; ignored if the slot does not exist


# At the first nibbles, the last ones, and anywhere: tries differ there.
_places = st.sampled_from((0, 0, 1, 2, 60, 61, 62, 62, 63, 63)) | st.integers(0, DIGITS - 1)
_roles = st.sampled_from(((True, True), (True, True), (True, False), (False, True), (False, True)))
_bases = st.sampled_from(("a" * DIGITS, "0" * DIGITS, "f" * DIGITS)) | st.binary(
    min_size=32, max_size=32
).map(bytes.hex)

_is_empty = st.sampled_from((False, False, False, False, False, False, False, True))

# The number of an earlier key, the place where the new one differs, its nibble there, a shift of
# the nibbles after it, its role, and which other keys come with it.
_steps = st.tuples(
    st.integers(0, 15),
    _places,
    st.integers(0, 15),
    st.just(0) | st.integers(0, 15),
    _roles,
    st.sampled_from(("alone", "alone", "alone", "alone", "twin", "twin", "deep", "fan", "rows")),
)


@st.composite
def random_keys(draw: st.DrawFn, steps: int) -> tuple[RandomKey, ...]:
    """At least `steps` keys; the first is requested."""
    roles = {draw(_bases): (draw(st.booleans()), True)}
    for number, place, nibble, shift, role, company in draw(
        st.lists(_steps, min_size=steps, max_size=steps)
    ):
        earlier = list(roles)[-1 - number % len(roles)]
        tail = "".join(f"{int(old, 16) + shift & 15:x}" for old in earlier[place + 1 :])
        path = f"{earlier[:place]}{nibble:x}{tail}"
        roles.setdefault(path, role)
        # With short values, keys that diverge at both places have embedded nodes of every kind.
        for row in {"twin": (63,), "deep": (63, 61)}.get(company, ()):
            roles.setdefault(_with_nibble(path, row, int(path[row], 16) ^ 1), role)
        for row in {"fan": (place,), "rows": (place, place + 1)}.get(company, ()):
            for other in range(16) if row < DIGITS else ():
                # Most keys of a fan are not requested, or a request would cover whole tries.
                roles.setdefault(
                    _with_nibble(path, row, other), role if other == 5 else (True, False)
                )
    if draw(_is_empty):
        roles = {path: (False, True) for path, (_, requested) in roles.items() if requested}
    return tuple(RandomKey(bytes.fromhex(path), *role) for path, role in roles.items())


def _with_nibble(path: str, place: int, nibble: int) -> str:
    return f"{path[:place]}{nibble:x}{path[place + 1 :]}"


_numbers = st.sampled_from(EDGES) | st.integers(0, 2**256 - 1)
# Embedded branches need values of about a byte.
_short_values = st.integers(1, 0xFF) | st.integers(1, 9)
_long_values = (
    st.sampled_from(EDGES)
    | st.sampled_from((2**256 - 2, 2**256 - 1))
    | st.integers(2**128, 2**256 - 1)
)
_values = st.sampled_from((_short_values, _long_values, _short_values | _long_values))
_nonces = st.sampled_from((0, 1, 0x7F, 0x80, 2**32, 2**64 - 1)) | st.integers(0, 2**64 - 1)
_code_hashes = st.just(EMPTY_CODE_HASH) | st.binary(max_size=1).map(keccak256)
_has_slots = st.sampled_from((False, True, True))
_fields = st.just(frozenset(AccountField)) | st.frozensets(st.sampled_from(AccountField))


@st.composite
def random_account(draw: st.DrawFn, key: RandomKey) -> RandomAccount:
    slots = draw(random_keys(draw(st.sampled_from((0, 3, 8))))) if draw(_has_slots) else ()
    return RandomAccount(
        key,
        draw(_nonces),
        draw(st.just(0) | _numbers),
        draw(_code_hashes),
        draw(_fields),
        slots,
        tuple(draw(st.lists(draw(_values), min_size=len(slots), max_size=len(slots)))),
    )


@st.composite
def random_states(draw: st.DrawFn) -> Sequence[RandomAccount]:
    """The accounts of a state trie, and absent ones that are requested."""
    keys = draw(random_keys(draw(st.sampled_from((0, 2, 4, 7)))))
    requested = [key for key in keys if key.requested]
    # Accounts that are not requested only shape the paths.
    plain = [RandomAccount(key, 0, 1, EMPTY_CODE_HASH, frozenset(), (), ()) for key in keys]
    detailed = {key: draw(random_account(key)) for key in requested[:4]}
    return [detailed.get(account.key, account) for account in plain]
