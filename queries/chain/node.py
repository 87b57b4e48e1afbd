"""One node of a chain, as it has behaved so far."""

import logging
import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from queries.chain.errors import (
    BatchTooLarge,
    ChainAnswer,
    ChainError,
    NodesLie,
    NodesLimited,
    NodesOfAnotherChain,
    NodesRefuse,
    NodesUnreachable,
    StateOfAnotherBlock,
)
from queries.chain.json_rpc import JsonRpc, NodeBusy, NodeRefused, NodeTakesOne, NodeUnreachable
from queries.chain.node_messages import meaning, quotable
from queries.proving.errors import ProofError
from queries.proving.json_values import read_quantity
from queries.routes import Chain, NodeAddress

MOST_AT_ONCE = 100  # questions in a request
STAYS_OF_ITS_CHAIN = 10.0  # seconds for which it is not asked again what it is of
LONGEST_REST = 3600.0  # seconds

Question = Sequence[object]
FAILURES = {
    NodesUnreachable, NodesLimited, NodesLie, NodesOfAnotherChain, NodesRefuse, StateOfAnotherBlock
}  # fmt: skip

log = logging.getLogger("tacitus")


class NodeFault(Exception):  # noqa: N818
    """This node cannot say; another one may. `kind` is what it is where none can."""

    def __init__(self, kind: type[ChainError], why: str = "") -> None:
        super().__init__(kind.code)
        self.kind = kind
        self.why = why


class Node:
    """For one thread. Nothing is asked of a node that has not said that it is of the chain."""

    def __init__(
        self,
        number: int,
        address: NodeAddress,
        chain: Chain,
        timeout: float,
        until: float = math.inf,
    ) -> None:
        self._number = number
        self._fault: type[ChainError] | None = None
        self._rpc = JsonRpc(address.url, timeout, until=until)
        self._chain = chain
        self._its_chain: int | None = None
        self._its_chain_until = 0.0  # by the monotonic clock, as the next one
        self._most_at_once = MOST_AT_ONCE
        self._rests_until = 0.0

    @property
    def rests_for(self) -> float:
        """How many seconds it still wants to be left alone."""
        return max(0.0, self._rests_until - time.monotonic())

    def ask(self, method: str, questions: Sequence[Question]) -> list[Any | NodeRefused]:
        """The answers and refusals in the order of the questions, or a `NodeFault`."""
        if self.rests_for:
            raise NodeFault(NodesLimited)
        self._be_of_the_chain()
        answers: list[Any | NodeRefused] = []
        while len(answers) < len(questions):
            some = questions[len(answers) : len(answers) + self._most_at_once]
            try:
                answers += self._at_once(method, some)
            except NodeFault as fault:
                if len(some) == 1 or fault.kind is not BatchTooLarge:
                    raise
                self._most_at_once = max(1, len(some) // 4)
        return answers

    def confirm_its_chain(self) -> None:
        """What it has just answered was of the chain, or there is a `NodeFault`."""
        self._its_chain_until = 0.0
        self._be_of_the_chain()

    def note(self, fault: type[ChainError] | None) -> None:
        """Tell the operator when it begins to fail, and when it is well again.

        By its number, because its address may hold a key. What it does not have is no failure.
        """
        if fault is not None and fault not in FAILURES:
            return
        if fault is not self._fault:
            self._fault = fault
            name = f"Node {self._number} of {self._chain.name}"
            if fault is None:
                log.info("%s answers again.", name)
            else:
                log.warning("%s fails: %s.", name, fault.code)

    def _be_of_the_chain(self) -> None:
        """Its address may come to lead to another chain's node, mostly after it was away."""
        if self._its_chain is None or time.monotonic() > self._its_chain_until:
            self._its_chain = None
            (said,) = self._at_once("eth_chainId", [()])
            if isinstance(said, NodeRefused):
                raise refusal_fault(said)
            try:
                self._its_chain = read_quantity(said, "eth_chainId")
            except ProofError:
                raise NodeFault(NodesUnreachable) from None
            self._its_chain_until = time.monotonic() + STAYS_OF_ITS_CHAIN
        if self._its_chain != self._chain.id:
            raise NodeFault(NodesOfAnotherChain)

    def _at_once(self, method: str, questions: Sequence[Question]) -> list[Any | NodeRefused]:
        try:
            if len(questions) > 1:
                return self._rpc.ask_many(method, questions)
            return [self._rpc.ask(method, *questions[0])]
        except NodeBusy as busy:
            self._rests_until = time.monotonic() + _seconds(busy.retry_after)
            raise NodeFault(NodesLimited) from None
        except NodeTakesOne:
            fewer = len(questions) > 1
            raise NodeFault(BatchTooLarge if fewer else NodesUnreachable) from None
        except NodeUnreachable:
            self._its_chain = None
            raise NodeFault(NodesUnreachable) from None
        except NodeRefused as refused:
            if len(questions) > 1:  # of all of them together
                raise refusal_fault(refused) from None
            return [refused]

    def end_by(self, until: float) -> None:
        """Nothing is asked or waited for after this moment, by the monotonic clock."""
        self._rpc.until = until

    def close(self) -> None:
        self._rpc.close()


def refusal_fault(refused: NodeRefused) -> NodeFault:
    """A refusal as the node's own; what only the chain can say of a question is not one."""
    kind = meaning(refused)
    why = f": {quotable(refused.message)}"
    return NodeFault(NodesRefuse if issubclass(kind, ChainAnswer) else kind, why)


def _seconds(retry_after: str) -> float:
    """A Retry-After header: seconds, or a date; a second where it is neither."""
    try:
        if retry_after.strip().isascii() and retry_after.strip().isdigit():
            seconds = float(retry_after)
        else:
            moment = parsedate_to_datetime(retry_after)
            seconds = (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 1.0
    return min(max(seconds, 0.0), LONGEST_REST)
