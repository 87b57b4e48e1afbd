"""A batch query as it was asked for: valid, and apart from the chain's state, answerable."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queries.proving.witnesses import AccountField

from .addresses import Address, EnsName
from .bodies import Webhook


@dataclass(frozen=True, slots=True)
class BlockNumber:
    """The block of this number."""

    number: int

    def __str__(self) -> str:
        return f"block:{self.number}"


@dataclass(frozen=True, slots=True)
class BlockTimestamp:
    """The last block at or before this time, in Unix seconds."""

    seconds: int

    def __str__(self) -> str:
        return f"timestamp:{self.seconds}"


def selector_of(block: int | None, timestamp: int | None) -> str:
    """The selector that names a query's block; empty without either."""
    if timestamp is not None:
        return str(BlockTimestamp(timestamp))
    return "" if block is None else str(BlockNumber(block))


@dataclass(frozen=True, slots=True)
class AccountRequest:
    """What is asked of one account: at least one property or slot."""

    account: Address | EnsName
    props: tuple[AccountField, ...]
    slots: tuple[bytes, ...]  # 32 bytes each
    # By the account's keys in the request, the slots as they are spelled there.
    spellings: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """What is asked of one block: at least one field of its header, or one account."""

    source: int
    selector: BlockNumber | BlockTimestamp
    header_fields: tuple[str, ...]  # their names
    accounts: tuple[AccountRequest, ...]
    path: str = field(default="", compare=False)  # where it stands in the request
    chain: str = field(default="", compare=False)  # the source's key in the request


@dataclass(frozen=True, slots=True)
class BatchWarning:
    """What was taken although it is probably a mistake."""

    sentence: str
    path: str


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Blocks, accounts, fields and slots stand in the order of the request, each once."""

    destination: int
    fee: int  # wei
    blocks: tuple[BlockRequest, ...]
    webhook: Webhook | None
    warnings: tuple[BatchWarning, ...]


def canonical(request: BatchRequest) -> bytes:
    """The same bytes for every request that asks for the same, however it is spelled or ordered.

    It is itself a body that can be submitted.
    """
    data: dict[str, dict[str, object]] = {}
    for block in request.blocks:
        data.setdefault(str(block.source), {})[str(block.selector)] = {
            "header": sorted(block.header_fields),
            "accounts": {str(each.account): _asked(each) for each in block.accounts},
        }
    content: dict[str, object] = {
        "destinationChainId": str(request.destination),
        "fee": str(request.fee),
        "data": data,
    }
    if request.webhook:
        headers = {name.lower(): value for name, value in request.webhook.headers.items()}
        content["webhook"] = {"url": request.webhook.url, "headers": headers}
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _asked(account: AccountRequest) -> dict[str, list[str]]:
    return {
        "props": [prop.name for prop in sorted(account.props)],
        "slots": [f"0x{slot.hex()}" for slot in sorted(account.slots)],
    }
