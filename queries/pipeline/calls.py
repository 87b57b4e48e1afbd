"""The calls that prove what is missing: as few as nodes take, each of which stands alone.

Each call shows the header itself, so that none waits for another to be mined: beside a hundred
proofs the header is half of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from queries.chain.gas.packing import pack
from queries.pipeline.wanted import Missing
from queries.proving.account_proofs import AccountProof
from queries.proving.headers import Header
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountRequest

MOST_ACCOUNTS = 150  # in one call: their gas then stays below the 2^24 of a transaction


@dataclass(frozen=True, slots=True)
class Anchor:
    """How the registry knows the block: by what headers above it, the last one known."""

    header: Header
    accumulated: bool  # its four words are kept: then nothing above is shown
    above: tuple[Header, ...] = ()  # child after child


@dataclass(frozen=True, slots=True)
class Call:
    """One transaction's calldata, and how many bytes of it are whose."""

    data: bytes
    accounts: dict[bytes, int]
    header_weight: int  # of what is stored of the header itself
    proves_header: bool
    brings_hash: bool = False


def hash_call(data: bytes) -> Call:
    """A call by which the registry learns a block's hash."""
    return Call(data, {}, 0, proves_header=False, brings_hash=True)


def calls_for(anchor: Anchor, missing: Missing, proofs: Sequence[AccountProof]) -> list[Call]:
    """At least one call, even for the header alone."""
    requests = sorted(
        (_request(missing, proof) for proof in proofs), key=lambda each: each.proof.address_hash
    )
    if not requests:
        return [_call(anchor, missing, (), first=True)]

    def build(group: Sequence[AccountRequest]) -> bytes:
        return _data(anchor, missing, build_witness(group), first=True)

    groups = pack(requests, build, MOST_ACCOUNTS)
    # What is of the header alone is stored once, by the first.
    return [_call(anchor, missing, group, first=place == 0) for place, group in enumerate(groups)]


def _request(missing: Missing, proof: AccountProof) -> AccountRequest:
    if proof.address is None:
        raise ValueError("an account's proof is known by its address here")
    return AccountRequest(proof, missing.accounts[proof.address][0])


def _call(
    anchor: Anchor, missing: Missing, group: Sequence[AccountRequest], *, first: bool
) -> Call:
    witness = build_witness(group) if group else b""
    shows_header = _shows_header(anchor, missing, first=first)
    return Call(
        _data(anchor, missing, witness, first=first),
        {each.proof.address: len(build_witness([each])) for each in group if each.proof.address},
        len(anchor.header.encoded) if shows_header else 0,
        proves_header=first and not anchor.accumulated,
    )


def _shows_header(anchor: Anchor, missing: Missing, *, first: bool) -> bool:
    """An accumulated block is named by its four words, unless something of its header is asked."""
    of_header = first and bool(missing.header_fields or missing.timestamps)
    return of_header or not anchor.accumulated


def _data(anchor: Anchor, missing: Missing, witness: bytes, *, first: bool) -> bytes:
    header = anchor.header
    if not _shows_header(anchor, missing, first=first):
        section = accumulated_section(header.number, header.timestamp, header.hash, witness)
        return prove_call([section])
    step = HeaderStep(
        header,
        witness,
        accumulate=first and not anchor.accumulated,
        fields=missing.header_fields if first else frozenset(),
    )
    steps = [step, *(HeaderStep(each) for each in anchor.above)]
    if first and missing.timestamps:
        steps[1] = replace(steps[1], timestamps=missing.timestamps)
    return prove_call([headers_section(steps)])
