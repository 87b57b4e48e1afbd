"""Facts of a block by what proves them: account proofs, its header, the next one, or events."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from queries.proving.accounts import AccountProof
from queries.proving.facts.accounts import AccountFieldFact, SlotFact
from queries.proving.facts.events import EventFact
from queries.proving.facts.fact import BlockFact
from queries.proving.facts.headers import BlockAtTimeFact, HeaderFieldFact
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import number_word
from queries.proving.witnesses import AccountField, AccountToStore


@dataclass(frozen=True, slots=True)
class FactGroups:
    """Distinct facts grouped by account and kind."""

    accounts: Mapping[bytes, tuple[frozenset[AccountField], tuple[int, ...]]]
    header_fields: frozenset[HeaderField]
    timestamps: tuple[int, ...]
    events: tuple[EventFact, ...] = ()

    @property
    def account_slots(self) -> list[tuple[bytes, Sequence[int]]]:
        """The accounts and slots to request proofs for."""
        return [(account, slots) for account, (_, slots) in self.accounts.items()]

    def words(self, header: Header, proofs: Iterable[AccountProof]) -> dict[BlockFact, bytes]:
        """The facts' words according to the header and these proofs; none of events."""
        accounts = [AccountToStore(p, self.accounts[p.address or b""][0]) for p in proofs]
        return dict(registry_words(header, self.header_fields, self.timestamps, accounts))


def group_facts(facts: Iterable[BlockFact]) -> FactGroups:
    keys: dict[tuple[type[BlockFact], bytes], set[int]] = defaultdict(set)
    events: list[EventFact] = []
    for fact in facts:
        keys[type(fact), fact.account].add(fact.key)
        events += [fact] if isinstance(fact, EventFact) else []
    accounts = {
        account: (
            frozenset(map(AccountField, keys[AccountFieldFact, account])),
            tuple(sorted(keys[SlotFact, account])),
        )
        for account in [account for _, account in keys if account]
    }
    header_fields = frozenset(map(HeaderField, keys[HeaderFieldFact, b""]))
    times = tuple(sorted(keys[BlockAtTimeFact, b""]))
    return FactGroups(accounts, header_fields, times, tuple(events))


def registry_words(
    header: Header,
    fields: Iterable[HeaderField],
    timestamps: Iterable[int],
    accounts: Iterable[AccountToStore],
) -> Iterator[tuple[BlockFact, bytes]]:
    """The facts that a registry stores, with their words."""
    for field in sorted(fields):
        yield HeaderFieldFact(field), header.word(field)
    for timestamp in timestamps:
        yield BlockAtTimeFact(timestamp), number_word(header.number)
    for entry in accounts:
        account = entry.proof.address or b""
        for account_field in sorted(entry.fields):
            word = entry.proof.state.words[account_field]
            yield AccountFieldFact(account_field, account), word
        for slot in entry.proof.slots:
            yield SlotFact(slot.slot, account), number_word(slot.value)
