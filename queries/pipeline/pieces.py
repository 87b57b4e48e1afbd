"""What is to be shown of one block, in pieces that each fit a transaction and stand alone.

Each piece shows the header itself, so that none waits for another to be mined: beside a hundred
proofs the header is half of one. Where many headers would be shown above it, they are shown once,
and the rest follows when the block is accumulated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from queries.pipeline.wanted import Missing
from queries.proving.account_proofs import AccountProof
from queries.proving.headers import Header
from queries.proving.portions import ACCOUNT, BYTE, NEW_WORD, SLOT, gas_of, portions
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest

FEW_HEADERS = 3  # above the block, that are shown again and again rather than waited for


@dataclass(frozen=True, slots=True)
class Anchor:
    """How the registry knows the block: by what headers above it, the last one known."""

    header: Header
    accumulated: bool  # its four words are kept: then nothing above is shown
    above: tuple[Header, ...] = ()  # child after child


@dataclass(frozen=True, slots=True)
class Shown:
    """What a piece proves of one account, and what that weighs by the rough table."""

    fields: frozenset[AccountField]
    slots: frozenset[int]
    account: int  # for all who ask for anything of it
    slot: int  # each, for who asks for it

    def weight(self, fields: frozenset[AccountField], slots: frozenset[int]) -> int:
        """Of what is asked; none where nothing of it is proven here."""
        words, values = len(fields & self.fields), len(slots & self.slots)
        if not words + values:
            return 0
        return self.account + NEW_WORD * words + self.slot * values


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of what one job has proven."""

    job: int
    step: HeaderStep  # the block
    by_words: bool = False  # it is accumulated: four words stand for its header
    above: tuple[HeaderStep, ...] = ()  # child after child, up to one that the registry knows
    accounts: Mapping[bytes, Shown] = field(default_factory=dict)
    gas: int = NEW_WORD  # by the rough table, beside its bytes
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
    def header_gas(self) -> int:
        """By the rough table, of the headers that are shown."""
        shown = () if self.by_words else (self.step, *self.above)
        return BYTE * sum(len(step.header.encoded) for step in shown)

    @property
    def proves_header(self) -> bool:
        return self.step.accumulate and not self.stone

    @property
    def stone_at(self) -> int | None:
        return self.step.header.number if self.stone else None


def stepping_stone(job: int, headers: Sequence[Header]) -> Piece:
    """A block on the way down to one that is too far below for one transaction."""
    step, *above = map(HeaderStep, headers)
    return Piece(job, replace(step, accumulate=True), above=tuple(above), stone=True)


def pieces_of(
    job: int, anchor: Anchor, missing: Missing, proofs: Sequence[AccountProof]
) -> list[Piece]:
    """At least one, even for the header alone."""
    requests = [_request(missing, proof) for proof in proofs]

    def build(group: Sequence[AccountRequest]) -> bytes:
        return _piece(job, anchor, missing, group, first=True).data

    groups = portions(requests, build)
    if len(groups) > 1 and len(anchor.above) > FEW_HEADERS:
        groups = []  # the block first; then its four words stand for all that is shown above it
    # What is of the header alone is stored once, by the first. What each account weighs takes a
    # witness of it alone, so it is found here and not for each of the groups that were tried.
    return [
        replace(
            _piece(job, anchor, missing, group, first=place == 0),
            accounts={each.proof.address: _shown(each) for each in group if each.proof.address},
        )
        for place, group in enumerate(groups or [[]])
    ]


def _request(missing: Missing, proof: AccountProof) -> AccountRequest:
    if proof.address is None:
        raise ValueError("an account's proof is known by its address here")
    fields, _ = missing.accounts[proof.address]
    return AccountRequest(proof, fields)


def _piece(
    job: int, anchor: Anchor, missing: Missing, group: Sequence[AccountRequest], *, first: bool
) -> Piece:
    step = HeaderStep(anchor.header, build_witness(group) if group else b"")
    above = tuple(HeaderStep(each) for each in anchor.above)
    # An accumulated block is named by its four words, unless something of its header is asked.
    by_words = anchor.accumulated
    if first:
        by_words = by_words and not (missing.header_fields or missing.timestamps)
        step = replace(step, accumulate=not anchor.accumulated, fields=missing.header_fields)
        if missing.timestamps:
            above = (replace(above[0], timestamps=missing.timestamps), *above[1:])
    stored = step.accumulate + len(step.fields) + len(missing.timestamps if first else ())
    return Piece(
        job,
        step,
        by_words,
        () if by_words else above,
        gas=stored * NEW_WORD + sum(map(gas_of, group)),
    )


def _shown(request: AccountRequest) -> Shown:
    slots = frozenset(each.slot for each in request.proof.slots)
    whole = account = len(build_witness([request]))
    slot = 0
    if slots:
        without = AccountRequest(replace(request.proof, slots=()), request.fields)
        account = len(build_witness([without]))
        slot = NEW_WORD + SLOT + BYTE * max(whole - account, 0) // len(slots)
    return Shown(request.fields, slots, ACCOUNT + BYTE * account, slot)
