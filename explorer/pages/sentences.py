"""One sentence for what was asked: in headings, lists, tab titles and the names of files.

balance of 0xd8dA…6045 · Demo A, block 884 → 123.456789 ETH
balance and 12 slots of 0xd8dA…6045 · Demo A, block 845
timestamp, and balance of 0xd8dA…6045 · Demo A, 2026-11-25 14:21:40 UTC
3 header fields and 7 facts of 2 accounts · Demo A, block 55
balance and nonce of 100 accounts · 31 blocks of Demo A
log 0 of transaction 3 · Demo A, block 884 → event 0xddf2…b3ef by 0x5FbD…0aa3
Transfer of 5 DAI (0x5FbD…0aa3) from … to … · Demo A, block 884, log 0 of transaction 3
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from accounts.wallets import short_hash
from accounts.wording import format_count, format_timestamp, join_names
from explorer.pages.fact_kinds import decode_fact, fact_display, fact_name, requested_events
from explorer.pages.links import PageLinks
from queries.proving.facts import EVENT_MEMBERS, parse_fact
from queries.reading import MAX_NAMED_FACTS, BatchSummary, FactView, QueryView, batch_summaries

MAX_LISTED_FIELDS = 3  # with slots as one of them; more are counted
ANY_ACCOUNT = bytes(20)  # names do not depend on it


@dataclass(frozen=True, slots=True)
class Sentence:
    subject: str  # such as `balance of 0xd8dA…6045`
    block: str  # such as `Demo A, block 884`
    result: str = ""  # a proven value

    def __str__(self) -> str:
        return f"{self.subject} · {self.block}" + (f" → {self.result}" if self.result else "")


def batch_sentences(batch_ids: Collection[str], links: PageLinks) -> Mapping[str, Sentence]:
    summaries = batch_summaries(batch_ids)
    return {batch: batch_sentence(summary, links) for batch, summary in summaries.items()}


def batch_sentence(summary: BatchSummary, links: PageLinks) -> Sentence:
    subject, block = _subject(summary), _blocks(summary, links)
    if summary.fact_count == 1 and (
        text := "".join(fact_display(fact).sentence(fact) for fact in summary.first.facts)
    ):
        return Sentence(text, f"{block}, {subject}")
    return Sentence(subject, block, _result(summary, links))


def only_fact(summary: BatchSummary) -> FactView | None:
    """The fact, if the batch asks for one alone and it is proven."""
    facts = summary.first.facts if summary.fact_count == 1 else ()
    return next((fact for fact in facts if fact.word and not fact.is_time), None)


def fact_sentence(fact: FactView, links: PageLinks) -> Sentence:
    """Such as `balance of 0xd8dA…6045`, its block and its value."""
    if fact.is_time:
        subject = f"block at {format_timestamp(fact.identity.key)}"
        return Sentence(subject, links.chain_name(fact.source), f"block {fact.block:,}")
    if text := fact_display(fact).sentence(fact):
        block = block_name(fact.source, fact.block, None, links)
        return Sentence(text, f"{block}, {field_name(fact.name)}")
    result = decode_fact(fact, links.currency(fact.source)).short
    return replace(unproven_sentence(fact, links), result=result)


def unproven_sentence(fact: FactView, links: PageLinks) -> Sentence:
    """The subject and block of a fact."""
    subject = field_name(fact.name)
    if not fact.event:
        subject = f"{subject} of {short_hash(fact.account) or 'the header'}"
    return Sentence(subject, block_name(fact.source, fact.block, None, links))


def _subject(summary: BatchSummary) -> str:
    accounts = format_count(summary.account_count, "account")
    if summary.account_count <= 1:
        accounts = _account(summary.first) or (accounts if summary.account_count else "the header")
    if summary.first.event_request and (summary.is_uniform or summary.query_count == 1):
        return _event_subject(summary.first)
    if summary.is_uniform:
        return f"{_fields(summary.first)} of {accounts}"
    if summary.fact_count <= MAX_NAMED_FACTS and not summary.event_count:
        return ", and ".join(dict.fromkeys(map(_query_subject, summary.queries)))
    parts, facts = list[str](), summary.fact_count - summary.header_field_count
    facts -= summary.event_count
    if summary.header_field_count:
        parts.append(format_count(summary.header_field_count, "header field"))
    if summary.event_count:
        parts.append(format_count(summary.event_count, "event"))
    if facts:
        parts.append(f"{format_count(facts, 'fact')} of {accounts}")
    return join_names(parts or ["events"])  # a filter may have found none


def _event_subject(query: QueryView) -> str:
    """Name what a query of a block's content asks for: `log 0 of transaction 3`, or `2 logs`."""
    if len(query.events) == 1 and (event := parse_fact(query.events[0]["name"])):
        return fact_name(event)
    items = list(requested_events(query))
    if len(items) == 1:
        return items[0]
    if query.event_count != len(items):  # filters may find several logs, or none
        return format_count(query.event_count, "event")
    counts = [
        format_count(len(entries), "absence" if member == "absent" else member[:-1])
        for member in EVENT_MEMBERS
        if (entries := query.event_request.get(member))
    ]
    return join_names(counts)


def _query_subject(query: QueryView) -> str:
    account = _account(query)
    return f"{_fields(query)} of {account}" if account else _fields(query)


def _blocks(summary: BatchSummary, links: PageLinks) -> str:
    first = summary.first
    if summary.block_count == 1:
        return block_name(first.source, first.block, first.timestamp, links)
    chains = links.chain_name(first.source)
    if summary.source_count > 1:
        chains = format_count(summary.source_count, "chain")
    return f"{format_count(summary.block_count, 'block')} of {chains}"


def field_name(name: str) -> str:
    """A fact's name for people: `code hash`, `slot 2`, `slot 0x1234…cdef`, `withdrawal 2`; or of a
    feed's slot, `slot $topic1`.
    """
    if name.startswith("$"):
        return f"slot {name}"
    fact = parse_fact(name) or parse_fact(name, ANY_ACCOUNT)
    return fact_name(fact) if fact else name.lower().replace("_", " ")


def block_name(source: int, block: int | None, timestamp: int | None, links: PageLinks) -> str:
    """Such as `Demo A, block 5,186,021`, or with the time by which it was asked for. Without
    either, a contract names the block, or did not.
    """
    name = "block named by a contract" if block is None else f"block {block:,}"
    if timestamp is not None:
        name = format_timestamp(timestamp)
    return f"{links.chain_name(source)}, {name}"


def _account(query: QueryView) -> str:
    return query.name or short_hash(query.account)


def _fields(query: QueryView) -> str:
    parts = [field_name(name) for name in (*query.header, *(prop.name for prop in query.props))]
    if len(parts) + bool(query.slot_count) > MAX_LISTED_FIELDS:
        parts = [format_count(len(parts), "field")]
    if query.slot_count:
        parts.append(field_name(*query.slots) if query.slots else f"{query.slot_count:,} slots")
    return join_names(parts)


def _result(summary: BatchSummary, links: PageLinks) -> str:
    fact = only_fact(summary)
    return decode_fact(fact, links.currency(fact.source)).short if fact else ""
