"""The nodes of a chain: fail-over in the operator's order, cool-downs, lag, and one quorum.

Health belongs to the process and is shared by its threads; connections belong to a pool, and a pool
to one thread.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, closing, suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

from queries.chain.errors import (
    BatchTooLarge,
    BeyondHorizonError,
    CallReverted,
    ChainAnswer,
    ChainError,
    NodeFault,
    NodesLie,
    NodesLimited,
    NodesOfAnotherChain,
    NodesUnreachable,
    NoQuorum,
    QuestionRefused,
    RegistryAbsent,
    revert_data,
)
from queries.chain.json_rpc import JsonRpc, NodeRefused, NodeUnreachable, Question
from queries.config.routes import Chain, NodeAddress
from queries.proving.errors import ArgumentMalformed, ProofError
from queries.proving.json_values import read_object, read_quantity

BLOCK, LATEST = "eth_getBlockByNumber", ("latest", False)  # the question for the head

Checked = TypeVar("Checked")
Answer = TypeVar("Answer")
Check = Callable[[Any], Checked]

log = logging.getLogger("tacitus")


class Head(NamedTuple):
    """The newest block that a node has shown."""

    timestamp: int
    read_at: float


@dataclass(eq=False)
class Health:
    """One node, as all threads of the process have seen it. Moments are by the monotonic clock."""

    name: str
    chain: Chain
    at_once: int  # questions in a request
    chain_known_until: float = 0.0  # its chain id was right
    fault: type[ChainError] | None = None  # why it failed, until it answers again
    head: Head | None = None
    _pause: float = 0.0  # of its last cool-down, until it answers again
    _pause_ends: float = 0.0
    _asked_from: float = 0.0
    _failing_since: float = math.inf
    _lagging_since: float = math.inf
    _unanswered: dict[Hashable, float] = field(default_factory=dict)  # since when, by question
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def may_be_asked(self) -> bool:
        """False in cool-down. When it ends, one thread gets True and the others False."""
        with self._lock:
            now = time.monotonic()
            if now < self._asked_from:
                return False
            if self.fault:
                self._asked_from = now + self.chain.limits.request_timeout
            return True

    def failed(self, kind: type[ChainError]) -> None:
        """Start a cool-down, twice as long as the one before."""
        limits = self.chain.limits
        with self._lock:
            now = time.monotonic()
            self.chain_known_until = 0.0
            if now < self._pause_ends:
                return  # asked before the cool-down began
            is_new, self.fault = self.fault is not kind, kind
            self._failing_since = min(self._failing_since, now)
            self._pause = min(2 * self._pause or limits.cooldown_first, limits.cooldown_longest)
            self._asked_from = self._pause_ends = now + self._pause
        if is_new:
            log.warning("%s fails: %s.", self.name, kind.code)

    def answered(self) -> None:
        """End the cool-down."""
        if self.fault:
            self.fault, self._failing_since = None, math.inf
            self._pause = self._pause_ends = self._asked_from = 0.0
            log.info("%s answers again.", self.name)

    def note_head(self, timestamp: int) -> None:
        # A head in the future makes no other node lag.
        self.head = Head(min(timestamp, int(time.time())), time.monotonic())
        self._lagging_since = (
            min(self._lagging_since, self.head.read_at) if self.lags() else math.inf
        )

    def lags(self) -> bool:
        """Whether another node of the chain has a head well ahead, by heads read lately."""
        return any(self._is_behind(each) for each in list(_known.values()))

    def _is_behind(self, other: "Health") -> bool:
        if not self.head or not other.head or self.chain.id != other.chain.id:
            return False
        limits, read_at = self.chain.limits, self.head.read_at
        if time.monotonic() > min(read_at, other.head.read_at) + limits.cooldown_longest:
            return False
        # A head that was read earlier may be that much older.
        allowed = limits.lag + max(other.head.read_at - read_at, 0)
        return other.head.timestamp - self.head.timestamp > allowed

    def absent_since(self, question: Hashable) -> float:
        """Since when the node has failed, lagged, or answered this question only with errors.

        A question is forgotten after 2 * (`quorum_wait` + `retry_longest`).
        """
        now, limits = time.monotonic(), self.chain.limits
        kept_for = 2 * (limits.quorum_wait + limits.retry_longest)
        with self._lock:
            known = {each: t for each, t in self._unanswered.items() if now < t + kept_for}
            self._unanswered = known
            since = known.setdefault(question, now)
        return min(since, self._failing_since, self._lagging_since)

    def note_answered(self, question: Hashable) -> None:
        with self._lock:
            self._unanswered.pop(question, None)


_known: dict[tuple[int, str], Health] = {}  # by chain and address, for the whole process


class Node:
    """A connection to one node, for one thread. Its chain id is checked before anything else."""

    def __init__(self, chain: Chain, address: NodeAddress, until: float) -> None:
        self._chain = chain
        # By its number in the log, because its address may hold a key.
        new = Health(f"Node {address.number} of {chain.name}", chain, chain.limits.batch_questions)
        self.health = _known.setdefault((chain.id, address.url), new)
        self.rpc = JsonRpc(address.url, chain.limits, until)

    def ask(self, method: str, questions: Sequence[Question]) -> list[Any | NodeRefused]:
        """An answer or error for each question, or a `NodeFault`."""
        health = self.health
        if not health.may_be_asked():
            raise NodeFault(health.fault or NodesUnreachable)
        if time.monotonic() > health.chain_known_until:
            self._check_chain()
        answers: list[Any | NodeRefused] = []
        while some := questions[len(answers) : len(answers) + health.at_once]:
            try:
                answers += self._request(method, some)
            except NodeFault as fault:
                if fault.kind is not BatchTooLarge or len(some) == 1:
                    raise
                health.at_once = len(some) // 2
        return answers

    def read(
        self, method: str, question: Question, answer: object, check: Check[Checked]
    ) -> Checked | ChainAnswer:
        """What `check` returns for the answer, or the chain's own error; else a `NodeFault`."""
        if isinstance(answer, NodeRefused):
            if not issubclass(answer.kind, ChainAnswer):
                raise answer
            data = revert_data(answer.data) if answer.kind is CallReverted else b""
            is_beyond = data.startswith(BeyondHorizonError.selector)
            kind = BeyondHorizonError if is_beyond else answer.kind
            return kind.of(self._chain.name, method, answer.why, data)
        try:
            if (method, question) == (BLOCK, LATEST):
                self._note_head(answer)
            return check(answer)
        except ArgumentMalformed:
            raise  # our own mistake, and not the node's
        except ProofError as lie:
            # By its kind: the sentence may repeat what the node wrote.
            raise NodeFault(NodesLie, f" {lie.meaning()}") from None

    def check_head(self, kind: type[ChainError]) -> None:
        """After a fault with one question: ask for the head; start a cool-down if it fails too."""
        try:
            (block,) = self.rpc.ask_many(BLOCK, [LATEST], self._chain.limits.head_timeout)
            self._note_head(block)
        except (NodeFault, ProofError):
            if not self._is_out_of_time():
                self.health.failed(kind)

    def _note_head(self, block: object) -> None:
        """Note when its head was made; `NodeFault` if that is in the future."""
        timestamp = read_quantity(read_object(block, "a block").get("timestamp"), "timestamp")
        latest = time.time() + self._chain.limits.lag
        # If this is the only node, the clock of this machine may be wrong as well.
        if len(self._chain.nodes) > 1 and timestamp > latest:
            raise NodeFault(NodesLie, " Its head is in the future.")
        self.health.note_head(timestamp)

    def _check_chain(self) -> None:
        health, limits = self.health, self._chain.limits
        (answer,) = self._request("eth_chainId", [()])
        with suppress(ProofError):
            if read_quantity(answer, "eth_chainId") == self._chain.id:
                health.chain_known_until = time.monotonic() + limits.chain_id_age
                health.at_once = limits.batch_questions  # it may take more than it did
                return
        fault = answer if isinstance(answer, NodeRefused) else NodeFault(NodesOfAnotherChain)
        health.failed(fault.kind)
        raise fault

    def _request(self, method: str, questions: Sequence[Question]) -> list[Any | NodeRefused]:
        try:
            answers = self.rpc.ask_many(method, questions)
        except NodeUnreachable as fault:
            if fault.is_down and not self._is_out_of_time():
                self.health.failed(fault.kind)
            elif fault.kind is not BatchTooLarge:
                self.check_head(fault.kind)
            raise
        for each in answers:
            if isinstance(each, NodeRefused) and each.kind in {NodesLimited, BatchTooLarge}:
                if each.kind is NodesLimited:
                    self.health.failed(each.kind)
                raise each
        return answers

    def _is_out_of_time(self) -> bool:
        """Whether our own deadline has passed: then a time-out says nothing about the node."""
        return time.monotonic() >= self.rpc.until


class NodePool:
    """The nodes of a chain, for one thread. Nothing is waited for after `until`."""

    def __init__(self, chain: Chain, *, until: float = math.inf) -> None:
        self.chain = chain
        self._nodes = [Node(chain, address, until) for address in chain.nodes]
        self._first = 0  # place of the node that is asked first

    @classmethod
    def for_visitor(cls, chain: Chain) -> AbstractContextManager[Self]:
        """All of its questions end after `visitor_timeout`."""
        return closing(cls(chain, until=time.monotonic() + chain.limits.visitor_timeout))

    def checked(self, method: str, params: Question, check: Check[Checked]) -> Checked:
        """What `check` returns for the answer.

        `check` raises a `ProofError` if the answer is wrong, or a `NodeFault`; then the next node
        is asked. `NodesLie` is raised if all are wrong.
        """
        answers: list[Checked] = self.checked_many(method, [params], check)
        return answers[0]

    def checked_many(
        self,
        method: str,
        params_list: Sequence[Question],
        check: Check[Any] | Sequence[Check[Any]],
        expected: Any = (),
    ) -> list[Any]:
        """The same for many questions, with one check for all or one for each.

        An error of the chain's own is an answer if it is of the `expected` classes. The next node
        is asked what is still open.
        """
        checks = [check] * len(params_list) if callable(check) else check
        answers: list[Any] = []
        faults: list[NodeFault] = []
        for node in self._order():
            done = len(answers)
            if done == len(params_list):
                break
            try:
                given = node.ask(method, params_list[done:])
            except NodeFault as fault:
                faults.append(fault)
                continue
            try:
                for place, answer in enumerate(given, done):
                    answers.append(node.read(method, params_list[place], answer, checks[place]))
            except NodeFault as fault:
                faults.append(fault)
                if fault.kind is NodesLie:
                    node.check_head(NodesLie)
                    continue
            node.health.answered()
        if len(answers) < len(params_list):
            worst = min(faults, key=lambda fault: _rank(fault.kind))
            raise worst.kind.of(self.chain.name, method, worst.why)
        for each in answers:
            if isinstance(each, ChainAnswer) and not isinstance(each, expected):
                raise each
        return answers

    def quorum(self, question: Callable[[Self], Answer], about: Hashable) -> Answer:
        """The answer that two nodes give, or `NoQuorum` if the question has to be retried.

        `question` is called with a view of one node. `about` identifies the question and its block.
        A single answer counts if there is one node only, or if every other node has failed, lagged
        or answered this question only with an error for `quorum_wait`. A revert is an answer.
        """
        answers: list[Answer | ChainError] = []
        faults: list[ChainError] = []
        absent: list[float] = []
        for node in self._order():
            health = node.health
            try:
                answer: Answer | ChainError = question(self._with(node))
            except (ChainAnswer, RegistryAbsent) as refusal:
                answer = refusal
            except ChainError as fault:
                faults.append(fault)
                absent.append(health.absent_since(about))
                continue
            if len(self._nodes) == 1 or answer in answers:
                health.note_answered(about)
                return _returned(answer)
            if answers and health.lags():
                absent.append(health.absent_since(about))
            else:
                health.note_answered(about)
            answers.append(answer)
        if not answers:
            raise min(faults, key=lambda fault: _rank(type(fault)))
        latest = time.monotonic() - self.chain.limits.quorum_wait
        is_alone = len(absent) == len(self._nodes) - 1
        if is_alone and all(since <= latest for since in absent):
            return _returned(answers[0])
        raise NoQuorum.of(self.chain.name)

    def ask_each(self, method: str, params: Question) -> None:
        """Ask every node, and ignore the answers."""
        for node in self._order():
            with suppress(NodeFault):
                node.ask(method, [params])

    def ask_first(self, attempt: int) -> bool:
        """Put another node first at each attempt; False if the same one stays first."""
        before, self._first = self._first, attempt % len(self._nodes)
        return self._first != before

    def close(self) -> None:
        for node in self._nodes:
            node.rpc.close()

    def _order(self) -> list[Node]:
        """The operator's order from the first one on; those that lag come last."""
        nodes = self._nodes[self._first :] + self._nodes[: self._first]
        return sorted(nodes, key=lambda node: node.health.lags())

    def of_node(self, number: int) -> Self:
        """A view of the pool with only this node of the operator's list."""
        return self._with(self._nodes[number - 1])

    def _with(self, node: Node) -> Self:
        view = copy(self)
        view._nodes, view._first = [node], 0  # noqa: SLF001
        return view


def _rank(kind: type[ChainError]) -> tuple[bool, bool]:
    """The lowest error is raised: one that a changed question or a retry may fix."""
    return not issubclass(kind, QuestionRefused), not kind.retryable


def _returned(answer: Answer | ChainError) -> Answer:
    if isinstance(answer, ChainError):
        raise answer
    return answer
