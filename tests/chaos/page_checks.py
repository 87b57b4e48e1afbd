"""What pages show beside what the chains and the database hold: a sample of each kind of page.

As all checks it uses nothing of what it checks.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import requests

from tests.chaos.evidence import Fact, Scene
from tests.chaos.violations import Violation

# What a time led to: no word of a block, and checked by its event.
BLOCK_AT_TIME = "BLOCK_AT_TIMESTAMP"
CODE = re.compile(r"<code[^>]*>([^<]*)</code>")
NAMED = re.compile(r'href="/explorer/query/\w+/[0-9]+/(\w+)/check"')
MENTIONED = re.compile(r'href="/explorer/transaction/([0-9]+)/(0x[0-9a-f]{64})"')

One = TypeVar("One")
Rows = Sequence[Mapping[str, Any]]


def of_sample(scene: Scene, facts: Mapping[str, Sequence[Fact]], sent: Rows) -> Iterator[Violation]:
    """`facts`: those that each batch asked for, of batches that are DONE."""
    of_batches = dict(spread(sorted(facts.items()), scene.pages))
    for batch, its in of_batches.items():
        yield from of_batch(scene, batch, its)
    known = sorted({each for its in facts.values() for each in its})
    accounts = {(each.source, each.account) for each in known if each.account}
    for account in spread(sorted(accounts), scene.pages):
        yield from of_account(scene, *account)
    for block in spread(sorted({(each.source, each.block) for each in known}), scene.pages):
        yield from of_block(scene, *block)
    for row in spread([each for each in sent if each["mined_hash"]], scene.pages):
        yield from of_transaction(scene, row)
    proven = {(each.source, each.destination) for each in known}
    for route, address in scene.registries.items():
        yield from of_registry(scene, *route, address, has_proven=route in proven)


def spread(all_of_them: Sequence[One], some: int) -> Sequence[One]:
    """So many of them or some more, from the first to the last."""
    return all_of_them[:: max(len(all_of_them) // some, 1)]


def not_shown(answer: requests.Response) -> Iterator[Violation]:
    """To be looked at first: where nothing is shown, nothing that is shown is wrong."""
    if not answer.ok:
        what = f"{answer.request.path_url} is answered with {answer.status_code}"
        yield Violation("explorer differs", what)


def of_batch(scene: Scene, batch: str, facts: Sequence[Fact]) -> Iterator[Violation]:
    """Its values stand on its queries' pages, and what it says was sent was mined."""
    kept = scene.kept_words(facts)
    rows = [row for row in scene.rows("query") if row["batch_id"] == batch]
    for row in rows:
        path = f"/explorer/query/{batch}/{row['place']}"
        answer = scene.page(path)
        yield from not_shown(answer)
        page = answer.text
        shown = dict(_words(page))
        of_it = [
            each
            for each in facts
            if (each.block, each.account) == (row["block"], row["account"].lower())
            and each.source == row["source"]
        ]
        # It shows ten at once.
        for fact in of_it if len(of_it) <= 10 else ():
            if f"0x{kept[fact] or 0:064x}" not in shown.get(fact.name, ()):
                what = f"{path} says {shown.get(fact.name)} for {fact}, and kept is {kept[fact]}"
                yield Violation("explorer differs", what)
        for chain, its_hash in set(MENTIONED.findall(page)):
            receipt = scene.nodes[int(chain)].ask("eth_getTransactionReceipt", its_hash)
            if receipt is None or receipt["status"] != "0x1":
                yield Violation(
                    "explorer differs", f"{path} names {its_hash}, which proved nothing"
                )


def _words(page: str) -> Iterator[tuple[str, list[str]]]:
    """What stands as code beside each fact, whose name its own link has."""
    for text in page.split("<div><dt>")[1:]:
        if named := NAMED.search(text):
            yield named[1], CODE.findall(text)


def of_account(scene: Scene, chain: int, account: str) -> Iterator[Violation]:
    path = f"/explorer/account/{account}"
    page, file = (scene.page(f"{path}{each}?chain={chain}") for each in ("", "/facts.json"))
    facts = _rows(file)
    yield from not_shown(page)
    yield from _of_file(scene, path, file, are_there=True)
    for block in {int(each["block"]) for each in facts[:10]}:
        if f'href="/explorer/block/{chain}/{block}"' not in page.text:
            yield Violation("explorer differs", f"{path} does not name block {block} of {chain}")


def of_block(scene: Scene, chain: int, number: int) -> Iterator[Violation]:
    path = f"/explorer/block/{chain}/{number}"
    page = scene.page(path)
    yield from not_shown(page)
    shown = set(CODE.findall(page.text))
    true = scene.nodes[chain].ask("eth_getBlockByNumber", hex(number), False)  # noqa: FBT003
    for name in ("hash", "stateRoot", "parentHash"):
        if true[name] not in shown:
            yield Violation("explorer differs", f"{path} does not show its {name}, {true[name]}")
    yield from _of_file(scene, path, scene.page(f"{path}/facts.json"), are_there=True)


def of_transaction(scene: Scene, row: Mapping[str, Any]) -> Iterator[Violation]:
    path = f"/explorer/transaction/{row['chain']}/{row['mined_hash']}"
    page = scene.page(path)
    yield from not_shown(page)
    receipt = scene.nodes[row["chain"]].ask("eth_getTransactionReceipt", row["mined_hash"])
    if receipt is None:  # told elsewhere
        return
    shown = dict(re.findall(r"<dt>([^<]*)</dt><dd>(.*?)</dd>", page.text, re.DOTALL))
    true = {
        "Block": f"{int(receipt['blockNumber'], 16):,}",
        "Gas": f"{int(receipt['gasUsed'], 16):,} of at most",
        "Nonce": f"{row['nonce']:,}",
        "Status": "mark proven" if receipt["status"] == "0x1" else "mark rejected",
    }
    for name, value in true.items():
        if not re.search(rf"(?<![0-9,]){re.escape(value)}(?![0-9,])", shown.get(name, "")):
            what = f"{path} says {shown.get(name)!r} for {name}, which is {value}"
            yield Violation("explorer differs", what)


def of_registry(
    scene: Scene, source: int, destination: int, address: str, *, has_proven: bool
) -> Iterator[Violation]:
    path = f"/explorer/registry/{destination}/{address}"
    page = scene.page(path)
    yield from not_shown(page)
    row = rf'href="/explorer/block/{source}/([0-9]+)".*?<code class="exact">(0x[0-9a-f]{{64}})'
    shown = [
        found for text in page.text.split("<tr>") for found in re.findall(row, text, re.DOTALL)
    ]
    if has_proven and not shown:
        yield Violation("explorer differs", f"{path} shows no block")
    for number, its_hash in shown:
        true = scene.nodes[source].ask("eth_getBlockByNumber", hex(int(number)), False)  # noqa: FBT003
        if true["hash"] != its_hash:
            what = f"{path} says that block {number} is {its_hash}, not {true['hash']}"
            yield Violation("explorer differs", what)
    yield from _of_file(scene, path, scene.page(f"{path}/facts.json"), are_there=has_proven)


def _rows(file: requests.Response) -> list[dict[str, str]]:
    return list(json.loads(file.text)) if file.ok else []


def _of_file(
    scene: Scene, path: str, file: requests.Response, *, are_there: bool
) -> Iterator[Violation]:
    rows = _rows(file)
    yield from not_shown(file)
    if are_there and not rows:
        yield Violation("explorer differs", f"the file of {path} has no facts")
    yield from _of_facts(scene, path, rows)


def _of_facts(scene: Scene, path: str, rows: Iterable[Mapping[str, str]]) -> Iterator[Violation]:
    """Each row of a file is what that registry holds, by a transaction that was mined."""
    told: dict[Fact, str] = {}
    hashes: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        if row["field_or_slot"] == BLOCK_AT_TIME:
            continue
        route = int(row["source_chain"]), int(row["destination_chain"])
        fact = Fact(*route, int(row["block"]), row["account"].lower(), row["field_or_slot"])
        told[fact] = row["word"]
        if row["registry"] != scene.registries[route]:
            yield Violation("explorer differs", f"{path}: {fact} in {row['registry']}")
        if row["transaction"]:
            hashes[route[1]].add(row["transaction"])
    for fact, word in scene.kept_words(sorted(told)).items():
        if word is None or int(told[fact], 16) != word:
            what = f"{path} has {told[fact]} for {fact}, where the registry holds {word}"
            yield Violation("explorer differs", what)
    for chain, some in hashes.items():
        questions = [("eth_getTransactionReceipt", [each]) for each in sorted(some)]
        for its_hash, receipt in zip(
            sorted(some), scene.nodes[chain].ask_many(questions), strict=True
        ):
            if receipt is None or receipt["status"] != "0x1":
                yield Violation(
                    "explorer differs", f"{path} names {its_hash}, not mined on {chain}"
                )
