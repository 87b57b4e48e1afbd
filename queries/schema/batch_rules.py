"""What this server takes: its limits, and the chains and routes that its operator configured."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most that one batch may have."""

    blocks: int
    accounts: int  # over all blocks
    slots: int  # over all accounts
    webhook_headers: int
    webhook_header_bytes: int  # names and values together
    body_bytes: int


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What a request is held against."""

    limits: BatchLimits
    chains: Mapping[str, int]  # what a request may call a chain: its id in decimal, its aliases
    routes: AbstractSet[tuple[int, int]]  # source, destination
    ens_chains: AbstractSet[int]
    chain_names: Mapping[int, str] = field(default_factory=dict)  # what people call them
