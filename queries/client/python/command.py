"""The command line."""

import argparse
import contextlib
import dataclasses
import io
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from queries.client.python.command_options import (
    FILE_HELP,
    add_batch_options,
    add_block_options,
    add_command,
    configured_server,
    read_json_file,
    requested_batch,
    server_url,
)
from queries.client.python.errors import (
    BatchRejectedError,
    DeliveryFailedError,
    RequestRefusedError,
    TacitusError,
    UsageError,
    printable,
)
from queries.client.python.facts import ADDRESS_FIELDS, ProvenFact
from queries.client.python.feed_commands import add_feed_commands
from queries.client.python.layouts import locate
from queries.client.python.mcp_server import run_mcp_server
from queries.client.python.proofs import read_proof, report_lines, trust_reasons, verify_proof
from queries.client.python.responses import (
    DeliveryStatus,
    Status,
    WaitingQuery,
    member,
    parse_status,
)
from queries.client.python.terminal import ProgressOutput, print_stderr, print_table, progress_line
from queries.client.python.version import __version__
from queries.proving import ADDRESS_BYTES, COMPARE_YOURSELF, MAX_BUNDLE_MIB
from queries.selectors import parse_selector

EPILOG = """\
Prove a balance, wait, and print it:
  export TACITUS_URL=https://proofs.example.org TACITUS_KEY=tct_…
  python tacitus.py submit --to 11155111 --block 5186021 --account 0xd8dA… --prop BALANCE --wait

Prove an entry of the mapping in slot 3, found by its key or by its name in a storage layout:
  SLOT=$(python tacitus.py slot 3 --key 0xd8dA…)
  SLOT=$(python tacitus.py slot --layout layout.json 'balances[0xd8dA…]')
  ID=$(python tacitus.py submit --to 1 --block 23000000 --account 0xA0b8… --slot $SLOT)
  python tacitus.py wait $ID

Have a contract of yours called once the balance is proven:
  python tacitus.py submit --to 1 --block 23000000 --account 0xd8dA… --prop BALANCE \\
    --deliver 0xC0nt… 'update(uint256)' '$block' --wait

Have it called again with each new balance:
  python tacitus.py feed create --every '4 hours' --to 1 --account 0xd8dA… --prop BALANCE \\
    --deliver 0xC0nt… 'update(uint256)' '$block' --fee 2000000000000000

Verify a proof file without a server, from the hash of its block:
  python tacitus.py proof $ID --out proof.json
  python tacitus.py verify proof.json --hash 0x…

Serve an agent, which gets tools for batches, feeds and slots:
  uv run --with 'mcp>=2.3,<3' tacitus.py mcp

Exit codes: 0 done, 1 refused or rejected, 2 wrong usage, 3 a retry may help (of `wait ID`, once
`submit` has printed the batch's page), 130 interrupted, 141 stdout was closed (broken pipe).
"""
SLOT_EPILOG = """\
Prints the slot to stdout, and a description of the variable to stderr:
  slot 3 --key 0xd8dA…                         balances[0xd8dA…], a mapping in slot 3
  slot 4 --key 0xd8dA… --key uint64:7          allowed[0xd8dA…][7]
  slot --layout layout.json 'points[4].y'      any variable by its name
layout.json is the output of `solc --storage-layout`, of `forge inspect … storageLayout --json`, or
of a build that selected storageLayout. A key may be an address, 32 bytes in hex, a number, true or
false. For any other type, write the type first: string:abc, bytes4:0x…. Also write it before a hex
key of a user-defined value type, because the layout does not give its underlying type.
"""
ADVICE = {
    "block_beyond_head": "Submit it again when the server accepts this block.",
    "key_missing": "Put it into TACITUS_KEY.",
    "not_found": "Use the client that this server offers at /tacitus.py.",
    "unreadable_response": "Check that this is the URL of a Tacitus server.",
    "invalid_usage": "See --help.",
}
MAX_WAITING_ROWS = 100
HELP_FORMATTER = argparse.RawDescriptionHelpFormatter  # keeps the line breaks of epilogs
DESCRIPTION = "Request past blockchain state, wait, and print the proven facts."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # some terminals cannot encode the step marks
    options = _argument_parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # such as by `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it at exit
        return 141
    except TacitusError as error:
        _print_failure(error, options)
        return 2 if isinstance(error, UsageError) else 3 if error.retryable else 1
    except KeyboardInterrupt:
        print_stderr("Interrupted. A submitted batch continues; see `status` and `wait`.")
        return 130
    return 0


def _print_failure(error: TacitusError, options: argparse.Namespace) -> None:
    if options.json:
        body = {"error": error.sentence, "code": error.code, "path": error.path}
        awaited = {"internalId": _awaited_batch(options)} if _awaited_batch(options) else {}
        print_stderr(json.dumps({**body, "retryable": error.retryable, **awaited}))
        return
    path = f" (at {error.path})" if error.path and error.path not in error.sentence else ""
    step = f" It failed in {error.step}." if error.step else ""
    advice = ADVICE.get(error.code, "A retry may help." if error.retryable else "")
    if error.retryable and _awaited_batch(options) and not isinstance(error, BatchRejectedError):
        advice = f"The batch is stored. Wait again with: wait {_awaited_batch(options)}"
    if isinstance(error, RequestRefusedError | BatchRejectedError | DeliveryFailedError):
        advice = f"{advice} See {server_url(options)}/docs/status#{error.code}".strip()
    print_stderr(f"{error.sentence}{path}{step} {advice}".rstrip())


def _awaited_batch(options: argparse.Namespace) -> str:
    """The id of the batch that `submit` has stored, or that `wait` waits for; or empty."""
    is_waiting = options.run in {_run_submit, _run_wait}
    return printable(getattr(options, "id", "")) if is_waiting else ""


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tacitus.py", description=DESCRIPTION, epilog=EPILOG, formatter_class=HELP_FORMATTER
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    estimate = add_command(commands, "estimate", _run_estimate, "print a batch's fee, in wei")
    submit = add_command(commands, "submit", _run_submit, "submit a batch; prints its id")
    for command in (estimate, submit):
        add_block_options(command)
        add_batch_options(command)
        command.add_argument("--file", help=f"the whole batch instead: {FILE_HELP}")
    submit.add_argument(
        "--idempotency-key", default="", help="batches sent with the same key are stored once"
    )
    submit.add_argument("--wait", action="store_true", help="until it is DONE; prints the facts")
    wait_description = "wait until a batch is DONE and delivered; prints its facts and deliveries"
    wait = add_command(commands, "wait", _run_wait, wait_description)
    status = add_command(commands, "status", _run_status, "print a batch's status and facts")
    routes_description = "list the server's routes, and whether registry addresses prove their code"
    add_command(commands, "routes", _run_routes, routes_description)
    proof = add_command(commands, "proof", _run_proof, "download a batch's proof file")
    proof.add_argument("--out", help="file to write (default: stdout)")
    mcp_description = "serve as an MCP server over stdio, for agents; needs the package mcp"
    add_command(commands, "mcp", _run_mcp, mcp_description)
    for command in (submit, wait):
        command.add_argument("--timeout", type=float, default=600, help="seconds (600)")
        command.add_argument(
            "--no-deliveries", action="store_true", help="do not wait for the batch's deliveries"
        )
    for command in (wait, status, proof):
        command.add_argument("id", help="the batch's id, as submit printed it")
    add_feed_commands(commands)
    _add_verify_command(commands)
    _add_slot_command(commands)
    return parser


def _add_verify_command(commands: Any) -> None:
    description = "verify a proof file offline, and print its facts"
    parser = commands.add_parser("verify", help=description, description=description)
    parser.set_defaults(run=_run_verify)
    parser.add_argument("file", type=Path, help="as `proof` downloads it")
    parser.add_argument(
        "--hash",
        action="append",
        default=[],
        metavar="0x…",
        help="a block hash that you trust; once for each block",
    )
    parser.add_argument(
        "--max-mib",
        type=int,
        default=MAX_BUNDLE_MIB,
        metavar="N",
        help="maximum size of the file in MiB (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")


def _add_slot_command(commands: Any) -> None:
    description = "compute a variable's storage slot, without a server"
    parser = commands.add_parser(
        "slot",
        help=description,
        description=description,
        epilog=SLOT_EPILOG,
        formatter_class=HELP_FORMATTER,
    )
    parser.set_defaults(run=_run_slot)
    parser.add_argument("variable", help="a slot's number; with --layout, a name like points[4].y")
    parser.add_argument("--key", action="append", default=[], help="of a mapping; repeatable")
    parser.add_argument("--layout", help="solc's storage layout; - for stdin")
    parser.add_argument("--contract", default="", help="contract of the layout: Name, or file:Name")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run_estimate(options: argparse.Namespace) -> None:
    estimate = configured_server(options).estimate(requested_batch(options))
    print(json.dumps(estimate.response) if options.json else estimate.fee_needed)
    for delivery in estimate.response.get("deliveries", ()):
        if delivery["assumed"]:
            print(
                "The contract refuses the call before the facts are proven, so its gas is an "
                f"assumption: {delivery['contractGas']}. Name --gas if it needs more.",
                file=sys.stderr,
            )


def _run_submit(options: argparse.Namespace) -> None:
    service = configured_server(options)
    batch = service.submit(requested_batch(options), idempotency_key=options.idempotency_key)
    for warning in batch.warnings:
        print_stderr(printable(warning))
    if not options.wait:
        output = {"internalId": batch.id, "warnings": batch.warnings}
        print(json.dumps(output) if options.json else printable(batch.id))
        return
    print_stderr(f"{service.url}/explorer/query/{printable(batch.id)}")
    options.id = batch.id
    _run_wait(options)


def _run_wait(options: argparse.Namespace) -> None:
    service, output = configured_server(options), ProgressOutput(sys.stderr)

    def print_progress(status: Status) -> None:
        if not options.json:
            output.update(progress_line(status, output.width))

    with contextlib.closing(output):
        failure = None
        try:
            status = service.wait(
                options.id,
                timeout=options.timeout,
                steps=output.is_terminal,
                deliveries=not options.no_deliveries,
                on_progress=print_progress,
            )
        except DeliveryFailedError as error:
            failure, status = error, service.status(options.id, steps=False)
    _print_result(service.facts(options.id), status, options)
    if failure:
        raise failure


def _run_status(options: argparse.Namespace) -> None:
    service = configured_server(options)
    body = service.status_response(options.id)
    if options.json:
        print(json.dumps(body))
        return
    status = parse_status(options.id, body)
    print(f"{printable(options.id)}  {progress_line(status)}")
    if status.rejection:
        _print_failure(status.rejection, options)
    elif status.is_done:
        _print_result(service.facts(options.id), status, options)
    else:
        facts, waiting = service.partial_facts(options.id)
        print_table([_fact_row(fact) for fact in facts])
        if len(member(body, "queries", list)) > 1:  # otherwise the first line has the reason
            print_table([_waiting_row(query) for query in waiting[:MAX_WAITING_ROWS]])
        if len(waiting) > MAX_WAITING_ROWS:
            print(f"{len(waiting) - MAX_WAITING_ROWS:,} more queries wait; --json prints them.")


def _run_routes(options: argparse.Namespace) -> None:
    for route in configured_server(options).routes():
        if options.json:
            fields = dataclasses.asdict(route)
            fields["isGenuine"] = fields.pop("is_genuine")
            fields["beaconDifferences"] = fields.pop("beacon_differences")
            print(json.dumps(fields))
            continue
        remark = (
            "unverifiable: the address of the registry, its events verifier or its lookup does not "
            "prove its code"
        )
        if route.beacon_differences:
            remark = f"not genuine: {'; '.join(route.beacon_differences)}"
        elif route.is_genuine is not False:
            unproven = ", but not which chain is its L1" if route.kind == "optimism" else ""
            if route.kind == "beacon":
                known = "genesis and forks are those of the known beacon chain"
                compared = COMPARE_YOURSELF if route.is_genuine is None else known
                unproven = f"; {compared}; compare the checkpoint {route.checkpoint}"
            remark = f"its address proves its code and its constructor's arguments{unproven}"
            if route.lookup:
                remark += f"; so does the address of its lookup, {route.lookup}"
        if route.state_horizon != route.horizon:
            remark += f"; no accounts from {route.state_horizon} on"
        chains = f"{route.source} → {route.destination}"
        print(printable(f"{chains}  {route.kind}  {route.registry}  {remark}"))


def _print_result(facts: Sequence[ProvenFact], status: Status, options: argparse.Namespace) -> None:
    if options.json:
        body = {"internalId": options.id, "queryStatus": "DONE", "facts": _json_facts(facts)}
        body |= {} if status.proves else {"prove": False}
        deliveries = list(map(dataclasses.asdict, status.deliveries))
        print(json.dumps(body | ({"deliveries": deliveries} if deliveries else {})))
        return
    if not status.proves:
        print_stderr("The batch stores no facts in a registry, because its `prove` is false.")
    print_table([_fact_row(fact) for fact in facts])
    print_table([_delivery_row(delivery) for delivery in status.deliveries])


def _fact_row(fact: ProvenFact) -> tuple[str, ...]:
    account = fact.ens or fact.account or ""
    return f"{fact.chain}", f"{fact.block:,}", account, fact.name, _format_value(fact)


def _waiting_row(query: WaitingQuery) -> tuple[str, ...]:
    selector = parse_selector(query.selector)
    block = query.selector
    if selector and not selector.is_time:
        block = f"{selector.number:,}"
    return f"{query.source}", block, query.account, "waits", query.waits_for


def _delivery_row(delivery: DeliveryStatus) -> tuple[str, ...]:
    detail = delivery.error or delivery.waits_for or delivery.transaction
    return delivery.state, delivery.to, delivery.function, delivery.retry, detail


def _json_facts(facts: Sequence[ProvenFact]) -> list[dict[str, object]]:
    """The facts, each with the eth_call that reads it."""
    return [
        {**dataclasses.asdict(fact), "read": {"to": fact.read.to, "data": fact.read.data}}
        for fact in facts
    ]


def _format_value(fact: ProvenFact) -> str:
    if fact.units is not None:
        units = f"{fact.units:,f}".rstrip("0").rstrip(".")
        return f"{units} ({fact.number:,} wei)"
    if fact.name in ADDRESS_FIELDS:
        return f"0x{fact.word[-2 * ADDRESS_BYTES :]}"
    if fact.number is None or fact.number >= 2**128:  # probably a hash, or several packed values
        return fact.word
    if fact.name == "TIMESTAMP":
        with contextlib.suppress(ValueError, OverflowError, OSError):
            return f"{datetime.fromtimestamp(fact.number, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{fact.number:,}"


def _run_proof(options: argparse.Namespace) -> None:
    content = configured_server(options).proof(options.id)
    if not options.out:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(options.out).write_bytes(content)
    except OSError as error:
        raise UsageError(f"{options.out} cannot be written ({error.strerror}).") from error
    print_stderr(f"Wrote {len(content):,} bytes to {options.out}.")


def _run_verify(options: argparse.Namespace) -> None:
    try:
        content = options.file.read_bytes()
    except OSError as error:
        raise UsageError(f"{options.file} cannot be read: {error.strerror}.") from error
    if options.json:
        facts = verify_proof(content, options.hash, options.max_mib)
        print(json.dumps({"facts": _json_facts(facts)}))
        return
    bundle = read_proof(content, options.max_mib)
    reasons = trust_reasons(bundle, options.hash)
    caveat = "  whether that registry is deployed with genuine code: see `tacitus.py routes`"
    for line in report_lines(bundle, reasons, [caveat]):
        print(line)


def _run_mcp(options: argparse.Namespace) -> None:
    run_mcp_server(configured_server(options).url, lambda: configured_server(options))


def _run_slot(options: argparse.Namespace) -> None:
    layout = read_json_file(options.layout) if options.layout else None
    variable = locate(options.variable, options.key, layout, options.contract)
    offset, size = variable.position.byte_offset, variable.size
    slot = f"0x{variable.position.word.hex()}"
    data = f"0x{variable.data.word.hex()}" if variable.data else None
    if options.json:
        output = {"slot": slot, "offset": offset, "bytes": size or None}
        print(json.dumps({**output, "type": variable.type or None, "data": data}))
        return
    print(slot)
    if variable.type:
        print_stderr(f"{variable.type}: {size} bytes at byte {offset} from the slot's low end")
    if data:
        print_stderr(f"Its elements, or the bytes of a long text, begin in slot {data}.")
