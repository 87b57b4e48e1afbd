"""Forgeries by where keys stand and what their paths are compared with: points 1 to 3 and 11."""

from tests.queries.attacks.forgery_parts import (
    OWNER,
    REFUSED_BY_ROOT,
    TOLD,
    Forgery,
    against,
    answer,
    field_of,
    forgery,
    of_accounts,
    of_storage,
    people,
    slot_of,
    stored,
)
from tests.queries.attacks.witness_parts import (
    NONE,
    PERSON,
    above,
    account_told,
    asked,
    blocking,
    branch,
    chain,
    key,
    leaf,
    other,
    passed_above,
    passing,
    slot_told,
    witness,
)

# 1: keys not strictly ascending


@forgery
def point_1_an_account_named_twice() -> Forgery:
    """The leaf goes to the second; the first, with a slot, is told absent beside it."""
    slot = key("7")
    _, state, owner = stored(slot)
    names = [asked(OWNER, 0, [slot]), asked(OWNER)]
    shown = witness(names, leaf(1, account_told(owner)))
    return against(
        state.root, shown, "KeysNotAscending", question=slot_of(OWNER, slot), lie=answer(0)
    )


@forgery
def point_1_a_slot_named_twice() -> Forgery:
    slot = key("a")
    nodes = leaf(0, slot_told(5))
    return of_storage((slot,), nodes, (slot, slot), "KeysNotAscending", answer(0))


@forgery
def point_1_accounts_in_descending_order() -> Forgery:
    """Below an extension that both pass, the one that is not beside the others is forgotten."""
    state = people("aa1", "aa2")
    below = chain(3, leaf(0, TOLD), above(state.branch("aa"), 2))
    return of_accounts("aa2 ab aa1", state, passing(0, 2, below), "KeysNotAscending", denied=2)


# 2: stray bits, wrong lengths


@forgery
def point_2_a_stray_nibble_before_an_odd_path() -> Forgery:
    state = people("1", "2")
    own = state.leaf("1")
    nodes = branch(state.branch(), {1: other(own.path, own.value, spare="f")})
    return of_accounts("1", state, nodes, "KeyNotAbsent", denied=0)


@forgery
def point_2_a_foreign_path_longer_than_a_key() -> Forgery:
    return of_accounts("1", people("1"), blocking("0" * 66, bytes(32)), "NumberTooLong")


@forgery
def point_2_a_foreign_path_longer_than_the_rest() -> Forgery:
    state = people("1", "2")
    nodes = branch(state.branch(), {1: blocking("0" * 64, bytes(32))})
    return of_accounts("1", state, nodes, "PathTooLong")


@forgery
def point_2_a_passed_path_longer_than_the_rest() -> Forgery:
    state = people("1", "2")
    return of_accounts("1", state, branch(state.branch(), {1: passing(0, 64, NONE)}), "PathTooLong")


# 3: above where keys part, at a shifted depth, across a merge


@forgery
def point_3_a_branch_at_a_shifted_depth() -> Forgery:
    """The key goes on with b, and the branch is asked where its nibble before, a, leads."""
    state = people("ab", "ac", "1")
    nodes = branch(state.branch(), {0xA: chain(0, branch(state.branch("a")))})
    return of_accounts("ab", state, nodes, "ChainWithoutNodes", denied=0)


@forgery
def point_3_a_branch_at_the_root_s_depth() -> Forgery:
    """A chain in a chain: at nibble 0 the branch of nibble 1 has no child of the key's."""
    state = people("12", "13", "20")
    below = chain(0, branch(state.branch("1")))
    return of_accounts(
        "12", state, chain(1, below, above(state.branch(), 1)), "ChainWithoutNodes", denied=0
    )


@forgery
def point_3_an_extension_at_a_shifted_depth() -> Forgery:
    state = people("abb1", "abb2", "1")
    under = state.extension("a")
    nodes = branch(state.branch(), {0xA: chain(0, blocking(under.path, under.child))})
    return of_accounts("abb1", state, nodes, "ChainWithoutNodes", denied=0)


@forgery
def point_3_an_extension_that_ends_above_its_place() -> Forgery:
    """Two nibbles upwards from depth 2, below a branch: the chain would end above its own place."""
    state = people("aaa1", "aaa2", "1")
    last = branch(state.branch("aaa"))
    nodes = branch(state.branch(), {0xA: chain(2, last, passed_above(2))})
    return of_accounts("aaa1", state, nodes, "PathTooLong", denied=0)


@forgery
def point_3_a_chain_where_two_keys_lie() -> Forgery:
    state = people("1", "2")
    nodes = chain(1, leaf(0, TOLD), above(state.branch(), 1))
    return of_accounts("1 2", state, nodes, "NotAlone", denied=1)


@forgery
def point_3_a_key_before_that_passes_as_well() -> Forgery:
    state = people("aa1", "aa2")
    below = chain(3, leaf(0, TOLD), above(state.branch("aa"), 2))
    return of_accounts("aa1 aa2", state, passing(1, 2, below), "NotAlone", denied=0)


@forgery
def point_3_a_key_behind_that_passes_as_well() -> Forgery:
    state = people("aa1", "aa2")
    below = chain(3, leaf(0, TOLD), above(state.branch("aa"), 1))
    return of_accounts("aa1 aa2", state, passing(0, 2, below), "NotAlone", denied=1)


@forgery
def point_3_a_foreign_leaf_above_where_keys_part() -> Forgery:
    state = people("1", "2")
    own = state.leaf("2")
    return of_accounts("1 2", state, other("2" + own.path, own.value), "KeyNotAbsent")


@forgery
def point_3_nodes_deeper_than_a_key() -> Forgery:
    return of_accounts("1", people("1"), chain(65, NONE), "PathTooLong")


# 11: a child's place comes from the key


@forgery
def point_11_a_leaf_given_to_a_key_beyond_its_place() -> Forgery:
    """Both keys go on alike; the first one's leaf is given to the second, and the first is gone."""
    state = people("1", "2")
    nodes = branch(state.branch(), {1: leaf(1, TOLD), 2: leaf(0, TOLD)})
    return of_accounts("1 2", state, nodes, "NoSuchKey", denied=0)


@forgery
def point_11_a_leaf_provided_at_another_nibble() -> Forgery:
    state, name = people("1", "2"), key("3")
    nodes = chain(1, leaf(0, TOLD), above(state.branch(), 1))
    shown = witness([asked(name)], nodes)
    return against(
        state.root, shown, REFUSED_BY_ROOT, question=field_of(name), lie=answer(PERSON.balance)
    )
