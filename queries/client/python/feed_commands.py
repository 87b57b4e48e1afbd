"""The commands of feeds: `tacitus.py feed …`."""

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from queries.client.python.command_options import (
    FILE_HELP,
    add_batch_options,
    add_command,
    batch_of_blocks,
    configured_server,
    option_type,
    parse_time,
    read_body_file,
    server_url,
)
from queries.client.python.errors import RequestRefusedError, printable
from queries.client.python.facts import NUMERIC_FIELDS
from queries.client.python.feeds import (
    FeedRunStatus,
    FeedStatus,
    FeedValue,
    parse_feed,
    parse_feed_run,
)
from queries.client.python.positions import parse_integer
from queries.client.python.responses import DeliveryStatus, member, text_member
from queries.client.python.service import Tacitus
from queries.client.python.terminal import print_stderr, print_table
from queries.selectors import DUE_TIME, parse_selector

_MIN_HASH = 2**128  # from here on a word is more likely a hash than a number
FEED_CREATE_EPILOG = f"""\
Have a contract of yours called with each new balance, every four hours:
  feed create --every '4 hours' --to 1 --account 0xd8dA… --prop BALANCE \\
    --deliver 0xC0nt… 'update(uint256)' '$block' --fee 2000000000000000
A feed in a file may have more, such as a webhook and conditions: see /docs/deliver of the server.
It is the body of POST /feeds, as JSON or as TOML:
  every = "4 hours"
  catchUp = "all"
  [batch]
  destinationChainId = "1"
  fee = "2000000000000000"
  [batch.data.1."{DUE_TIME}".accounts.0xd8dA…]
  props = ["BALANCE"]
  [[batch.deliver]]
  to = "0xC0nt…"
  function = "update(uint256)"
  args = ["$block"]
"""


def add_feed_commands(commands: Any) -> None:
    description = "make and manage feeds, which submit the same batch again whenever it is due"
    group = commands.add_parser("feed", help=description, description=description)
    feeds = group.add_subparsers(required=True, metavar="COMMAND")
    _add_create_command(feeds)
    add_command(feeds, "list", _run_feed_list, "list your feeds, newest first")
    parsers = {
        name: add_command(feeds, name, run, meaning)
        for name, run, meaning in (
            ("show", _run_feed_show, "print a feed and its newest runs"),
            ("pause", _run_feed_pause, "pause a feed"),
            ("resume", _run_feed_resume, "resume a paused feed; it makes up for missed runs"),
            ("budget", _run_feed_budget, "set what a feed's runs may spend in 24 hours"),
            ("rename", _run_feed_rename, "give a feed a name, or remove it"),
            ("end", _run_feed_end, "end a feed for good; its batches stay"),
            ("run", _run_feed_now, "run a feed now; prints the batch's id"),
        )
    }
    for parser in parsers.values():
        parser.add_argument("id", help="the feed's id, as create printed it")
    parsers["show"].add_argument("--runs", type=int, default=20, help="how many, at most 100 (20)")
    parsers["rename"].add_argument(
        "name", nargs="?", help="at most 60 characters; without it, none"
    )
    parsers["budget"].add_argument(
        "wei", type=option_type(parse_integer), help="of the destination chain"
    )


def _add_create_command(feeds: Any) -> None:
    parser = add_command(feeds, "create", _run_feed_create, "make a feed; prints its id")
    parser.epilog = FEED_CREATE_EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--every", help="how often, such as '4 hours', '1 week' or '300 blocks'")
    source.add_argument("--file", help=f"the whole feed instead: {FILE_HELP}")
    add_batch_options(parser)
    parser.add_argument("--name", help="what lists and pages call it")
    parser.add_argument(
        "--until", metavar="TIME", help="its end: Unix seconds, or UTC as in 2027-01-01T12:00"
    )
    parser.add_argument(
        "--budget",
        type=option_type(parse_integer),
        metavar="WEI",
        help="that its runs may spend in 24 hours",
    )
    parser.add_argument(
        "--catch-up",
        choices=("latest", "all"),
        help="which missed runs it makes up for after a pause (latest)",
    )


def _run_feed_create(options: argparse.Namespace) -> None:
    feed = configured_server(options).create_feed(_requested_feed(options))
    for warning in feed.warnings:
        print_stderr(printable(warning))
    print(json.dumps(feed.response) if options.json else feed.id)


def _requested_feed(options: argparse.Namespace) -> dict[str, object]:
    feed: dict[str, object] = {}
    if options.file:
        feed |= read_body_file(options.file)
    else:
        selector = "block" if "block" in options.every else "timestamp"
        feed = {"every": options.every, "batch": batch_of_blocks(options, {selector: "$due"})}
    if options.name is not None:
        feed["name"] = options.name
    if options.until is not None:
        feed["until"] = parse_time(options.until)
    if options.budget is not None:
        feed["budget"] = str(options.budget)
    if options.catch_up:
        feed["catchUp"] = options.catch_up
    return feed


def _run_feed_list(options: argparse.Namespace) -> None:
    server = configured_server(options)
    feeds = server.feeds()
    if options.json:
        for feed in feeds:
            print(json.dumps(feed.response))
        return
    names = server.chain_names()
    print_table([_feed_row(feed, names) for feed in feeds])


def _run_feed_show(options: argparse.Namespace) -> None:
    server = configured_server(options)
    body = server.feed_response(options.id, limit=options.runs)
    if options.json:
        print(json.dumps(body))
        return
    feed = parse_feed(body)
    print_table([_feed_row(feed, server.chain_names())])
    details = [*_trigger_rows(body), *_delivery_rows(member(body, "batch", dict))]
    if feed.budget is not None:
        details.append(("budget", f"{_format_coins(feed.budget, feed.coin)} in 24 hours"))
    if feed.until is not None:
        details.append(("until", _format_time(feed.until)))
    print_table([*details, ("catch-up", feed.catch_up)])
    runs = [parse_feed_run(run) for run in member(body, "runs", list)]
    print_table([_run_row(run, _retried_delivery(server, run)) for run in runs])
    if any(run.status == "REJECTED" or {"WAITING", "FAILED"} & {*run.deliveries} for run in runs):
        print_stderr(
            "Why a batch was REJECTED, or a delivery waits or FAILED: see `status` of the batch, "
            f"or its page, {server_url(options)}/explorer/query/ and its id."
        )
    if body.get("cursor"):
        print_stderr("It has older runs; --runs 100 shows more.")


def _run_feed_pause(options: argparse.Namespace) -> None:
    server = configured_server(options)
    _print_feed(server.pause_feed(options.id), server, options)


def _run_feed_resume(options: argparse.Namespace) -> None:
    server = configured_server(options)
    _print_feed(server.resume_feed(options.id), server, options)


def _run_feed_budget(options: argparse.Namespace) -> None:
    server = configured_server(options)
    _print_feed(server.set_feed_budget(options.id, options.wei), server, options)


def _run_feed_rename(options: argparse.Namespace) -> None:
    server = configured_server(options)
    _print_feed(server.rename_feed(options.id, options.name), server, options)


def _run_feed_end(options: argparse.Namespace) -> None:
    server = configured_server(options)
    _print_feed(server.end_feed(options.id), server, options)


def _print_feed(feed: FeedStatus, server: Tacitus, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(feed.response))
    else:
        print_table([_feed_row(feed, server.chain_names())])


def _run_feed_now(options: argparse.Namespace) -> None:
    run = configured_server(options).run_feed(options.id)
    if options.json:
        print(json.dumps(run.response))
    elif run.error:
        raise RequestRefusedError(run.error, code=run.error_code)
    else:
        print(run.batch_id)


def _feed_row(feed: FeedStatus, chain_names: Mapping[int, str]) -> tuple[str, ...]:
    """Such as `01J…  ACTIVE  ETH of the vault  balance of 0xd8dA…6045 · Demo A, every 300 blocks
    to Demo B  40 ETH at block 5,186,040  next: block 5,186,100`.
    """
    value, destination = feed.newest_value, feed.destination
    requested = text_member(member(feed.response, "batch", dict), "destinationChainId")
    chain = chain_names.get(destination or 0, f"chain {destination or requested}")
    return (
        feed.id,
        feed.state,
        feed.name,
        feed.sentence,
        f"to {chain}",
        f"{_format_feed_value(value)} at block {value.block:,}" if value else "",
        _format_next_run(feed),
        _feed_trouble(feed),
    )


def _format_next_run(feed: FeedStatus) -> str:
    """When an active feed runs next, or why the run that is due waits."""
    if feed.state != "ACTIVE":
        return ""
    if feed.waits_for:
        return f"next: waits. {feed.waits_for}"
    return f"next: {_format_due(feed.next_due)}" if feed.next_due else ""


def _feed_trouble(feed: FeedStatus) -> str:
    """Why the feed does not run, or what is wrong with its runs; or empty."""
    reason = feed.reason or feed.failure
    if not feed.refused_count:
        return reason
    are_several = feed.refused_count > 1
    deliveries = f"{feed.refused_count:,} {'deliveries wait' if are_several else 'delivery waits'}"
    since = feed.refused_since[:16].replace("T", " ")
    return f"refused: {deliveries} since {since} UTC. {reason}".strip()


def _shorten_hashes(text: str) -> str:
    return re.sub("(0x[0-9a-fA-F]{4})[0-9a-fA-F]{32,}([0-9a-fA-F]{4})", r"\1…\2", text)


def _format_feed_value(value: FeedValue) -> str:
    """Such as `40 ETH`, `1,234`, or the word if it is not a number."""
    number = int(value.word, 16)
    if value.coin:
        return _format_coins(number, value.coin)
    is_number = value.name in NUMERIC_FIELDS or value.name.startswith("0x")
    return f"{number:,}" if is_number and number < _MIN_HASH else _shorten_hashes(value.word)


def _format_coins(wei: int, coin: str) -> str:
    units = f"{Decimal(f'{wei}e-18'):,f}"
    return f"{units.rstrip('0').rstrip('.') if '.' in units else units} {coin}"


def _retried_delivery(server: Tacitus, run: FeedRunStatus) -> DeliveryStatus | None:
    """The run's delivery that waits after a refusal; its batch's status is read for it."""
    if "WAITING" not in run.deliveries:
        return None
    deliveries = server.status(run.batch_id, steps=False).deliveries
    return next((delivery for delivery in deliveries if delivery.retry), None)


def _run_row(run: FeedRunStatus, retried: DeliveryStatus | None) -> tuple[str, ...]:
    counts = Counter(run.deliveries).items()
    deliveries = ", ".join(state if n == 1 else f"{n} {state}" for state, n in counts)
    retry, reason = (retried.retry, retried.waits_for) if retried else ("", "")
    value = _format_feed_value(run.value) if run.value else ""
    return (
        *(_format_due(run.due), run.batch_id, run.status or "refused", value, deliveries, retry),
        run.error or reason,
    )


def _trigger_rows(feed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The members of `on` or `when`."""
    trigger = feed.get("on") or feed.get("when")
    members = trigger.items() if isinstance(trigger, dict) else ()
    texts = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in members
    }
    return [(printable(name), printable(text)) for name, text in texts.items()]


def _delivery_rows(batch: Mapping[str, Any]) -> list[tuple[str, str]]:
    calls = member(batch, "deliver", list) if "deliver" in batch else ()
    return [
        ("deliver", f"{text_member(call, 'function')} of {text_member(call, 'to')}")
        for call in calls
    ]


def _format_due(text: str) -> str:
    selector = parse_selector(text)
    if selector is None:
        return text
    return _format_time(selector.number) if selector.is_time else f"block {selector.number:,}"


def _format_time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
