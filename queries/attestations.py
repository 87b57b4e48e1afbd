"""Signers' words on block hashes, kept until a prover brings enough of them to the registry.

A word is checked before it is kept: whose it is, and that he is one of the registry's signers. A
second, other word of one signer on one block is not taken, because the registry keeps the first.
"""

import json
import re
from dataclasses import dataclass

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When

from queries.chain.attestations import signer_of
from queries.errors import (
    AttestationContradicted,
    AttestationMalformed,
    AttestationUntrusted,
    AttestationUnwanted,
    BlockBeyondHead,
)
from queries.models import Attestation, BlockJob, Head, Query
from queries.pipeline.clock import shared_now
from queries.proving.attestations import Attested
from queries.routes import Registry, RegistryKind, Routes

NUMBER, HEX = "[1-9][0-9]{0,17}|0", "0x[0-9a-fA-F]"
SHAPES = {
    "originChainId": NUMBER,
    "destinationChainId": NUMBER,
    "registry": HEX + "{40}",
    "block": NUMBER,
    "blockHash": HEX + "{64}",
    "signature": HEX + "{130}",
}


@dataclass(frozen=True, slots=True)
class SignedWord:
    """What a signer hands over, as a line of JSON or over HTTP."""

    attested: Attested
    signature: bytes

    def content(self) -> dict[str, str]:
        return {
            "originChainId": str(self.attested.source),
            "destinationChainId": str(self.attested.destination),
            "registry": f"0x{self.attested.registry.hex()}",
            "block": str(self.attested.block),
            "blockHash": f"0x{self.attested.block_hash.hex()}",
            "signature": f"0x{self.signature.hex()}",
        }

    def line(self) -> str:
        return json.dumps(self.content())


def read_line(line: str) -> SignedWord:
    try:
        return read_word(json.loads(line))
    except (ValueError, RecursionError):
        raise AttestationMalformed(f"The line is no JSON. {_WANTED}") from None


def read_word(content: object) -> SignedWord:
    if not isinstance(content, dict):
        raise AttestationMalformed(f"This is no JSON object. {_WANTED}")
    for name, shape in SHAPES.items():
        text = content.get(name)
        if not isinstance(text, str) or not re.fullmatch(shape, text):
            raise AttestationMalformed(
                f"The word's {name} is missing or not understood.", path=name
            )
    attested = Attested(
        int(content["originChainId"]),
        int(content["destinationChainId"]),
        bytes.fromhex(content["registry"][2:]),
        int(content["block"]),
        bytes.fromhex(content["blockHash"][2:]),
    )
    return SignedWord(attested, bytes.fromhex(content["signature"][2:]))


_WANTED = f"A word has {', '.join(SHAPES)}."


def registry_of(routes: Routes, source: int, destination: int) -> Registry:
    registry = routes.registries.get((source, destination))
    if registry is None or registry.kind is not RegistryKind.ATTESTED:
        raise AttestationUntrusted(
            f"The routes here have no attested registry of chain {source} on chain {destination}."
        )
    return registry


def take(routes: Routes, word: SignedWord, *, wanted_alone: bool = False) -> str:
    """Keep the word; who gave it.

    `wanted_alone`: only where a query waits for it, so that whoever may send words cannot fill the
    database with them.
    """
    told = word.attested
    registry = registry_of(routes, told.source, told.destination)
    signer = _signer(registry, word)
    if wanted_alone and told.block not in spoken_by(signer, registry, told.block):
        _refuse_unwanted(registry, told.block)
    kept, is_new = Attestation.objects.get_or_create(
        source=registry.source,
        destination=registry.destination,
        registry=registry.address,
        block=told.block,
        signer=signer,
        defaults={
            "block_hash": told.block_hash.hex(),
            "signature": word.signature.hex(),
            "received": shared_now(),
        },
    )
    if kept.block_hash != told.block_hash.hex():
        raise AttestationContradicted(
            f"{signer} has said another hash of block {told.block:,} before; the first one stays.",
            path="blockHash",
        )
    if is_new:
        _waiting(registry).filter(block__lte=told.block, look_again__gt=shared_now()).update(
            look_again=shared_now()
        )
    return signer


def wanted(registry: Registry) -> QuerySet[BlockJob, int]:
    """The blocks to speak of, the newest first: from it headers lead back to others.

    They are those that queries wait for; but the next one where a query names its block by a time,
    because that it was the last one then is shown by the header after it.
    """
    waiting = Query.objects.filter(job=OuterRef("pk"), ended=False)
    by_time = Exists(waiting.filter(timestamp__isnull=False))
    needed = F("block") + Case(When(by_time, then=1), default=0)
    rows = _waiting(registry).filter(Exists(waiting)).annotate(needed=needed)
    return rows.order_by("-needed").values_list("needed", flat=True).distinct()


def spoken_by(signer: str, registry: Registry, *among: int) -> set[int]:
    """The blocks of which this signer has spoken, of all or of these."""
    spoken = Attestation.objects.filter(
        source=registry.source,
        destination=registry.destination,
        registry=registry.address,
        signer=signer,
    )
    if among:
        spoken = spoken.filter(block__in=among)
    return set(spoken.values_list("block", flat=True))


def _signer(registry: Registry, word: SignedWord) -> str:
    if word.attested.registry != bytes.fromhex(registry.address[2:]):
        raise AttestationUntrusted(
            "The word is for another registry than the one in the routes here.", path="registry"
        )
    signer = signer_of(word.attested.digest, word.signature)
    if signer is None or signer not in registry.signers:
        raise AttestationUntrusted(
            "The signature is of none of the registry's signers.", path="signature"
        )
    return signer


def _refuse_unwanted(registry: Registry, block: int) -> None:
    head = Head.objects.filter(chain=registry.source).first()
    if head is None or block > head.number:
        seen = f"the last one seen there is {head.number:,}" if head else "none was seen yet"
        raise BlockBeyondHead(
            f"Block {block:,} is no block of chain {registry.source} yet: {seen}.", path="block"
        )
    lowest = block - registry.longest_range
    if not wanted(registry).filter(Q(needed__lte=block, needed__gte=lowest)).exists():
        raise AttestationUnwanted(
            f"No query waits for a block that block {block:,} leads back to.", path="block"
        )


def _waiting(registry: Registry) -> QuerySet[BlockJob]:
    return BlockJob.objects.filter(source=registry.source, destination=registry.destination)
