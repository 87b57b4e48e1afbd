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
        return [_call(anchor, missing, ())]

    def build(group: Sequence[AccountRequest]) -> bytes:
        return _call(anchor, missing, group).data

    groups = pack(requests, build, MOST_ACCOUNTS)
    bare = Missing(missing.accounts, frozenset(), ())
    # What is of the header alone is stored once, by the first.
    return [
        _call(anchor, missing if first else bare, group, first=first)
        for first, group in zip([True, *([False] * len(groups))], groups, strict=False)
    ]


def _request(missing: Missing, proof: AccountProof) -> AccountRequest:
    if proof.address is None:
        raise ValueError("an account's proof is known by its address here")
    return AccountRequest(proof, missing.accounts[proof.address][0])


def _call(
    anchor: Anchor, missing: Missing, group: Sequence[AccountRequest], *, first: bool = True
) -> Call:
    header = anchor.header
    witness = build_witness(group) if group else b""
    weights = {each.proof.address: len(build_witness([each])) for each in group}
    of_header = bool(missing.header_fields or missing.timestamps)
    if anchor.accumulated and not of_header:
        section = accumulated_section(header.number, header.timestamp, header.hash, witness)
        return Call(prove_call([section]), _named(weights), 0, proves_header=False)
    step = HeaderStep(
        header,
        witness,
        accumulate=first and not anchor.accumulated,
        fields=missing.header_fields,
    )
    steps = [step, *(HeaderStep(each) for each in anchor.above)]
    if missing.timestamps:
        steps[1] = replace(steps[1], timestamps=missing.timestamps)
    data = prove_call([headers_section(steps)])
    return Call(data, _named(weights), len(header.encoded), proves_header=step.accumulate)


def _named(weights: dict[bytes | None, int]) -> dict[bytes, int]:
    return {address: weight for address, weight in weights.items() if address is not None}
