"""What is proven of one block, in pieces that each fit a transaction, and pieces joined into calls.

Each piece shows the header itself, so that none waits for another. If many headers lead down to the
block, the block is proven first, and the rest once it is accumulated. Joined pieces save the 21,000
gas of another transaction, and show shared headers once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from queries.chain.registry import Missing
from queries.chain.sender import BASE_GAS, BYTE_GAS
from queries.facts import account_fields
from queries.models import Query
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, HeaderField
from queries.proving.packing import BYTE, CALLDATA_BYTES, OSAKA, GasRules, gas_of, portions
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.witnesses import AccountRequest, build_witness

LOOK_UPS = 18_000  # gas of both hashes' look-ups, and what the rough table leaves out


@dataclass(frozen=True, slots=True)
class Anchor:
    """How the registry knows the block: by the headers above it. It knows the last of these, or a
    hop leads to it.
    """

    header: Header
    accumulated: bool  # its four words are kept: headers above are shown only to prove a time
    above: tuple[Header, ...] = ()  # child after child
    hop: bytes = b""  # a section
    hop_from: int = 0
    fills_hashes: bool = False  # the registry can look up the parent's hash and the beacon root

    @property
    def known(self) -> int:
        """The block that the registry has to know."""
        return self.hop_from if self.hop else (self.header, *self.above)[-1].number


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of what one job proves."""

    job: int
    anchor: Anchor
    accumulate: bool = False
    fields: frozenset[HeaderField] = frozenset()
    timestamps: tuple[int, ...] = ()
    requests: tuple[AccountRequest, ...] = ()
    rules: GasRules = OSAKA

    @property
    def by_words(self) -> bool:
        """An accumulated block is named by four words, unless something of its header is asked."""
        return self.anchor.accumulated and not self.fields and not self.timestamps

    @cached_property
    def witness(self) -> bytes:
        return build_witness(self.requests) if self.requests else b""

    @property
    def steps(self) -> list[HeaderStep]:
        """The block's header, and those above it up to one that the registry knows."""
        header, *above = self.headers
        steps = [HeaderStep(header, self.witness, self.accumulate, self.fields)]
        steps += map(HeaderStep, above)
        if self.timestamps:
            steps[1] = replace(steps[1], timestamps=self.timestamps)
        return steps

    @property
    def headers(self) -> tuple[Header, ...]:
        return (self.anchor.header, *self.anchor.above)

    @cached_property
    def section(self) -> bytes:
        if self.by_words:
            header = self.anchor.header
            words = (header.number, header.timestamp, header.hash)
            return accumulated_section(*words, self.witness)
        return self.anchor.hop + headers_section(self.steps)

    @property
    def stored(self) -> int:
        """How many slots it takes to store what is asked of the header."""
        return self.accumulate + len(self.fields) + len(self.timestamps)

    @property
    def gas(self) -> int:
        """Roughly, without its calldata: see the table in proving/packing.py."""
        return self.stored * self.rules.new_slot + sum(
            gas_of(each, self.rules) for each in self.requests
        )

    @property
    def facts(self) -> str:
        """All that it has the registry store: the same for pieces that prove the same."""
        fields = sorted(map(int, self.fields))
        stored = (self.anchor.header.hash, self.accumulate, fields, self.timestamps, self.witness)
        return repr(stored)

    @property
    def weight(self) -> int:
        """For its part of a call's cost: roughly its gas in a transaction of its own."""
        return BASE_GAS + self.gas + BYTE * len(self.section)

    def weights(self, queries: Sequence[Query]) -> list[int]:
        """How much the piece proves for each: its witness bytes, and new slots as their gas."""
        by_account = {each.proof.address: each for each in self.requests}
        return [
            self._weight(query, by_account.get(bytes.fromhex(query.account[2:])))
            for query in queries
        ]

    def _weight(self, query: Query, request: AccountRequest | None) -> int:
        if not query.account:
            shown = () if self.by_words else self.headers
            return BYTE * sum(len(header.encoded) for header in shown)
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
        """Two pieces that prove the same together; none where it holds one account's fields or one
        slot. What is stored of the header stays with the first one.
        """
        middle = len(self.requests) // 2
        first, second = self.requests[:middle], self.requests[middle:]
        if len(self.requests) == 1 and (parts := _halved(*self.requests)):
            first, second = parts[:1], parts[1:]
        if not first and not (second and self.stored):
            return ()
        rest = replace(self, accumulate=False, fields=frozenset(), timestamps=())
        return replace(self, requests=first), replace(rest, requests=second)


def _halved(request: AccountRequest) -> tuple[AccountRequest, ...]:
    slots, middle = request.proof.slots, len(request.proof.slots) // 2
    if not slots[1:] and not (slots and request.fields):
        return ()
    first = AccountRequest(replace(request.proof, slots=slots[:middle]), request.fields)
    rest = AccountRequest(replace(request.proof, slots=slots[middle:]), frozenset())
    return first, rest


def pieces_of(
    job: int,
    anchor: Anchor,
    missing: Missing,
    proofs: Sequence[AccountProof],
    rules: GasRules = OSAKA,
) -> list[Piece]:
    """Cut what is missing into pieces; there is at least one, even for the header alone."""
    requests = requests_of(missing, proofs)

    whole = Piece(
        job, anchor, not anchor.accumulated, missing.header_fields, missing.timestamps, rules=rules
    )
    rest = Piece(job, anchor, rules=rules)  # only the first piece stores facts of the header

    def piece(group: Sequence[AccountRequest], *, first: bool) -> Piece:
        return replace(whole if first else rest, requests=tuple(group))

    groups = portions(requests, lambda group: Call.of([piece(group, first=True)]).data, rules)
    above = len(anchor.hop) + sum(len(header.encoded) for header in anchor.above)
    if BYTE * above * (len(groups) - 1) > BASE_GAS:  # a transaction for the block alone is cheaper
        groups = []  # then its four words stand for all that is shown above it
    return [piece(group, first=place == 0) for place, group in enumerate(groups or [[]])]


def requests_of(missing: Missing, proofs: Sequence[AccountProof]) -> tuple[AccountRequest, ...]:
    requests = []
    for proof in proofs:
        fields, slots = missing.accounts[proof.address or b""]
        wanted = set(slots)
        lacking = tuple(each for each in proof.slots if each.slot in wanted)
        requests.append(AccountRequest(replace(proof, slots=lacking), fields))
    return tuple(requests)


@dataclass(frozen=True, slots=True)
class Call:
    """One transaction's calldata, and what it shows."""

    data: bytes
    pieces: tuple[Piece, ...] = ()  # none: it prepares for others
    hops: int = 0
    is_short: bool = False  # leaves out the hashes that the registry can look up

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> "Call":
        hops = sum(bool(piece.anchor.hop) for piece in pieces)
        return cls(_data(pieces), tuple(pieces), hops)

    @classmethod
    def shortest(cls, pieces: Sequence[Piece]) -> "Call":
        """Short if that costs less: the calldata floor sets the total, and leaves enough room."""
        call, (piece, *others) = cls.of(pieces), pieces
        room = (BYTE - BYTE_GAS) * len(call.data) - piece.gas
        if others or not piece.anchor.fills_hashes or room < LOOK_UPS:
            return call
        own, *above = piece.steps
        steps = [replace(own, parent_known=True, beacon_known=True), *above]
        return replace(call, data=prove_call([headers_section(steps)]), is_short=True)

    def halves(self) -> tuple["Call", ...]:
        """Two calls that prove the same together; none if the call cannot be split. A short one is
        made whole instead.
        """
        if self.is_short:
            return (Call.of(self.pieces),)
        if len(self.pieces) > 1:
            middle = len(self.pieces) // 2
            return Call.of(self.pieces[:middle]), Call.of(self.pieces[middle:])
        return tuple(Call.of([half]) for piece in self.pieces for half in piece.halves())


def join(pieces: Sequence[Piece]) -> list[Call]:
    """Put the pieces, in the order of their blocks, each into the first call that has room."""
    groups: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda each: each.anchor.header.number):
        for group in groups:
            more = [*group, piece]
            fits = sum(each.gas for each in more) <= piece.rules.room
            if fits and len(_data(more)) <= CALLDATA_BYTES:
                group.append(piece)
                break
        else:
            groups.append([piece])
    return [Call.shortest(group) for group in groups]


def _data(group: Sequence[Piece]) -> bytes:
    apart = [piece for piece in group if piece.by_words or piece.anchor.hop]
    ranges = _ranges([piece for piece in group if piece not in apart])
    return prove_call([*(piece.section for piece in apart), *map(headers_section, ranges)])


def _ranges(pieces: Sequence[Piece]) -> list[list[HeaderStep]]:
    """The pieces' chains of headers, joined where they meet. `pieces` are in block order."""
    ranges: list[list[HeaderStep]] = []
    for piece in pieces:
        for place, lower in enumerate(ranges):
            if (joined := _joined(lower, piece.steps)) is not None:
                ranges[place] = joined
                break
        else:
            ranges.append(piece.steps)
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
