"""Which transactions are measured for a recorded file, and which facts each must have stored."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from queries.chain.gas.chains import BlockWords, RegistryKind, block_words
from queries.chain.gas.corpus import RecordedAccount, RecordedFile
from queries.chain.gas.facts import Fact, account_facts, accumulated_fact
from queries.proving.account_proofs import AccountProof, SlotProof
from queries.proving.header_fields import HeaderField
from queries.proving.headers import Header
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.packing import pack
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.rlp_items import split_list
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest

MANY = (1, 10, 50, 100)
BALANCE = frozenset({AccountField.BALANCE})
ALL_FIELDS = frozenset(AccountField)
NO_FIELDS: frozenset[AccountField] = frozenset()
# More than these would pass the gas that one transaction may use, however few bytes they are.
MOST_ACCOUNTS = 200
MOST_SLOTS = 400


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure. Of its ways, the cheapest counts; each is a list of calls."""

    name: str
    registry: RegistryKind
    ways: dict[str, tuple[bytes, ...]]
    facts: tuple[Fact, ...]
    accumulated: bool = False  # whether the block is accumulated before
    before: tuple[bytes, ...] = ()  # calls that are not counted
    stores: bool = True
    accounts: int | None = None  # where the cost is told for each of so many
    note: str = ""


def file_cases(file: RecordedFile) -> Iterator[Case]:
    """Everything that is measured for a file."""
    header = file.block.header
    if header is not None:
        words = block_words(file.block)
        facts = (accumulated_fact(words),)
        yield Case(f"{file.name}/header", RegistryKind.NATIVE, header_ways(header), facts)
    for account in file.accounts:
        yield from _account_cases(file, account)
        if header is not None:
            yield from _header_and_account_cases(file, account, header)
    yield from _many_accounts(file)


def registry_for(file: RecordedFile, accounts: Iterable[RecordedAccount]) -> RegistryKind:
    if any(account.proof.address is None for account in accounts):
        return RegistryKind.SETTABLE_BY_HASH
    return RegistryKind.SETTABLE if file.block.header is None else RegistryKind.NATIVE


def _account_cases(file: RecordedFile, account: RecordedAccount) -> Iterator[Case]:
    name, proof = f"{file.name}/{account.name}", account.proof
    registry, words = registry_for(file, [account]), block_words(file.block)
    alone = with_slots(proof, [])
    note = f"{_what(proof)}, depth {len(proof.path.nodes)}"

    def case(ending: str, shown: AccountProof, fields: frozenset[AccountField], note: str) -> Case:
        calls = (accumulated_call(words, [AccountRequest(shown, fields)]),)
        facts = account_facts(shown, fields, words.number)
        return Case(f"{name}/{ending}", registry, {"": calls}, facts, accumulated=True, note=note)

    yield case("account", alone, BALANCE, note)
    yield case("account-four-fields", alone, ALL_FIELDS, _what(proof))
    for slot in proof.slots:
        note = f"storage depth {len(slot.path.nodes)}"
        shown = with_slots(proof, [slot])
        yield case(f"{account.slot_names[slot.slot]}/slot", shown, NO_FIELDS, note)


def _header_and_account_cases(
    file: RecordedFile, account: RecordedAccount, header: Header
) -> Iterator[Case]:
    name, proof = f"{file.name}/{account.name}", account.proof
    registry, words = registry_for(file, [account]), block_words(file.block)

    def case(ending: str, slots: Sequence[SlotProof], fields: frozenset[AccountField]) -> Case:
        groups = [slots]
        if slots:
            groups = pack(slots, lambda some: build_witness([request(some)]), MOST_SLOTS)
        first = build_witness([AccountRequest(with_slots(proof, groups[0]), fields)])
        further = tuple(accumulated_call(words, [request(group)]) for group in groups[1:])
        ways = {way: (*calls, *further) for way, calls in header_ways(header, first).items()}
        facts = account_facts(with_slots(proof, slots), fields, words.number)
        return Case(f"{name}/{ending}", registry, ways, (accumulated_fact(words), *facts))

    def request(slots: Sequence[SlotProof]) -> AccountRequest:
        return AccountRequest(with_slots(proof, slots), NO_FIELDS)

    yield case("header+account", [], BALANCE)
    yield case("header+account-four-fields", [], ALL_FIELDS)
    if proof.slots:
        yield case("header+account+slot", proof.slots[:1], BALANCE)
    if len(proof.slots) > 1:
        yield case("header+account+slots", proof.slots, BALANCE)


def _many_accounts(file: RecordedFile) -> Iterator[Case]:
    words = block_words(file.block)
    for count in MANY:
        if count > len(file.accounts):
            return
        chosen = file.accounts[:count]
        registry = registry_for(file, chosen)
        by_hash = registry is RegistryKind.SETTABLE_BY_HASH
        proofs = [
            replace(with_slots(account.proof, []), address=None)
            if by_hash
            else with_slots(account.proof, [])
            for account in sorted(chosen, key=lambda account: account.proof.address_hash)
        ]

        def call(proofs: Sequence[AccountProof]) -> bytes:
            return accumulated_call(words, [AccountRequest(proof, BALANCE) for proof in proofs])

        calls = tuple(call(group) for group in pack(proofs, call, MOST_ACCOUNTS))
        facts = tuple(
            fact for proof in proofs for fact in account_facts(proof, BALANCE, words.number)
        )
        yield Case(
            f"{file.name}/accounts-{count}",
            registry,
            {"": calls},
            facts,
            accumulated=True,
            accounts=count,
        )


def with_slots(proof: AccountProof, slots: Sequence[SlotProof]) -> AccountProof:
    return replace(proof, slots=tuple(slots))


def accumulated_call(words: BlockWords, requests: Sequence[AccountRequest]) -> bytes:
    witness = build_witness(requests)
    return prove_call([accumulated_section(words.number, words.timestamp, words.hash, witness)])


def header_ways(header: Header, witness: bytes = b"") -> dict[str, tuple[bytes, ...]]:
    """Accumulate the header, with what follows from elsewhere sent or left out."""
    ways: dict[str, tuple[bytes, ...]] = {}
    parents = (False, True) if header.number > 0 else (False,)
    beacons = (False, True) if _beacon_root_can_be_left_out(header) else (False,)
    for parent in parents:
        for beacon in beacons:
            left_out = ["parent hash"] * parent + ["beacon root"] * beacon
            name = f"{' and '.join(left_out)} left out" if left_out else "nothing left out"
            step = HeaderStep(
                header, witness, accumulate=True, parent_known=parent, beacon_known=beacon
            )
            ways[name] = (prove_call([headers_section([step])]),)
    return ways


def _beacon_root_can_be_left_out(header: Header) -> bool:
    """Where it belongs is told in one byte, which a long extra data field may pass."""
    if not header.has(HeaderField.PARENT_BEACON_BLOCK_ROOT):
        return False
    items = split_list(header.encoded)
    before = items[HeaderField.DIFFICULTY : HeaderField.PARENT_BEACON_BLOCK_ROOT]
    return sum(map(len, before)) <= 0xFF  # noqa: PLR2004


def _what(proof: AccountProof) -> str:
    if not proof.exists:
        return "absent account"
    return "EOA" if proof.state.code_hash == EMPTY_CODE_HASH else "contract"
