"""The nodes of a chain: fail-over in the operator's order, cool-downs, lag, and the quorum.

Threads of a process share the health of nodes. A pool and its connections belong to one thread.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, closing, suppress
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Self, TypeVar

from queries.chain.errors import (
    BeyondHorizonError,
    CallRevertedError,
    ChainError,
    ChainRefusalError,
    InvalidAnswersError,
    NodeError,
    NodesUnreachableError,
    NoQuorumError,
    ParametersRejectedError,
    RateLimitedError,
    RegistryAbsentError,
    RpcBatchTooLargeError,
    WrongChainIdError,
    revert_data,
)
from queries.chain.json_rpc import JsonRpc, JsonRpcError, NodeTransportError, Params
from queries.config.chains import Chain, NodeAddress
from queries.proving import ArgumentMalformedError, ProofError, read_object, read_quantity

GET_BLOCK, LATEST_BLOCK = "eth_getBlockByNumber", ("latest", False)

Value = TypeVar("Value")
Answer = TypeVar("Answer")
Parameters = ParamSpec("Parameters")
Check = Callable[[Any], Value]

log = logging.getLogger("tacitus.chain")
MAX_LOGGED_ANSWER = 200  # characters


class Head(NamedTuple):
    """The newest block that a node has reported."""

    timestamp: int
    read_at: float  # by the monotonic clock


@dataclass(eq=False)
class NodeHealth:
    """The state of a node, for all threads of the process. Times are by the monotonic clock."""

    name: str
    chain: Chain
    batch_size: int  # calls in a request
    chain_checked_until: float = 0.0  # the chain id needs no check before then
    fault: type[ChainError] | None = None  # why it failed, until it answers again
    detail: str = ""  # of the fault, for its sentence
    head: Head | None = None
    _cooldown: float = 0.0  # length of the last one, until it answers again
    _cooldown_ends: float = 0.0
    _next_request: float = 0.0
    _failing_since: float = math.inf
    _lagging_since: float = math.inf
    _unanswered_since: dict[Hashable, float] = field(default_factory=dict)  # start time by question
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def allow_request(self) -> bool:
        """False during a cool-down. After it, True for one thread per `request_timeout`."""
        with self._lock:
            now = time.monotonic()
            if now < self._next_request:
                return False
            if self.fault:
                self._next_request = now + self.chain.limits.request_timeout
            return True

    def record_failure(self, kind: type[ChainError], detail: str = "") -> None:
        """Start a cool-down, twice as long as the last one."""
        limits = self.chain.limits
        with self._lock:
            now = time.monotonic()
            self.chain_checked_until = 0.0
            if now < self._cooldown_ends:
                return  # the request began before the cool-down
            self.fault, self.detail = kind, detail
            self._failing_since = min(self._failing_since, now)
            cooldown = 2 * self._cooldown or limits.initial_cooldown
            self._cooldown = min(cooldown, limits.max_cooldown)
            self._next_request = self._cooldown_ends = now + self._cooldown
        log.warning("%s fails: %s.", self.name, kind.code)

    def record_success(self) -> None:
        """End the cool-down."""
        if self.fault:
            self.fault, self._failing_since = None, math.inf
            self._cooldown = self._cooldown_ends = self._next_request = 0.0
            log.info("%s answers again.", self.name)

    def record_head(self, timestamp: int) -> None:
        # Clamped to now, so that a head in the future makes no other node lag.
        self.head = Head(min(timestamp, int(time.time())), time.monotonic())
        lagging_start = min(self._lagging_since, self.head.read_at)
        self._lagging_since = lagging_start if self.is_lagging() else math.inf

    def is_lagging(self) -> bool:
        """Whether another node of the chain has reported a much newer head recently."""
        return any(self._is_behind(other) for other in list(_health_by_node.values()))

    def _is_behind(self, other: "NodeHealth") -> bool:
        if not self.head or not other.head or self.chain.id != other.chain.id:
            return False
        limits, read_at = self.chain.limits, self.head.read_at
        if time.monotonic() > min(read_at, other.head.read_at) + limits.max_cooldown:
            return False
        # If this head was read earlier, it may be older by that difference.
        max_lag = limits.max_lag + max(other.head.read_at - read_at, 0)
        return other.head.timestamp - self.head.timestamp > max_lag

    def record_unanswered(self, question: Hashable) -> float:
        """Record that the node did not answer the question. Returns since when it has failed,
        lagged, or answered this question only with errors.
        """
        now, limits = time.monotonic(), self.chain.limits
        max_age = 2 * (limits.quorum_wait + limits.max_retry_delay)  # then it is forgotten
        with self._lock:
            self._unanswered_since = {
                q: t for q, t in self._unanswered_since.items() if now < t + max_age
            }
            start = self._unanswered_since.setdefault(question, now)
        return min(start, self._failing_since, self._lagging_since)

    def clear_unanswered(self, question: Hashable) -> None:
        with self._lock:
            self._unanswered_since.pop(question, None)


_health_by_node: dict[tuple[int, str], NodeHealth] = {}  # by chain id and URL


class Node:
    """A connection to one node, for one thread. Its chain id is checked before anything else."""

    def __init__(self, chain: Chain, address: NodeAddress, deadline: float) -> None:
        self._chain = chain
        # Logs show the node's number, because its address may hold a key.
        name = f"Node {address.number} of {chain.name}"
        new_health = NodeHealth(name, chain, chain.limits.max_batch_calls)
        self.health = _health_by_node.setdefault((chain.id, address.url), new_health)
        self.rpc = JsonRpc(address.url, chain.limits, deadline)

    def ask(self, method: str, params_list: Sequence[Params]) -> list[Any | JsonRpcError]:
        """Return an answer or error for each call, or raise `NodeError`."""
        health = self.health
        if not health.allow_request():
            raise NodeError(health.fault or NodesUnreachableError)
        if time.monotonic() > health.chain_checked_until:
            self._check_chain()
        answers: list[Any | JsonRpcError] = []
        while batch := params_list[len(answers) : len(answers) + health.batch_size]:
            try:
                answers += self._request(method, batch)
            except NodeError as error:
                if error.kind is not RpcBatchTooLargeError or len(batch) == 1:
                    raise
                health.batch_size = len(batch) // 2
        return answers

    def check_answer(
        self, method: str, params: Params, answer: object, check: Check[Value]
    ) -> Value | ChainRefusalError:
        """Return what `check` returns, or the chain's own error; or raise `NodeError`."""
        if isinstance(answer, JsonRpcError):
            if not issubclass(answer.kind, ChainRefusalError):
                raise answer
            data = revert_data(answer.data) if answer.kind is CallRevertedError else b""
            is_beyond = data.startswith(BeyondHorizonError.selector)
            kind = BeyondHorizonError if is_beyond else answer.kind
            return kind.create(self._chain.name, method, answer.detail, data)
        try:
            if (method, params) == (GET_BLOCK, LATEST_BLOCK):
                self._record_head(answer)
            return check(answer)
        except ArgumentMalformedError:
            raise  # our own mistake, not the node's
        except ProofError as error:
            # Not the error's own sentence, which may repeat the node's text.
            raise NodeError(InvalidAnswersError, f" {error.summary}") from None

    def probe_head(self, kind: type[ChainError]) -> None:
        """Call this after a fault: start a cool-down if a request for the head fails too."""
        try:
            (block,) = self.rpc.ask_many(GET_BLOCK, [LATEST_BLOCK], self._chain.limits.head_timeout)
            self._record_head(block)
        except (NodeError, ProofError):
            if not self._is_past_deadline():
                self.health.record_failure(kind)

    def _record_head(self, block: object) -> None:
        """Record the head's time; raise `NodeError` if that is in the future."""
        timestamp = read_quantity(read_object(block, "a block").get("timestamp"), "timestamp")
        max_timestamp = time.time() + self._chain.limits.max_lag
        # With only one node, this machine's clock may be the one that is wrong.
        if len(self._chain.nodes) > 1 and timestamp > max_timestamp:
            raise NodeError(InvalidAnswersError, " Its head is in the future.")
        self.health.record_head(timestamp)

    def _check_chain(self) -> None:
        health, limits = self.health, self._chain.limits
        (answer,) = self._request("eth_chainId", [()])
        with suppress(ProofError):
            if read_quantity(answer, "eth_chainId") == self._chain.id:
                health.chain_checked_until = time.monotonic() + limits.node_check_interval
                health.batch_size = limits.max_batch_calls  # the node may accept more than before
                return
        error = answer if isinstance(answer, JsonRpcError) else NodeError(WrongChainIdError)
        health.record_failure(error.kind)
        raise error

    def _request(self, method: str, params_list: Sequence[Params]) -> list[Any | JsonRpcError]:
        try:
            answers = self.rpc.ask_many(method, params_list)
        except NodeTransportError as error:
            if error.is_down and not self._is_past_deadline():
                self.health.record_failure(error.kind)
            elif error.kind is not RpcBatchTooLargeError:
                self.probe_head(error.kind)
            raise
        for answer in answers:
            kind = answer.kind if isinstance(answer, JsonRpcError) else None
            if kind is RateLimitedError:
                self.health.record_failure(RateLimitedError)
            if kind in {RateLimitedError, RpcBatchTooLargeError}:
                raise answer
        return answers

    def _is_past_deadline(self) -> bool:
        """Whether our deadline has passed; a time-out then proves nothing about the node."""
        return time.monotonic() >= self.rpc.deadline


class NodePool:
    """The nodes of a chain, for one thread. Requests end at `deadline` (monotonic)."""

    def __init__(self, chain: Chain, *, deadline: float = math.inf) -> None:
        self.chain = chain
        self.deadline = deadline
        self.nodes = [Node(chain, address, deadline) for address in chain.nodes]
        self._first = 0  # index of the node to ask first

    @classmethod
    def open_for_visitor(cls, chain: Chain) -> AbstractContextManager[Self]:
        """Open a pool whose requests all end within `visitor_timeout` from now."""
        return closing(cls(chain, deadline=time.monotonic() + chain.limits.visitor_timeout))

    def fetch(self, method: str, params: Params, check: Check[Value]) -> Value:
        """Return what `check` returns for the answer.

        `check` raises `ProofError` if the answer is wrong, or `NodeError`; the next node is asked
        then. Raises `InvalidAnswersError` if all answers are wrong.
        """
        answers: list[Value] = self.fetch_many(method, [params], check)
        return answers[0]

    def fetch_many(
        self,
        method: str,
        params_list: Sequence[Params],
        check: Check[Any] | Sequence[Check[Any]],
        returned_errors: tuple[type[ChainRefusalError], ...] = (),
    ) -> list[Any]:
        """Like `fetch`, for many calls, with one check for all or a check per call.

        The chain's own errors of the classes `returned_errors` are returned, and others raised. If
        a node fails, the next one is asked for the remaining answers.
        """
        checks = [check] * len(params_list) if callable(check) else check
        answers: list[Any] = []
        errors: list[NodeError] = []
        for node in self._ordered_nodes():
            answer_count = len(answers)
            if answer_count == len(params_list):
                break
            try:
                replies = node.ask(method, params_list[answer_count:])
            except NodeError as error:
                errors.append(error)
                continue
            try:
                for index, reply in enumerate(replies, answer_count):
                    check = checks[index]
                    answers.append(node.check_answer(method, params_list[index], reply, check))
            except NodeError as error:
                errors.append(error)
                if error.kind is InvalidAnswersError:
                    node.probe_head(InvalidAnswersError)
                    continue
            node.health.record_success()
        if len(answers) < len(params_list):
            best_error = min(errors, key=lambda error: _error_rank(error.kind))
            raise best_error.kind.create(self.chain.name, method, best_error.detail)
        for answer in answers:
            if isinstance(answer, ChainRefusalError) and not isinstance(answer, returned_errors):
                raise answer
        return answers

    def ask_quorum(
        self,
        question: Callable[Concatenate[Self, Parameters], Answer],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Answer:
        """Return the answer that two nodes give, or raise `NoQuorumError`, which calls for a retry.

        `question` is called with a view of a single node and these arguments. A single answer
        counts if there is only one node, or if for `quorum_wait` every other node has failed,
        lagged or answered this question with errors. A revert is an answer.

        The function and the positional arguments identify the question across retries. Pass values
        that change between retries, such as the latest block, by keyword, or let the function close
        over them.

            header = source.ask_quorum(ChainClient.header, 19_000_000)
        """
        return self.poll(question, *args, **options).quorum()

    def poll(
        self,
        question: Callable[Concatenate[Self, Parameters], Answer],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> "Poll[Answer]":
        """Return a `Poll`, which asks nodes only as needed: for callers that may not need a quorum
        after the first answer.
        """
        key = question.__module__, question.__qualname__, args
        nodes = [
            (node.health, partial(question, self.view(node), *args, **options))
            for node in self._ordered_nodes()
        ]
        return Poll(self.chain, key, nodes)

    def ask_all(self, method: str, params: Params) -> None:
        """Ask every node, and ignore the answers."""
        for node in self._ordered_nodes():
            with suppress(NodeError):
                node.ask(method, [params])

    def rotate(self, attempt: int) -> bool:
        """Put another node first for each attempt. False if the first node stays the same."""
        previous, self._first = self._first, attempt % len(self.nodes)
        return self._first != previous

    def close(self) -> None:
        for node in self.nodes:
            node.rpc.close()

    def _ordered_nodes(self) -> list[Node]:
        """The nodes in the operator's order, starting with `_first`; lagging nodes come last."""
        nodes = self.nodes[self._first :] + self.nodes[: self._first]
        return sorted(nodes, key=lambda node: node.health.is_lagging())

    def view(self, node: Node) -> Self:
        """A view of the pool with only this node."""
        view = copy(self)
        view.nodes, view._first = [node], 0  # noqa: SLF001
        return view


class Poll(Generic[Answer]):
    """A question to the nodes of a chain. Each of them is asked once, and only if needed."""

    def __init__(
        self, chain: Chain, key: Hashable, nodes: Sequence[tuple[NodeHealth, Callable[[], Answer]]]
    ) -> None:
        self._chain, self._key, self._nodes = chain, key, nodes
        self._remaining = iter(nodes)
        self._answers: list[Answer | ChainError] = []
        self._errors: list[ChainError] = []
        self._unavailable_since: list[float] = []  # of other nodes
        self._has_quorum = False  # for the last answer

    def first(self) -> Answer:
        """The answer of the first node that has one."""
        while not self._answers:
            if not self._ask_next():
                raise min(self._errors, key=lambda error: _error_rank(type(error)))
        return _return_or_raise(self._answers[0])

    def quorum(self) -> Answer:
        """The answer that `ask_quorum` describes."""
        return self.equal_answers()[0]

    def equal_answers(self) -> list[Answer]:
        """The two answers that make the quorum, or the single one that counts. They are equal, but
        equality may leave out or round what honest nodes report differently.
        """
        while not self._has_quorum and self._ask_next():
            pass
        if self._has_quorum:
            last = _return_or_raise(self._answers[-1])
            answers = [answer for answer in self._answers if not isinstance(answer, ChainError)]
            return [answer for answer in answers if answer == last]
        cutoff = time.monotonic() - self._chain.limits.quorum_wait
        is_single_answer = len(self._unavailable_since) == len(self._nodes) - 1
        if not self._answers or (
            is_single_answer and all(start <= cutoff for start in self._unavailable_since)
        ):
            return [self.first()]
        if len(self._answers) > 1:
            different = "; ".join(str(answer)[:MAX_LOGGED_ANSWER] for answer in self._answers)
            log.info("The nodes of %s do not agree: %s", self._chain.name, different)
        raise NoQuorumError.create(self._chain.name)

    def _ask_next(self) -> bool:
        """Ask the next node. False if there is none."""
        node = next(self._remaining, None)
        if node is None:
            return False
        health, ask = node
        try:
            answer: Answer | ChainError = ask()
        except (ChainRefusalError, RegistryAbsentError) as refusal:
            answer = refusal
        except ChainError as error:
            self._errors.append(error)
            self._unavailable_since.append(health.record_unanswered(self._key))
            return True
        self._has_quorum = len(self._nodes) == 1 or answer in self._answers
        if self._answers and not self._has_quorum and health.is_lagging():
            self._unavailable_since.append(health.record_unanswered(self._key))
        else:
            health.clear_unanswered(self._key)
        self._answers.append(answer)
        return True


def _error_rank(kind: type[ChainError]) -> tuple[bool, bool]:
    """Sort key: errors that another form of the request or a retry may fix come first."""
    return not issubclass(kind, ParametersRejectedError), not kind.retryable


def _return_or_raise(answer: Answer | ChainError) -> Answer:
    if isinstance(answer, ChainError):
        raise answer
    return answer
