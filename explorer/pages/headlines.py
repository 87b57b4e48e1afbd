"""The first sentence about an account, a block or a transaction."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.wallets import short_hash
from accounts.wording import format_count, join_names
from explorer.pages.decoding import is_absent
from explorer.pages.deliveries import function_name
from explorer.pages.fact_kinds import kind_display
from explorer.pages.formatting import format_wei
from explorer.pages.links import PageLinks
from queries.amounts import short_amount
from queries.reading import AccountView, BlockView, HeadView, ListLine, ListSummary, TransactionView


@dataclass(frozen=True, slots=True)
class Headline:
    subject: str
    detail: str  # what is proven of it, or what it cost; may be empty

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.subject, self.detail)))


def balance_text(balance: ListLine, currency: str) -> str:
    return short_amount(int.from_bytes(balance.word), currency)


def balance_change(facts: ListSummary, currency: str) -> str:
    """Describe the balance from the oldest to the newest block; empty if that is one block."""
    balances = facts.balances
    if len(balances) <= 1:
        return ""
    newest, oldest = balances[0], balances[-1]
    blocks = f"from block {oldest.block:,} to block {newest.block:,}"
    change = int.from_bytes(newest.word) - int.from_bytes(oldest.word)
    value = format_wei(int.from_bytes(newest.word), currency)
    if len({balance.word for balance in balances}) == 1:
        which = "the newest" if facts.has_more else "all"
        return f"The balance was {value} in {which} {len(balances):,} blocks proven, {blocks}"
    if not change:
        return f"The balance changed and came back to {value} {blocks}"
    verb = "rose" if change > 0 else "fell"
    return f"The balance {verb} by {format_wei(abs(change), currency)} {blocks}, to {value}"


def proves_absence(facts: ListSummary, block: int) -> bool:
    """Whether an account is proven not to exist at this block."""
    lines = [line for line in facts.facts if line.block == block]
    return is_absent({line.name: line.word.hex() for line in lines if line.account})


def account_headline(
    account: AccountView, chain: int | None, facts: ListSummary, event_count: int, links: PageLinks
) -> Headline:
    """Such as `0xd8dA…6045 on Demo A: balance 1.5 ETH at block 884, the newest proven`."""
    subject = short_hash(account.address)
    if chain is None or not (account.newest or event_count):
        return Headline(subject, "nothing about this account has been requested yet")
    subject = f"{subject} on {links.chain_name(chain)}"
    if not facts.facts and event_count:
        return Headline(subject, f"named by {format_count(event_count, 'proven event')}")
    if not facts.facts:
        return Headline(subject, "nothing is proven yet")
    newest = facts.blocks[0]
    if proves_absence(facts, newest):
        return Headline(subject, f"no such account at block {newest:,}, the newest proven")
    if facts.balances:
        balance = facts.balances[0]
        amount = balance_text(balance, links.currency(chain))
        return Headline(subject, f"balance {amount} at block {balance.block:,}, the newest proven")
    return Headline(subject, f"{_fact_count_text(facts)} proven, the newest at block {newest:,}")


def block_headline(block: BlockView, facts: ListSummary, links: PageLinks) -> Headline:
    """Such as `Block 884 of Demo A: 12 facts of 3 accounts`."""
    subject = f"Block {block.number:,} of {links.chain_name(block.chain)}"
    if not (block.is_requested or block.registries):
        return Headline(subject, "nothing about this block has been requested yet")
    return Headline(subject, _block_result(block, facts))


def _block_result(block: BlockView, facts: ListSummary) -> str:
    if not facts.facts:
        if not block.is_open:
            return "nothing is proven"
        return "its facts are being proven" if block.header else "not final yet"
    accounts, article = facts.accounts, "the"
    subjects = [format_count(len(accounts), "account")]
    if not accounts:
        subjects, article = [], "its"
    parts = {kind_display(line.kind).part for line in facts.facts if not line.account}
    subjects += [f"{article} header"] * ("header" in parts)
    subjects += ["its content"] * ("content" in parts)
    return f"{_fact_count_text(facts)} of {join_names(subjects)}"


def transaction_headline(
    transaction: TransactionView, facts: ListSummary, links: PageLinks
) -> Headline:
    """Such as `Transaction 0x9a48…e4db on Demo A proved 3 facts for 2 batches: 76,730 gas, …`."""
    chain = links.chain_name(transaction.chain)
    subject = f"Transaction {short_hash(transaction.hash)} on {chain}"
    result = _transaction_result(transaction, facts)
    return Headline(f"{subject} {result}", _cost_text(transaction, links))


def source_transaction_headline(
    hash_: str, chain: int, event_count: int, links: PageLinks
) -> Headline:
    """Such as `Transaction 0x9a48…e4db on Demo B: 3 facts of it are proven`."""
    subject = f"Transaction {short_hash(hash_)} on {links.chain_name(chain)}"
    facts, verb = format_count(event_count, "fact"), "is" if event_count == 1 else "are"
    return Headline(
        subject, f"{facts} of it {verb} proven" if event_count else "nothing of it is proven yet"
    )


def _transaction_result(transaction: TransactionView, facts: ListSummary) -> str:
    batches = format_count(len(transaction.batches) + transaction.more_batches, "batch", "batches")
    if transaction.block is None:
        return f"{'was' if transaction.confirmed else 'is'} {transaction.status}"
    if transaction.mark == "rejected":
        return f"failed and {'delivered' if transaction.is_delivery else 'proved'} nothing"
    result = "is mined"
    if call := transaction.delivered_call:
        result = f"called {function_name(call.function)} of {short_hash(call.to)}"
    elif transaction.is_preparation and transaction.hops:
        result = f"accumulated earlier blocks by {format_count(transaction.hops, 'hop')}"
    elif transaction.is_preparation:
        result = "recorded a block hash"
    elif facts.facts:
        result = f"proved {_fact_count_text(facts)}"
    return f"{result} for {batches}"


def _cost_text(transaction: TransactionView, links: PageLinks) -> str:
    currency = links.currency(transaction.chain)
    if transaction.gas_used is not None:
        cost = "" if transaction.cost is None else f", {format_wei(transaction.cost, currency)}"
        return f"{transaction.gas_used:,} gas{cost}"
    if transaction.confirmed:
        return ""
    return f"at most {transaction.gas_limit:,} gas, {format_wei(transaction.max_cost, currency)}"


def confirmation_text(
    transaction: TransactionView, heads: Mapping[int, HeadView], links: PageLinks
) -> str:
    """Describe the transaction's depth, and whether that is enough."""
    if transaction.block is None:
        return ""
    if transaction.final:
        return "its block is final"
    chain, head = links.routes.chains.get(transaction.chain), heads.get(transaction.chain)
    confirmations = chain.confirmations if chain else 1
    depth = max(head.number - transaction.block + 1, 0) if head else 0
    if transaction.confirmed:
        return f"{format_count(depth, 'block')} deep, {confirmations:,} required"
    return f"{min(depth, confirmations):,} of {format_count(confirmations, 'confirmation')}"


def _fact_count_text(facts: ListSummary) -> str:
    more = "more than " if facts.has_more else ""
    return more + format_count(facts.fact_count, "fact")
