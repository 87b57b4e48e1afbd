"""The transactions that are measured for a recorded file, and the facts that each must store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from queries.proving.accounts import AccountProof, SlotProof
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.packing import pack
from queries.proving.registry_calls import (
    SectionHeader,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.rlp_items import split_list
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.bench.corpus import RecordedAccount, RecordedFile
from tests.bench.gas.chains import BlockWords, RegistryKind, block_words
from tests.rigs.registry_reads import RegistryReads

ACCOUNT_COUNTS = (1, 10, 50, 100)
BALANCE = frozenset({AccountField.BALANCE})
ALL_FIELDS = frozenset(AccountField)
NO_FIELDS: frozenset[AccountField] = frozenset()
# In one transaction: more would exceed its gas limit.
MAX_ACCOUNTS = 200
MAX_SLOTS = 400


@dataclass(frozen=True, slots=True)
class ExpectedFact:
    """A fact, how to read it back from the registry, and its expected value."""

    name: str
    read: Callable[[RegistryReads], object]
    value: object


@dataclass(frozen=True, slots=True)
class Case:
    """One case to measure. A variant is a list of calls; the cheapest variant counts."""

    name: str
    registry: RegistryKind
    variants: dict[str, tuple[bytes, ...]]
    facts: tuple[ExpectedFact, ...]
    accumulated: bool = False  # the block is accumulated first
    accounts: int | None = None  # for a cost per account
    note: str = ""


def file_cases(file: RecordedFile) -> Iterator[Case]:
    """All cases of a file."""
    header = file.block.header
    if header is not None:
        facts = (_accumulated_fact(block_words(file.block)),)
        yield Case(f"{file.name}/header", RegistryKind.NATIVE, _header_variants(header), facts)
    for account in file.accounts:
        yield from _account_cases(file, account)
        if header is not None:
            yield from _header_and_account_cases(file, account, header)
    yield from _many_accounts(file)


def _registry_for(file: RecordedFile, accounts: Iterable[RecordedAccount]) -> RegistryKind:
    if any(account.proof.address is None for account in accounts):
        return RegistryKind.SETTABLE_BY_HASH
    return RegistryKind.SETTABLE if file.block.header is None else RegistryKind.NATIVE


def _account_cases(file: RecordedFile, account: RecordedAccount) -> Iterator[Case]:
    name, proof = f"{file.name}/{account.name}", account.proof
    registry, words = _registry_for(file, [account]), block_words(file.block)
    alone = _with_slots(proof, [])
    kind = "contract"
    if not proof.exists:
        kind = "absent account"
    elif proof.state.code_hash == EMPTY_CODE_HASH:
        kind = "EOA"

    def case(ending: str, shown: AccountProof, fields: frozenset[AccountField], note: str) -> Case:
        calls = (_accumulated_call(words, [AccountToStore(shown, fields)]),)
        facts = _account_facts(shown, fields, words.number)
        return Case(f"{name}/{ending}", registry, {"": calls}, facts, accumulated=True, note=note)

    yield case("account", alone, BALANCE, f"{kind}, depth {len(proof.path.nodes)}")
    yield case("account-four-fields", alone, ALL_FIELDS, kind)
    for slot in proof.slots:
        note = f"storage depth {len(slot.path.nodes)}"
        shown = _with_slots(proof, [slot])
        yield case(f"{account.slot_names[slot.slot]}/slot", shown, NO_FIELDS, note)


def _header_and_account_cases(
    file: RecordedFile, account: RecordedAccount, header: Header
) -> Iterator[Case]:
    name, proof = f"{file.name}/{account.name}", account.proof
    registry, words = _registry_for(file, [account]), block_words(file.block)

    def case(
        ending: str,
        slots: Sequence[SlotProof],
        fields: frozenset[AccountField],
        *,
        accumulate: bool = True,
    ) -> Case:
        groups = [slots]
        if slots:
            groups = pack(slots, lambda group: build_witness([request(group)]), MAX_SLOTS)
        first = build_witness([AccountToStore(_with_slots(proof, groups[0]), fields)])
        further = tuple(_accumulated_call(words, [request(group)]) for group in groups[1:])
        variants = {
            name: (*calls, *further)
            for name, calls in _header_variants(header, first, accumulate=accumulate).items()
        }
        facts = _account_facts(_with_slots(proof, slots), fields, words.number)
        if accumulate:
            facts = (_accumulated_fact(words), *facts)
        return Case(f"{name}/{ending}", registry, variants, facts)

    def request(slots: Sequence[SlotProof]) -> AccountToStore:
        return AccountToStore(_with_slots(proof, slots), NO_FIELDS)

    yield case("header+account", [], BALANCE)
    yield case("account-by-header", [], BALANCE, accumulate=False)
    yield case("header+account-four-fields", [], ALL_FIELDS)
    if proof.slots:
        yield case("header+account+slot", proof.slots[:1], BALANCE)
        yield case("header+slot", proof.slots[:1], NO_FIELDS)
        yield case("slot-by-header", proof.slots[:1], NO_FIELDS, accumulate=False)
    if len(proof.slots) > 1:
        yield case("header+account+slots", proof.slots, BALANCE)


def _many_accounts(file: RecordedFile) -> Iterator[Case]:
    words = block_words(file.block)
    for count in ACCOUNT_COUNTS:
        if count > len(file.accounts):
            return
        chosen = file.accounts[:count]
        registry = _registry_for(file, chosen)
        proofs = sorted(
            (_with_slots(account.proof, []) for account in chosen),
            key=lambda proof: proof.address_hash,
        )
        if registry is RegistryKind.SETTABLE_BY_HASH:
            proofs = [replace(proof, address=None) for proof in proofs]

        def call(proofs: Sequence[AccountProof]) -> bytes:
            return _accumulated_call(words, [AccountToStore(proof, BALANCE) for proof in proofs])

        calls = tuple(call(group) for group in pack(proofs, call, MAX_ACCOUNTS))
        facts = tuple(
            fact for proof in proofs for fact in _account_facts(proof, BALANCE, words.number)
        )
        name = f"{file.name}/accounts-{count}"
        yield Case(name, registry, {"": calls}, facts, accumulated=True, accounts=count)


def _with_slots(proof: AccountProof, slots: Sequence[SlotProof]) -> AccountProof:
    return replace(proof, slots=tuple(slots))


def _accumulated_call(words: BlockWords, requests: Sequence[AccountToStore]) -> bytes:
    witness = build_witness(requests)
    return prove_call([accumulated_section(words.number, words.timestamp, words.hash, witness)])


def _header_variants(
    header: Header, witness: bytes = b"", *, accumulate: bool = True
) -> dict[str, tuple[bytes, ...]]:
    """Send the header, with and without its parent hash and its beacon root."""
    variants: dict[str, tuple[bytes, ...]] = {}
    parents = (False, True) if header.number > 0 else (False,)
    beacons = (False, True) if _beacon_root_can_be_left_out(header) else (False,)
    for parent in parents:
        for beacon in beacons:
            left_out = ["parent hash"] * parent + ["beacon root"] * beacon
            name = f"{' and '.join(left_out)} left out" if left_out else "nothing left out"
            step = SectionHeader(
                header, witness, accumulate, parent_known=parent, beacon_known=beacon
            )
            variants[name] = (prove_call([headers_section([step])]),)
    return variants


def _beacon_root_can_be_left_out(header: Header) -> bool:
    """True if its position fits one byte, which long extra data may prevent."""
    if not header.has_field(HeaderField.PARENT_BEACON_BLOCK_ROOT):
        return False
    items = split_list(header.rlp)
    before = items[HeaderField.DIFFICULTY : HeaderField.PARENT_BEACON_BLOCK_ROOT]
    return sum(map(len, before)) <= 0xFF


def _accumulated_fact(words: BlockWords) -> ExpectedFact:
    read = partial(RegistryReads.accumulated, block=words.number)
    return ExpectedFact(f"the accumulated header {words.number}", read, words.leaf)


def _account_facts(
    proof: AccountProof, fields: frozenset[AccountField], number: int
) -> tuple[ExpectedFact, ...]:
    """The facts that a witness with these fields and the proof's slots stores."""
    address, state = _registry_address(proof), proof.state
    field_facts = [
        ExpectedFact(
            f"{field.name} of 0x{address.hex()}",
            partial(RegistryReads.account_field, account=address, block=number, field=field),
            state.words[field],
        )
        for field in sorted(fields)
    ]
    slot_facts = [
        ExpectedFact(
            f"slot {slot.slot:#x} of 0x{address.hex()}",
            partial(RegistryReads.slot_value, account=address, block=number, slot=slot.slot),
            slot.value,
        )
        for slot in proof.slots
    ]
    return (*field_facts, *slot_facts)


def _registry_address(proof: AccountProof) -> bytes:
    """A registry that names accounts by hash uses the first bytes of the hash as the address."""
    return proof.address_hash[:20] if proof.address is None else proof.address
