"""An MCP server (modelcontextprotocol.io): tools with which agents request and read facts."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from queries.client.python.batches import BlockQuery, DeliveryRequest, Doc, build_batch
from queries.client.python.errors import TacitusError, UsageError, WaitTimeoutError
from queries.client.python.facts import ProvenFact
from queries.client.python.layouts import locate
from queries.client.python.responses import DeliveryStatus
from queries.client.python.service import Tacitus
from queries.client.python.version import __version__
from queries.proving.facts import Argument

INSTRUCTIONS = """\
Tacitus proves past blockchain state to a registry contract on the destination chain: fields of
accounts and headers, storage slots, logs, receipts and transactions. Call routes, then estimate,
then submit, then status until it is DONE; each answer has the next step. slot computes slots.
With `deliver`, it also calls contracts with what it has proven. cancel ends a batch that was not
sent yet, and proof saves its proof file. witness returns proofs that a transaction of your own
verifies. create_feed repeats a batch, such as every hour; feeds, feed, run_feed and change_feed
manage feeds.
"""
MAX_FACTS = 100  # in an answer
MAX_FEEDS, MAX_RUNS = 100, 20
MAX_WAIT = 50  # seconds; clients give up on a tool after a minute
FEED_CHANGES = {"pause": Tacitus.pause_feed, "resume": Tacitus.resume_feed, "end": Tacitus.end_feed}
Deliveries = Annotated[
    Sequence[DeliveryRequest], Doc("Calls of contracts on the destination, once the batch is DONE.")
]
BatchId = Annotated[str, Doc("As submit returned it, or a run of a feed.")]
FeedId = Annotated[str, Doc("As create_feed returned it.")]
Destination = Annotated[int | str, Doc("The destination chain: its id, or an alias.")]


class AgentTools:
    """The tools. Each call opens its own connection, because tools run in threads."""

    def __init__(self, url: str, connect: Callable[[], Tacitus]) -> None:
        self._url, self._connect = url, connect

    def routes(self) -> dict[str, Any]:
        """List the routes: source and destination chain, the contracts, and the source's blocks."""
        routes = [
            {
                "source": str(route.source),
                "sourceName": route.source_name,
                "destination": str(route.destination),
                "destinationName": route.destination_name,
                "kind": route.kind,
                "registry": route.registry,
                "eventsVerifier": route.events_verifier,
                "lookup": route.lookup or None,
                "isGenuine": route.is_genuine,
                "beaconDifferences": route.beacon_differences,
                "checkpoint": route.checkpoint,
                "horizon": route.horizon,
                "newestBlock": _number_text(route.newest_block),
                "finalBlock": _number_text(route.final_block),
                "blocksBack": route.blocks_back,
            }
            for route in self._connect().routes()
        ]
        step = (
            "Call estimate with a destination and queries: what to prove of which block, up to "
            "`finalBlock`. A `lookup` reads facts without a transaction: "
            f"{self._url}/docs/contracts#read-without-a-transaction."
        )
        return {"routes": routes, "abi": f"{self._url}/contracts/IFactsRegistry.sol", "next": step}

    def estimate(
        self, destination: Destination, queries: list[BlockQuery], deliver: Deliveries = ()
    ) -> dict[str, Any]:
        """Estimate the cost of a batch, and whether it can be proven. A query has a source chain, a
        block or a timestamp, and what to prove of that block.
        """
        estimate = self._connect().estimate(build_batch(destination, *queries, deliver=deliver))
        blocks = estimate.response["blocks"]
        failures = [block for block in blocks if block["readiness"] in {"FAILS", "OUT_OF_REACH"}]
        step = f"Call submit with the same arguments and fee {estimate.fee_needed}."
        if failures:
            reasons = (f"{block['error']} ({self._docs(block['code'])})" for block in failures)
            step = f"Do not submit this batch, it would be rejected: {' '.join(reasons)}"
        elif all(block["readiness"] == "PROVEN" for block in blocks):
            step = f"All facts are proven already. {step} Its status has the calls that read them."
        elif not estimate.complete:
            step = f"{step} Some blocks have no price yet; `estimate` says why."
        return {
            "feeNeededWei": str(estimate.fee_needed),
            "free": estimate.free,
            "estimate": estimate.response,
            "next": step,
        }

    def submit(
        self,
        destination: Destination,
        queries: list[BlockQuery],
        fee: Annotated[int | str, Doc("The maximum to spend, in wei.")] = 0,
        idempotency_key: Annotated[str, Doc("All calls with the same key store one batch.")] = "",
        deliver: Deliveries = (),
    ) -> dict[str, Any]:
        """Submit a batch: the server proves the facts that its queries ask for, then delivers."""
        batch = build_batch(destination, *queries, fee=fee, deliver=deliver)
        submission = self._connect().submit(batch, idempotency_key=idempotency_key)
        return {
            "batch_id": submission.id,
            "warnings": submission.warnings,
            "page": f"{self._url}/explorer/query/{submission.id}",
            "next": "Call status with this batch_id.",
        }

    def status(
        self, batch_id: BatchId, wait_seconds: Annotated[float, Doc(f"At most {MAX_WAIT}.")] = 30
    ) -> dict[str, Any]:
        """Wait for a batch and its deliveries, and return its status; once it is DONE, also its
        facts.
        """
        service = self._connect()
        try:
            service.wait(batch_id, timeout=min(wait_seconds, MAX_WAIT))
        except WaitTimeoutError:
            pass
        except TacitusError as error:
            if not error.batch_id:
                raise
        status = service.status(batch_id, steps=False)
        answer: dict[str, Any] = {"status": status.state}
        answer["page"] = f"{self._url}/explorer/query/{batch_id}"
        if status.deliveries:
            answer["deliveries"] = [self._delivery_entry(entry) for entry in status.deliveries]
        if cause := status.rejection:
            step = "Submit it again." if cause.retryable else "Read `docs`, and change the batch."
            answer |= {"code": cause.code, "message": cause.sentence, "step": cause.step}
            return {**answer, "docs": self._docs(cause.code), "next": step}
        if not status.is_done:
            answer |= {"waitsFor": status.waits_for, "waitCode": status.wait_code}
            docs = {"docs": self._docs(status.wait_code)} if status.wait_code else {}
            return {**answer, **docs, "next": "Call status again."}
        facts = service.facts(batch_id)
        step = (
            "Read each fact on the destination with eth_call, or in a contract by the signature in "
            "`read`. While a fact is not proven, the call reverts, or returns false for an absence."
        )
        if not status.proves:
            step = "The batch stores no facts in a registry, because its `prove` is false."
        if not status.has_delivered:
            step = f"Call status again, until the deliveries have ended. {step}"
        if len(facts) > MAX_FACTS:
            step += f" These are {MAX_FACTS} of {len(facts)} facts; the page has all."
        return {**answer, "facts": list(map(_fact_entry, facts[:MAX_FACTS])), "next": step}

    def cancel(self, batch_id: BatchId) -> dict[str, Any]:
        """Cancel a batch, if no transaction for it is signed yet. It ends REJECTED."""
        self._connect().cancel(batch_id)
        return {"status": "REJECTED", "next": "Submit another batch, if you still need its facts."}

    def proof(
        self,
        batch_id: BatchId,
        file: Annotated[str, Doc("A new file to write on this machine; its name ends in .json.")],
    ) -> dict[str, Any]:
        """Save the proof file of a DONE batch, with which anyone can verify its facts offline."""
        if not file.endswith(".json"):
            raise UsageError("The file's name must end in .json.")
        content = self._connect().proof(batch_id)
        try:
            with Path(file).open("xb") as out:
                out.write(content)
        except OSError as error:
            raise UsageError(f"{file} cannot be written ({error.strerror}).") from error
        step = f"Verify it without the server: `tacitus.py verify {file}`."
        return {"file": str(Path(file).absolute()), "bytes": len(content), "next": step}

    def witness(self, destination: Destination, queries: list[BlockQuery]) -> dict[str, Any]:
        """Return proofs to verify in a transaction of your own; nothing is stored or paid for."""
        proofs = self._connect().witness(build_batch(destination, *queries))
        step = (
            "Pass `proof` to a contract that calls `verify(bytes)` of the registry, and `section` "
            "and `witness` of `events` to `verify` of their verifier: "
            f"{self._url}/docs/contracts#verify-without-storing."
        )
        return {"witnesses": [proof.response for proof in proofs], "next": step}

    def slot(
        self,
        variable: Annotated[
            int | str, Doc("A slot's number; with a layout, a name such as points[4].y.")
        ],
        keys: Annotated[
            Sequence[int | str],
            Doc("Of the mapping in that slot: addresses, numbers, or typed as uint64:7."),
        ] = (),
        layout: Annotated[dict[str, Any] | None, Doc("solc's storage layout.")] = None,
        contract: Annotated[str, Doc("Of the layout: Name, or file:Name.")] = "",
    ) -> dict[str, Any]:
        """Compute where Solidity stores a variable, or an entry of a mapping."""
        result = locate(str(variable), list(map(str, keys)), layout, contract)
        return {
            "slot": f"0x{result.position.word.hex()}",
            "byteOffset": result.position.byte_offset,
            "type": result.type or None,
            "data": f"0x{result.data.word.hex()}" if result.data else None,
            "next": "Use it in `slots` of a query whose account is the contract.",
        }

    def create_feed(
        self,
        destination: Destination,
        query: BlockQuery,
        schedule: Annotated[
            dict[str, Any],
            Doc(
                "`every`: 300 blocks, with `block` $due in the query, or 4 hours, with `timestamp` "
                "$due; or `on` logs or `when` a value changes: see /docs/deliver. Optional: "
                "`budget`, the maximum to spend in 24 hours, wei as text; `until`, the Unix time "
                "of its end; `catchUp`, the missed runs to make up for, latest or all."
            ),
        ],
        fee: Annotated[int | str, Doc("The maximum to spend on each run, in wei.")] = 0,
        deliver: Deliveries = (),
    ) -> dict[str, Any]:
        """Make a feed: the same batch is submitted again whenever it is due, and delivered."""
        batch = build_batch(destination, query, fee=fee, deliver=deliver)
        feed = self._connect().create_feed({**schedule, "batch": batch})
        moment = f" after {feed.next_due}" if feed.next_due else ""
        step = f"Call feed with this feed_id{moment}, to see its runs."
        return {**_feed_entry(feed.response), "next": step}

    def feeds(self) -> dict[str, Any]:
        """List your feeds, newest first."""
        feeds = [_feed_entry(feed.response) for feed in islice(self._connect().feeds(), MAX_FEEDS)]
        for feed in feeds:
            feed.pop("batch", None)
        return {"feeds": feeds, "next": "Call feed with a feed_id, to see its batch and its runs."}

    def feed(self, feed_id: FeedId) -> dict[str, Any]:
        """Return a feed with its batch and its newest runs."""
        body = _feed_entry(self._connect().feed_response(feed_id, limit=MAX_RUNS))
        runs = list(map(_run_entry, body["runs"]))
        step = "Call status with a run's batch_id. change_feed pauses, resumes or ends the feed."
        return {**body, "runs": runs, "next": step}

    def run_feed(self, feed_id: FeedId) -> dict[str, Any]:
        """Run a feed now, also while it is paused. A feed `on` logs cannot be run."""
        run = self._connect().run_feed(feed_id)
        step = "Call status with this batch_id."
        if run.error:
            step = f"Read {self._docs(run.error_code)}, and change the feed."
        return {**_run_entry(run.response), "next": step}

    def change_feed(
        self,
        feed_id: FeedId,
        change: Annotated[
            Literal["pause", "resume", "end"] | None, Doc("An ended feed cannot be resumed.")
        ] = None,
        budget: Annotated[
            int | str | None, Doc("The maximum to spend on all runs in 24 hours, in wei.")
        ] = None,
    ) -> dict[str, Any]:
        """Pause, resume or end a feed, or change its budget."""
        service = self._connect()
        changes = {
            "pause": service.pause_feed,
            "resume": service.resume_feed,
            "end": service.end_feed,
        }
        if change is None and budget is None:
            raise UsageError("Name a change or a budget.")
        if budget is not None:
            feed = service.set_feed_budget(feed_id, budget)
        if change is not None:
            feed = changes[change](feed_id)
        step = "Call feed with this feed_id, to see its runs."
        return {**_feed_entry(feed.response), "next": step}

    def _delivery_entry(self, delivery: DeliveryStatus) -> dict[str, Any]:
        code = delivery.error_code or delivery.wait_code
        entry = {
            "to": delivery.to,
            "function": delivery.function,
            "state": delivery.state,
            "gas": delivery.gas,
            "transaction": delivery.transaction or None,
        }
        reason = {"code": code, "message": delivery.error or delivery.waits_for} if code else {}
        return entry | reason | ({"docs": self._docs(code)} if code else {})

    def _docs(self, code: str) -> str:
        return f"{self._url}/docs/status#{code}"


def _feed_entry(body: Mapping[str, Any]) -> dict[str, Any]:
    """The feed with its id under the name that the tools take."""
    return {"feed_id": body["id"], **{name: body[name] for name in body if name != "id"}}


def _run_entry(body: Mapping[str, Any]) -> dict[str, Any]:
    """The run with its batch's id under the name that the tools take."""
    members = {name: body[name] for name in body if name != "batchQueryId"}
    return {"batch_id": body["batchQueryId"], **members}


def _fact_entry(fact: ProvenFact) -> dict[str, Any]:
    read = fact.read
    return {
        "chain": str(fact.chain),
        "block": str(fact.block),
        "account": fact.account,
        "name": fact.name,
        "word": fact.word,
        "number": _number_text(fact.number),
        "event": fact.event.response if fact.event else None,
        "read": {
            "to": read.to,
            "signature": read.signature,
            "arguments": list(map(_json_argument, read.arguments)),
            "data": read.data,
        },
    }


def _number_text(number: int | None) -> str | None:
    """Decimal text, because many JSON readers keep only 53 bits of a number."""
    return None if number is None else str(number)


def _json_argument(argument: Argument) -> object:
    if isinstance(argument, list):
        return list(map(_json_argument, argument))
    if isinstance(argument, bool):
        return argument
    return f"0x{argument.hex()}" if isinstance(argument, bytes) else str(int(argument))


def _argument_problem(problem: Any) -> str:
    path = ".".join(map(str, problem["loc"]))
    if problem["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"Unknown field: {path}."
    return f"{path}: {problem['msg']}."


def _error_text(error: TacitusError, url: str) -> str:
    path = f" (at {error.path})" if error.path else ""
    return f"{error.sentence}{path} Code: {error.code}. See {url}/docs/status#{error.code}"


def run_mcp_server(url: str, connect: Callable[[], Tacitus]) -> None:
    """Serve over stdin and stdout until stdin ends."""
    try:
        from mcp.server.mcpserver import MCPServer  # noqa: PLC0415  (no other command needs it)
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
        from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UsageError(
            "tacitus.py mcp needs one more package: python -m pip install 'mcp>=2.3,<3'"
        ) from None

    class Server(MCPServer):
        async def call_tool(self, name: str, *arguments: Any, **options: Any) -> Any:
            """Refuse with the error's sentence, or with one for each invalid argument."""
            try:
                return await super().call_tool(name, *arguments, **options)
            except ToolError as error:
                cause = error.__cause__
                problems = getattr(cause, "errors", None)  # if pydantic refused them
                if isinstance(cause, TacitusError):
                    raise ToolError(_error_text(cause, url)) from cause
                if problems is None:
                    raise
                raise ToolError(" ".join(map(_argument_problem, problems()))) from cause

    ArgModelBase.model_config["extra"] = "forbid"
    tools = AgentTools(url, connect)
    # At INFO it would log each refusal, which the agent reads anyway.
    server = Server("tacitus", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    batch_tools = (tools.routes, tools.estimate, tools.submit, tools.status, tools.cancel)
    proof_tools = (tools.proof, tools.witness, tools.slot)
    feed_tools = (tools.create_feed, tools.feeds, tools.feed, tools.run_feed, tools.change_feed)
    for tool in (*batch_tools, *proof_tools, *feed_tools):
        server.add_tool(tool)
    server.run("stdio")
