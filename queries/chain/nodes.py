"""The nodes of a chain: the next one is asked where one fails, and what they say is checked."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from random import SystemRandom
from typing import Any, TypeVar

from queries.chain.errors import (
    BatchTooLarge,
    BlockUnknown,
    CallReverted,
    ChainAnswer,
    ChainError,
    MethodMissing,
    NodesLie,
    NodesLimited,
    NodesOfAnotherChain,
    NodesRefuse,
    NodesUnreachable,
    ProofWindowExceeded,
    QuestionRefused,
    StateNotAvailable,
    StateOfAnotherBlock,
)
from queries.chain.json_rpc import NodeRefused
from queries.chain.node import MOST_AT_ONCE, Node, NodeFault, Question, refusal_fault
from queries.chain.node_messages import meaning, quotable, revert_data
from queries.proving.errors import ArgumentMalformed, ProofError
from queries.routes import Chain

TIMEOUT = 8.0  # seconds, for an answer of one node
PATIENCE = 10.0  # seconds after which no further round of the nodes begins
FIRST_PAUSE = 0.2  # seconds between rounds; then twice as many
SLOW = TIMEOUT / 2  # whoever takes longer is asked last: a look takes many questions
# What only a chain could refuse. To any other question a refusal is the node's own.
ASKED_OF_THE_CHAIN = {"eth_call", "eth_estimateGas", "eth_sendRawTransaction"}

# Where nodes fail in different ways, the first of these is told: what another question or another
# time may mend stands before what only another node would.
WORST_LAST: tuple[type[ChainError], ...] = (
    QuestionRefused,
    NodesLie,
    NodesUnreachable,
    NodesLimited,
    BatchTooLarge,
    NodesRefuse,
    BlockUnknown,
    NodesOfAnotherChain,
    StateOfAnotherBlock,
    StateNotAvailable,
    ProofWindowExceeded,
    MethodMissing,
)
# What may pass within seconds.
PASSING: set[type[ChainError]] = {NodesUnreachable, NodesLimited, NodesRefuse}

ENOUGH_NODES = 2  # that say what nothing else shows, as far as so many answer

Checked = TypeVar("Checked")
Check = Callable[[Any], Checked]
Settled = dict[int, Any]  # place of the question → what its check made of the answer, or an error

_random = SystemRandom()


class Nodes:
    """For one thread, which waits some ten seconds for an answer, where nodes hang a little more.

    Every question may be asked twice, of two nodes or of one. `until` is the moment, by the
    monotonic clock, after which it waits for nobody; `first` what the operator's log calls the
    first one, where these are not all nodes of the chain.
    """

    def __init__(
        self,
        chain: Chain,
        *,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        until: float = math.inf,
        first: int = 1,
    ) -> None:
        self.chain = chain
        self._patience = patience
        self._until = until
        self._listed = [
            Node(number, address, chain, timeout, until)
            for number, address in enumerate(chain.nodes, first)
        ]
        # The one that answered last stands first, unless it is slow.
        self._nodes = list(self._listed)
        self._answered = self._nodes[0]
        self._spoke: set[Node] = set()  # who answered since one was put first
        # With what one failed that is not waited for, and how long, by the monotonic clock.
        self._failed: dict[Node, tuple[type[ChainError], float]] = {}

    def ask(self, method: str, *params: object) -> Any:
        """The answer as a node gives it."""
        return self.checked(method, params, _as_it_is)

    def ask_many(self, method: str, params_list: Sequence[Question]) -> list[Any | ChainAnswer]:
        """Many answers; where the chain itself refuses, such as a call, the refusal is one."""
        return self.checked_or_refused(method, params_list, _as_it_is)

    def checked_or_refused(
        self, method: str, params_list: Sequence[Question], check: Check[Checked]
    ) -> list[Checked | ChainAnswer]:
        """As `ask_many`, with one check for all."""
        return self._all(method, params_list, [check] * len(params_list))

    def each_checked_or_refused(
        self, method: str, params_list: Sequence[Question], checks: Sequence[Check[Checked]]
    ) -> list[Checked | ChainAnswer]:
        """The same, with a check for each."""
        return self._all(method, params_list, checks)

    def checked(self, method: str, params: Question, check: Check[Checked]) -> Checked:
        """What `check` makes of the answer.

        It raises a `ProofError` where the answer is wrong, or a `NodeFault`; then the next node
        is asked. Where all are wrong, `NodesLie` is raised.
        """
        (settled,) = self.checked_many(method, [params], [check])
        return settled

    def checked_many(
        self, method: str, params_list: Sequence[Question], checks: Sequence[Check[Checked]]
    ) -> list[Checked]:
        """What the checks make of many answers."""
        settled = []
        for each in self._all(method, params_list, checks):
            if isinstance(each, ChainAnswer):
                raise each
            settled.append(each)
        return settled

    def each_asked(
        self, method: str, params: Question, check: Check[Checked]
    ) -> list[Checked | ChainAnswer | NodeFault]:
        """What every node says for itself, asked once, and of this chain."""
        return list(self.one_by_one(method, params, check))

    def one_by_one(
        self, method: str, params: Question, check: Check[Checked], *, silent_for: float = 0.0
    ) -> Iterator[Checked | ChainAnswer | NodeFault]:
        """The same, for who may have heard enough before the last one is asked. `silent_for`: so
        long nobody waits here for one that gave no answer here; the others are asked. One that
        said that it could not is asked all the same, last, where without it fewer than two answer.
        """
        said = 0
        for node in sorted(self._nodes, key=self._failed_lately):
            if silent_for and self._failed_lately(node):
                kind, _ = self._failed[node]
                if kind is NodesUnreachable or said >= ENOUGH_NODES:
                    continue
            try:
                (answer,) = node.ask(method, [params])
                read = self._read(method, answer, check)
                node.confirm_its_chain()
            except NodeFault as fault:
                node.note(fault.kind)
                if silent_for:
                    self._failed[node] = fault.kind, time.monotonic() + silent_for
                yield fault
            else:
                said += 1
                yield read

    def _failed_lately(self, node: Node) -> bool:
        _, until = self._failed.get(node, (None, 0.0))
        return time.monotonic() < until

    def confirm_chain(self) -> None:
        """What was asked last was answered by a node of this chain, or an error is raised.

        An address may lead elsewhere from one moment to the next. So this is asked where
        something is about to be paid for, kept or rejected for what a node has said.
        """
        try:
            self._answered.confirm_its_chain()
        except NodeFault as fault:
            self._answered.note(fault.kind)
            raise self._error("eth_chainId", [fault]) from None

    def with_each_first(self) -> Iterator[None]:
        """As often as there are nodes, each time with another one that is asked first, whoever of
        them answers meanwhile; in the end again the one that was.
        """
        order, spoke = list(self._nodes), self._spoke
        for node in order:
            self._move(node, 0)
            self._spoke = set()
            yield
        self._move(order[0], 0)
        self._spoke = spoke

    def ask_another_first(self) -> None:
        """From now on, where there is one: nothing can be checked of what the first one said."""
        self._nodes.append(self._nodes.pop(0))

    def ask_first(self, turn: int) -> None:
        """From now on, the one of this place in the operator's list, counted round."""
        self._move(self._listed[turn % len(self._listed)], 0)

    def is_first(self, turn: int) -> bool:
        """Whether it still is: who fails is put behind the others, and who answers before them."""
        return self._nodes[0] is self._listed[turn % len(self._listed)]

    def how_many_answer(self) -> int:
        """Now."""
        told = self.each_asked("eth_blockNumber", (), _as_it_is)
        return sum(not isinstance(each, NodeFault) for each in told)

    def two_answer(self) -> bool:
        """Now, as far as there are two."""
        return self.how_many_answer() >= min(ENOUGH_NODES, len(self._nodes))

    @property
    def answered(self) -> int:
        """The place on the operator's list of who answered last: so none is heard twice, where it
        answers for another one that is away.
        """
        return self._listed.index(self._answered)

    @property
    def answered_alone(self) -> bool:
        """Whether nobody else answered anything since one was put first, such as while that one was
        busy or after it was slow: else what comes of it is no word of a single one.
        """
        return len(self._spoke) == 1

    def end_by(self, until: float) -> None:
        """From now on, nobody is waited for after this moment, by the monotonic clock."""
        self._until = until
        for node in self._nodes:
            node.end_by(until)

    def close(self) -> None:
        for node in self._nodes:
            node.close()

    def _all(
        self, method: str, params_list: Sequence[Question], checks: Sequence[Check[Any]]
    ) -> list[Any]:
        settled: list[Any] = []
        for start in range(0, len(params_list), MOST_AT_ONCE):
            end = start + MOST_AT_ONCE
            settled += self._settled(method, params_list[start:end], checks[start:end])
        return settled

    def _settled(
        self, method: str, questions: Sequence[Question], checks: Sequence[Check[Any]]
    ) -> list[Any]:
        until = min(time.monotonic() + self._patience, self._until)
        pause = FIRST_PAUSE
        settled: Settled = {}
        while True:
            faults = self._round(method, questions, checks, settled)
            if len(settled) == len(questions):
                return [settled[place] for place in range(len(questions))]
            wait = max(pause * _random.uniform(0.5, 1.5), self._rest())
            if not any(fault.kind in PASSING for fault in faults) or (
                time.monotonic() + wait > until
            ):
                raise self._error(method, faults)
            time.sleep(wait)
            pause *= 2

    def _round(
        self,
        method: str,
        questions: Sequence[Question],
        checks: Sequence[Check[Any]],
        settled: Settled,
    ) -> list[NodeFault]:
        """Ask one node after the other what is still open; returns what stood in the way."""
        faults = []
        for node in list(self._nodes):
            places = [place for place in range(len(questions)) if place not in settled]
            asked = time.monotonic()
            try:
                answers = node.ask(method, [questions[place] for place in places])
            except NodeFault as fault:
                faults.append(fault)
                node.note(fault.kind)
                self._move(node, len(self._nodes))
                continue
            for place, answer in zip(places, answers, strict=True):
                try:
                    settled[place] = self._read(method, answer, checks[place])
                except NodeFault as fault:
                    faults.append(fault)
                    node.note(fault.kind)
                else:
                    self._spoke.add(node)
            if len(settled) == len(questions):
                self._answered = node
                is_slow = time.monotonic() > asked + SLOW
                self._move(node, len(self._nodes) if is_slow else 0)
                node.note(None)
                break
        return faults

    def _move(self, node: Node, place: int) -> None:
        self._nodes.remove(node)
        self._nodes.insert(place, node)

    def _read(self, method: str, answer: object, check: Check[Any]) -> Any:
        if isinstance(answer, NodeRefused):
            kind = meaning(answer)
            if not issubclass(kind, ChainAnswer) or method not in ASKED_OF_THE_CHAIN:
                raise refusal_fault(answer)
            sentence = self._sentence(kind, method, f": {quotable(answer.message)}")
            if kind is CallReverted:
                return CallReverted(sentence, revert_data(answer))
            return kind(sentence)
        try:
            return check(answer)
        except ArgumentMalformed:
            raise  # our own mistake, and not the node's
        except ProofError as lie:
            # By its kind: the sentence may repeat what the node wrote.
            raise NodeFault(NodesLie, f" {lie.meaning()}") from None

    def _rest(self) -> float:
        """The seconds until some node may be asked again."""
        return min(node.rests_for for node in self._nodes)

    def _error(self, method: str, faults: Sequence[NodeFault]) -> ChainError:
        worst = min(faults, key=lambda fault: WORST_LAST.index(fault.kind))
        sentence = self._sentence(worst.kind, method, worst.why)
        if worst.kind is NodesLimited:
            return NodesLimited(sentence, self._rest())
        return worst.kind(sentence)

    def _sentence(self, kind: type[ChainError], method: str, why: str) -> str:
        return kind.says.format(chain=self.chain.name, method=method, why=why)


def _as_it_is(answer: Any) -> Any:
    return answer
