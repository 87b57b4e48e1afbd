"""Signers' words on block hashes, kept until a prover brings enough of them to the registry.

A word is checked before it is kept: whose it is, and that he is one of the registry's signers. A
second, other word of one signer on one block is not taken, because the registry keeps the first.
"""

import json
import re
from dataclasses import dataclass

from queries.chain.attestation_signatures import signer_of
from queries.models import Attestation, BlockJob
from queries.pipeline.clock import shared_now
from queries.proving.attestations import Attested
from queries.routes import Registry, RegistryKind, Routes


class AttestationRefused(Exception):  # noqa: N818
    """The word is not one that the registry would take."""


@dataclass(frozen=True, slots=True)
class SignedWord:
    """What a signer hands over, as one line of JSON."""

    attested: Attested
    signature: bytes

    def line(self) -> str:
        return json.dumps(
            {
                "originChainId": str(self.attested.source),
                "destinationChainId": str(self.attested.destination),
                "registry": f"0x{self.attested.registry.hex()}",
                "block": str(self.attested.block),
                "blockHash": f"0x{self.attested.block_hash.hex()}",
                "signature": f"0x{self.signature.hex()}",
            }
        )


def read_line(line: str) -> SignedWord:
    try:
        told = json.loads(line)
        texts = {name: told[name] for name in SHAPES}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise AttestationRefused(
            f"A word is a JSON object with {', '.join(SHAPES)}; this is none."
        ) from None
    for name, shape in SHAPES.items():
        if not isinstance(texts[name], str) or not re.fullmatch(shape, texts[name]):
            raise AttestationRefused(f"The word's {name} is not understood.")
    attested = Attested(
        int(texts["originChainId"]),
        int(texts["destinationChainId"]),
        bytes.fromhex(texts["registry"][2:]),
        int(texts["block"]),
        bytes.fromhex(texts["blockHash"][2:]),
    )
    return SignedWord(attested, bytes.fromhex(texts["signature"][2:]))


NUMBER, HEX = "[1-9][0-9]{0,17}|0", "0x[0-9a-fA-F]"
SHAPES = {
    "originChainId": NUMBER,
    "destinationChainId": NUMBER,
    "registry": HEX + "{40}",
    "block": NUMBER,
    "blockHash": HEX + "{64}",
    "signature": HEX + "{130}",
}


def registry_of(routes: Routes, source: int, destination: int) -> Registry:
    registry = routes.registries.get((source, destination))
    if registry is None or registry.kind is not RegistryKind.ATTESTED:
        raise AttestationRefused(
            f"ROUTES_FILE has no attested registry of chain {source} on chain {destination}."
        )
    return registry


def take(routes: Routes, word: SignedWord) -> str:
    """Keep the word; who gave it."""
    told = word.attested
    registry = registry_of(routes, told.source, told.destination)
    if told.registry != bytes.fromhex(registry.address[2:]):
        raise AttestationRefused("The word is for another registry than the one in ROUTES_FILE.")
    signer = signer_of(told.digest, word.signature)
    if signer is None or signer not in registry.signers:
        raise AttestationRefused("The signature is of none of the registry's signers.")
    kept, _ = Attestation.objects.get_or_create(
        source=told.source,
        destination=told.destination,
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
        raise AttestationRefused(
            f"{signer} has said another hash of block {told.block:,} before; the first one stays."
        )
    waiting = BlockJob.objects.filter(source=told.source, destination=told.destination)
    waiting.filter(block__lte=told.block, look_again__gt=shared_now()).update(
        look_again=shared_now()
    )
    return signer


def wanted(registry: Registry) -> list[int]:
    """Blocks that queries wait for and that nobody of the registry's signers speaks of yet."""
    jobs = BlockJob.objects.filter(
        source=registry.source, destination=registry.destination, queries__ended=False
    )
    return sorted(set(jobs.values_list("block", flat=True)))
