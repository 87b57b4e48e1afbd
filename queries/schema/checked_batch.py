"""A checked batch request: blocks, and accounts by address or by ENS name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queries.proving import AccountField
from queries.schema.bodies import WebhookBody
from queries.selectors import Selector

# A small part of what ENSIP-15 allows: names that are their own normal form. Other names (capitals,
# accents, emoji) have to be normalised by tables that change with Unicode. A mistake there would
# prove a stranger's account, so they are refused. ENSIP-15 forbids a double hyphen after two
# characters, which also excludes `xn--`: punycode stands for a different name than it spells.
_ENS_NAME = re.compile(r"(?!.{256})(?:(?![^.]{2}--)[a-z0-9-]{1,63}\.)+(?![^.]{2}--)[a-z0-9-]{1,63}")


def is_ens_name(text: str) -> bool:
    """Whether `text` is a normalised name of the kinds that are accepted here."""
    return _ENS_NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class CheckedAccount:
    """The facts to prove of an account: at least one property or slot."""

    account: str  # its checksummed address, or its ENS name
    props: tuple[AccountField, ...]
    slots: tuple[bytes, ...]  # 32 bytes each
    # By the account's keys in the request, the slots as spelled there.
    spellings: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class CheckedBlock:
    """The facts to prove of a block: at least one."""

    source: int
    selector: Selector
    header_fields: tuple[str, ...]  # their names
    accounts: tuple[CheckedAccount, ...]
    events: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # by member of the body
    path: str = field(default="", compare=False)
    chain: str = field(default="", compare=False)  # the source's key in the request


@dataclass(frozen=True, slots=True)
class CheckedCondition:
    """A view of a delivery's contract; if it returns true, nothing is delivered."""

    function: str  # as the request spells it
    args: tuple[Any, ...]  # JSON values


@dataclass(frozen=True, slots=True)
class CheckedDelivery:
    """A call of a contract once the batch is DONE; `contract_calls.read_call` encodes it."""

    to: str  # checksummed
    function: str  # as the request spells it
    args: tuple[Any, ...]  # JSON values
    gas: int | None  # None: a trial shows it
    unless: CheckedCondition | None = None
    errors: tuple[str, ...] = ()  # declarations of the contract's errors


@dataclass(frozen=True, slots=True)
class BatchWarning:
    """A part of the request that was accepted but is probably a mistake."""

    sentence: str
    path: str


@dataclass(frozen=True, slots=True)
class CheckedBatch:
    """Blocks, accounts, fields and slots in the order of the request, without repetitions."""

    destination: int
    fee: int  # wei
    blocks: tuple[CheckedBlock, ...]
    webhook: WebhookBody | None
    warnings: tuple[BatchWarning, ...]
    content: object = None  # the parsed body
    deliveries: tuple[CheckedDelivery, ...] = ()
    proves: bool = True  # otherwise nothing is stored in a registry
    named_by: tuple[str, str] | None = None  # the contract and function that name the block
