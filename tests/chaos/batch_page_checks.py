"""What is shown of each batch, by the API and by its page, and what is counted on each route.

As all checks it uses nothing of what it checks.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.asked import Asked
from tests.chaos.evidence import Scene, as_json
from tests.chaos.look import Look, number
from tests.chaos.page_checks import not_shown, of_sample
from tests.chaos.violations import Violation

ROUTES = "/explorer/routes"
OF_A_REGISTRY = re.compile(r"<dt>Proven</dt><dd>([0-9,]+) fact")
OF_A_ROUTE = re.compile(r'data-name="Facts"[^>]*>([0-9,]+)<')


def of_pages(look: Look) -> Iterator[Violation]:
    for it in look.asked:
        if it.id in look.batches:
            yield from _of_batch(look, it)
    facts = {it.id: sorted(set(look.facts_of(it))) for it in look.done}
    yield from of_sample(look.scene, facts, look.sent)
    yield from of_counts(look)


def _of_batch(look: Look, it: Asked) -> Iterator[Violation]:
    row, headers = look.batches[it.id], {"api-key": look.scene.owners[it.owner].api_key}
    answer = look.scene.page(f"/batch-query-status?batchQueryId={it.id}", **headers)
    names = ("status", "fee", "spent")
    told = [answer.json().get(name) if answer.ok else answer.status_code for name in names]
    true = [row["status"], str(number(row["fee"])), str(number(row["spent"]))]
    if told != true:
        yield Violation("explorer differs", f"the API says {told} of {it.id}, not {true}")
    page = look.scene.page(f"/explorer/query/{it.id}")
    if not page.ok or row["status"] not in page.text:
        yield Violation("explorer differs", f"the page of {it.id} does not say {row['status']}")
    if row["status"] == "DONE":
        facts = sorted(set(look.facts_of(it)))
        kept = look.scene.kept_words(facts)
        shown = _shown(look.scene, it.id)
        for fact in facts:
            if shown.get((fact.block, fact.account, fact.name)) != kept[fact]:
                what = f"{it.id} shows {fact} otherwise than the registry has it"
                yield Violation("explorer differs", what)


def _shown(scene: Scene, batch: str) -> dict[tuple[int, str, str], int]:
    answer = scene.page(f"/explorer/query/{batch}/facts.json")
    if not answer.ok:
        return {}
    return {
        (int(row["block"]), row["account"].lower(), row["field_or_slot"]): int(row["word"], 16)
        for row in answer.json()
    }


def of_counts(look: Look) -> Iterator[Violation]:
    """What pages say was proven on each route: each fact once."""
    jobs = {row["id"]: (row["source"], row["destination"]) for row in look.scene.rows("blockjob")}
    proven: dict[tuple[int, int], set[tuple[int, str, str]]] = defaultdict(set)
    for row in look.queries:
        for name in (*(as_json(row["values"]) or ()), *(as_json(row["slot_values"]) or ())):
            proven[jobs[row["job_id"]]].add((row["job_id"], row["account"], name))
    listed = look.scene.page(ROUTES)
    yield from not_shown(listed)
    rows = listed.text.split("<tr>")
    for (source, destination), address in look.scene.registries.items():
        path = f"/explorer/registry/{destination}/{address}"
        page = look.scene.page(path)
        yield from not_shown(page)
        of_it = [row for row in rows if f'href="{path}"' in row]
        told = {path: OF_A_REGISTRY.findall(page.text), ROUTES: OF_A_ROUTE.findall("".join(of_it))}
        true = f"{len(proven[source, destination]):,}"
        for where, numbers in told.items():
            if numbers != [true]:
                what = f"{where} counts {numbers} facts of {source} on {destination}, not {true}"
                yield Violation("explorer differs", what)
