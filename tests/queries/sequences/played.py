"""Sequences of calls, played on a real node; after each step everything is asked."""

from collections import Counter
from collections.abc import Mapping, Sequence

from eth_abi.abi import decode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from tests.builds import contract_of_tests
from tests.queries.sequences.calls import Step
from tests.queries.sequences.chains import CHAINS
from tests.queries.sequences.questions import YES, Question, answered, of_any_account
from tests.verified import VERIFY, verified_facts

_LIST = "0x" + 20 * "15"
_STEP_GAS, _ASKING_GAS = 8_000_000, 1_000_000_000


class UntrueFact(AssertionError):  # noqa: N818
    """Something can be read that is not so, or could be read before and is another now."""


class Played:
    """A registry on a node, and all that it can be asked."""

    def __init__(
        self,
        node: LocalNode,
        address: str,
        questions: Sequence[Question],
        vouched: Mapping[str, int],
        *,
        overrides: Mapping[str, object] | None = None,
    ) -> None:
        self.met: Counter[tuple[str, bytes]] = Counter()  # how it ended, and the selector
        self.facts = self.steps = self.verified = 0
        self.questions = list(questions)
        self._node = node
        self._address = address
        self._vouched = vouched
        self._overrides = dict(overrides or {})
        self._asker = node.deploy(contract_of_tests("Asker"))
        asked = b"".join(len(q.call).to_bytes(2, "big") + q.call for q in questions)
        node.rpc.ask("anvil_setCode", _LIST, f"0x{asked.hex()}")
        self._asking = call_data("ask(address,address)", address, _LIST)

    def check(self, steps: Sequence[Step]) -> None:
        """Play the steps on a fresh registry; refuse what is untrue after any of them."""
        before: dict[int, bytes] = {}
        vouched = dict(self._vouched)
        for step, (returned, answers) in zip(steps, self._play(steps), strict=True):
            for chain, block in step.vouches.items():
                vouched[chain] = max(block, vouched.get(chain, -1))
            if step.to:
                continue
            self.met["refused" if returned is None else "taken", step.call[:4]] += 1
            if returned and step.call.startswith(VERIFY):
                self._judge(returned, vouched)
            now = answered(self.questions, answers)
            self._compare(before, now, vouched)
            before = now
        self.facts += len(before)
        self.steps += len(steps)

    def _compare(
        self, before: Mapping[int, bytes], now: Mapping[int, bytes], vouched: Mapping[str, int]
    ) -> None:
        for place, answer in before.items():
            if now.get(place) != answer:
                raise UntrueFact(f"was {answer.hex()}: {self._told(place, now)}")
        for place in now.keys() - before.keys():
            if not self.questions[place].may_be(now[place], vouched):
                raise UntrueFact(self._told(place, now))
        for place, question in enumerate(self.questions):
            if question.is_try and now.get(place, b"")[32:] != now.get(place + 1, b""):
                raise UntrueFact(f"{self._told(place, now)}, {self._told(place + 1, now)}")

    def _judge(self, returned: bytes, vouched: Mapping[str, int]) -> None:
        """What `verify` returned, by the truths of the same facts."""
        by_call = {question.call: question for question in self.questions}
        for call, word in verified_facts(returned):
            self.verified += 1
            question = by_call.get(call) or of_any_account(call, CHAINS)
            if not question.may_be(YES + word, vouched):
                raise UntrueFact(f"verified: 0x{call.hex()} → {word.hex()}")

    def _told(self, place: int, now: Mapping[int, bytes]) -> str:
        answer = now.get(place)
        return f"0x{self.questions[place].call.hex()} → {answer.hex() if answer else 'nothing'}"

    def _play(self, steps: Sequence[Step]) -> list[tuple[bytes | None, bytes]]:
        """What each returned, or None where it was refused; and what can be read after it."""
        blocks = [self._block(step) for step in steps]
        blocks[0]["stateOverrides"] = self._overrides
        played = []
        for block in self._node.rpc.ask("eth_simulateV1", {"blockStateCalls": blocks}, "latest"):
            done, *asked = block["calls"]
            answers = b""
            for each in asked:
                if each["status"] != "0x1":
                    raise AssertionError(each)
                (answers,) = decode(["bytes"], bytes.fromhex(each["returnData"][2:]))
            returned = bytes.fromhex(done["returnData"][2:]) if done["status"] == "0x1" else None
            played.append((returned, answers))
        return played

    def _block(self, step: Step) -> dict[str, object]:
        calls = [self._call(step.sender, step.to or self._address, step.call, _STEP_GAS)]
        if not step.to:
            calls.append(self._call(step.sender, self._asker, self._asking, _ASKING_GAS))
        return {"calls": calls, "blockOverrides": {"gasLimit": hex(_STEP_GAS + _ASKING_GAS)}}

    @staticmethod
    def _call(sender: str, to: str, data: bytes, gas: int) -> dict[str, str]:
        return {"from": sender, "to": to, "data": f"0x{data.hex()}", "gas": hex(gas)}
