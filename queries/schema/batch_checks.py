"""A parsed body → a valid batch query, or a refusal that names the first fault.

The models in `bodies` have checked the form of each value. Here the batch is compared with this
server's limits, chains and routes, and spellings of one account are joined.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from accounts.shared.errors import Refusal
from accounts.shared.wording import counted, listed, quoted
from queries.config.routes import Routes
from queries.proving.witnesses import AccountField
from queries.refusals import (
    ACCOUNT_MALFORMED,
    CHAIN_UNSUPPORTED,
    DUPLICATE_KEY,
    NOTHING_ASKED,
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
    BatchRequest,
    BatchWarning,
    BlockRequest,
    EnsName,
    Selector,
    is_ens_name,
)
from queries.schema.bodies import read_body, slot_word
from queries.schema.paths import WHOLE_BODY, Place

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
# Meant as a number, but not plain decimal: with a sign, a space, a leading zero, or in hex.
_LIKE_A_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[\d\s+._,-]*")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most that one batch may have."""

    blocks: int
    accounts: int  # over all blocks
    slots: int  # over all accounts
    webhook_headers: int
    webhook_header_bytes: int  # names and values together
    body_bytes: int


_MOST_NAMED = 5
_SELECTOR = re.compile(r"(block|timestamp):(0|[1-9][0-9]{0,19})")
_MOST_SELECTED = 2**64 - 1
# In the year 2286. A larger number is a time in milliseconds or smaller units, for which a batch
# would wait.
_LATEST_TIME = 10**10 - 1
_PARTS_OF_A_SECOND = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_ADDRESS = re.compile(bodies.ADDRESS)
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")


@dataclass(slots=True)
class _SoFar:
    """What was read of a batch up to now."""

    routes: Routes
    limits: BatchLimits
    blocks: int = 0
    accounts: int = 0
    slots: int = 0
    warnings: list[BatchWarning] = field(default_factory=list)

    def check_limits(self, place: Place) -> None:
        limits = self.limits
        for count, most, what, code in (
            (self.blocks, limits.blocks, "block", TOO_MANY_BLOCKS),
            (self.accounts, limits.accounts, "account", TOO_MANY_ACCOUNTS),
            (self.slots, limits.slots, "slot", TOO_MANY_SLOTS),
        ):
            if count > most:
                raise place.refusal(
                    code,
                    f"A batch may ask for at most {counted(most, what)} in all here. Split it into "
                    "several batches.",
                )

    def warn(self, sentence: str, place: Place) -> None:
        self.warnings.append(BatchWarning(sentence, place.path))


def read_batch(
    content: object, routes: Routes, limits: BatchLimits, *, needs_fee: bool = True
) -> BatchRequest:
    """Read a batch query as specified; nothing of a batch that has a fault is kept."""
    body = read_body(bodies.BatchRequest if needs_fee else bodies.EstimateRequest, content)
    so_far = _SoFar(routes, limits)
    if isinstance(content, dict):
        _warn_of_unknown(content, so_far)
    place = WHOLE_BODY.inside("destinationChainId")
    destination = read_chain(body.destinationChainId, place, routes)
    blocks = _read_data(body.data, destination, so_far)
    if body.webhook:
        _check_webhook(body.webhook, limits)
    return BatchRequest(destination, body.fee, blocks, body.webhook, tuple(so_far.warnings))


def _warn_of_unknown(content: Mapping[str, object], so_far: _SoFar) -> None:
    """One warning for all of them, because there may be any number."""
    unknown = [name for name in content if name not in bodies.BatchRequest.model_fields]
    if unknown:
        named = [quoted(name) for name in unknown[:_MOST_NAMED]]
        if len(unknown) > _MOST_NAMED:
            named.append(f"{len(unknown) - _MOST_NAMED:,} more")
        so_far.warn(f"Fields that are not known here were ignored: {listed(named)}.", WHOLE_BODY)


def _read_data(data: bodies.Blocks, destination: int, so_far: _SoFar) -> tuple[BlockRequest, ...]:
    place = WHOLE_BODY.inside("data")
    _check_something(data, place, "one source chain")
    spelled: dict[int, str] = {}
    blocks: list[BlockRequest] = []
    for key, entry in data.items():
        here = place.inside(key)
        source = read_chain(key, here, so_far.routes)
        if source in spelled:
            raise place.refusal(
                DUPLICATE_KEY,
                f"data names chain {source} twice: as {quoted(spelled[source])} and as "
                f"{quoted(key)}. Keep one of them, with the blocks of both.",
            )
        spelled[source] = key
        check_route(source, destination, here, so_far.routes)
        _check_something(entry, here, 'one block, such as "block:5186021"')
        blocks += [
            replace(_read_block(selector, block, here.inside(selector), source, so_far), chain=key)
            for selector, block in entry.items()
        ]
    return tuple(blocks)


def _check_something(asked: object, place: Place, what: str) -> None:
    if not asked:
        raise place.refusal(NOTHING_ASKED, f"{place} asks for nothing. Name at least {what}.")


def _read_block(
    key: str, block: bodies.Block, place: Place, source: int, so_far: _SoFar
) -> BlockRequest:
    so_far.blocks += 1
    so_far.check_limits(place)
    selector = _read_selector(key, place)
    _check_something(
        block.header or block.accounts, place, "one of its accounts or one field of its header"
    )
    fields = tuple(dict.fromkeys(block.header))
    accounts = _read_accounts(block.accounts, place.inside("accounts"), source, so_far)
    return BlockRequest(source, selector, fields, accounts, place.path)


def _read_selector(key: str, place: Place) -> Selector:
    match = _SELECTOR.fullmatch(key)
    if not match or int(match[2]) > _MOST_SELECTED:
        raise place.refusal(
            SELECTOR_MALFORMED,
            f"{place} names no block. Use block:5186021 for a number, or timestamp:1703799420 "
            "for a time in Unix seconds. The number is decimal, below 2^64, without sign, "
            "spaces or leading zeros.",
        )
    selector = Selector(int(match[2]), is_time=match[1] == "timestamp")
    if selector.is_time and selector.number > _LATEST_TIME:
        wrong = _no_time_in_seconds(selector.number)
        raise place.refusal(SELECTOR_MALFORMED, f"{place} {wrong}")
    return selector


def _no_time_in_seconds(number: int) -> str:
    for parts, of_a_second in _PARTS_OF_A_SECOND.items():
        seconds = number // of_a_second
        if seconds <= _LATEST_TIME:
            return (
                f"looks like a time in {parts}. In seconds it is {Selector(seconds, is_time=True)}."
            )
    return f"is no time in Unix seconds, which are at most {_LATEST_TIME}."


def _read_accounts(
    accounts: Mapping[str, bodies.Account], place: Place, source: int, so_far: _SoFar
) -> tuple[AccountRequest, ...]:
    """Each once, in the order in which it is first named: two spellings may be one account."""
    asked: dict[Address | EnsName, tuple[dict[AccountField, None], dict[bytes, None]]] = {}
    spellings: dict[Address | EnsName, dict[str, list[str]]] = {}
    named_again: dict[Address | EnsName, Place] = {}
    for key, entry in accounts.items():
        here = place.inside(key)
        account = _read_account_key(key, here, source, so_far.routes)
        _check_something(
            entry.props or entry.slots,
            here,
            f"one of its props ({listed(AccountField.__members__)}) or one of its slots",
        )
        if account in asked:
            named_again[account] = here
        else:
            so_far.accounts += 1
            _warn_of_capitals(account, key, here, so_far)
        props, slots = asked.setdefault(account, ({}, {}))
        props.update(dict.fromkeys(entry.props))
        so_far.check_limits(here)
        spellings.setdefault(account, {})[key] = entry.slots
        for number, slot in enumerate(map(slot_word, entry.slots)):
            if slot not in slots:
                slots[slot] = None
                so_far.slots += 1
                if so_far.slots > so_far.limits.slots:
                    so_far.check_limits(here.inside("slots").inside(number))
        replace(so_far, slots=len(entry.slots)).check_limits(here.inside("slots"))
    # Repetitions do not count, but they do not make a list longer than a batch either.
    replace(so_far, accounts=len(accounts)).check_limits(place)
    for account, here in named_again.items():
        so_far.warn(
            f"{_well_spelled(account)} appears more than once in this block, in different case. "
            "The requests are merged.",
            here,
        )
    return tuple(
        AccountRequest(account, tuple(props), tuple(slots), spellings[account])
        for account, (props, slots) in asked.items()
    )


def _read_account_key(key: str, place: Place, source: int, routes: Routes) -> Address | EnsName:
    if "." in key:
        return _read_name(key, place, source, routes)
    if not _ADDRESS.fullmatch(key):
        raise _account_malformed(key, place, _what_an_address_is(key))
    return Address(bytes.fromhex(key[2:]))


def _warn_of_capitals(account: Address | EnsName, key: str, place: Place, so_far: _SoFar) -> None:
    """One letter case carries no checksum; mixed case with a wrong one hints at a wrong digit."""
    digits = key.removeprefix("0x")
    if digits not in (digits.lower(), digits.upper()) and key != _well_spelled(account):
        so_far.warn(
            f"{key} is accepted, but its EIP-55 checksum is wrong; a digit may be too. "
            f"This address is spelled {_well_spelled(account)}.",
            place,
        )


def _well_spelled(account: Address | EnsName) -> str:
    return account.checksummed if isinstance(account, Address) else account.name


def _read_name(key: str, place: Place, source: int, routes: Routes) -> EnsName:
    if not routes.chains[source].ens_registry:
        why = f"no names are looked up on chain {source} here. Give the address"
        raise _account_malformed(key, place, why)
    if not is_ens_name(key):
        why = (
            "a name may have a-z, 0-9, dots and hyphens only, 1 to 63 characters between dots "
            "and 255 in all, and no double hyphen as third and fourth character of a part. For "
            "any other name give the address"
        )
        raise _account_malformed(key, place, why)
    return EnsName(key)


def _what_an_address_is(key: str) -> str:
    digits = key.removeprefix("0x")
    if digits != key and _HEX_DIGITS.fullmatch(digits):
        return f"an address has 40 hex digits after 0x, and this has {len(digits):,}"
    return "an address is 0x and 40 hex digits"


def _account_malformed(key: str, place: Place, why: str) -> Refusal:
    # Clients compare the beginning.
    said = f"Invalid account address or ENS name {quoted(key)} in {place.holder}: {why}."
    return place.refusal(ACCOUNT_MALFORMED, said)


def _check_webhook(webhook: bodies.Webhook, limits: BatchLimits) -> None:
    place = WHOLE_BODY.inside("webhook").inside("headers")
    if len(webhook.headers) > limits.webhook_headers:
        raise place.refusal(
            TOO_MANY_WEBHOOK_HEADERS,
            f"A webhook may have at most {counted(limits.webhook_headers, 'header')} here.",
        )
    if sum(map(len, (*webhook.headers, *webhook.headers.values()))) > limits.webhook_header_bytes:
        raise place.refusal(
            WEBHOOK_HEADERS_TOO_LARGE,
            f"A webhook's headers may have at most {limits.webhook_header_bytes:,} bytes here, "
            "names and values together.",
        )


# Chains and routes


def read_chain(text: str, place: Place, routes: Routes) -> int:
    """Find the chain of an id or alias."""
    for chain in routes.chains.values():
        if text == str(chain.id) or text in chain.aliases:
            return chain.id
    if _LIKE_A_NUMBER.fullmatch(text) and not _DECIMAL.fullmatch(text):
        raise place.refusal(
            NUMBER_MALFORMED,
            f"{place}: {quoted(text)} must be a chain id in decimal, without sign, spaces or "
            "leading zeros.",
        )
    chains = [
        f"{each.id} ({', '.join(dict.fromkeys([each.name, *each.aliases]))})"
        for each in sorted(routes.chains.values(), key=lambda each: each.id)
    ]
    there = f"Configured: {listed(chains)}" if chains else "No chain is"
    registries = [
        f"chain {each.source} to chain {each.destination} ({each.kind}) at {each.address}"
        for each in routes.registries.values()
    ]
    raise Refusal(
        CHAIN_UNSUPPORTED,
        f"{place}: no chain {quoted(text)} is configured here. {there}.",
        path=place.path,
        detail=f"The registries here: {'; '.join(registries)}." if registries else "",
    )


def check_route(source: int, destination: int, place: Place, routes: Routes) -> None:
    """Refuse a source whose facts this server cannot bring to the destination."""
    if (source, destination) in routes.registries:
        return
    reached = sorted(to for of, to in routes.registries if of == source)
    there = f"only on {listed(reached)}" if reached else "nor on any other"
    raise place.refusal(
        ROUTE_UNSUPPORTED,
        f"{place}: this server does not prove facts of chain {source} on chain {destination}, "
        f"{there}.",
    )
