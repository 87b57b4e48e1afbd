"""Every reading call of a registry with its true answers, checked after each step of a sequence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eth_abi.abi import decode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data, selector
from queries.proving.headers import FIELD_RULES, Header, HeaderField
from queries.proving.registry_calls import HORIZON, block_leaf
from tests.builds import contract_for_tests
from tests.queries.sequences.calls import Step
from tests.queries.sequences.chains import (
    ACCOUNTS,
    CHAINS,
    NUMBERS,
    SLOTS,
    TIMES,
    SourceBlock,
    SourceChain,
)
from tests.verified import VERIFY, verified_facts

# The highest block of each chain that the registry's source of hashes has made known.
KnownBlocks = Mapping[str, int]
ONE_WORD = (1).to_bytes(32, "big")
_NOTHING = bytes(32)
UNKNOWN_FIELDS = (4, 255)


@dataclass(frozen=True)
class Truth:
    """An answer that is true once the chain is known up to a block."""

    chain: str
    block: int
    answer: bytes


@dataclass(frozen=True)
class Question:
    """A reading call. If `is_try`, the next question is the same without `try`."""

    call: bytes
    truths: tuple[Truth, ...]
    is_try: bool = False
    zero_is_nothing: bool = False

    def is_true(self, answer: bytes, known_blocks: KnownBlocks) -> bool:
        return any(
            truth.answer == answer and known_blocks.get(truth.chain, -1) >= truth.block
            for truth in self.truths
        )


def parse_answers(questions: list[Question], answers: bytes) -> dict[int, bytes]:
    """Parse the answers of `Asker`, by question number, without those that say "unproven"."""
    found = {}
    start = 0
    while start < len(answers):
        place, size = (
            int.from_bytes(answers[start + skip : start + skip + 32], "big") for skip in (0, 32)
        )
        start += 64
        answer = answers[start : start + size]
        start += size + -size % 32
        if not (questions[place].zero_is_nothing and answer == _NOTHING):
            found[place] = answer
    return found


def all_questions(
    chains: Iterable[SourceChain], headers: Mapping[str, Iterable[Header]]
) -> list[Question]:
    """Questions about all accounts, headers and timestamps of sequences.

    `headers` are of chains whose states are not known here.
    """
    block_rows = {chain.name: list(chain.blocks) for chain in chains}
    header_rows = {name: [block.header for block in blocks] for name, blocks in block_rows.items()}
    header_rows |= {name: list(known) for name, known in headers.items()}
    numbers = {header.number for row in header_rows.values() for header in row} | {*NUMBERS}
    return [
        question
        for number in sorted(numbers)
        for question in _block_questions(number, block_rows, header_rows)
    ] + [
        *(
            question
            for time in _times(header_rows)
            for question in _time_questions(time, header_rows)
        ),
        constant_question(call_data("HORIZON()"), HORIZON.to_bytes(32, "big"), "any"),
        constant_question(call_data("stateHorizon()"), HORIZON.to_bytes(32, "big"), "any"),
    ]


def _block_questions(
    number: int,
    block_rows: Mapping[str, list[SourceBlock]],
    header_rows: Mapping[str, list[Header]],
) -> Iterator[Question]:
    blocks = {
        name: block
        for name, chain_blocks in block_rows.items()
        for block in chain_blocks
        if block.number == number
    }
    headers = {
        name: header
        for name, row in header_rows.items()
        for header in row
        if header.number == number
    }
    for account in ACCOUNTS:
        for field in (*range(4), *UNKNOWN_FIELDS):
            words = (
                {name: block.words(account)[field] for name, block in blocks.items()}
                if field < 4
                else {}
            )
            yield from _both_forms(
                "accountField(address,uint256,uint8)", words, account, number, field
            )
        for slot in SLOTS:
            words = {name: block.slot_word(account, slot) for name, block in blocks.items()}
            signature = "accountStorageSlotValues(address,uint256,bytes32)"
            yield from _both_forms(signature, words, account, number, slot)
    for field in range(len(FIELD_RULES) + 1):
        words = {
            name: header.word(HeaderField(field))
            for name, header in headers.items()
            if field < len(header.payloads)
        }
        yield from _both_forms("headerField(uint256,uint8)", words, number, field)
    leaves = {name: block_leaf(header) for name, header in headers.items()}
    yield stored_word("accumulated(uint256)", number, leaves)


def question_about_account(call: bytes, chains: Iterable[SourceChain]) -> Question:
    """A question about another account or slot, whose absence can be proven too."""
    kinds = {
        selector("tryAccountField(address,uint256,uint8)"): "uint8",
        selector("tryAccountStorageSlotValues(address,uint256,bytes32)"): "bytes32",
    }
    if call[:4] not in kinds:
        return Question(call, ())
    address, number, key = decode(["address", "uint256", kinds[call[:4]]], call[4:])
    account, truths = bytes.fromhex(address[2:]), []
    for chain in chains:
        block = chain.numbered(number)
        if block:
            is_field = isinstance(key, int)
            word = block.words(account)[key] if is_field else block.slot_word(account, key)
            truths.append(Truth(chain.name, number, ONE_WORD + word))
    return Question(call, tuple(truths))


def _time_questions(time: int, header_rows: Mapping[str, list[Header]]) -> Iterator[Question]:
    """The block at a timestamp is known once its child is."""
    lasts = {
        name: (before.number, after.number)
        for name, row in header_rows.items()
        for before, after in pairwise(row)
        if before.timestamp <= time < after.timestamp
    }
    call = call_data("tryBlockNumberAt(uint256)", time)
    words = [(name, after, number.to_bytes(32, "big")) for name, (number, after) in lasts.items()]
    yield Question(call, tuple(Truth(n, b, ONE_WORD + word) for n, b, word in words), is_try=True)
    yield Question(call_data("blockNumberAt(uint256)", time), tuple(Truth(*word) for word in words))


def _times(header_rows: Mapping[str, list[Header]]) -> list[int]:
    edges = {
        header.timestamp + shift
        for row in header_rows.values()
        for header in row
        for shift in (-1, 0, 1)
    }
    return sorted(edges | {*TIMES})


def _both_forms(
    signature: str, words: Mapping[str, bytes], *arguments: object
) -> Iterator[Question]:
    """A fact of a block, read with and without `try`."""
    number = next(value for value in arguments if isinstance(value, int))
    try_signature = f"try{signature[0].upper()}{signature[1:]}"
    for name, before in ((try_signature, ONE_WORD), (signature, b"")):
        truths = tuple(Truth(chain, number, before + word) for chain, word in words.items())
        yield Question(call_data(name, *arguments), truths, is_try=bool(before))


def stored_word(signature: str, number: int, words: Mapping[str, bytes]) -> Question:
    """A word in a registry's mapping by block number; zero means that there is none."""
    truths = tuple(Truth(chain, number, word) for chain, word in words.items())
    return Question(call_data(signature, number), truths, zero_is_nothing=True)


def constant_question(call: bytes, answer: bytes, chain: str) -> Question:
    """A question whose answer never changes."""
    return Question(call, (Truth(chain, -1, answer),))


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
