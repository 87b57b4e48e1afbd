"""Turn a parsed body into a valid batch request, or refuse its first fault.

The models in `bodies` check the form of each value. Here the batch is checked against this
server's limits, chains and routes, and spellings of one account are merged.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from accounts.shared.errors import RefusalError
from accounts.shared.wording import format_count, join_names, quote_text
from queries.config.routes import Routes
from queries.proving.witnesses import AccountField
from queries.refusals import (
    ACCOUNT_MALFORMED,
    CHAIN_UNSUPPORTED,
    DUPLICATE_KEY,
    EMPTY_REQUEST,
    NUMBER_MALFORMED,
    ROUTE_UNSUPPORTED,
    SELECTOR_MALFORMED,
    TOO_MANY_ACCOUNTS,
    TOO_MANY_BLOCKS,
    TOO_MANY_SLOTS,
    TOO_MANY_WEBHOOK_HEADERS,
    WEBHOOK_HEADERS_TOO_LARGE,
)
from queries.schema import bodies
from queries.schema.batch_request import (
    AccountRequest,
    Address,
    BatchWarning,
    BlockRequest,
    CheckedBatch,
    EnsName,
    Selector,
    is_ens_name,
)
from queries.schema.bodies import slot_word
from queries.schema.paths import WHOLE_BODY, JsonPath

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
# Looks like a number, but may have a sign, a space or a leading zero, or be in hex.
_NUMBER_LIKE = re.compile(r"0[xX][0-9a-fA-F]*|[\d\s+._,-]*")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The limits of one batch."""

    blocks: int
    accounts: int  # over all blocks
    slots: int  # over all accounts
    webhook_headers: int
    webhook_header_bytes: int  # names and values together
    body_bytes: int


_MAX_LISTED = 5
_SELECTOR = re.compile(r"(block|timestamp):(0|[1-9][0-9]{0,19})")
_MAX_SELECTED = 2**64 - 1
# In the year 2286. A larger number is a time in milliseconds or smaller units, for which a batch
# would wait.
_MAX_TIME = 10**10 - 1
_SUBSECOND_UNITS = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_ADDRESS = re.compile(bodies.ADDRESS)
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")


@dataclass(slots=True)
class _Progress:
    """The counts and warnings of the part that was read."""

    routes: Routes
    limits: BatchLimits
    blocks: int = 0
    accounts: int = 0
    slots: int = 0
    warnings: list[BatchWarning] = field(default_factory=list)

    def check_limit(self, noun: str, count: int, place: JsonPath) -> None:
        limits = self.limits
        limit, code = {
            "block": (limits.blocks, TOO_MANY_BLOCKS),
            "account": (limits.accounts, TOO_MANY_ACCOUNTS),
            "slot": (limits.slots, TOO_MANY_SLOTS),
        }[noun]
        if count > limit:
            raise place.refusal(
                code,
                f"A batch may ask for at most {format_count(limit, noun)} in all here. Split it "
                "into several batches.",
            )

    def warn(self, sentence: str, place: JsonPath) -> None:
        self.warnings.append(BatchWarning(sentence, place.path))


def read_batch(
    content: object, routes: Routes, limits: BatchLimits, *, needs_fee: bool = True
) -> CheckedBatch:
    """Check a parsed body. Raises a `RefusalError` of its first fault."""
    body = bodies.read_batch_body(content, needs_fee=needs_fee)
    progress = _Progress(routes, limits)
    if isinstance(content, dict):
        _warn_of_unknown_fields(content, progress)
    place = WHOLE_BODY.child("destinationChainId")
    destination = read_chain(body.destinationChainId, place, routes)
    blocks = _read_data(body.data, destination, progress)
    if body.webhook:
        _check_webhook(body.webhook, limits)
    return CheckedBatch(destination, body.fee, blocks, body.webhook, tuple(progress.warnings))


def _warn_of_unknown_fields(content: Mapping[str, object], progress: _Progress) -> None:
    """Warn once, because there may be any number of unknown fields."""
    unknown = [name for name in content if name not in bodies.BATCH_FIELDS]
    if unknown:
        names = [quote_text(name) for name in unknown[:_MAX_LISTED]]
        if len(unknown) > _MAX_LISTED:
            names.append(f"{len(unknown) - _MAX_LISTED:,} more")
        progress.warn(
            f"Fields that are not known here were ignored: {join_names(names)}.", WHOLE_BODY
        )


def _read_data(
    data: bodies.Blocks, destination: int, progress: _Progress
) -> tuple[BlockRequest, ...]:
    place = WHOLE_BODY.child("data")
    _check_not_empty(data, place, "one source chain")
    spelled: dict[int, str] = {}
    blocks: list[BlockRequest] = []
    for key, entry in data.items():
        entry_place = place.child(key)
        source = read_chain(key, entry_place, progress.routes)
        if source in spelled:
            raise place.refusal(
                DUPLICATE_KEY,
                f"data names chain {source} twice: as {quote_text(spelled[source])} and as "
                f"{quote_text(key)}. Keep one of them, with the blocks of both.",
            )
        spelled[source] = key
        check_route(source, destination, entry_place, progress.routes)
        _check_not_empty(entry, entry_place, 'one block, such as "block:5186021"')
        blocks += [
            replace(
                _read_block(selector, block, entry_place.child(selector), source, progress),
                chain=key,
            )
            for selector, block in entry.items()
        ]
    return tuple(blocks)


def _check_not_empty(requested: object, place: JsonPath, needed: str) -> None:
    if not requested:
        raise place.refusal(EMPTY_REQUEST, f"{place} asks for nothing. Name at least {needed}.")


def _read_block(
    key: str, block: bodies.BlockBody, place: JsonPath, source: int, progress: _Progress
) -> BlockRequest:
    progress.blocks += 1
    progress.check_limit("block", progress.blocks, place)
    selector = _read_selector(key, place)
    _check_not_empty(
        block.header or block.accounts, place, "one of its accounts or one field of its header"
    )
    fields = tuple(dict.fromkeys(block.header))
    accounts = _read_accounts(block.accounts, place.child("accounts"), source, progress)
    return BlockRequest(source, selector, fields, accounts, place.path)


def _read_selector(key: str, place: JsonPath) -> Selector:
    match = _SELECTOR.fullmatch(key)
    if not match or int(match[2]) > _MAX_SELECTED:
        raise place.refusal(
            SELECTOR_MALFORMED,
            f"{place} is not a block selector. Use block:5186021 for a number, or "
            "timestamp:1703799420 for a time in Unix seconds. The number is decimal, below 2^64, "
            "without sign, spaces or leading zeros.",
        )
    selector = Selector(int(match[2]), is_time=match[1] == "timestamp")
    if selector.is_time and selector.number > _MAX_TIME:
        problem = _time_problem(selector.number)
        raise place.refusal(SELECTOR_MALFORMED, f"{place} {problem}")
    return selector


def _time_problem(number: int) -> str:
    for unit, factor in _SUBSECOND_UNITS.items():
        seconds = number // factor
        if seconds <= _MAX_TIME:
            return (
                f"looks like a time in {unit}. In seconds it is {Selector(seconds, is_time=True)}."
            )
    return f"is not a time in Unix seconds, which are at most {_MAX_TIME}."


def _read_accounts(
    accounts: Mapping[str, bodies.AccountBody], place: JsonPath, source: int, progress: _Progress
) -> tuple[AccountRequest, ...]:
    """Merge spellings of one account, and keep the order of the request."""
    merged: dict[Address | EnsName, tuple[dict[AccountField, None], dict[bytes, None]]] = {}
    spellings: dict[Address | EnsName, dict[str, list[str]]] = {}
    repeated: dict[Address | EnsName, JsonPath] = {}
    for key, entry in accounts.items():
        entry_place = place.child(key)
        account = _read_account_key(key, entry_place, source, progress.routes)
        _check_not_empty(
            entry.props or entry.slots,
            entry_place,
            f"one of its props ({join_names(AccountField.__members__)}) or one of its slots",
        )
        if account in merged:
            repeated[account] = entry_place
        else:
            progress.accounts += 1
            progress.check_limit("account", progress.accounts, entry_place)
            _warn_of_checksum(account, key, entry_place, progress)
        props, slots = merged.setdefault(account, ({}, {}))
        props.update(dict.fromkeys(entry.props))
        spellings.setdefault(account, {})[key] = entry.slots
        slots_place = entry_place.child("slots")
        for number, slot in enumerate(map(slot_word, entry.slots)):
            if slot not in slots:
                slots[slot] = None
                progress.slots += 1
                if progress.slots > progress.limits.slots:
                    progress.check_limit("slot", progress.slots, slots_place.child(number))
        # Repetitions do not count, but a list cannot be longer than a batch.
        progress.check_limit("slot", len(entry.slots), slots_place)
    progress.check_limit("account", len(accounts), place)
    for account, entry_place in repeated.items():
        progress.warn(
            f"{_canonical(account)} appears more than once in this block, in different case. "
            "The requests are merged.",
            entry_place,
        )
    return tuple(
        AccountRequest(account, tuple(props), tuple(slots), spellings[account])
        for account, (props, slots) in merged.items()
    )


def _read_account_key(key: str, place: JsonPath, source: int, routes: Routes) -> Address | EnsName:
    if "." in key:
        return _read_name(key, place, source, routes)
    if not _ADDRESS.fullmatch(key):
        raise _account_malformed(key, place, _address_problem(key))
    return Address(bytes.fromhex(key[2:]))


def _warn_of_checksum(
    account: Address | EnsName, key: str, place: JsonPath, progress: _Progress
) -> None:
    """Warn of mixed case with a wrong checksum: a digit may be wrong too."""
    digits = key.removeprefix("0x")
    if digits not in (digits.lower(), digits.upper()) and key != _canonical(account):
        progress.warn(
            f"{key} is accepted, but its EIP-55 checksum is wrong; a digit may be too. "
            f"This address is spelled {_canonical(account)}.",
            place,
        )


def _canonical(account: Address | EnsName) -> str:
    return account.checksummed if isinstance(account, Address) else account.name


def _read_name(key: str, place: JsonPath, source: int, routes: Routes) -> EnsName:
    if not routes.chains[source].ens_registry:
        why = f"names are not resolved on chain {source} here. Give the address"
        raise _account_malformed(key, place, why)
    if not is_ens_name(key):
        why = (
            "a name may have a-z, 0-9, dots and hyphens only, 1 to 63 characters between dots "
            "and 255 in all, and no double hyphen as third and fourth character of a part. For "
            "any other name give the address"
        )
        raise _account_malformed(key, place, why)
    return EnsName(key)


def _address_problem(key: str) -> str:
    digits = key.removeprefix("0x")
    if digits != key and _HEX_DIGITS.fullmatch(digits):
        return f"an address has 40 hex digits after 0x, and this has {len(digits):,}"
    return "an address is 0x and 40 hex digits"


def _account_malformed(key: str, place: JsonPath, why: str) -> RefusalError:
    # Clients compare the beginning of the sentence.
    sentence = f"Invalid account address or ENS name {quote_text(key)} in {place.parent}: {why}."
    return place.refusal(ACCOUNT_MALFORMED, sentence)


def _check_webhook(webhook: bodies.WebhookBody, limits: BatchLimits) -> None:
    place = WHOLE_BODY.child("webhook").child("headers")
    if len(webhook.headers) > limits.webhook_headers:
        raise place.refusal(
            TOO_MANY_WEBHOOK_HEADERS,
            f"A webhook may have at most {format_count(limits.webhook_headers, 'header')} here.",
        )
    if sum(map(len, (*webhook.headers, *webhook.headers.values()))) > limits.webhook_header_bytes:
        raise place.refusal(
            WEBHOOK_HEADERS_TOO_LARGE,
            f"A webhook's headers may have at most {limits.webhook_header_bytes:,} bytes here, "
            "names and values together.",
        )


# Chains and routes


def read_chain(text: str, place: JsonPath, routes: Routes) -> int:
    """The id of the chain with this id or alias."""
    for chain in routes.chains.values():
        if text == str(chain.id) or text in chain.aliases:
            return chain.id
    if _NUMBER_LIKE.fullmatch(text) and not _DECIMAL.fullmatch(text):
        raise place.refusal(
            NUMBER_MALFORMED,
            f"{place}: {quote_text(text)} must be a chain id in decimal, without sign, spaces or "
            "leading zeros.",
        )
    chains = [
        f"{chain.id} ({', '.join(dict.fromkeys([chain.name, *chain.aliases]))})"
        for _, chain in sorted(routes.chains.items())
    ]
    configured = f"Configured: {join_names(chains)}" if chains else "No chain is"
    registries = [
        f"chain {registry.source} to chain {registry.destination} ({registry.kind}) "
        f"at {registry.address}"
        for registry in routes.registries.values()
    ]
    raise RefusalError(
        CHAIN_UNSUPPORTED,
        f"{place}: no chain {quote_text(text)} is configured here. {configured}.",
        path=place.path,
        detail=f"The registries here: {'; '.join(registries)}." if registries else "",
    )


def check_route(source: int, destination: int, place: JsonPath, routes: Routes) -> None:
    """Refuse a source whose facts this server cannot prove on the destination."""
    if (source, destination) in routes.registries:
        return
    others = sorted(target for origin, target in routes.registries if origin == source)
    where = f"only on {join_names(others)}" if others else "nor on any other"
    raise place.refusal(
        ROUTE_UNSUPPORTED,
        f"{place}: this server does not prove facts of chain {source} on chain {destination}, "
        f"{where}.",
    )
