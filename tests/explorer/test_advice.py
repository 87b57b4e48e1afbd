"""Everybody whose batch was rejected is told what to do."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from explorer.advice import ADVICE
from queries.chain.ens import EnsFault
from queries.chain.errors import ChainError
from queries.pipeline.anchors import AnotherBlockAccumulated, OutOfReach
from queries.pipeline.pricing import REFUSED

pytestmark = pytest.mark.no_database

# The names that code in `queries` gives a failure's code by, and the codes that they may be.
BY_NAME = {
    "AnotherBlockAccumulated.code": {AnotherBlockAccumulated.code},
    "anchor.code": {OutOfReach.code},
    "REFUSED": {REFUSED},
}


Fault = TypeVar("Fault", ChainError, EnsFault)


def _below(base: type[Fault]) -> Iterator[type[Fault]]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)


# A worker tells what another try cannot mend; of names, every fault.
CHAIN_FAULTS: list[type[ChainError]] = [ChainError, *_below(ChainError)]
BY_NAME["code"] = {each.code for each in CHAIN_FAULTS if not each.retryable}
BY_NAME["fault.code"] = {each.code for each in _below(EnsFault)}


def _given(repository: Path) -> Iterator[str]:
    """The first argument of every `Failure` in the sources."""
    for file in (repository / "queries").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Failure":
                yield ast.unparse(node.args[0])


def test_every_code_has_its_sentence_and_no_other_has(repository: Path) -> None:
    codes: set[str] = set()
    for named in _given(repository):
        codes |= BY_NAME.get(named) or {ast.literal_eval(named)}
    assert set(ADVICE) == codes


def test_they_are_sentences() -> None:
    for sentence in ADVICE.values():
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "!" not in sentence
