"""Random state tries of raw keys, and what is asked of them.

Hashed keys part after a few nibbles, so tries of real accounts never show a branch at depth 63, an
embedded node or a long extension. Here each key is an earlier one changed at one place, whether
it is put into the trie or only asked for: so paths part anywhere, and absent keys end at foreign
leafs and extensions as often as at empty places.
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
    """A key, and whether the trie has it and whether it is asked for; at least one of these."""

    key: bytes
    held: bool
    asked: bool


@dataclass(frozen=True)
class RandomAccount:
    """An account in the trie or not, and the slots of its storage trie."""

    key: RandomKey
    nonce: int
    balance: int
    code_hash: bytes
    fields: frozenset[AccountField]
    slots: tuple[RandomKey, ...]
    values: tuple[int, ...]  # one for each slot, for those that are held


# Below the first nibbles, at the last ones and anywhere: what a trie is like there differs.
_places = st.sampled_from((0, 0, 1, 2, 60, 61, 62, 62, 63, 63)) | st.integers(0, DIGITS - 1)
_roles = st.sampled_from(((True, True), (True, True), (True, False), (False, True), (False, True)))
_bases = st.sampled_from(("a" * DIGITS, "0" * DIGITS, "f" * DIGITS)) | st.binary(
    min_size=32, max_size=32
).map(bytes.hex)

_is_empty = st.sampled_from((False, False, False, False, False, False, False, True))

# A key by the number of an earlier one, the place where it differs, its nibble there, what follows
# (the same or, shifted by a number, another), and which other keys come with it.
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
    """Some `steps` keys, or more where others come with one. The first is asked for."""
    roles = {draw(_bases): (draw(st.booleans()), True)}
    for number, place, nibble, shift, role, company in draw(
        st.lists(_steps, min_size=steps, max_size=steps)
    ):
        earlier = list(roles)[-1 - number % len(roles)]
        tail = "".join(f"{int(old, 16) + shift & 15:x}" for old in earlier[place + 1 :])
        path = f"{earlier[:place]}{nibble:x}{tail}"
        roles.setdefault(path, role)
        # With short values, those that part at both places have embedded nodes of every kind.
        for row in {"twin": (63,), "deep": (63, 61)}.get(company, ()):
            roles.setdefault(_brother(path, row, int(path[row], 16) ^ 1), role)
        for row in {"fan": (place,), "rows": (place, place + 1)}.get(company, ()):
            for other in range(16) if row < DIGITS else ():
                # Nearly all of a fan are only held, or one question would ask for whole tries.
                roles.setdefault(_brother(path, row, other), role if other == 5 else (True, False))
    if draw(_is_empty):
        roles = {path: (False, True) for path, (_, asked) in roles.items() if asked}
    return tuple(RandomKey(bytes.fromhex(path), *role) for path, role in roles.items())


def _brother(path: str, place: int, nibble: int) -> str:
    return f"{path[:place]}{nibble:x}{path[place + 1 :]}"


_numbers = st.sampled_from(EDGES) | st.integers(0, 2**256 - 1)
# Only where all values are of a byte or so do embedded branches come.
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
    """The accounts of a state trie, those held and those asked for."""
    keys = draw(random_keys(draw(st.sampled_from((0, 2, 4, 7)))))
    asked = [key for key in keys if key.asked]
    # What is only beside the path of those asked for need not be of any particular kind.
    plain = [RandomAccount(key, 0, 1, EMPTY_CODE_HASH, frozenset(), (), ()) for key in keys]
    detailed = {key: draw(random_account(key)) for key in asked[:4]}
    return [detailed.get(account.key, account) for account in plain]
