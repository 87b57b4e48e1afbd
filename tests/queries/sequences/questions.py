"""Everything that a registry can be asked, and what is true of it: by the chains alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from eth_abi.abi import decode

from queries.contracts.abi import call_data, selector
from queries.proving.headers import FIELD_RULES, Header, HeaderField
from queries.proving.registry_calls import HORIZON, leaf_of
from tests.queries.sequences.chains import (
    ACCOUNTS,
    FIRST_NUMBER,
    FIRST_TIME,
    SLOTS,
    SourceBlock,
    SourceChain,
)

# Up to where each chain is vouched for by the registry's source of hashes, by the chain's name.
Vouched = Mapping[str, int]
YES = (1).to_bytes(32, "big")
_NOTHING = bytes(32)
NUMBERS = range(FIRST_NUMBER - 1, FIRST_NUMBER + 7)
TIMES = range(FIRST_TIME - 2, FIRST_TIME + 54, 3)
NO_FIELD = (4, 255)


@dataclass(frozen=True)
class Truth:
    """An answer that is true once the chain is vouched for up to a block."""

    chain: str
    block: int
    answer: bytes


@dataclass(frozen=True)
class Question:
    """A call of a reading function. `is_try` where it is followed by the same without try."""

    call: bytes
    truths: tuple[Truth, ...]
    is_try: bool = False
    zero_is_nothing: bool = False

    def may_be(self, answer: bytes, vouched: Vouched) -> bool:
        return any(
            truth.answer == answer and vouched.get(truth.chain, -1) >= truth.block
            for truth in self.truths
        )


def answered(questions: list[Question], answers: bytes) -> dict[int, bytes]:
    """What `Asker` answers, by the questions' places; without what says that nothing is there."""
    told = {}
    at = 0
    while at < len(answers):
        place, size = (
            int.from_bytes(answers[at + skip : at + skip + 32], "big") for skip in (0, 32)
        )
        at += 64
        answer = answers[at : at + size]
        at += size + -size % 32
        if not (questions[place].zero_is_nothing and answer == _NOTHING):
            told[place] = answer
    return told


def questions_of(
    chains: Iterable[SourceChain], headers: Mapping[str, Iterable[Header]]
) -> list[Question]:
    """All facts of all accounts, headers and times that a sequence deals with.

    `headers` are those of chains of which only these are known.
    """
    stated = {chain.name: list(chain.blocks) for chain in chains}
    told = {name: [block.header for block in blocks] for name, blocks in stated.items()}
    told |= {name: list(of) for name, of in headers.items()}
    numbers = {header.number for of in told.values() for header in of} | {*NUMBERS}
    return [
        question for number in sorted(numbers) for question in _of_block(number, stated, told)
    ] + [
        *(question for time in _times(told) for question in _of_time(time, told)),
        constant(call_data("HORIZON()"), HORIZON.to_bytes(32, "big"), "any"),
        constant(call_data("stateHorizon()"), HORIZON.to_bytes(32, "big"), "any"),
    ]


def _of_block(
    number: int, stated: Mapping[str, list[SourceBlock]], told: Mapping[str, list[Header]]
) -> Iterator[Question]:
    at = {name: block for name, of in stated.items() for block in of if block.number == number}
    headers = {
        name: header for name, of in told.items() for header in of if header.number == number
    }
    for account in ACCOUNTS:
        for field in (*range(4), *NO_FIELD):
            words = {name: b.words(account)[field] for name, b in at.items()} if field < 4 else {}
            yield from _both("accountField(address,uint256,uint8)", words, account, number, field)
        for slot in SLOTS:
            words = {name: b.slot_word(account, slot) for name, b in at.items()}
            signature = "accountStorageSlotValues(address,uint256,bytes32)"
            yield from _both(signature, words, account, number, slot)
    for field in range(len(FIELD_RULES) + 1):
        words = {
            name: header.word(HeaderField(field))
            for name, header in headers.items()
            if field < len(header.payloads)
        }
        yield from _both("headerField(uint256,uint8)", words, number, field)
    leaves = {name: leaf_of(header) for name, header in headers.items()}
    yield kept("accumulated(uint256)", number, leaves)


def of_any_account(call: bytes, chains: Iterable[SourceChain]) -> Question:
    """Of an account or a slot that no sequence deals with: that it is absent can be proven too."""
    kinds = {
        selector("tryAccountField(address,uint256,uint8)"): "uint8",
        selector("tryAccountStorageSlotValues(address,uint256,bytes32)"): "bytes32",
    }
    if call[:4] not in kinds:
        return Question(call, ())
    address, number, asked = decode(["address", "uint256", kinds[call[:4]]], call[4:])
    account, truths = bytes.fromhex(address[2:]), []
    for chain in chains:
        block = chain.numbered(number)
        if block:
            is_field = isinstance(asked, int)
            word = block.words(account)[asked] if is_field else block.slot_word(account, asked)
            truths.append(Truth(chain.name, number, YES + word))
    return Question(call, tuple(truths))


def _of_time(time: int, told: Mapping[str, list[Header]]) -> Iterator[Question]:
    """The block of a time is known when the one after it is."""
    lasts = {
        name: (before.number, after.number)
        for name, of in told.items()
        for before, after in pairwise(of)
        if before.timestamp <= time < after.timestamp
    }
    call = call_data("tryBlockNumberAt(uint256)", time)
    words = [(name, after, number.to_bytes(32, "big")) for name, (number, after) in lasts.items()]
    yield Question(call, tuple(Truth(n, b, YES + word) for n, b, word in words), is_try=True)
    yield Question(call_data("blockNumberAt(uint256)", time), tuple(Truth(*each) for each in words))


def _times(told: Mapping[str, list[Header]]) -> list[int]:
    edges = {header.timestamp + by for of in told.values() for header in of for by in (-1, 0, 1)}
    return sorted(edges | {*TIMES})


def _both(signature: str, words: Mapping[str, bytes], *arguments: object) -> Iterator[Question]:
    """A fact of a block, in both ways of asking."""
    number = next(each for each in arguments if isinstance(each, int))
    tried = f"try{signature[0].upper()}{signature[1:]}"
    for name, before in ((tried, YES), (signature, b"")):
        truths = tuple(Truth(chain, number, before + word) for chain, word in words.items())
        yield Question(call_data(name, *arguments), truths, is_try=bool(before))


def kept(signature: str, number: int, words: Mapping[str, bytes]) -> Question:
    """What a mapping of a registry has for a block; zero where nothing is kept."""
    truths = tuple(Truth(chain, number, word) for chain, word in words.items())
    return Question(call_data(signature, number), truths, zero_is_nothing=True)


def constant(call: bytes, answer: bytes, chain: str) -> Question:
    """What is so from the first block on."""
    return Question(call, (Truth(chain, -1, answer),))
