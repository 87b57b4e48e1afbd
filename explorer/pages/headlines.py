"""The first sentence and the figures of an account, a block or a transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils import timezone

from accounts.shared.wallets import short_hash
from accounts.shared.wording import datetime_from_unix, format_count, format_utc, join_names
from explorer.pages.decoding import is_absent
from explorer.pages.formatting import KeyFigure, age, format_wei, intcomma
from explorer.pages.links import PageLinks
from queries.amounts import short_amount
from queries.proving.facts import EVENT_KINDS, FactKind
from queries.reading.chain_objects import AccountView, Balance, BlockView, TransactionView
from queries.reading.fact_lists import FactList, ListedFact
from queries.reading.figures import HeadView


@dataclass(frozen=True, slots=True)
class Headline:
    subject: str
    standing: str  # what is proven of it, or what it cost; may be empty

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.subject, self.standing)))


def absent_accounts(facts: Sequence[ListedFact]) -> frozenset[tuple[int, str]]:
    """Blocks and accounts of which is proven that the account does not exist."""
    fields: dict[tuple[int, str], dict[str, str]] = {}
    for listed in facts:
        fact = listed.fact
        if listed.is_proven and fact.kind is FactKind.ACCOUNT_FIELD:
            fields.setdefault((fact.block, fact.account), {})[fact.name] = fact.word
    return frozenset(key for key, words in fields.items() if is_absent(words))


def balances(facts: FactList) -> tuple[Balance, ...]:
    """An account's balances, oldest block first."""
    return tuple(
        Balance(listed.fact.block, int(listed.fact.word, 16))
        for listed in reversed(facts.facts)
        if listed.fact.name == "BALANCE"
    )


def account_headline(
    account: AccountView, chain: int | None, facts: FactList, event_count: int, links: PageLinks
) -> Headline:
    """Such as `0xd8dA…6045 on Demo A: balance 1.5 ETH at block 884, the newest proven`."""
    subject = short_hash(account.address)
    if chain is None or not (account.newest or event_count):
        return Headline(subject, "nothing of this account was asked for yet")
    subject = f"{subject} on {links.chain_name(chain)}"
    if not facts.facts and event_count:
        return Headline(subject, f"named by {format_count(event_count, 'proven event')}")
    if not facts.facts:
        return Headline(subject, "nothing is proven yet")
    newest = facts.facts[0].fact.block
    if (newest, account.address) in absent_accounts(facts.facts):
        return Headline(subject, f"no such account at block {newest:,}, the newest proven")
    if found := balances(facts):
        amount = short_amount(found[-1].wei, links.currency(chain))
        return Headline(
            subject, f"balance {amount} at block {found[-1].block:,}, the newest proven"
        )
    return Headline(subject, f"{_count_facts(facts)} proven, the newest at block {newest:,}")


def account_figures(facts: FactList, chain: int, links: PageLinks) -> tuple[KeyFigure, ...]:
    blocks = {listed.fact.block for listed in facts.facts}
    more = "" if facts.next_start is None else "+"
    figures = [
        _figure(facts.fact_count, "fact proven", "facts proven", more),
        _figure(len(blocks), "block", "blocks", more, f"up to block {max(blocks):,}"),
    ]
    if newest := next((row for row in facts.facts if row.fact.name == "BALANCE"), None):
        fact, place = newest.fact, f"at block {newest.fact.block:,}"
        value = short_amount(int(fact.word, 16), links.currency(chain))
        label = f"balance {place}"
        if (fact.block, fact.account) in absent_accounts(facts.facts):
            value, label = "no such account", place
        readable = f"readable on {_chain_names(newest.destinations, links)}"
        figures.insert(0, KeyFigure(value, label, readable))
    return tuple(figures)


def block_headline(block: BlockView, facts: FactList, links: PageLinks) -> Headline:
    """Such as `Block 884 of Demo A: 12 facts of 3 accounts`."""
    subject = f"Block {block.number:,} of {links.chain_name(block.chain)}"
    if not facts.facts and not block.registries:
        return Headline(subject, "nothing of this block was asked for yet")
    return Headline(subject, _block_result(block, facts))


def _block_result(block: BlockView, facts: FactList) -> str:
    proven = facts.proven
    if not proven:
        is_pending = block.is_open and not all(listed.has_ended for listed in facts.facts)
        if is_pending and not block.header:
            return "not final yet"
        return "its facts are being proven" if is_pending else "nothing is proven"
    accounts = {listed.fact.account for listed in proven} - {""}
    subjects, article = [format_count(len(accounts), "account")], "the"
    if not accounts:
        subjects, article = [], "its"
    others = {listed.fact.kind in EVENT_KINDS for listed in proven if not listed.fact.account}
    subjects += [f"{article} header"] * (False in others)
    subjects += ["its content"] * (True in others)
    return f"{_count_facts(facts)} of {join_names(subjects)}"


def block_figures(block: BlockView, facts: FactList, links: PageLinks) -> tuple[KeyFigure, ...]:
    more = "" if facts.next_start is None else "+"
    figures, readable = [], set[int]()
    if facts.proven:
        readable = {chain for listed in facts.proven for chain in listed.destinations}
        accounts = {listed.fact.account for listed in facts.proven} - {""}
        figures = [
            _figure(facts.fact_count, "fact proven", "facts proven", more),
            *([_figure(len(accounts), "account", "accounts", more)] if accounts else []),
        ]
    readable |= {entry.destination for entry in block.registries if entry.accumulated}
    if destinations := [
        entry.destination for entry in block.registries if entry.destination in readable
    ]:
        figures.append(KeyFigure(_chain_names(destinations, links), "readable on"))
    if block.header and (moment := datetime_from_unix(block.header.timestamp)):
        seconds = (timezone.now() - moment).total_seconds()
        figures.append(KeyFigure(age(seconds), "mined", format_utc(moment)))
    return tuple(figures)


def transaction_headline(
    transaction: TransactionView, facts: FactList, links: PageLinks
) -> Headline:
    """Such as `Transaction 0x9a48…e4db on Demo A proved 3 facts for 2 batches: 76,730 gas, …`."""
    chain = links.chain_name(transaction.chain)
    subject = f"Transaction {short_hash(transaction.hash)} on {chain}"
    result = _transaction_result(transaction, facts)
    return Headline(f"{subject} {result}", _price(transaction, links))


def source_transaction_headline(
    hash_: str, chain: int, event_count: int, links: PageLinks
) -> Headline:
    """Such as `Transaction 0x9a48…e4db on Demo B: 3 facts of it are proven`."""
    subject = f"Transaction {short_hash(hash_)} on {links.chain_name(chain)}"
    facts, verb = format_count(event_count, "fact"), "is" if event_count == 1 else "are"
    return Headline(
        subject, f"{facts} of it {verb} proven" if event_count else "nothing of it is proven yet"
    )


def _transaction_result(transaction: TransactionView, facts: FactList) -> str:
    batches = format_count(len(transaction.batches) + transaction.more_batches, "batch", "batches")
    if transaction.block is None:
        return f"{'was' if transaction.confirmed else 'is'} {transaction.status}"
    if transaction.mark == "rejected":
        return "failed and proved nothing"
    if transaction.is_preparation and transaction.hops:
        hops = format_count(transaction.hops, "hop")
        return f"accumulated earlier blocks by {hops} for {batches}"
    if transaction.is_preparation:
        return f"recorded a block hash for {batches}"
    if facts.proven:
        return f"proved {_count_facts(facts)} for {batches}"
    return f"is mined for {batches}"


def _price(transaction: TransactionView, links: PageLinks) -> str:
    currency = links.currency(transaction.chain)
    if transaction.gas_used is not None:
        cost = "" if transaction.cost is None else f", {format_wei(transaction.cost, currency)}"
        return f"{transaction.gas_used:,} gas{cost}"
    if transaction.confirmed:
        return ""
    return f"at most {transaction.gas_limit:,} gas, {format_wei(transaction.max_cost, currency)}"


def transaction_figures(
    transaction: TransactionView, facts: FactList, links: PageLinks
) -> tuple[KeyFigure, ...]:
    currency = links.currency(transaction.chain)
    batches = len(transaction.batches) + transaction.more_batches
    limit = f"of at most {transaction.gas_limit:,}"
    if transaction.gas_used is None:
        gas = KeyFigure(intcomma(transaction.gas_limit), "gas at most")
        cost = KeyFigure(format_wei(transaction.max_cost, currency), "cost at most")
    else:
        gas = KeyFigure(intcomma(transaction.gas_used), "gas", limit)
        cost = KeyFigure(format_wei(transaction.cost or 0, currency), "cost")
    figures = [gas, cost, _figure(batches, "batch", "batches")]
    if facts.proven:
        more = "" if facts.next_start is None else "+"
        figures.insert(2, _figure(facts.fact_count, "fact proven", "facts proven", more))
    return tuple(figures)


def confirmation_text(
    transaction: TransactionView, heads: Mapping[int, HeadView], links: PageLinks
) -> str:
    """How deep the transaction is, and whether that is enough."""
    if transaction.block is None:
        return ""
    if transaction.final:
        return "its block is final"
    chain, head = links.routes.chains.get(transaction.chain), heads.get(transaction.chain)
    required = chain.confirmations if chain else 1
    depth = max(head.number - transaction.block + 1, 0) if head else 0
    if transaction.confirmed:
        return f"{format_count(depth, 'block')} deep, {required:,} required"
    return f"{min(depth, required):,} of {format_count(required, 'confirmation')}"


def _figure(number: int, singular: str, plural: str, more: str = "", note: str = "") -> KeyFigure:
    return KeyFigure(f"{number:,}{more}", singular if number == 1 and not more else plural, note)


def _count_facts(facts: FactList) -> str:
    more = "" if facts.next_start is None else "more than "
    return more + format_count(facts.fact_count, "fact")


def _chain_names(chains: Iterable[int], links: PageLinks) -> str:
    return ", ".join(map(links.chain_name, chains))
