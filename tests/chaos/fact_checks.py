"""What is on chain: all that was asked for, and nothing that is not so."""

from collections.abc import Iterator

from tests.chaos.asked import Asked
from tests.chaos.evidence import (
    ACCOUNT_FIELDS,
    ACCOUNT_PROVEN,
    HASH_ATTESTED,
    HEADER_ACCUMULATED,
    HEADER_FIELD_PROVEN,
    HEADER_FIELDS,
    TIMESTAMP_PROVEN,
    Fact,
    slot_name,
)
from tests.chaos.look import Look
from tests.chaos.violations import Violation


def of_facts(look: Look) -> Iterator[Violation]:
    asked = sorted({fact for it in look.done for fact in look.facts_of(it)})
    facts = sorted({*asked, *_told_by_events(look)})
    true, kept = look.scene.true_words(facts), look.scene.kept_words(facts)
    for fact in facts:
        if kept[fact] is None:
            if fact in asked:
                yield Violation("missing fact", f"{fact} of a batch that is DONE")
        elif kept[fact] != true[fact]:
            yield Violation("wrong fact", f"{fact} is {true[fact]}, and kept as {kept[fact]}")
    for (source, destination), number, told in _hashes(look):
        block = look.scene.nodes[source].ask("eth_getBlockByNumber", hex(number), False)  # noqa: FBT003
        if block is None or block["hash"] != told:
            what = f"block {number} of {source} on {destination} is kept as {told}"
            yield Violation("wrong fact", what)


def _told_by_events(look: Look) -> Iterator[Fact]:
    """All that could be read, of whatever the registries say that something was proven."""
    names = {place: name for name, (_, place) in HEADER_FIELDS.items()}
    slots = {name for it in look.asked for name in _slots_of(it)}
    for (source, destination), logs in look.logs.items():
        for log in logs:
            kind, *topics = log["topics"]
            if kind == ACCOUNT_PROVEN:
                account, block = f"0x{topics[0][-40:]}", int(topics[1], 16)
                for name in (*ACCOUNT_FIELDS, *slots):
                    yield Fact(source, destination, block, account, name)
            elif kind == HEADER_FIELD_PROVEN and int(topics[1], 16) in names:
                name = names[int(topics[1], 16)]
                yield Fact(source, destination, int(topics[0], 16), "", name)


def _slots_of(it: Asked) -> Iterator[str]:
    for entries in it.content["data"].values():
        for entry in entries.values():
            for wanted in entry.get("accounts", {}).values():
                yield from map(slot_name, wanted.get("slots", ()))


def _hashes(look: Look) -> Iterator[tuple[tuple[int, int], int, str]]:
    """Of blocks: of headers that were accumulated, and those that signers spoke for."""
    for route, logs in look.logs.items():
        for log in logs:
            if log["topics"][0] in {HEADER_ACCUMULATED, HASH_ATTESTED}:
                yield route, int(log["topics"][1], 16), log["data"]


def of_events(look: Look) -> Iterator[Violation]:
    for (source, _), logs in look.logs.items():
        for log in logs:
            kind, *topics = log["topics"]
            if kind == TIMESTAMP_PROVEN:
                seconds, block = (int(each, 16) for each in topics)
                if look.block_at(source, seconds) != block:
                    yield Violation("wrong fact", f"block {block} of {source} at {seconds}")
