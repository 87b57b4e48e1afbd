"""What several commands share: the server, the options that describe a batch, and files."""

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from queries.client.python.batches import (
    BlockQuery,
    DeliveryRequest,
    build_batch,
    parse_argument,
    parse_log,
)
from queries.client.python.errors import UsageError
from queries.client.python.positions import parse_integer
from queries.client.python.service import Tacitus

BLOCK_OPTIONS = (
    ("block", "a block's number"),
    ("timestamp", "unix seconds: the last block at or before this time"),
)
FACT_OPTIONS: tuple[tuple[str, Callable[[str], object], str], ...] = (
    ("account", str, "an address, or an ENS name"),
    ("prop", str, "of the accounts: BALANCE, NONCE, STORAGE_ROOT or CODE_HASH"),
    ("slot", parse_integer, "of the accounts: a storage slot, in decimal or 0x-hex"),
    ("header", str, "a field of the block's header, such as PARENT_HASH"),
    ("log", parse_log, "a log: TRANSACTION:INDEX in its receipt, or its index in the block"),
)
FILE_HELP = "JSON, or TOML if its name ends with .toml; - for JSON on stdin"


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], description: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=description, description=description
    )
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")
    parser.add_argument("--server", help="its URL (default: TACITUS_URL)")
    parser.add_argument("--key", help="API key; TACITUS_KEY is safer: process lists show options")
    return parser


def option_type(parse: Callable[[str], object]) -> Callable[[str], object]:
    """The `type` of an option: argparse prints the sentence of its UsageError."""

    def parse_option(text: str) -> object:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(error.sentence) from None

    return parse_option


def add_block_options(parser: argparse.ArgumentParser) -> None:
    for name, meaning in BLOCK_OPTIONS:
        _add_repeatable(parser, name, parse_integer, meaning)


def add_batch_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of what to prove of a block, and what to deliver."""
    for name, parse, meaning in FACT_OPTIONS:
        _add_repeatable(parser, name, parse, meaning)
    parser.add_argument("--to", metavar="CHAIN", help="destination chain id")
    parser.add_argument("--from", metavar="CHAIN", help="source chain id (default: --to)")
    parser.add_argument(
        "--deliver",
        action="append",
        default=[],
        nargs="+",
        metavar="TO FUNCTION ARG",
        help="call a contract once the batch is DONE, such as 0x… 'update(uint256)' '$block'; "
        "repeatable",
    )
    parser.add_argument(
        "--gas",
        action="append",
        default=[],
        type=option_type(parse_integer),
        help="that the contract may use; once, or once for each --deliver (default: what a trial "
        "needs, and half as much on top)",
    )
    parser.add_argument("--fee", default="0", help="maximum to spend, in wei (0)")


def _add_repeatable(
    parser: argparse.ArgumentParser, name: str, parse: Callable[[str], object], meaning: str
) -> None:
    parser.add_argument(
        f"--{name}",
        action="append",
        default=[],
        type=option_type(parse),
        help=f"{meaning}; repeatable",
    )


def server_url(options: argparse.Namespace) -> str:
    url: str = options.server or os.environ.get("TACITUS_URL", "")
    if not url:
        raise UsageError("Name the server with --server or in TACITUS_URL.")
    return url.rstrip("/")


def configured_server(options: argparse.Namespace) -> Tacitus:
    key = options.key or os.environ.get("TACITUS_KEY", "")
    return Tacitus(server_url(options), key)


def requested_batch(options: argparse.Namespace) -> Mapping[str, object]:
    if options.file:
        return read_body_file(options.file)
    blocks = [{"block": number} for number in options.block]
    blocks += [{"timestamp": seconds} for seconds in options.timestamp]
    return batch_of_blocks(options, *blocks)


def batch_of_blocks(
    options: argparse.Namespace, *blocks: Mapping[str, Any]
) -> Mapping[str, object]:
    """Build the batch of these blocks; each is a `block` or a `timestamp`."""
    if not options.to:
        raise UsageError("Name the chain with --to and the values to prove, or use --file.")
    if not blocks:
        raise UsageError("Name a block with --block NUMBER or --timestamp SECONDS.")
    queries = [
        BlockQuery(
            vars(options)["from"] or options.to,
            accounts=options.account,
            props=options.prop,
            slots=options.slot,
            header=options.header,
            logs=options.log,
            **block,
        )
        for block in blocks
    ]
    return build_batch(
        options.to, *queries, fee=options.fee, deliver=_requested_deliveries(options)
    )


def _requested_deliveries(options: argparse.Namespace) -> list[DeliveryRequest]:
    calls, limits = options.deliver, options.gas
    if len(limits) <= 1:
        limits = (limits or [None]) * len(calls)
    if len(limits) != len(calls):
        raise UsageError("Name the gas of each delivery with --gas, of all with one, or of none.")
    if any(len(call) == 1 for call in calls):
        raise UsageError("A delivery is --deliver CONTRACT FUNCTION, and the function's arguments.")
    return [
        DeliveryRequest(to, function, list(map(parse_argument, arguments)), gas=gas)
        for (to, function, *arguments), gas in zip(calls, limits, strict=True)
    ]


def read_body_file(file: str) -> dict[str, Any]:
    """Read the body of a request."""
    body = _read_toml_file(file) if file.endswith(".toml") else read_json_file(file)
    if not isinstance(body, dict):
        raise UsageError(f"{file} is not a JSON object.")
    return body


def read_json_file(file: str) -> Any:
    text = _read_text_file(file)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON.") from error


def _read_toml_file(file: str) -> Any:
    """Read it as JSON would be: times become Unix seconds."""
    text = _read_text_file(file)
    try:
        return json.loads(json.dumps(tomllib.loads(text), default=_unix_seconds))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is not TOML: {error}.") from error


def _read_text_file(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8.") from error


def parse_time(text: str) -> int:
    """Read Unix seconds, or a date or time such as 2027-01-01 or 2027-01-01T12:00, in UTC."""
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        return _unix_seconds(datetime.fromisoformat(text))
    except ValueError as error:
        raise UsageError(
            f"{text} is not a time: use Unix seconds, or UTC as in 2027-01-01T12:00."
        ) from error


def _unix_seconds(value: object) -> int:
    if not isinstance(value, datetime):
        raise UsageError(f"{value} is not a time with its date, such as 2027-01-01T12:00:00Z.")
    return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
