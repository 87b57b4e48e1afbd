"""Our Python code, the contract and the `trie` package agree on random tries and witnesses.

For any bytes, our reader and the contract compute the same root or both refuse: a difference would
be a check that one of them lacks. `make test` tries some, `make fuzz` more.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import strategies as st

from queries.contracts.abi import selector
from queries.proving.accounts import ABSENT_ACCOUNT
from queries.proving.errors import WitnessMalformedError
from queries.proving.keccak import EMPTY_CODE_HASH, number_word
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.forgery import HASH, NUMBER, TIME, read_field, read_slot, set_accumulated
from tests.queries.attacks.tall_section import SECTION, SETUP
from tests.queries.contracts.witness_model import WitnessReading, read_witness
from tests.queries.tries.fuzzing import CASES, for_each, report
from tests.queries.tries.random_states import BuiltState, RandomAccount, RandomKey, random_states
from tests.queries.tries.random_witnesses import broken_witness, lying_witness, made_up_witness
from tests.queries.tries.trie_shapes import SHAPES, shapes
from tests.rigs.deployed_contracts import DeployedContract, error_name

pytestmark = pytest.mark.no_database

UNREQUESTED_SLOT = bytes.fromhex("c0ffee" + "00" * 29)  # never generated
NOT_ACCUMULATED = selector("BlockNotAccumulated(uint256,bytes32,bytes32)")
ACCEPTED, REFUSED, REFUSED_AT_END = "accepted", "refused", "refused at its end"
TRUE = ", of the true root"


def prove(witness: bytes, *before: bytes) -> bytes:
    return prove_call([*before, accumulated_section(NUMBER, TIME, HASH, witness)])


def read(witness: bytes) -> WitnessReading | None:
    try:
        return read_witness(witness, hashed_addresses=True, hashed_slots=True)
    except WitnessMalformedError:
        return None


def rebuilt_root(registry: DeployedContract, witness: bytes) -> bytes | None:
    """The root that the contract computes from a witness, unless it refuses it before."""
    (outcome,) = registry.simulate([prove(witness)])
    assert not outcome.success
    return outcome.data[-32:] if outcome.data.startswith(NOT_ACCUMULATED) else None


def compare(
    registry: DeployedContract, witness: bytes, value_if_proven: WitnessReading | None
) -> str:
    root = rebuilt_root(registry, witness)
    if root is None:
        assert value_if_proven is None, "the contract refuses what the reader reads"
        return REFUSED
    calls = [set_accumulated(root), prove(witness)]
    if value_if_proven is not None:
        assert value_if_proven.state_root == root
    if value_if_proven is None or value_if_proven.end != len(witness):
        *_, proof = registry.simulate(calls)
        assert not proof.success, "the contract accepts what the reader refuses"
        return REFUSED_AT_END
    # The registry uses the first 20 bytes of a key as the address, so keys that share them would
    # contradict each other.
    if len({account.address_or_hash[:20] for account in value_if_proven.accounts}) < len(
        value_if_proven.accounts
    ):
        return "two keys of one address"
    facts = list(facts_of(value_if_proven))
    # Repeating it, also with dirty memory, succeeds and changes nothing.
    calls += [SETUP, prove(witness, SECTION), *(question for question, _ in facts)]
    _, proof, _, repeated, *answers = registry.simulate(calls)
    assert proof.success, proof.data.hex()
    assert repeated.success, repeated.data.hex()
    for answer, (question, values) in zip(answers, facts, strict=True):
        assert answer.value_if_proven() in values, question.hex()
    return ACCEPTED


def facts_of(value_if_proven: WitnessReading) -> Iterator[tuple[bytes, set[int | None]]]:
    """What may be read: a field that was not requested is unproven or true."""
    for account in value_if_proven.accounts:
        for field, content in enumerate(account.state.words):
            unproven = set() if account.mask >> field & 1 else {None}
            yield (
                read_field(account.address_or_hash, field),
                {int.from_bytes(content, "big")} | unproven,
            )
        for slot, value in account.slots.items():
            yield read_slot(account.address_or_hash, number_word(slot)), {value}
        yield read_slot(account.address_or_hash, UNREQUESTED_SLOT), {None}


def assert_true(value_if_proven: WitnessReading, built: BuiltState) -> None:
    for account in value_if_proven.accounts:
        state = built.state(account.address_or_hash)
        assert account.exists == (state is not None)
        assert account.state == (state or ABSENT_ACCOUNT)
        for slot, value in account.slots.items():
            assert value == built.slot_value(account.address_or_hash, number_word(slot))


# Honest witnesses


def test_reader_contract_and_trie_package_agree(
    registry: DeployedContract, capsys: pytest.CaptureFixture[str]
) -> None:
    coverage: Counter[str] = Counter()

    def check(accounts: Sequence[RandomAccount]) -> None:
        built = BuiltState.build(accounts)
        requests = built.requests()
        check_checker(built, requests)
        check_reader(built, requests)
        for part in split_by_address(requests):
            witness = build_witness(part)
            assert compare(registry, witness, read(witness)) == ACCEPTED
        coverage.update(shapes([request.proof for request in requests]))
        coverage["state tries"] += 1
        coverage["accounts"] += len(requests)
        coverage["slots"] += sum(len(request.proof.slots) for request in requests)

    try:
        for_each(random_states(), check)
    finally:
        report(capsys, *(f"{number:>8}  {what}" for what, number in sorted(coverage.items())))
    assert coverage["state tries"] >= CASES
    assert [shape for shape in SHAPES if not coverage[shape]] == []


def check_checker(built: BuiltState, requests: Sequence[AccountToStore]) -> None:
    for proof in (request.proof for request in requests):
        state = built.state(proof.address_hash)
        assert proof.exists == (state is not None)
        assert proof.state == (state or ABSENT_ACCOUNT)
        for slot in proof.slots:
            assert slot.value == built.slot_value(proof.address_hash, number_word(slot.slot))


def check_reader(built: BuiltState, requests: Sequence[AccountToStore]) -> None:
    """The reader returns the requested values and rebuilds the root."""
    witness = build_witness(requests)
    value_if_proven = read(witness)
    assert value_if_proven is not None
    assert (value_if_proven.state_root, value_if_proven.end) == (built.trie.root, len(witness))
    requested = {
        request.proof.address_hash: (request.mask, len(request.proof.slots)) for request in requests
    }
    read_accounts = {
        account.address_or_hash: (account.mask, len(account.slots))
        for account in value_if_proven.accounts
    }
    assert read_accounts == requested
    assert_true(value_if_proven, built)


def split_by_address(requests: Sequence[AccountToStore]) -> list[list[AccountToStore]]:
    """Split the requests so that no part has two accounts of one address."""
    rounds: list[dict[bytes, AccountToStore]] = []
    for request in requests:
        name = request.proof.address_hash[:20]
        part = next((part for part in rounds if name not in part), None)
        if part is None:
            rounds.append(part := {})
        part[name] = request
    return [list(part.values()) for part in rounds]


# Any witnesses


def _not_honest(built: BuiltState) -> st.SearchStrategy[tuple[BuiltState, bytes]]:
    """Witnesses that lie, or half as often are broken."""
    honest = build_witness(built.requests())
    return st.tuples(
        st.just(built),
        st.one_of(lying_witness(built), lying_witness(built), broken_witness(honest)),
    )


def test_values_read_under_the_true_root_are_true(
    registry: DeployedContract, capsys: pytest.CaptureFixture[str]
) -> None:
    count: Counter[str] = Counter()

    def check(case: tuple[BuiltState, bytes]) -> None:
        built, witness = case
        value_if_proven = read(witness)
        end = compare(registry, witness, value_if_proven)
        if value_if_proven is not None and value_if_proven.state_root == built.trie.root:
            end += TRUE
            assert_true(value_if_proven, built)
        count[end] += 1

    try:
        for_each(random_states().map(BuiltState.build).flatmap(_not_honest), check, times=1.5)
    finally:
        report(capsys, "wrong witnesses:", *(f"{count[end]:>8}  {end}" for end in sorted(count)))
    true = sum(number for end, number in count.items() if end.endswith(TRUE))
    assert min(count[REFUSED], true) > CASES // 20
    assert count[ACCEPTED + TRUE]


def test_made_up_witnesses_have_the_same_root_or_are_refused(
    registry: DeployedContract, capsys: pytest.CaptureFixture[str]
) -> None:
    count: Counter[str] = Counter()

    def check(witness: bytes) -> None:
        count[compare(registry, witness, read(witness))] += 1

    try:
        for_each(made_up_witness(), check, times=3)
    finally:
        report(capsys, "made up witnesses:", *(f"{count[end]:>8}  {end}" for end in sorted(count)))
    assert min(count[ACCEPTED], count[REFUSED]) > CASES // 20


def test_a_walk_of_too_many_levels_is_refused(registry: DeployedContract) -> None:
    """Two accounts share 32 or 33 branches, and two slots 30 more: 64 or 65 levels with the leaves.

    The stack would run out at 76 levels. Our reader has the same limit.
    """
    for shared, error in ((32, ""), (33, "TooManyLevels")):
        state = BuiltState.build([_deep_account(key) for key in _fan(shared)])
        witness = build_witness(state.requests())
        *_, proof = registry.simulate([set_accumulated(state.trie.root), prove(witness)])
        assert (read(witness) is None) == bool(error)
        assert ("" if proof.success else error_name(registry.name, proof.data)) == error


def test_a_walk_may_have_more_nodes_than_levels(registry: DeployedContract) -> None:
    """Eighty accounts next to each other are not deeper than one."""
    keys = [
        RandomKey(bytes((place, *bytes(31))), exists=True, requested=True) for place in range(80)
    ]
    fields = frozenset({AccountField.BALANCE})
    accounts = [RandomAccount(key, 1, 1, EMPTY_CODE_HASH, fields, (), ()) for key in keys]
    witness = build_witness(BuiltState.build(accounts).requests())
    assert compare(registry, witness, read(witness)) == ACCEPTED


def _fan(shared: int) -> list[RandomKey]:
    """Two requested keys that diverge after `shared` nibbles, and another key at each branch."""
    pair = ["0" * shared + nibble + "0" * (63 - shared) for nibble in "12"]
    others = ["0" * place + "f" * (64 - place) for place in range(shared)]
    keys = [(key, True) for key in pair] + [(key, False) for key in others]
    return [
        RandomKey(bytes.fromhex(key), exists=True, requested=requested) for key, requested in keys
    ]


def _deep_account(key: RandomKey) -> RandomAccount:
    slots = tuple(_fan(30)) if key.requested else ()
    fields, values = frozenset({AccountField.BALANCE}), tuple(range(1, len(slots) + 1))
    return RandomAccount(key, 1, 1, EMPTY_CODE_HASH, fields, slots, values)
