"""A parsed body → a valid batch query, or a refusal that names the first fault."""

import re

from accounts.errors import Refusal
from queries.errors import (
    DUPLICATE_KEY,
    FEE_MALFORMED,
    NOTHING_ASKED,
    SELECTOR_MALFORMED,
    UNKNOWN_HEADER_FIELD,
)
from queries.proving.header_fields import HeaderField

from .account_schema import read_accounts
from .batch_request import BatchRequest, BlockNumber, BlockRequest, BlockTimestamp
from .batch_rules import BatchRules, BatchSoFar
from .chain_names import check_route, read_chain
from .json_kinds import optional, read_list, read_object, read_text, refuse_unknown, required
from .places import WHOLE_BODY, Place
from .webhook_schema import read_webhook
from .wording import listed, quoted

_FIELDS = ("destinationChainId", "fee", "data", "webhook")
_BLOCK_FIELDS = ("header", "accounts")
_MOST_NAMED = 5
_WEI = re.compile(r"0|[1-9][0-9]{0,77}")
_MOST_WEI = 2**256 - 1
_SELECTOR = re.compile(r"(block|timestamp):(0|[1-9][0-9]{0,19})")
_MOST_SELECTED = 2**64 - 1
# In the year 2286. Programs that count smaller parts of a second tell numbers far above it, and
# such a time would otherwise be waited for.
_LATEST_TIME = 10**10 - 1
_PARTS_OF_A_SECOND = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


def read_batch(content: object, rules: BatchRules) -> BatchRequest:
    """Read a batch query as specified; nothing of a batch that has a fault is kept."""
    members = read_object(content, WHOLE_BODY)
    so_far = BatchSoFar(rules)
    _warn_of_unknown(members, so_far)
    destination = _read_destination(members, rules)
    fee = _read_fee(members)
    blocks = _read_data(members, destination, so_far)
    webhook = optional(members, "webhook", WHOLE_BODY)
    return BatchRequest(
        destination,
        fee,
        blocks,
        None
        if webhook is None
        else read_webhook(webhook, WHOLE_BODY.inside("webhook"), rules.limits),
        tuple(so_far.warnings),
    )


def _warn_of_unknown(members: dict[str, object], so_far: BatchSoFar) -> None:
    """One warning for all of them, because there may be any number."""
    unknown = [name for name in members if name not in _FIELDS]
    if unknown:
        named = [quoted(name) for name in unknown[:_MOST_NAMED]]
        if len(unknown) > _MOST_NAMED:
            named.append(f"{len(unknown) - _MOST_NAMED:,} more")
        so_far.warn(f"Fields that are not known here were ignored: {listed(named)}.", WHOLE_BODY)


def _read_destination(members: dict[str, object], rules: BatchRules) -> int:
    place = WHOLE_BODY.inside("destinationChainId")
    meaning = "the id of the chain on which the facts are to be read"
    value = required(members, "destinationChainId", WHOLE_BODY, meaning)
    return read_chain(read_text(value, place, "11155111"), place, rules)


def _read_fee(members: dict[str, object]) -> int:
    place = WHOLE_BODY.inside("fee")
    meaning = 'the most that may be spent on the batch, in wei; "0" where proving is free'
    text = read_text(required(members, "fee", WHOLE_BODY, meaning), place, "0")
    if not _WEI.fullmatch(text) or int(text) > _MOST_WEI:
        raise Refusal(
            FEE_MALFORMED,
            f"fee is {quoted(text)}, but it is an amount in wei: a whole number below 2^256 in "
            "decimal, without sign, spaces and leading zeros.",
            path=place.path,
        )
    return int(text)


def _read_data(
    members: dict[str, object], destination: int, so_far: BatchSoFar
) -> tuple[BlockRequest, ...]:
    place = WHOLE_BODY.inside("data")
    value = required(members, "data", WHOLE_BODY, "what to prove, by source chain and block")
    spelled: dict[int, str] = {}
    blocks: list[BlockRequest] = []
    for key, entry in _something(value, place, "one source chain").items():
        here = place.inside(key)
        source = read_chain(key, here, so_far.rules)
        if source in spelled:
            raise Refusal(
                DUPLICATE_KEY,
                f"data names chain {source} twice: as {quoted(spelled[source])} and as "
                f"{quoted(key)}. Keep one of them, with the blocks of both.",
                path=place.path,
            )
        spelled[source] = key
        check_route(source, destination, here, so_far.rules)
        blocks += [
            _read_block(selector, block, here.inside(selector), source, so_far)
            for selector, block in _something(
                entry, here, 'one block, such as "block:5186021"'
            ).items()
        ]
    return tuple(blocks)


def _something(value: object, place: Place, what: str) -> dict[str, object]:
    members = read_object(value, place)
    if not members:
        raise Refusal(
            NOTHING_ASKED, f"{place} asks for nothing. Name at least {what}.", path=place.path
        )
    return members


def _read_block(
    key: str, value: object, place: Place, source: int, so_far: BatchSoFar
) -> BlockRequest:
    so_far.count_block(place)
    selector = _read_selector(key, place)
    block = read_object(value, place)
    refuse_unknown(block, _BLOCK_FIELDS, place)
    header = optional(block, "header", place)
    accounts = optional(block, "accounts", place)
    request = BlockRequest(
        source,
        selector,
        () if header is None else _read_header_fields(header, place.inside("header")),
        ()
        if accounts is None
        else read_accounts(accounts, place.inside("accounts"), source, so_far),
        place.path,
    )
    if not request.header_fields and not request.accounts:
        raise Refusal(
            NOTHING_ASKED,
            f"{place} asks for nothing. Name at least one of its accounts or one field of its "
            "header.",
            path=place.path,
        )
    return request


def _read_selector(key: str, place: Place) -> BlockNumber | BlockTimestamp:
    match = _SELECTOR.fullmatch(key)
    if not match or int(match[2]) > _MOST_SELECTED:
        raise Refusal(
            SELECTOR_MALFORMED,
            f"{place} names no block. A block is named by its number (block:5186021), or by a time "
            "in Unix seconds (timestamp:1703799420): below 2^64, in decimal, without sign, spaces "
            "and leading zeros.",
            path=place.path,
        )
    kind, number = match[1], int(match[2])
    if kind == "block":
        return BlockNumber(number)
    if number > _LATEST_TIME:
        raise Refusal(SELECTOR_MALFORMED, f"{place} {_no_time_in_seconds(number)}", path=place.path)
    return BlockTimestamp(number)


def _no_time_in_seconds(number: int) -> str:
    for parts, of_a_second in _PARTS_OF_A_SECOND.items():
        seconds = number // of_a_second
        if seconds <= _LATEST_TIME:
            return f"looks like a time in {parts}. In seconds it is {BlockTimestamp(seconds)}."
    return f"is no time in Unix seconds, which are at most {_LATEST_TIME}."


def _read_header_fields(value: object, place: Place) -> tuple[HeaderField, ...]:
    fields: dict[HeaderField, None] = {}
    for position, each in enumerate(read_list(value, place)):
        here = place.inside(position)
        name = read_text(each, here, HeaderField.PARENT_HASH.name)
        if name not in HeaderField.__members__:
            raise Refusal(
                UNKNOWN_HEADER_FIELD,
                f"{here} is {quoted(name)}, but a header's fields are "
                f"{listed(HeaderField.__members__)}.",
                path=here.path,
            )
        fields[HeaderField[name]] = None
    return tuple(fields)
