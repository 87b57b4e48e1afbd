"""The nodes of a chain: fail-over in the operator's order, cool-downs, lag, and one quorum.

Health belongs to the process and is shared by its threads; connections belong to a pool, and a pool
to one thread.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from queries.chain.errors import (
    BatchTooLarge,
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
from queries.proving.errors import ArgumentMalformed, ProofError
from queries.proving.json_values import read_object, read_quantity
from queries.routes import Chain, NodeAddress

LATEST = ("latest", False)

Checked = TypeVar("Checked")
Answer = TypeVar("Answer")
Check = Callable[[Any], Checked]

log = logging.getLogger("tacitus")


@dataclass(eq=False)
class Health:
    """One node, as all threads of the process have seen it. Moments are by the monotonic clock."""

    name: str
    chain: Chain
    at_once: int  # questions in a request
    fault: type[ChainError] | None = None  # of its last failure, until it answers again
    chain_known_until: float = 0.0  # its chain id was right
    _asked_from: float = 0.0
    _pause: float = 0.0
    _pause_ends: float = 0.0
    _failing_since: float = math.inf
    head: tuple[int, float] | None = None  # its timestamp, and when it was read
    _lagging_since: float = math.inf
    # Since when each question of a quorum has met only errors, and when it last did.
    _unanswered: dict[Hashable, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def may_be_asked(self) -> bool:
        """False in cool-down. At its end one thread asks, and the others wait for the result."""
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
            now, known = time.monotonic(), self.fault
            self.chain_known_until = 0.0
            if known and now < self._pause_ends:
                return  # asked before the cool-down began
            if known is None or now > self._pause_ends + limits.quorum_wait:
                self._failing_since = now  # a failure long ago says nothing of the time between
            longer = min(2 * self._pause, limits.cooldown_longest)
            self._pause = longer if known else limits.cooldown_first
            self._asked_from = self._pause_ends = now + self._pause
            self.fault = kind
        if kind is not known:
            log.warning("%s fails: %s.", self.name, kind.code)

    def answered(self) -> None:
        """End the cool-down."""
        if self.fault is None:
            return
        with self._lock:
            self.fault, self._asked_from, self._failing_since = None, 0.0, math.inf
        log.info("%s answers again.", self.name)

    def note_head(self, timestamp: int) -> None:
        now = time.monotonic()
        self.head = timestamp, now
        self._lagging_since = min(self._lagging_since, now) if self.lags() else math.inf

    def lags(self) -> bool:
        """Whether another node of the chain has a head well ahead, by heads read lately."""
        return any(self._lags_behind(each) for each in list(_known.values()))

    def _lags_behind(self, other: "Health") -> bool:
        if not self.head or not other.head or self.chain.id != other.chain.id:
            return False
        limits = self.chain.limits
        (ours, our_time), (theirs, their_time) = self.head, other.head
        if time.monotonic() > min(our_time, their_time) + limits.cooldown_longest:
            return False
        return theirs - ours - max(their_time - our_time, 0) > limits.lag

    def absent_since(self, about: Hashable) -> float:
        """Note that it has not answered this question, and return since when it has not."""
        now, limits = time.monotonic(), self.chain.limits
        kept_for = 2 * (limits.quorum_wait + limits.retry_longest)  # twice its longest retry
        with self._lock:
            known = {k: times for k, times in self._unanswered.items() if now < times[1] + kept_for}
            since, _ = known.get(about, (now, now))
            self._unanswered = known | {about: (since, now)}
        failing_since = self._failing_since if self.fault else math.inf
        return min(since, failing_since, self._lagging_since)

    def has_answered(self, about: Hashable) -> None:
        with self._lock:
            self._unanswered.pop(about, None)


_known: dict[tuple[int, str], Health] = {}  # by chain and address, for the whole process


class Node:
    """A connection to one node, for one thread. Its chain id is checked before anything else."""

    def __init__(
        self, chain: Chain, number: int, address: NodeAddress, timeout: float, until: float
    ) -> None:
        self._chain = chain
        # By its number in the log, because its address may hold a key.
        new = Health(f"Node {number} of {chain.name}", chain, chain.limits.batch_questions)
        self.health = _known.setdefault((chain.id, address.url), new)
        self.rpc = JsonRpc(address.url, timeout, chain.limits.answer_mebibytes * 2**20, until)

    def ask(self, method: str, questions: Sequence[Question]) -> Iterator[Any | NodeRefused]:
        """An answer or error for each question, or a `NodeFault`."""
        if not self.health.may_be_asked():
            raise NodeFault(self.health.fault or NodesUnreachable)
        if time.monotonic() > self.health.chain_known_until:
            self._check_chain()
        done = 0
        while some := questions[done : done + self.health.at_once]:
            try:
                yield from self._request(method, some)
            except NodeFault as fault:
                if fault.kind is not BatchTooLarge or len(some) == 1:
                    raise
                self.health.at_once = len(some) // 2
            else:
                done += len(some)

    def note_head(self, timestamp: int) -> None:
        """Note when its head was made; `NodeFault` if that is in the future."""
        latest = time.time() + self._chain.limits.head_ahead
        # If this is the only node, the clock of this machine may be wrong as well.
        if len(self._chain.nodes) > 1 and timestamp > latest:
            raise NodeFault(NodesLie, " Its head is in the future.")
        self.health.note_head(timestamp)

    def read_head(self) -> bool:
        """Ask for its head and note it; False if the node fails to answer within our time."""
        limit = self._chain.limits.head_timeout
        try:
            (block,) = self.rpc.ask_many("eth_getBlockByNumber", [LATEST], limit)
            timestamp = read_object(block, "a block").get("timestamp")
            self.note_head(read_quantity(timestamp, "timestamp"))
        except (NodeFault, ProofError):
            return self._is_out_of_time()
        return True

    def check_head(self, kind: type[ChainError]) -> None:
        """After a fault with one question: start a cool-down if it has no head either."""
        if not self.read_head():
            self.health.failed(kind)

    def _check_chain(self) -> None:
        (answer,) = self._request("eth_chainId", [()])
        with suppress(ProofError):
            if read_quantity(answer, "eth_chainId") == self._chain.id:
                self.health.chain_known_until = time.monotonic() + self._chain.limits.chain_id_age
                return
        fault = answer if isinstance(answer, NodeRefused) else NodeFault(NodesOfAnotherChain)
        self.health.failed(fault.kind)
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
            if isinstance(each, NodeRefused) and each.kind is NodesLimited:
                self.health.failed(each.kind)
            if isinstance(each, NodeRefused) and each.kind in {NodesLimited, BatchTooLarge}:
                raise each
        return answers

    def _is_out_of_time(self) -> bool:
        """Whether our time is over, so that a time-out says nothing of the node."""
        return time.monotonic() >= self.rpc.until


class NodePool:
    """The nodes of a chain, for one thread. Nothing is waited for after `until`."""

    def __init__(
        self,
        chain: Chain,
        *,
        timeout: float | None = None,
        until: float = math.inf,
    ) -> None:
        """`first` is the number of the first node in the log."""
        self.chain = chain
        seconds = timeout or chain.limits.request_timeout
        self._nodes = [
            Node(chain, number, address, seconds, until)
            for number, address in enumerate(chain.nodes, 1)
        ]
        self._first = 0  # place of the node that is asked first
        self._alone: Node | None = None  # the only one that is asked, in a quorum
        self._answering = self._nodes[0]  # whose answer is being checked

    def ask(self, method: str, *params: object) -> Any:
        """The answer as a node gives it."""
        return self.checked(method, params, lambda answer: answer)

    def checked(self, method: str, params: Question, check: Check[Checked]) -> Checked:
        """What `check` returns for the answer.

        `check` raises a `ProofError` if the answer is wrong, or a `NodeFault`; then the next node
        is asked. `NodesLie` is raised if all are wrong.
        """
        (answer,) = self.checked_many(method, [params], [check])
        return answer

    def checked_many(
        self, method: str, params_list: Sequence[Question], checks: Sequence[Check[Checked]]
    ) -> list[Checked]:
        """The same for many questions."""
        answers = []
        for each in self.checked_or_refused(method, params_list, checks):
            if isinstance(each, ChainAnswer):
                raise each
            answers.append(each)
        return answers

    def checked_or_refused(
        self,
        method: str,
        params_list: Sequence[Question],
        check: Check[Checked] | Sequence[Check[Checked]],
    ) -> list[Checked | ChainAnswer]:
        """Many answers; if the chain itself refuses, such as a call, its error is one.

        There is one check for all, or one for each. The next node is asked what is still open.
        """
        checks = [check] * len(params_list) if callable(check) else check
        answers: dict[int, Checked | ChainAnswer] = {}
        faults: list[NodeFault] = []
        for node in self._order():
            places = [place for place in range(len(params_list)) if place not in answers]
            if not places:
                break
            self._answering, lies = node, False
            try:
                given = node.ask(method, [params_list[place] for place in places])
                for place, answer in zip(places, given, strict=True):
                    try:
                        answers[place] = self._read(method, answer, checks[place])
                    except NodeFault as fault:
                        faults.append(fault)
                        lies |= fault.kind is NodesLie
            except NodeFault as fault:
                faults.append(fault)
                continue
            if lies:
                node.check_head(NodesLie)
            else:
                node.health.answered()
        if len(answers) == len(params_list):
            return [answers[place] for place in range(len(params_list))]
        worst = min(faults, key=lambda fault: _rank(fault.kind))
        raise worst.kind.of(self.chain.name, method, worst.why)

    def quorum(self, question: "Callable[[NodePool], Answer]", about: Hashable) -> Answer:
        """The answer that two nodes give, or `NoQuorum` if the question has to be retried.

        `question` is called with a pool of one node, and `about` names it, with its block. A single
        answer counts if there is one node only, or if every other node has failed, lagged or
        answered this question only with an error for `quorum_wait`. A revert is an answer.
        """
        answers: list[Answer | ChainError] = []
        faults: list[ChainError] = []
        absent: list[float] = []
        for node in self._order():
            try:
                answer: Answer | ChainError = question(self._with(node))
            except (ChainAnswer, RegistryAbsent) as refusal:
                answer = refusal
            except ChainError as fault:
                faults.append(fault)
                if len(self._nodes) > 1 and node.health.fault is None:
                    node.read_head()  # which shows whether it lags
                absent.append(node.health.absent_since(about))
                continue
            node.health.has_answered(about)
            if len(self._nodes) == 1 or answer in answers:
                return _returned(answer)
            answers.append(answer)
        if not answers:
            raise min(faults, key=lambda fault: _rank(type(fault)))
        latest = time.monotonic() - self.chain.limits.quorum_wait
        if len(answers) == 1 and all(since <= latest for since in absent):
            return _returned(answers[0])
        disagree = len(answers) > 1
        why = "do not agree" if disagree else "do not all answer"
        error = NoQuorum.of(self.chain.name, why=why)
        error.disagree = disagree
        raise error

    def one_by_one(
        self, method: str, params: Question, check: Check[Checked]
    ) -> Iterator[Checked | ChainError]:
        """What each node answers by itself."""
        for node in self._order():
            try:
                yield self._with(node).checked(method, params, check)
            except ChainError as fault:
                yield fault

    def ask_first(self, attempt: int) -> bool:
        """Put another node first at each attempt; False if the same one stays first."""
        before, self._first = self._first, attempt % len(self._nodes)
        return self._first != before

    def ask_next_first(self) -> None:
        """From now on the next node of the operator's list is asked first."""
        self.ask_first(self._first + 1)

    def note_head(self, timestamp: int) -> None:
        """The node that has just answered has this head; called by the check of its answer."""
        self._answering.note_head(timestamp)

    def close(self) -> None:
        for node in self._nodes:
            node.rpc.close()

    def _order(self) -> list[Node]:
        """The operator's order from the first one on; those that lag come last."""
        if self._alone:
            return [self._alone]
        nodes = self._nodes[self._first :] + self._nodes[: self._first]
        return sorted(nodes, key=lambda node: node.health.lags())

    def of_node(self, number: int) -> "NodePool":
        """The same pool, but only this node of the operator's list is asked."""
        return self._with(self._nodes[number - 1])

    def _with(self, node: Node) -> "NodePool":
        view = copy(self)
        view._alone = node  # noqa: SLF001
        return view

    def _read(self, method: str, answer: object, check: Check[Checked]) -> Checked | ChainAnswer:
        if isinstance(answer, NodeRefused):
            if not issubclass(answer.kind, ChainAnswer):
                raise answer
            data = revert_data(answer.data) if answer.kind is CallReverted else b""
            return answer.kind.of(self.chain.name, method, answer.why, data)
        try:
            return check(answer)
        except ArgumentMalformed:
            raise  # our own mistake, and not the node's
        except ProofError as lie:
            # By its kind: the sentence may repeat what the node wrote.
            raise NodeFault(NodesLie, f" {lie.meaning()}") from None


class PooledChain:
    """A chain, asked through its nodes. For one thread."""

    def __init__(
        self, chain: Chain, *, until: float = math.inf, nodes: NodePool | None = None
    ) -> None:
        self.chain = chain
        self._nodes = nodes or NodePool(chain, until=until)

    def quorum(self, question: Callable[[Self], Answer], about: Hashable) -> Answer:
        """As `NodePool.quorum`; `question` is called with this chain by one node."""

        def ask(pool: NodePool) -> Answer:
            view = copy(self)
            view._nodes = pool  # noqa: SLF001
            return question(view)

        return self._nodes.quorum(ask, about)

    def ask_next_first(self) -> None:
        self._nodes.ask_next_first()

    def ask_first(self, attempt: int) -> bool:
        return self._nodes.ask_first(attempt)

    def close(self) -> None:
        self._nodes.close()


def chain_at(url: str) -> Chain:
    """The chain of a node that a command line names, with this one node."""
    rpc = JsonRpc(url)
    try:
        chain_id = read_quantity(rpc.ask("eth_chainId"), "eth_chainId")
    except (NodeFault, ProofError):
        raise NodesUnreachable(f"The node at {host_of(url)} does not say its chain.") from None
    finally:
        rpc.close()
    return Chain(chain_id, f"chain {chain_id}", (NodeAddress(url),))


def host_of(url: str) -> str:
    """What may be shown of the address: the rest may hold a key."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.hostname}{port}" if parts.hostname else "an address that cannot be read"


def _rank(kind: type[ChainError]) -> tuple[bool, bool]:
    """Of several errors the lowest is raised: another form of the question or time may help."""
    return not issubclass(kind, QuestionRefused), not kind.retryable


def _returned(answer: Answer | ChainError) -> Answer:
    if isinstance(answer, ChainError):
        raise answer
    return answer
