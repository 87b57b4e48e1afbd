"""Runs sequences of calls on a real node, and reads all facts after every step."""

from collections import Counter
from collections.abc import Mapping, Sequence

from eth_abi.abi import decode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from tests.builds import contract_for_tests
from tests.queries.sequences.calls import Step
from tests.queries.sequences.chains import CHAINS
from tests.queries.sequences.questions import (
    ONE_WORD,
    Question,
    parse_answers,
    question_about_account,
)
from tests.verified import VERIFY, verified_facts

_LIST = "0x" + 20 * "15"
_STEP_GAS, _ASKING_GAS = 8_000_000, 1_000_000_000


class UntrueFactError(AssertionError):
    """A fact can be read that is not true, or one that could be read before has changed."""


class RegistryChecker:
    """Runs sequences against a registry, and checks every answer to every question."""

    def __init__(
        self,
        node: LocalNode,
        address: str,
        questions: Sequence[Question],
        known_blocks: Mapping[str, int],
        *,
        overrides: Mapping[str, object] | None = None,
    ) -> None:
        self.outcomes: Counter[tuple[str, bytes]] = (
            Counter()
        )  # "taken" or "refused", and the selector
        self.facts = self.steps = self.verified_facts = 0
        self.questions = list(questions)
        self._node = node
        self._address = address
        self._known_blocks = known_blocks
        self._overrides = dict(overrides or {})
        self._asker = node.deploy(contract_for_tests("Asker"))
        calls = b"".join(len(q.call).to_bytes(2, "big") + q.call for q in questions)
        node.rpc.ask("anvil_setCode", _LIST, f"0x{calls.hex()}")
        self._asking = call_data("ask(address,address)", address, _LIST)

    def check(self, steps: Sequence[Step]) -> None:
        """Run the steps on a fresh registry; raise if anything untrue can be read after a step."""
        before: dict[int, bytes] = {}
        known_blocks = dict(self._known_blocks)
        for step, (returned, answers) in zip(steps, self._run(steps), strict=True):
            for chain, block in step.known_blocks.items():
                known_blocks[chain] = max(block, known_blocks.get(chain, -1))
            if step.to:
                continue
            self.outcomes["refused" if returned is None else "taken", step.call[:4]] += 1
            if returned and step.call.startswith(VERIFY):
                self._check_verified(returned, known_blocks)
            now = parse_answers(self.questions, answers)
            self._compare(before, now, known_blocks)
            before = now
        self.facts += len(before)
        self.steps += len(steps)

    def _compare(
        self, before: Mapping[int, bytes], now: Mapping[int, bytes], known_blocks: Mapping[str, int]
    ) -> None:
        for place, answer in before.items():
            if now.get(place) != answer:
                raise UntrueFactError(f"was {answer.hex()}: {self._describe(place, now)}")
        for place in now.keys() - before.keys():
            if not self.questions[place].is_true(now[place], known_blocks):
                raise UntrueFactError(self._describe(place, now))
        for place, question in enumerate(self.questions):
            if question.is_try and now.get(place, b"")[32:] != now.get(place + 1, b""):
                raise UntrueFactError(
                    f"{self._describe(place, now)}, {self._describe(place + 1, now)}"
                )

    def _check_verified(self, returned: bytes, known_blocks: Mapping[str, int]) -> None:
        """Compare the facts that `verify` returned with the chains."""
        by_call = {question.call: question for question in self.questions}
        for call, word in verified_facts(returned):
            self.verified_facts += 1
            question = by_call.get(call) or question_about_account(call, CHAINS)
            if not question.is_true(ONE_WORD + word, known_blocks):
                raise UntrueFactError(f"verified: 0x{call.hex()} → {word.hex()}")

    def _describe(self, place: int, now: Mapping[int, bytes]) -> str:
        answer = now.get(place)
        return f"0x{self.questions[place].call.hex()} → {answer.hex() if answer else 'nothing'}"

    def _run(self, steps: Sequence[Step]) -> list[tuple[bytes | None, bytes]]:
        """What each step returned, or None if it was refused, and what `Asker` read after it."""
        blocks = [self._block(step) for step in steps]
        blocks[0]["stateOverrides"] = self._overrides
        results = []
        for block in self._node.rpc.ask("eth_simulateV1", {"blockStateCalls": blocks}, "latest"):
            executed, *readings = block["calls"]
            answers = b""
            for reading in readings:
                if reading["status"] != "0x1":
                    raise AssertionError(reading)
                (answers,) = decode(["bytes"], bytes.fromhex(reading["returnData"][2:]))
            succeeded = executed["status"] == "0x1"
            returned = bytes.fromhex(executed["returnData"][2:]) if succeeded else None
            results.append((returned, answers))
        return results

    def _block(self, step: Step) -> dict[str, object]:
        calls = [self._call(step.sender, step.to or self._address, step.call, _STEP_GAS)]
        if not step.to:
            calls.append(self._call(step.sender, self._asker, self._asking, _ASKING_GAS))
        return {"calls": calls, "blockOverrides": {"gasLimit": hex(_STEP_GAS + _ASKING_GAS)}}

    @staticmethod
    def _call(sender: str, to: str, data: bytes, gas: int) -> dict[str, str]:
        return {"from": sender, "to": to, "data": f"0x{data.hex()}", "gas": hex(gas)}
