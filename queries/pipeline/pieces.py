"""What is proven of one block, in pieces that each fit a transaction, and pieces joined into calls.

Each piece shows the header itself, so that none waits for another; below many headers the block is
proven first, and the rest once it is accumulated. Joined pieces save the 21,000 gas of another
transaction, and show the headers that they share once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from queries.asked_fields import account_fields
from queries.models import Query
from queries.pipeline.wanted import Missing
from queries.proving.account_proofs import AccountProof
from queries.proving.header_fields import HeaderField
from queries.proving.headers import Header
from queries.proving.packing import CALLDATA_BYTES
from queries.proving.portions import BYTE, OSAKA, GasRules, gas_of, portions
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountRequest

Fact = HeaderField | int | AccountRequest  # an integer is a time that is resolved to a block


@dataclass(frozen=True, slots=True)
class Anchor:
    """How the registry knows the block: by what headers above it, the last one known."""

    header: Header
    accumulated: bool  # its four words are kept: then nothing above is shown
    above: tuple[Header, ...] = ()  # child after child


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of what one job proves."""

    job: int
    step: HeaderStep  # the block
    by_words: bool = False  # it is accumulated: four words stand for its header
    above: tuple[HeaderStep, ...] = ()  # child after child, up to one that the registry knows
    requests: tuple[AccountRequest, ...] = ()  # of the witness
    rules: GasRules = OSAKA
    stone: bool = False  # it leads down to the block, and proves nothing of it yet

    @property
    def section(self) -> bytes:
        if self.by_words:
            header = self.step.header
            words = (header.number, header.timestamp, header.hash)
            return accumulated_section(*words, self.step.witness)
        return headers_section([self.step, *self.above])

    @property
    def data(self) -> bytes:
        """The call of this piece alone."""
        return prove_call([self.section])

    @property
    def gas(self) -> int:
        """By the rough table, beside its bytes."""
        stored = self.step.accumulate + len(self.step.fields) + len(self.timestamps)
        return stored * self.rules.new_slot + sum(
            gas_of(each, self.rules) for each in self.requests
        )

    @property
    def timestamps(self) -> tuple[int, ...]:
        return self.above[0].timestamps if self.above else ()

    @property
    def facts(self) -> str:
        """All that it has the registry store."""
        accounts = sorted(
            (
                each.proof.address_hash.hex(),
                each.mask,
                sorted(slot.slot for slot in each.proof.slots),
            )
            for each in self.requests
        )
        block, fields = self.step.header.hash.hex(), sorted(map(int, self.step.fields))
        return repr((block, self.step.accumulate, fields, self.timestamps, accounts))

    @property
    def proves_header(self) -> bool:
        return self.step.accumulate and not self.stone

    @property
    def stone_at(self) -> int | None:
        return self.step.header.number if self.stone else None

    def weights(self, queries: Sequence[Query]) -> list[int]:
        """How much the piece proves for each: its witness bytes, and new slots as their gas."""
        by_account = {each.proof.address: each for each in self.requests}
        return [
            self._weight(query, by_account.get(bytes.fromhex(query.account[2:])))
            for query in queries
        ]

    def _weight(self, query: Query, request: AccountRequest | None) -> int:
        if not query.account:
            shown = () if self.by_words else (self.step, *self.above)
            return BYTE * sum(len(step.header.encoded) for step in shown)
        if request is None:
            return 0
        asked = {int(slot, 16) for slot in query.slots}
        slots = tuple(each for each in request.proof.slots if each.slot in asked)
        fields = request.fields.intersection(account_fields(query.props))
        if not slots and not fields:
            return 0
        own = AccountRequest(replace(request.proof, slots=slots), fields)
        return gas_of(own, self.rules) + BYTE * len(build_witness([own]))

    def halves(self) -> tuple["Piece", ...]:
        """Two pieces that prove the same together; none where it holds a single fact."""
        accounts = [*self.requests]
        if len(accounts) == 1:
            accounts = _single_facts(accounts[0])
        facts: list[Fact] = [*sorted(self.step.fields), *self.timestamps, *accounts]
        middle = len(facts) // 2
        if not middle:
            return ()
        return self._of(facts[:middle], first=True), self._of(facts[middle:], first=False)

    def _of(self, facts: Sequence[Fact], *, first: bool) -> "Piece":
        requests = [each for each in facts if isinstance(each, AccountRequest)]
        if len(self.requests) == 1 and requests:
            requests = [_as_one(requests)]
        fields = frozenset(each for each in facts if isinstance(each, HeaderField))
        step = replace(
            self.step,
            witness=build_witness(requests) if requests else b"",
            accumulate=self.step.accumulate and first,
            fields=fields,
        )
        above = self.above
        if self.timestamps:
            times = tuple(each for each in facts if isinstance(each, int) and each not in fields)
            above = (replace(above[0], timestamps=times), *above[1:])
        return replace(self, step=step, above=above, requests=tuple(requests))


def _single_facts(request: AccountRequest) -> list[AccountRequest]:
    proof = request.proof
    fields = [
        AccountRequest(replace(proof, slots=()), frozenset({each}))
        for each in sorted(request.fields)
    ]
    slots = [AccountRequest(replace(proof, slots=(each,)), frozenset()) for each in proof.slots]
    return [*fields, *slots]


def _as_one(facts: Sequence[AccountRequest]) -> AccountRequest:
    """Some facts of one account."""
    slots = tuple(slot for each in facts for slot in each.proof.slots)
    fields = frozenset(field for each in facts for field in each.fields)
    return AccountRequest(replace(facts[0].proof, slots=slots), fields)


def stepping_stone(job: int, headers: Sequence[Header]) -> Piece:
    """A block on the way down to one that is too far below for one transaction."""
    step, *above = map(HeaderStep, headers)
    return Piece(job, replace(step, accumulate=True), above=tuple(above), stone=True)


def pieces_of(
    job: int,
    anchor: Anchor,
    missing: Missing,
    proofs: Sequence[AccountProof],
    rules: GasRules = OSAKA,
) -> list[Piece]:
    """At least one, even for the header alone."""
    requests = [_request(missing, proof) for proof in proofs]

    def piece(group: Sequence[AccountRequest], *, first: bool) -> Piece:
        step = HeaderStep(anchor.header, build_witness(group) if group else b"")
        above = tuple(map(HeaderStep, anchor.above))
        # An accumulated block is named by its four words, unless something of its header is asked.
        by_words = anchor.accumulated
        if first:
            by_words = by_words and not (missing.header_fields or missing.timestamps)
            step = replace(step, accumulate=not anchor.accumulated, fields=missing.header_fields)
            if missing.timestamps:
                above = (replace(above[0], timestamps=missing.timestamps), *above[1:])
        return Piece(job, step, by_words, () if by_words else above, tuple(group), rules)

    groups = portions(requests, lambda group: piece(group, first=True).data, rules)
    above = sum(len(header.encoded) for header in anchor.above)
    if len(groups) > 1 and above > CALLDATA_BYTES // 64:  # too much to be shown by each
        groups = []  # the block first; then its four words stand for all that is shown above it
    # The first piece alone stores what is of the header.
    return [piece(group, first=place == 0) for place, group in enumerate(groups or [[]])]


def _request(missing: Missing, proof: AccountProof) -> AccountRequest:
    if proof.address is None:
        raise ValueError("an account's proof is known by its address here")
    fields, slots = missing.accounts[proof.address]
    wanted = set(slots)
    lacking = tuple(each for each in proof.slots if each.slot in wanted)
    return AccountRequest(replace(proof, slots=lacking), fields)


@dataclass(frozen=True, slots=True, eq=False)
class HashCall:
    """What brings the registry a block's hash, for one job; it is sent alone."""

    job: int
    data: bytes
    gas: int = 0
    stone: bool = False


Part = Piece | HashCall


@dataclass(frozen=True, slots=True)
class Call:
    """One transaction's calldata, and what it shows."""

    data: bytes
    pieces: tuple[Piece, ...] = ()  # none: it brings the registry a block's hash


def join(pieces: Sequence[Piece]) -> list[Call]:
    """In the order of their blocks, each into the first call that has room."""
    groups: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda each: each.step.header.number):
        for group in groups:
            if _has_room([*group, piece]):
                group.append(piece)
                break
        else:
            groups.append([piece])
    return [Call(_data(group), tuple(group)) for group in groups]


def _has_room(group: Sequence[Piece]) -> bool:
    fits = sum(piece.gas for piece in group) <= group[0].rules.room
    return fits and len(_data(group)) <= CALLDATA_BYTES


def _data(group: Sequence[Piece]) -> bytes:
    named = [piece.section for piece in group if piece.by_words]
    shown = map(headers_section, _ranges([piece for piece in group if not piece.by_words]))
    return prove_call([*named, *shown])


def _ranges(pieces: Sequence[Piece]) -> list[list[HeaderStep]]:
    """The chains of headers, those that meet made one; `pieces` is in the order of blocks."""
    ranges: list[list[HeaderStep]] = []
    for piece in pieces:
        steps = [piece.step, *piece.above]
        for place, lower in enumerate(ranges):
            if (joined := _joined(lower, steps)) is not None:
                ranges[place] = joined
                break
        else:
            ranges.append(steps)
    return ranges


def _joined(lower: Sequence[HeaderStep], upper: Sequence[HeaderStep]) -> list[HeaderStep] | None:
    meet = upper[0].header.number - lower[0].header.number
    if not 0 <= meet < len(lower):
        return None
    both = [[step for step in pair if step] for pair in zip_longest(lower[meet:], upper)]
    if not all(_can_be_one(steps) for steps in both):
        return None
    return [*lower[:meet], *map(_one, both)]


def _can_be_one(steps: Sequence[HeaderStep]) -> bool:
    same = len({step.header.hash for step in steps}) == 1
    return same and sum(bool(step.witness) for step in steps) <= 1


def _one(steps: Sequence[HeaderStep]) -> HeaderStep:
    first, *_ = steps
    return replace(
        first,
        witness=b"".join(step.witness for step in steps),
        accumulate=any(step.accumulate for step in steps),
        fields=frozenset(field for step in steps for field in step.fields),
        timestamps=tuple(sorted({second for step in steps for second in step.timestamps})),
    )
