"""Any chain on any other, by the signatures of signers whom the deployer names."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, StrictInt

from queries.chain import ChainClient
from queries.config.chains import Chain
from queries.config.limits import Limits
from queries.config.networks import Network
from queries.config.routes_file import ContractAddress, Time
from queries.sources.hashes import HashNotKnown, Preparation, SourceHashes
from queries.sources.registry import (
    HORIZON_ARGUMENT,
    REPLACE_ADVICE,
    SOURCE_ARGUMENT,
    Argument,
    Expectation,
    Refuse,
    Registry,
    RegistryKind,
    SetupError,
    format_time,
)
from queries.statuses import Readiness
from queries.wait_reasons import Reason, WaitCode

VALID_UNTIL = 1_830_297_600  # 2028-01-01: the default end
DELEGATION_PREFIX = bytes.fromhex("ef0100")  # an EOA with a contract's code (EIP-7702) can sign


@dataclass(frozen=True, kw_only=True)
class AttestedRegistry(Registry):
    kind = RegistryKind.ATTESTED
    arguments = (
        HORIZON_ARGUMENT,
        SOURCE_ARGUMENT,
        Argument("signers", "address[]", "signers()"),
        Argument("threshold", "uint256", "threshold()"),
        Argument("valid_until", "uint256", "validUntil()"),
    )
    hash_view = "attested(uint256)"
    details = "registries/attested.html"
    block_work = ("attest", "header")
    trusted = "signers of your choice"
    reach_remark = "once its signers have signed"

    # Who signs for block hashes, how many must agree, and until when (Unix seconds).
    signers: Annotated[
        tuple[ContractAddress, ...], Field(min_length=1, description="a list of addresses")
    ]
    threshold: Annotated[StrictInt, Field(description="a whole number")]
    valid_until: Time = VALID_UNTIL

    @classmethod
    def connects(cls, source: Network, destination: Network) -> bool:
        return source != destination

    @classmethod
    def for_networks(cls, source: Network, destination: Network, **options: Any) -> Self:
        signers, threshold = options["signers"], options["threshold"]
        return cls(source.chain, destination.chain, signers=signers, threshold=threshold)

    def checked(self, chains: Mapping[int, Chain], refuse: Refuse) -> Self:
        count = len(self.signers)
        if len(set(self.signers)) < count:
            refuse("signers", "an address is listed twice")
        if not 1 <= self.threshold <= count:
            refuse("threshold", f"it must be a whole number from 1 to {count}")
        return self

    def own_lines(self, *, with_defaults: bool) -> Iterator[str]:
        signers = ", ".join(f'"{signer}"' for signer in self.signers)
        yield f"signers = [{signers}]"
        yield f"threshold = {self.threshold}"
        yield f"valid_until = {format_time(self.valid_until)}"

    def check_deployable(self, source: Chain, destination: ChainClient) -> None:
        if self.valid_until <= time.time():
            raise SetupError("`valid_until` is past: the registry would accept no attestation.")
        for signer in self.signers:
            code = destination.code(signer)
            if code and not code.startswith(DELEGATION_PREFIX):
                raise SetupError(
                    f"The signer {signer} is a contract on {destination.chain.name}, and cannot "
                    "sign."
                )

    def check_setup(self, source: ChainClient, destination: ChainClient) -> str:
        valid_until = format_time(self.valid_until)
        if self.valid_until <= time.time():
            raise SetupError(f"It has taken no attestations since {valid_until}. {REPLACE_ADVICE}")
        return f"takes attestations by {self._quorum} until {valid_until}"

    def remarks(self) -> Iterator[str]:
        until = format_time(self.valid_until)
        yield f"Its signers can attest until {until}: each runs tacitus attest."

    def expectation(self, age: int | None) -> Expectation:
        sentence = (
            f"The registry needs {self._quorum}. Signers sign what batches wait for; how soon is "
            "not known here."
        )
        return Expectation(Readiness.NOT_KNOWN, Reason(WaitCode.NOT_ATTESTED, sentence))

    def max_wait(self, limits: Limits) -> float:
        """The signers may be gone."""
        return limits.attestation_max_age

    @property
    def _quorum(self) -> str:
        return f"{self.threshold} of {len(self.signers)} signers"

    @property
    def trust(self) -> str:
        return self._quorum if len(self.signers) > 1 else "one signer"

    def trust_sentence(self, source: str, destination: str) -> str:
        if len(self.signers) == 1:
            return "One signer: the registry accepts any block hash that it signs."
        return (
            f"{self._quorum}: the registry accepts a block hash that this many have signed. Fewer "
            "cannot forge one."
        )

    def reach_sentence(self, source: str) -> str:
        return "The contract knows blocks that the signers have signed for."

    @property
    def assumption(self) -> str:
        return f"that these must sign: {self.threshold} of {', '.join(self.signers)}"

    def hash_origin(self, age: int) -> tuple[str, str]:
        return f"signed by {self._quorum}", "The registry has checked their signatures."

    def publish_hint(self, reason: Reason, block: int, source_hint: str) -> str:
        return (
            f"The registry knows no hash of block {block:,} of chain {self.source}, or of one just "
            "above it. Have enough of its signers attest that block, and run this again."
        )


class AttestedHashes(SourceHashes[AttestedRegistry]):
    def preparation(self, blocks: range) -> Preparation | None:
        return self.known_blocks.attestation(blocks)

    def not_known(self) -> HashNotKnown:
        return HashNotKnown(WaitCode.NOT_ATTESTED.reason)
