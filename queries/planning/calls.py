"""Cut the facts of a block into pieces that fit a transaction, and join pieces into calls.

Each piece contains the header itself, so that no piece waits for another. If many headers lead to
the block, the block is proven first, and the rest once it is accumulated. Joined pieces save the
21,000 gas of another transaction, and contain shared headers once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from accounts.wording import format_count
from queries.chain import BASE_GAS, BYTE_GAS
from queries.facts import account_fields
from queries.models import Query
from queries.proving import (
    CALLDATA_BYTES,
    HEADER_BYTES,
    OSAKA,
    AccountProof,
    AccountToStore,
    GasRules,
    Header,
    HeaderField,
    SectionHeader,
    accumulated_section,
    build_witness,
    estimate_account_gas,
    headers_section,
    prove_call,
    split_accounts,
)
from queries.proving.facts import BlockFact, FactGroups, registry_words
from queries.sources import Preparation, Voucher
from queries.wait_reasons import Reason, WaitCode

LOOKUP_GAS = 18_000  # to look up both hashes, and costs that the table in proving/packing omits


@dataclass(frozen=True, slots=True)
class Anchor:
    """The link from a block to one that the registry knows: the last of the headers above it, or
    the block from which a hop leads to that header.
    """

    header: Header
    is_accumulated: bool  # then headers above are contained only to prove a time
    newer_headers: tuple[Header, ...] = ()  # child after child
    hop: bytes = b""  # a section
    hop_start: int = 0  # the block that the hop starts from
    # Whether the registry can look up the parent hash and beacon root.
    can_look_up_hashes: bool = False

    @property
    def known_block(self) -> int:
        """The block that the registry has to know."""
        return self.hop_start if self.hop else (self.header, *self.newer_headers)[-1].number

    def is_worth_accumulating(self, rules: GasRules) -> bool:
        """Whether a slot costs no more than the bytes that it saves the block's later proofs."""
        if self.is_accumulated:
            return False
        proof_bytes = HEADER_BYTES * (1 + len(self.newer_headers)) + len(self.hop)
        return rules.new_slot <= rules.floor_byte * proof_bytes


@dataclass(frozen=True, kw_only=True)
class HopPreparation(Preparation):
    """Hops towards a block, of which one transaction holds the first."""

    count: int
    count_in_call: int
    sections: bytes  # of the call
    start: int  # the block that they start from
    is_accumulated = True

    @property
    def sentence(self) -> str:
        return (
            "The block is far before the nearest one that the registry knows: "
            f"{format_count(self.count, 'hop')} must be sent first."
        )

    @property
    def pending_reason(self) -> Reason:
        count = format_count(self.count, "hop")
        sentence = f"A transaction with hops is not mined yet ({count} in all)."
        return Reason(WaitCode.HOPS_PENDING, sentence)

    def is_served_by(self, calldata: bytes, hops: int) -> bool:
        """Other hops of the route may serve too."""
        return hops > 0


@dataclass(frozen=True, eq=False)
class Piece(ABC):
    """A part of what one job proves, which may be sent in a transaction of its own."""

    job_key: int  # the job's id; in estimates, the block number
    anchor: Anchor
    rules: GasRules = field(default=OSAKA, kw_only=True)
    to: str = field(default="", kw_only=True)  # the events verifier; empty: the registry

    @property
    @abstractmethod
    def call(self) -> bytes:
        """The calldata that proves it alone."""

    @property
    @abstractmethod
    def proof_size(self) -> int:
        """The bytes that it takes in a call."""

    @property
    @abstractmethod
    def gas(self) -> int:
        """Approximate gas without calldata."""

    @property
    @abstractmethod
    def facts(self) -> frozenset[BlockFact]:
        """What it proves."""

    @property
    @abstractmethod
    def facts_key(self) -> str:
        """Key of what is stored; equal for pieces that prove the same facts."""

    @abstractmethod
    def query_weights(self, queries: Sequence[Query]) -> list[int]:
        """The weights of these queries in sharing its cost."""

    @abstractmethod
    def halves(self) -> "tuple[Piece, ...]":
        """Two pieces that prove the same facts together; none if it cannot be split."""

    @property
    def proves_header(self) -> bool:
        """Whether it accumulates the header, or contains the header and no piece accumulates it."""
        return False

    @property
    def weight(self) -> int:
        """Its weight in sharing a call's cost: roughly its gas in a transaction of its own."""
        return BASE_GAS + self.gas + self.rules.floor_byte * self.proof_size

    @property
    def headers(self) -> tuple[Header, ...]:
        return (self.anchor.header, *self.anchor.newer_headers)


@dataclass(frozen=True, eq=False)
class AccountPiece(Piece):
    """Facts of the header and of accounts, for the registry. Several can be joined into a call."""

    accumulate: bool = False
    fields: frozenset[HeaderField] = frozenset()
    timestamps: tuple[int, ...] = ()
    accounts: tuple[AccountToStore, ...] = ()

    @property
    def call(self) -> bytes:
        return joined_calldata([self])

    @property
    def proof_size(self) -> int:
        return len(self.section)

    @property
    def uses_stored_header(self) -> bool:
        """Whether the registry's stored leaf replaces the header: not if it proves header facts."""
        return self.anchor.is_accumulated and not self.fields and not self.timestamps

    @property
    def proves_header(self) -> bool:
        is_never_accumulated = not (
            self.anchor.is_accumulated or self.anchor.is_worth_accumulating(self.rules)
        )
        return self.accumulate or is_never_accumulated

    @cached_property
    def witness(self) -> bytes:
        return build_witness(self.accounts) if self.accounts else b""

    @property
    def section_headers(self) -> list[SectionHeader]:
        """The block's header, and the headers above it up to one that the registry knows."""
        first, *newer_headers = self.headers
        own = SectionHeader(first, self.witness, self.accumulate, self.fields)
        newer = list(map(SectionHeader, newer_headers))
        if self.timestamps:
            newer[0] = replace(newer[0], timestamps=self.timestamps)
        return [own, *newer]

    @cached_property
    def section(self) -> bytes:
        if self.uses_stored_header:
            header = self.anchor.header
            words = (header.number, header.timestamp, header.hash)
            return accumulated_section(*words, self.witness)
        return self.anchor.hop + headers_section(self.section_headers)

    @property
    def new_header_slots(self) -> int:
        """The number of slots that the registry writes for facts of the header."""
        return self.accumulate + len(self.fields) + len(self.timestamps)

    @property
    def gas(self) -> int:
        """See the table in proving/packing.py."""
        return self.new_header_slots * self.rules.new_slot + sum(
            estimate_account_gas(account, self.rules) for account in self.accounts
        )

    @cached_property
    def facts(self) -> frozenset[BlockFact]:
        words = registry_words(self.anchor.header, self.fields, self.timestamps, self.accounts)
        return frozenset(fact for fact, _ in words)

    @property
    def facts_key(self) -> str:
        header_fields = sorted(map(int, self.fields))
        block_hash = self.anchor.header.hash
        return repr((block_hash, self.accumulate, header_fields, self.timestamps, self.witness))

    def query_weights(self, queries: Sequence[Query]) -> list[int]:
        """Their witness bytes, and their new slots as gas."""
        accounts = {account.proof.address: account for account in self.accounts}
        return [
            self._query_weight(query, accounts.get(bytes.fromhex(query.account[2:])))
            for query in queries
        ]

    def _query_weight(self, query: Query, account: AccountToStore | None) -> int:
        if not query.account:
            headers = () if self.uses_stored_header else self.headers
            return self.rules.floor_byte * sum(len(header.rlp) for header in headers)
        if account is None:
            return 0
        numbers = {int(slot, 16) for slot in query.slots}
        slots = tuple(proof for proof in account.proof.slots if proof.slot in numbers)
        fields = account.fields.intersection(account_fields(query.props))
        if not slots and not fields:
            return 0
        part = AccountToStore(replace(account.proof, slots=slots), fields)
        witness_gas = self.rules.floor_byte * len(build_witness([part]))
        return estimate_account_gas(part, self.rules) + witness_gas

    def halves(self) -> tuple[Self, ...]:
        """None if the piece has only one slot or one account's fields. Header facts stay with the
        first one.
        """
        middle = len(self.accounts) // 2
        first, second = self.accounts[:middle], self.accounts[middle:]
        if len(self.accounts) == 1 and (parts := _halve(*self.accounts)):
            first, second = parts[:1], parts[1:]
        if not first and not (second and self.new_header_slots):
            return ()
        rest = replace(self, accumulate=False, fields=frozenset(), timestamps=())
        return replace(self, accounts=first), replace(rest, accounts=second)


def _halve(account: AccountToStore) -> tuple[AccountToStore, ...]:
    slots, middle = account.proof.slots, len(account.proof.slots) // 2
    if not slots[1:] and not (slots and account.fields):
        return ()
    first = AccountToStore(replace(account.proof, slots=slots[:middle]), account.fields)
    rest = AccountToStore(replace(account.proof, slots=slots[middle:]), frozenset())
    return first, rest


def cut_into_pieces(
    job_key: int,
    anchor: Anchor,
    missing: FactGroups,
    proofs: Sequence[AccountProof],
    rules: GasRules = OSAKA,
) -> list[AccountPiece]:
    """Cut missing facts of the header and of accounts into pieces; at least one, even for the
    header alone, unless only events are missing.
    """
    header_facts = missing.header_fields, missing.timestamps
    if missing.events and not (missing.accounts or any(header_facts)):
        return []
    accumulate = anchor.is_worth_accumulating(rules)
    whole = AccountPiece(job_key, anchor, accumulate, *header_facts, rules=rules)
    # Only the first piece stores facts of the header.
    rest = AccountPiece(job_key, anchor, rules=rules)

    def build_first_call(group: Sequence[AccountToStore]) -> bytes:
        return joined_calldata([replace(whole, accounts=tuple(group))])

    groups = split_accounts(accounts_to_store(missing, proofs), build_first_call, rules)
    anchor_size = len(anchor.hop) + sum(len(header.rlp) for header in anchor.newer_headers)
    if rules.floor_byte * anchor_size * (len(groups) - 1) > BASE_GAS:
        groups = []  # proving the block first is cheaper than repeating these headers in each piece
    if not groups and (missing.accounts or not any(header_facts)):  # later calls need the header
        whole = replace(whole, accumulate=not anchor.is_accumulated)
    first, *others = map(tuple, groups or [[]])
    return [replace(whole, accounts=first), *(replace(rest, accounts=group) for group in others)]


def accounts_to_store(missing: FactGroups, proofs: Iterable[AccountProof]) -> list[AccountToStore]:
    accounts = []
    for proof in proofs:
        fields, slots = missing.accounts[proof.address or b""]
        numbers = set(slots)
        slot_proofs = tuple(slot_proof for slot_proof in proof.slots if slot_proof.slot in numbers)
        accounts.append(AccountToStore(replace(proof, slots=slot_proofs), fields))
    return accounts


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One transaction's calldata, and the pieces in it."""

    data: bytes
    pieces: tuple[Piece, ...] = ()  # none: it is a preparation
    to: str = ""  # empty: the registry
    hops: int = 0
    recorded_block: int | None = None  # whose hash it records
    voucher: Voucher | None = None  # for that hash
    is_short: bool = False  # leaves out the hashes that the registry can look up

    @classmethod
    def create(cls, pieces: Sequence[Piece]) -> Self:
        hops = sum(bool(piece.anchor.hop) for piece in pieces)
        joinable = [piece for piece in pieces if isinstance(piece, AccountPiece)]
        data = joined_calldata(joinable) if joinable else pieces[0].call
        return cls(data, tuple(pieces), pieces[0].to, hops)

    @classmethod
    def create_optimized(cls, pieces: Sequence[AccountPiece]) -> Self:
        """Create the call without hashes that the registry can look up, if the calldata floor sets
        the price and leaves enough gas for the lookups.
        """
        call, (piece, *others) = cls.create(pieces), pieces
        room = (piece.rules.floor_byte - BYTE_GAS) * len(call.data) - piece.gas
        if others or not piece.anchor.can_look_up_hashes or room < LOOKUP_GAS:
            return call
        first, *newer = piece.section_headers
        headers = [replace(first, parent_known=True, beacon_known=True), *newer]
        return replace(call, data=prove_call([headers_section(headers)]), is_short=True)

    def fallback_calls(self) -> tuple[Self, ...]:
        """Calls to try if this one fails: of a short call the full one, otherwise two halves that
        prove the same facts together; none if the call cannot be split.
        """
        if self.is_short:
            return (self.create(self.pieces),)
        if len(self.pieces) > 1:
            middle = len(self.pieces) // 2
            return self.create(self.pieces[:middle]), self.create(self.pieces[middle:])
        return tuple(self.create([half]) for piece in self.pieces for half in piece.halves())


def join_pieces(pieces: Sequence[Piece]) -> list[PlannedCall]:
    """Put the pieces, in the order of their blocks, into the first call that has room."""
    groups = list[list[AccountPiece]]()
    separate = [piece for piece in pieces if not isinstance(piece, AccountPiece)]
    joinable = (piece for piece in pieces if isinstance(piece, AccountPiece))
    for piece in sorted(joinable, key=lambda piece: piece.anchor.header.number):
        for group in groups:
            longer_group = [*group, piece]
            fits = sum(member.gas for member in longer_group) <= piece.rules.items_gas
            if fits and len(joined_calldata(longer_group)) <= CALLDATA_BYTES:
                group.append(piece)
                break
        else:
            groups.append([piece])
    calls = [PlannedCall.create_optimized(group) for group in groups]
    return calls + [PlannedCall.create([piece]) for piece in separate]


def joined_calldata(group: Sequence[AccountPiece]) -> bytes:
    """The `prove()` call of these pieces."""
    separate = [piece for piece in group if piece.uses_stored_header or piece.anchor.hop]
    ranges = _header_ranges([piece for piece in group if piece not in separate])
    return prove_call([*(piece.section for piece in separate), *map(headers_section, ranges)])


def _header_ranges(pieces: Sequence[AccountPiece]) -> list[list[SectionHeader]]:
    """The pieces' headers, joined where they overlap. `pieces` are in block order."""
    ranges: list[list[SectionHeader]] = []
    for piece in pieces:
        for index, lower in enumerate(ranges):
            if (joined_range := _join_ranges(lower, piece.section_headers)) is not None:
                ranges[index] = joined_range
                break
        else:
            ranges.append(piece.section_headers)
    return ranges


def _join_ranges(
    lower: Sequence[SectionHeader], upper: Sequence[SectionHeader]
) -> list[SectionHeader] | None:
    """The headers of both ranges; None if they do not overlap, or two witnesses are for one."""
    joined = {entry.header.number: entry for entry in lower}
    if upper[0].header.number not in joined:
        return None
    for entry in upper:
        number = entry.header.number
        other = joined.get(number, SectionHeader(entry.header))
        if other.header.hash != entry.header.hash or (other.witness and entry.witness):
            return None
        joined[number] = replace(
            entry,
            witness=other.witness + entry.witness,
            accumulate=other.accumulate or entry.accumulate,
            fields=other.fields | entry.fields,
            timestamps=tuple(sorted({*other.timestamps, *entry.timestamps})),
        )
    return list(joined.values())
