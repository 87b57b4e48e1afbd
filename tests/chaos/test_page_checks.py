"""Whether pages that show something else than the chains hold are found."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos import batch_page_checks, page_checks
from tests.chaos.batch_page_checks import of_pages
from tests.chaos.evidence import Fact, Scene, as_json
from tests.chaos.pages_between import answered_otherwise
from tests.chaos.run import Ended
from tests.chaos.tampering import changed, one
from tests.chaos.violations import Violation

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]


def _pages(it: Ended) -> set[str]:
    return {each.kind for each in of_pages(it.look())}


def test_what_pages_show_otherwise_than_the_registry_holds_it_is_found(ended: Ended) -> None:
    record = ended.scene.rows("routerecord")[0]
    with changed(ended, "routerecord", record["id"], "facts", record["facts"] + 1):
        assert "explorer differs" in _pages(ended)
    done = one(ended, "DONE")
    query = next(row for row in ended.scene.rows("query") if row["batch_id"] == done)
    with changed(ended, "query", query["id"], "block", query["block"] + 1):
        assert "explorer differs" in _pages(ended)


def _a_proven_query(it: Ended) -> tuple[dict[str, Any], list[Fact]]:
    """Of an account's fields alone, and all facts of its batch."""
    look = it.look()
    done = {each.id: each for each in look.done}
    row = next(
        row
        for row in it.scene.rows("query")
        if row["batch_id"] in done and row["account"] and row["values"]
    )
    return row, sorted(set(look.facts_of(done[row["batch_id"]])))


def test_pages_that_show_another_word_are_found(ended: Ended) -> None:
    row, facts = _a_proven_query(ended)
    its = row["source"], row["block"], row["account"].lower()

    def looks() -> list[list[Violation]]:
        return [
            list(page_checks.of_batch(ended.scene, row["batch_id"], facts)),
            list(page_checks.of_account(ended.scene, its[0], its[2])),
            list(page_checks.of_block(ended.scene, its[0], its[1])),
        ]

    assert looks() == [[], [], []]
    false = json.dumps(dict.fromkeys(as_json(row["values"]), f"{7:064x}"))
    with changed(ended, "query", row["id"], "values", false):
        assert all(looks())


def test_a_page_of_a_block_with_another_header_is_found(ended: Ended) -> None:
    row, _ = _a_proven_query(ended)
    its = [each for each in ended.scene.rows("blockjob") if each["header"]]
    job = next(each for each in its if each["id"] == row["job_id"])
    other = next(each for each in its if each["header"] != job["header"])
    source, block = job["source"], job["block"]
    with ExitStack() as tampered:
        for each in its:
            if (each["source"], each["block"]) == (source, block):
                tampered.enter_context(
                    changed(ended, "blockjob", each["id"], "header", other["header"])
                )
        assert list(page_checks.of_block(ended.scene, source, block))


@pytest.mark.parametrize("column", ["gas_used", "mined_block", "nonce"])
def test_a_page_of_a_transaction_that_tells_it_otherwise_is_found(
    ended: Ended, column: str
) -> None:
    row = ended.scene.rows("senttransaction")[-1]
    assert not list(page_checks.of_transaction(ended.scene, row))
    with changed(ended, "senttransaction", row["id"], column, row[column] + 100):
        assert list(page_checks.of_transaction(ended.scene, row))


def test_a_page_of_a_registry_with_another_hash_is_found(ended: Ended) -> None:
    row, _ = _a_proven_query(ended)
    job = next(each for each in ended.scene.rows("blockjob") if each["id"] == row["job_id"])
    its = job["source"], job["destination"]
    # The newest block stands first.
    newest = max(
        (
            each
            for each in ended.scene.rows("blockjob")
            if (each["source"], each["destination"]) == its and each["block_hash"]
        ),
        key=lambda each: int(each["block"]),
    )
    address = ended.scene.registries[its]

    def found() -> list[Violation]:
        return list(page_checks.of_registry(ended.scene, *its, address, has_proven=True))

    assert not found()
    with changed(ended, "blockjob", newest["id"], "block_hash", f"{7:064x}"):
        assert found()


def _of_each_kind(it: Ended, scene: Scene) -> Iterator[tuple[str, list[Violation]]]:
    """Of page, with what is found where the service is asked through this scene."""
    row, facts = _a_proven_query(it)
    source, block, account = row["source"], row["block"], row["account"].lower()
    sent = next(each for each in it.scene.rows("senttransaction") if each["mined_hash"])
    route = facts[0].source, facts[0].destination
    of_registry = page_checks.of_registry(scene, *route, scene.registries[route], has_proven=True)
    look = replace(it, scene=scene).look()
    found = {
        "query": page_checks.of_batch(scene, row["batch_id"], facts),
        "account": page_checks.of_account(scene, source, account),
        "block": page_checks.of_block(scene, source, block),
        "transaction": page_checks.of_transaction(scene, sent),
        "registry": of_registry,
        "routes": batch_page_checks.of_counts(look),
    }
    for kind, violations in found.items():
        yield kind, list(violations)


@pytest.mark.parametrize("status", [404, 500])
def test_a_page_that_is_not_there_or_breaks_is_found(ended: Ended, status: int) -> None:
    for kind, nothing in _of_each_kind(ended, ended.scene):
        assert not nothing, kind
    with answered_otherwise(ended.scene, "^/explorer/", status) as scene:
        for kind, found in _of_each_kind(ended, scene):
            assert any(f"is answered with {status}" in each.what for each in found), kind


@pytest.mark.parametrize("status", [404, 500])
def test_a_file_that_is_not_there_or_breaks_is_found(ended: Ended, status: int) -> None:
    with answered_otherwise(ended.scene, r"/facts\.json", status) as scene:
        of_kinds = dict(_of_each_kind(ended, scene))
        assert {kind for kind, found in of_kinds.items() if found} == {
            "account", "block", "registry",
        }  # fmt: skip
        look = replace(ended, scene=scene).look()
        assert list(of_pages(look))


def test_pages_with_nothing_in_them_are_found(ended: Ended) -> None:
    with answered_otherwise(ended.scene, "^/explorer/", 200, lambda _: "[]") as scene:
        for kind, found in _of_each_kind(ended, scene):
            assert found, kind


@pytest.mark.parametrize("page", ["registry", "routes"])
def test_a_page_that_counts_facts_otherwise_is_found(ended: Ended, page: str) -> None:
    """Whatever is counted in the database."""

    def one_more(text: str) -> str:
        number = re.compile(r"(<dt>Proven</dt><dd>|data-name=\"Facts\"[^>]*>)([0-9,]+)")
        return number.sub(lambda it: f"{it[1]}{int(it[2].replace(',', '')) + 1:,}", text)

    with answered_otherwise(ended.scene, rf"^/explorer/{page}", 200, one_more) as scene:
        found = list(batch_page_checks.of_counts(replace(ended, scene=scene).look()))
    assert len(found) == len(ended.scene.registries)
    assert all(f"/explorer/{page}" in each.what for each in found)
