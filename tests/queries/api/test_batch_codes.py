"""Whoever waits or is rejected is told a code that is listed; and nothing else is listed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.utils.html import escape

from queries.api.batch_codes import batch_codes, rejection_codes, wait_codes
from queries.chain import errors
from queries.chain.ens_faults import EnsFault
from queries.chain.errors import ChainError
from queries.pipeline.anchors import AnotherBlockAccumulated, OutOfReach
from queries.pipeline.pricing import REFUSED
from queries.pipeline.prove import TRANSACTION_FAILED
from queries.pipeline.worker import LASTING
from queries.wait_reasons import WaitCode
from tests.queries.api.served_api import HERE

pytestmark = [pytest.mark.no_database, pytest.mark.urls(HERE)]

# What the sources call the code of a fault, or one that was stored: those are listed as a whole.
OF_A_FAULT = {"code", "fault.code"}
REJECTIONS = {
    "AnotherBlockAccumulated.code": AnotherBlockAccumulated.code,
    "NodesLie.code": errors.NodesLie.code,
    "anchor.code": OutOfReach.code,
    "REFUSED": REFUSED,
    "TRANSACTION_FAILED": TRANSACTION_FAILED,
}


@pytest.fixture(scope="module")
def sources(repository: Path) -> list[ast.Module]:
    return [ast.parse(file.read_text()) for file in (repository / "queries").rglob("*.py")]


def _first_arguments(sources: list[ast.Module], of: str) -> Iterator[str]:
    for node in (node for module in sources for node in ast.walk(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == of:
            yield ast.unparse(node.args[0])


def test_every_reason_to_wait_has_a_code_and_every_code_is_used(sources: list[ast.Module]) -> None:
    given = set(_first_arguments(sources, "Reason")) - OF_A_FAULT
    assert given == {f"WaitCode.{each.name}" for each in WaitCode}
    assert set(WaitCode) <= set(wait_codes())


def test_every_fault_of_a_chain_may_be_waited_out_and_is_one_that_happens(
    sources: list[ast.Module],
) -> None:
    nodes = (node for module in sources for node in ast.walk(module))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    assert {each.__name__ for each in _faults()} <= names
    assert set(wait_codes()) == {*WaitCode, *(each.code for each in _faults())}


def test_every_rejection_has_a_listed_code_and_every_code_is_used(
    sources: list[ast.Module],
) -> None:
    given = set(_first_arguments(sources, "Failure")) - OF_A_FAULT
    codes = {REJECTIONS.get(each) or ast.literal_eval(each) for each in given}
    faults = {each.code for each in _faults() if not each.retryable or issubclass(each, LASTING)}
    names = {each.code for each in EnsFault.__subclasses__()}
    assert codes | faults | names == set(rejection_codes())


def test_the_page_and_the_description_list_every_code() -> None:
    page = Client().get("/docs/api").content.decode()
    listed = re.findall(r'<div id="batch-(\w+)"><dt><code>(\w+)</code></dt>\s*<dd>(.+)</dd>', page)
    assert [(code, code, _told(code)) for code, _, _ in listed] == listed
    assert {code for code, *_ in listed} == {*wait_codes(), *rejection_codes()}
    schemas = Client().get("/openapi.json").json()["components"]["schemas"]
    for name in ("BatchStatus", "Batch", "Query"):
        assert schemas[name]["properties"]["waitCode"]["enum"] == [*wait_codes(), None]
    assert schemas["Batch"]["properties"]["code"]["enum"] == rejection_codes()
    step = schemas["Step"]["properties"]["error"]["properties"]
    assert step["code"]["enum"] == rejection_codes()


def _told(code: str) -> str:
    (it,) = [each for each in batch_codes() if each.code == code]
    assert re.fullmatch(r"[A-Z].*\.", it.meaning)
    kinds = [kind for kind, so in (("waiting", it.waits), ("REJECTED", it.rejects)) if so]
    return f"{' or '.join(kinds)}. {escape(it.meaning)}"


def _faults() -> list[type[ChainError]]:
    named = [each for each in vars(errors).values() if isinstance(each, type)]
    return [each for each in named if issubclass(each, ChainError)]
