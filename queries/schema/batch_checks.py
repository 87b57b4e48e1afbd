"""Turn a parsed body into a valid batch request, or refuse its first error.

The models in `bodies` check the form of each value; here the batch is checked against limits,
chains and routes, and spellings of one account are merged.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from eth_utils.address import to_checksum_address

from accounts.http.errors import BodyCode, RefusalError
from accounts.wording import format_count, join_names, quote_text
from queries.error_codes import RequestCode
from queries.proving import AccountField
from queries.proving.facts import EVENT_MEMBERS
from queries.schema import bodies
from queries.schema.bodies import slot_word
from queries.schema.checked_batch import (
    BatchWarning,
    CheckedAccount,
    CheckedBatch,
    CheckedBlock,
    CheckedCondition,
    CheckedDelivery,
    is_ens_name,
)
from queries.schema.contract_calls import read_call
from queries.schema.paths import WHOLE_BODY, JsonPath
from queries.schema.requested_facts import RequestedFacts
from queries.selectors import EXAMPLE_SELECTOR, NAMED_BLOCK, Selector, parse_selector, time_selector
from queries.sources import Routes

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
# Looks like a number, but may have a sign, a space or a leading zero, or be in hex.
_NUMBER_LIKE = re.compile(r"0[xX][0-9a-fA-F]*|[\d\s+._,-]*")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    blocks: int
    accounts: int  # over all blocks
    slots: int  # over all accounts
    events: int  # over all blocks
    webhook_headers: int
    webhook_header_bytes: int  # names and values together
    body_bytes: int


_MAX_LISTED_FIELDS = 5
# The year 2286. A larger number is probably in milliseconds or smaller units, and the batch would
# wait for centuries.
_MAX_TIME = 10**10 - 1
_SUBSECOND_UNITS = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_ADDRESS = re.compile(bodies.ADDRESS)
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")


@dataclass(slots=True)
class _BatchChecker:
    """The limits, and the counts and warnings so far."""

    routes: Routes
    limits: BatchLimits
    counts: Counter[str] = field(default_factory=Counter)
    warnings: list[BatchWarning] = field(default_factory=list)

    def count(self, noun: str, path: JsonPath, number: int = 1) -> None:
        """Add to the count of this noun; refuse more than its limit."""
        self.counts[noun] += number
        self.check_limit(noun, self.counts[noun], path)

    def check_limit(self, noun: str, count: int, path: JsonPath) -> None:
        limits = self.limits
        limit, code = {
            "block": (limits.blocks, RequestCode.TOO_MANY_BLOCKS),
            "account": (limits.accounts, RequestCode.TOO_MANY_ACCOUNTS),
            "slot": (limits.slots, RequestCode.TOO_MANY_SLOTS),
            "event": (limits.events, RequestCode.TOO_MANY_EVENTS),
        }[noun]
        if count > limit:
            sentence = f"On this server a batch may ask for at most {format_count(limit, noun)} in"
            raise path.refusal(
                code, "", sentence=f"{sentence} total. Split it into several batches."
            )

    def warn(self, sentence: str, path: JsonPath) -> None:
        self.warnings.append(BatchWarning(sentence, path.text))


def read_batch(
    content: object, routes: Routes, limits: BatchLimits, *, needs_fee: bool = True
) -> CheckedBatch:
    """Check a parsed body. Raises `RefusalError` for the first error."""
    body = bodies.read_body(bodies.BatchRequest if needs_fee else bodies.EstimateRequest, content)
    checker = _BatchChecker(routes, limits)
    if isinstance(content, dict):
        _warn_of_unknown_fields(content, checker)
    path = WHOLE_BODY.child("destinationChainId")
    destination = read_chain(body.destinationChainId, path, routes)
    blocks = _read_data(body, destination, checker)
    _check_named_block(body, blocks)
    if body.webhook:
        _check_webhook(body.webhook, limits)
    deliveries = _read_deliveries(body.deliver, RequestedFacts(blocks, is_proven=body.prove))
    if not body.prove and not deliveries:
        raise WHOLE_BODY.child("prove").refusal(
            RequestCode.EMPTY_REQUEST,
            "is false, and the batch delivers nothing: name at least one contract in `deliver`.",
        )
    if not body.prove and any(block.events for block in blocks):
        raise WHOLE_BODY.child("prove").refusal(
            RequestCode.DELIVERY_MALFORMED,
            "is false, and the batch asks for events: they can be proven, but not only delivered.",
        )
    return CheckedBatch(
        destination=destination,
        fee=body.fee,
        blocks=blocks,
        webhook=body.webhook,
        warnings=tuple(checker.warnings),
        content=content,
        deliveries=deliveries,
        proves=body.prove,
        named_by=(body.block.from_, body.block.function) if body.block else None,
    )


def _check_named_block(body: bodies.EstimateRequest, blocks: Sequence[CheckedBlock]) -> None:
    """Refuse a selector without the contract that names its block, or the contract alone."""
    named = [block for block in blocks if block.selector.is_named]
    if body.block and not (named and len(blocks) == 1):
        raise WHOLE_BODY.child("block").refusal(
            RequestCode.SELECTOR_MALFORMED,
            f'names a contract: then `data` has one block, with the selector "{NAMED_BLOCK}".',
        )
    if named and not body.block:
        raise WHOLE_BODY.child("block").refusal(
            RequestCode.MISSING_FIELD,
            f'is missing: the contract that names the block "{NAMED_BLOCK}", such as '
            '{"from": "0x…", "function": "lastBlock()"}.',
        )


def _warn_of_unknown_fields(content: Mapping[str, object], checker: _BatchChecker) -> None:
    """Warn once, because there may be any number of unknown fields."""
    fields = [name for name in content if name not in bodies.BatchRequest.model_fields]
    if fields:
        names = [quote_text(name) for name in fields[:_MAX_LISTED_FIELDS]]
        if len(fields) > _MAX_LISTED_FIELDS:
            names.append(f"{len(fields) - _MAX_LISTED_FIELDS:,} more")
        checker.warn(
            f"Fields that are not known here were ignored: {join_names(names)}.", WHOLE_BODY
        )


def _read_data(
    body: bodies.EstimateRequest, destination: int, checker: _BatchChecker
) -> tuple[CheckedBlock, ...]:
    data, path = body.data, WHOLE_BODY.child("data")
    _check_not_empty(data, path, "one source chain")
    keys_by_chain: dict[int, str] = {}
    blocks: list[CheckedBlock] = []
    for key, entry in data.items():
        entry_path = path.child(key)
        source = read_chain(key, entry_path, checker.routes)
        if source in keys_by_chain:
            raise path.refusal(
                BodyCode.DUPLICATE_KEY,
                f"names chain {source} twice: as {quote_text(keys_by_chain[source])} and as "
                f"{quote_text(key)}. Keep one of them, with the blocks of both.",
            )
        keys_by_chain[source] = key
        if body.prove:
            check_route(source, destination, entry_path, checker.routes)
        else:
            _check_delivery(source, destination, entry_path, checker.routes)
        _check_not_empty(entry, entry_path, f'one block, such as "{EXAMPLE_SELECTOR}"')
        blocks += [
            replace(
                _read_block(selector, block, entry_path.child(selector), source, checker), chain=key
            )
            for selector, block in entry.items()
        ]
    return tuple(blocks)


def _check_not_empty(content: object, path: JsonPath, choices: str) -> None:
    if not content:
        raise path.refusal(RequestCode.EMPTY_REQUEST, f"asks for nothing. Name at least {choices}.")


def _check_delivery(source: int, destination: int, path: JsonPath, routes: Routes) -> None:
    """Refuse a source without nodes, and a destination that no route leads to: provers do not watch
    their transactions there.
    """
    if not routes.chains[source].nodes:
        raise path.refusal(
            RequestCode.ROUTE_UNSUPPORTED, "is a chain of which this server has no nodes."
        )
    destinations = sorted({target for _, target in routes.registries})
    if destination not in destinations:
        raise WHOLE_BODY.child("destinationChainId").refusal(
            RequestCode.ROUTE_UNSUPPORTED,
            f"is a chain to which this server sends nothing, only to {join_names(destinations)}.",
        )


def _read_block(
    key: str, block: bodies.BlockBody, path: JsonPath, source: int, checker: _BatchChecker
) -> CheckedBlock:
    checker.count("block", path)
    selector = _read_selector(key, path)
    items = block.model_dump(include={*EVENT_MEMBERS}, exclude_unset=True)
    events = {name: items[name] for name in EVENT_MEMBERS if items.get(name)}
    lists = ", ".join(("accounts", "header", *EVENT_MEMBERS[:-1]))
    choices = f"one entry of its {lists} or {EVENT_MEMBERS[-1]}"
    _check_not_empty(block.header or block.accounts or events, path, choices)
    for name, members in events.items():
        checker.count("event", path.child(name), len(members))
    fields = tuple(dict.fromkeys(block.header))
    accounts = _read_accounts(block.accounts, path.child("accounts"), source, checker)
    return CheckedBlock(source, selector, fields, accounts, events, path.text)


def _read_selector(key: str, path: JsonPath) -> Selector:
    if key == NAMED_BLOCK:
        return Selector(0, is_named=True)
    selector = parse_selector(key)
    if selector is None:
        raise path.refusal(
            RequestCode.SELECTOR_MALFORMED,
            f"is not a block selector. Use {EXAMPLE_SELECTOR} for a number, or "
            f"{time_selector(1703799420)} for a time in Unix seconds. The number is decimal, below "
            "2^64, without sign, spaces or leading zeros.",
        )
    if selector.is_time and selector.number > _MAX_TIME:
        raise path.refusal(RequestCode.SELECTOR_MALFORMED, _time_problem(selector.number))
    return selector


def _time_problem(number: int) -> str:
    for unit, factor in _SUBSECOND_UNITS.items():
        seconds = number // factor
        if seconds <= _MAX_TIME:
            return f"looks like a time in {unit}. In seconds it is {time_selector(seconds)}."
    return f"is not a time in Unix seconds, which are at most {_MAX_TIME}."


def _read_accounts(
    accounts: Mapping[str, bodies.AccountBody], path: JsonPath, source: int, checker: _BatchChecker
) -> tuple[CheckedAccount, ...]:
    """Merge spellings of one account, and keep the order of the request."""
    members_by_account: dict[str, tuple[dict[AccountField, None], dict[bytes, None]]] = {}
    spellings: dict[str, dict[str, list[str]]] = {}
    for key, entry in accounts.items():
        entry_path = path.child(key)
        account = _read_account_key(key, entry_path, source, checker.routes)
        _check_not_empty(
            entry.props or entry.slots,
            entry_path,
            f"one of its props ({join_names(AccountField.__members__)}) or one of its slots",
        )
        if account not in members_by_account:
            checker.count("account", entry_path)
            if key not in {account, account.lower(), f"0x{account[2:].upper()}"}:
                checker.warn(
                    f"{key} is accepted, but its EIP-55 checksum is wrong, so a digit may be "
                    f"mistyped. With a correct checksum it is {account}.",
                    entry_path,
                )
        props, slots = members_by_account.setdefault(account, ({}, {}))
        props.update(dict.fromkeys(AccountField[name] for name in entry.props))
        spellings.setdefault(account, {})[key] = entry.slots
        slots_path = entry_path.child("slots")
        for number, slot in enumerate(map(slot_word, entry.slots)):
            if slot not in slots:
                slots[slot] = None
                checker.counts["slot"] += 1
                if checker.counts["slot"] > checker.limits.slots:
                    checker.check_limit("slot", checker.counts["slot"], slots_path.child(number))
        # Repeated slots count once, but no list may have more entries than a batch may have slots.
        checker.check_limit("slot", len(entry.slots), slots_path)
    checker.check_limit("account", len(accounts), path)
    return tuple(
        CheckedAccount(account, tuple(props), tuple(slots), spellings[account])
        for account, (props, slots) in members_by_account.items()
    )


def _read_account_key(key: str, path: JsonPath, source: int, routes: Routes) -> str:
    """The checksummed address, or the ENS name."""
    if "." in key:
        return _read_name(key, path, source, routes)
    if not _ADDRESS.fullmatch(key):
        raise _account_malformed(key, path, _address_problem(key))
    return to_checksum_address(key)


def _read_name(key: str, path: JsonPath, source: int, routes: Routes) -> str:
    if not routes.chains[source].ens_registry:
        reason = f"names are not resolved on chain {source} here. Give the address"
        raise _account_malformed(key, path, reason)
    if not is_ens_name(key):
        reason = (
            "a name may have a-z, 0-9, dots and hyphens only, 1 to 63 characters between dots "
            "and 255 in all, and no double hyphen as third and fourth character of a part. For "
            "any other name give the address"
        )
        raise _account_malformed(key, path, reason)
    return key


def _address_problem(key: str) -> str:
    digits = key.removeprefix("0x")
    if digits != key and _HEX_DIGITS.fullmatch(digits):
        return f"an address has 40 hex digits after 0x, and this has {len(digits):,}"
    return "an address is 0x and 40 hex digits"


def _account_malformed(key: str, path: JsonPath, reason: str) -> RefusalError:
    # Clients compare the beginning of the sentence.
    sentence = f"Invalid account address or ENS name {quote_text(key)} in {path.parent}: {reason}."
    problem = f"is not an account: {reason}."
    return path.refusal(RequestCode.ACCOUNT_MALFORMED, problem, sentence=sentence)


def _check_webhook(webhook: bodies.WebhookBody, limits: BatchLimits) -> None:
    path = WHOLE_BODY.child("webhook").child("headers")
    if len(webhook.headers) > limits.webhook_headers:
        count = format_count(limits.webhook_headers, "header")
        sentence = f"A webhook may have at most {count} here."
        raise path.refusal(RequestCode.TOO_MANY_WEBHOOK_HEADERS, "", sentence=sentence)
    if sum(map(len, (*webhook.headers, *webhook.headers.values()))) > limits.webhook_header_bytes:
        sentence = (
            f"A webhook's headers may have at most {limits.webhook_header_bytes:,} bytes here, "
            "names and values together."
        )
        raise path.refusal(RequestCode.WEBHOOK_HEADERS_TOO_LARGE, "", sentence=sentence)


def _read_deliveries(
    deliveries: Sequence[bodies.DeliveryBody], requested: RequestedFacts
) -> tuple[CheckedDelivery, ...]:
    checked = []
    for index, delivery in enumerate(deliveries):
        path = WHOLE_BODY.child("deliver").child(index)
        read_call(delivery.function, delivery.args, path.child("args"), requested)
        unless = None
        if condition := delivery.unless:
            condition_path = path.child("unless").child("args")
            read_call(condition.function, condition.args, condition_path, requested)
            unless = CheckedCondition(condition.function, tuple(condition.args))
        call = delivery.to, delivery.function, tuple(delivery.args), delivery.gas
        checked.append(CheckedDelivery(*call, unless, tuple(delivery.errors)))
    return tuple(checked)


# Chains and routes


def read_chain(text: str, path: JsonPath, routes: Routes) -> int:
    """The id of the chain with this id or alias."""
    for chain in routes.chains.values():
        if text == str(chain.id) or text in chain.aliases:
            return chain.id
    if _NUMBER_LIKE.fullmatch(text) and not _DECIMAL.fullmatch(text):
        raise path.refusal(
            BodyCode.NUMBER_MALFORMED,
            f"is {quote_text(text)}, but must be a chain id in decimal, without sign, spaces or "
            "leading zeros.",
        )
    chains = [
        f"{chain.id} ({', '.join(dict.fromkeys([chain.name, *chain.aliases]))})"
        for _, chain in sorted(routes.chains.items())
    ]
    chain_list = (
        f"Configured: {join_names(chains)}." if chains else "This server has no chains configured."
    )
    registries = [
        f"chain {registry.source} to chain {registry.destination} ({registry.kind}) "
        f"at {registry.address}"
        for registry in routes.registries.values()
    ]
    raise path.refusal(
        RequestCode.CHAIN_UNSUPPORTED,
        f"is {quote_text(text)}, which is not a chain configured here. {chain_list}",
        detail=f"The registries here: {'; '.join(registries)}." if registries else "",
    )


def through_two_routes(routes: Routes, source: int, destination: int) -> str:
    """A sentence about the way through another chain, if there is one."""
    chains = routes.between(source, destination)
    guide = "the guide Public networks has the commands, under “From one L2 to another”"
    return f" Two routes lead there through {join_names(chains)}: {guide}." if chains else ""


def check_route(source: int, destination: int, path: JsonPath, routes: Routes) -> None:
    """Refuse a source whose facts this server cannot prove on the destination."""
    if (source, destination) in routes.registries:
        return
    others = sorted(target for origin, target in routes.registries if origin == source)
    where = f"only on {join_names(others)}" if others else "nor on any other"
    raise path.refusal(
        RequestCode.ROUTE_UNSUPPORTED,
        f"is a chain whose facts this server does not prove on chain {destination}, {where}."
        + through_two_routes(routes, source, destination),
    )
