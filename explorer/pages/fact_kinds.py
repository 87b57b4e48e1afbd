"""How pages display each kind of fact: its name, its value, the code that reads it, its proof."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from accounts.wallets import short_hash
from accounts.wording import format_count
from explorer.pages.decoding import (
    DecodedValue,
    WordForm,
    decode_account_field,
    decode_header_field,
    decode_slot,
    decode_time,
    word_forms,
)
from explorer.pages.events import Abbreviate, filter_text, log_parameters, log_sentence, log_text
from explorer.pages.proof_picture import (
    Level,
    ProofPicture,
    account_levels,
    bloom_level,
    proof_picture,
    receipt_levels,
    slot_levels,
    trie_level,
)
from queries.amounts import short_amount
from queries.proving.facts import (
    EVENT_MEMBERS,
    KINDS,
    AbsentLogFact,
    AbsentTransactionFact,
    AbsentWithdrawalFact,
    AccountFieldFact,
    Argument,
    BlockAtTimeFact,
    BlockFact,
    HeaderFieldFact,
    LogFact,
    ReceiptFact,
    SilentBlockFact,
    SlotFact,
    TransactionFact,
    WithdrawalFact,
    requested_kind,
)
from queries.reading import FactProof, FactView, QueryView
from queries.sources import Registry

GWEI = 10**9
MAX_SHORT_SLOT = 2**32  # a larger one is abbreviated in hex
STATUSES = {1: "succeeded", 0: "failed", None: "has no status"}
# Details that the value says, or that are the log's own parameters.
_HIDDEN_NAMES = {"name", "word", "transactionIndex", "log", "position", "transactionHash", "topics"}
_HIDDEN_NAMES |= {"data", "status", "amount", "logCount"}


class KindDisplay(ABC):
    """How pages display facts of a kind."""

    part = "header"  # of the block, if it is not about an account
    plural = "facts"
    reason = ""  # why the value follows from the last level of the proof
    remark = ""  # about the value

    def name(self, fact: Any) -> str:
        """Such as `code hash`, `slot 2`, or `log 0 of transaction 3`."""
        text: str = fact.name
        return text.lower().replace("_", " ")

    def name_in_transaction(self, fact: Any) -> str:
        """The same below a heading that names the transaction, such as `log 0`."""
        return self.name(fact)

    def sentence(self, fact: FactView) -> str:
        """A sentence that takes the place of name and value, or empty."""
        return ""

    @abstractmethod
    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        """The value in words."""

    def word_forms(self, fact: FactView) -> tuple[WordForm, ...]:
        """The ways to read its word, if there are several."""
        return ()

    def parameters(self, fact: FactView) -> Iterable[tuple[str, str]]:
        """What it contains beside its details."""
        return ()

    def form_fields(self, fact: FactView) -> Mapping[str, str]:
        """The fields of the form for a new batch that ask for it."""
        return {"field": fact.name}

    def view(self, fact: FactView) -> tuple[str, tuple[Argument, ...]]:
        """The view that snippets call, and its arguments; it reverts or is false if not proven."""
        return fact.identity.view.partition("(")[0], fact.identity.arguments(fact.block)

    def levels(self, proof: FactProof, fact: FactView, currency: str) -> Iterable[Level]:
        """The levels of the proof from below the header to above the value."""
        return ()

    def value_reason(self, proof: FactProof, fact: FactView) -> str:
        return self.reason


class AccountFieldDisplay(KindDisplay):
    reason = "The account holds it."

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        return decode_account_field(fact.name, int(fact.word, 16), currency)

    def levels(self, proof: FactProof, fact: FactView, currency: str) -> Iterable[Level]:
        return account_levels(proof, fact, currency)

    def value_reason(self, proof: FactProof, fact: FactView) -> str:
        if proof.proves_absence:
            return "An account that does not exist has this value."
        return self.reason


class SlotDisplay(AccountFieldDisplay):
    plural = "slots"

    def name(self, fact: SlotFact) -> str:
        return f"slot {fact.key if fact.key < MAX_SHORT_SLOT else short_hash(fact.name)}"

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        return decode_slot(int(fact.word, 16))

    def word_forms(self, fact: FactView) -> tuple[WordForm, ...]:
        return word_forms(fact.word)

    def form_fields(self, fact: FactView) -> Mapping[str, str]:
        return {"slot": fact.name}

    def levels(self, proof: FactProof, fact: FactView, currency: str) -> Iterable[Level]:
        return slot_levels(proof, fact, currency)

    def value_reason(self, proof: FactProof, fact: FactView) -> str:
        if proof.proves_absence:
            return super().value_reason(proof, fact)
        is_empty = int(fact.word, 16) == 0
        return f"{'No' if is_empty else 'The last'} node of the storage trie holds it."


class HeaderFieldDisplay(KindDisplay):
    reason = "The header holds it."

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        return decode_header_field(fact.name, fact.word)


class BlockAtTimeDisplay(KindDisplay):
    reason = "The header has this time or an earlier one, and the next header a later one."

    def name(self, fact: BlockAtTimeFact) -> str:
        return "block at timestamp"

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        text, requested_time = f"block {int(fact.word, 16):,}", decode_time(fact.identity.key)
        remark = f"The last block that is not later than {requested_time.exact}."
        return DecodedValue(text, text, requested_time.unit_text, remark, requested_time.moment)


class EventDisplay(KindDisplay):
    part = "content"
    plural = "events"

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        short, exact = (
            self.value(fact, currency, abbreviate) if fact.details else abbreviate(fact.word)
            for abbreviate in (short_hash, str)
        )
        is_title = bool(self.sentence(fact))
        return DecodedValue(short, exact, remark=self.remark, is_title=is_title)

    def value(self, fact: FactView, currency: str, abbreviate: Abbreviate) -> str:
        return abbreviate(fact.word)

    def levels(self, proof: FactProof, fact: FactView, currency: str) -> Iterable[Level]:
        return trie_level(proof, fact)

    @abstractmethod
    def requested_name(self, item: Any) -> str:
        """The name of an item of a request, before it is found in the block."""


class LogDisplay(EventDisplay):
    reason = "The receipt holds it."
    remark = "The names of an event, and a token's symbol and decimals, are not proven."

    def name(self, fact: LogFact) -> str:
        return f"log {fact.log} of transaction {fact.key}"

    def name_in_transaction(self, fact: LogFact) -> str:
        return f"log {fact.log}"

    def requested_name(self, item: Any) -> str:
        if "address" in item:
            return _requested_filter(item)
        if "logIndex" in item:
            return f"log {item['logIndex']} of the block"
        return f"log {item['log']} of {_requested_transaction(item['transaction'])}"

    def sentence(self, fact: FactView) -> str:
        return log_sentence(fact)

    def value(self, fact: FactView, currency: str, abbreviate: Abbreviate) -> str:
        return log_text(fact, abbreviate)

    def parameters(self, fact: FactView) -> Iterable[tuple[str, str]]:
        return log_parameters(fact)

    def form_fields(self, fact: FactView) -> Mapping[str, str]:
        return {"field": fact.name, "logs": fact.name.partition(":")[2]}

    def view(self, fact: FactView) -> tuple[str, tuple[Argument, ...]]:
        """The view that compares a whole log with the stored hash."""
        topics = [bytes.fromhex(topic[2:]) for topic in fact.details["topics"]]
        emitter, data = (bytes.fromhex(fact.details[name][2:]) for name in ("address", "data"))
        return "isLog", (*fact.identity.arguments(fact.block), emitter, topics, data)

    def levels(self, proof: FactProof, fact: FactView, currency: str) -> Iterable[Level]:
        return receipt_levels(proof, fact)


class ReceiptDisplay(EventDisplay):
    reason = "The trie holds it at its index."

    def name(self, fact: ReceiptFact) -> str:
        return f"receipt of transaction {fact.key}"

    def name_in_transaction(self, fact: ReceiptFact) -> str:
        return "receipt"

    def requested_name(self, item: Any) -> str:
        return f"receipt of {_requested_transaction(item)}"

    def value(self, fact: FactView, currency: str, abbreviate: Abbreviate) -> str:
        logs = format_count(fact.details["logCount"], "log")
        return f"{STATUSES[fact.details.get('status')]}, {logs}"


class TransactionDisplay(EventDisplay):
    reason = "The trie holds the transaction at this index; this is its hash."
    remark = "Its sender is not proven."

    def name(self, fact: TransactionFact) -> str:
        return f"transaction {fact.key}"

    def requested_name(self, item: Any) -> str:
        return _requested_transaction(item)


class WithdrawalDisplay(EventDisplay):
    reason = "The trie holds it at its index."

    def name(self, fact: WithdrawalFact) -> str:
        return f"withdrawal {fact.key}"

    def requested_name(self, item: Any) -> str:
        return f"withdrawal {item}"

    def value(self, fact: FactView, currency: str, abbreviate: Abbreviate) -> str:
        amount = short_amount(int(fact.details["amount"]) * GWEI, currency)
        validator = f"validator {int(fact.details['validatorIndex']):,}"
        return f"{amount} to {abbreviate(fact.details['address'])}, {validator}"


class AbsentIndexDisplay(EventDisplay):
    reason = "The trie ends before this index."

    def __init__(self, noun: str) -> None:
        self.noun = noun

    def name(self, fact: BlockFact) -> str:
        return f"number of {self.noun}s"

    def requested_name(self, item: Any) -> str:
        return f"number of {self.noun}s"

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        index = fact.identity.key
        return DecodedValue(f"at most {index:,}", f"at most {format_count(index, self.noun)}")


class AbsentLogDisplay(EventDisplay):
    reason = "All logs of the receipt are compared with it."

    def name(self, fact: AbsentLogFact) -> str:
        return f"logs {_absent_logs(fact, short_hash)} in transaction {fact.key}"

    def name_in_transaction(self, fact: AbsentLogFact) -> str:
        return f"logs {_absent_logs(fact, short_hash)}"

    def requested_name(self, item: Any) -> str:
        return f"{_requested_filter(item)} in {_requested_transaction(item['transaction'])}"

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        exact = f"no log {_absent_logs(fact.identity, str)} in transaction {fact.identity.key}"
        return DecodedValue("none", exact)

    def levels(self, proof: FactProof, fact: FactView, currency: str) -> Iterable[Level]:
        return receipt_levels(proof, fact)


class SilentBlockDisplay(EventDisplay):
    reason = "Each such log would set three bits of the bloom; they are not all set."
    remark = "A bloom proves that there is no such log, never that there is one."

    def name(self, fact: SilentBlockFact) -> str:
        return f"logs {_silent_item(fact, short_hash)}"

    def requested_name(self, item: Any) -> str:
        return _requested_filter(item)

    def decode(self, fact: FactView, currency: str) -> DecodedValue:
        exact = f"no log of this block {_silent_item(fact.identity, str)} (by its bloom)"
        return DecodedValue("none", exact, remark=self.remark)

    def levels(self, proof: FactProof, fact: FactView, currency: str) -> Iterable[Level]:
        return [bloom_level()]


def _absent_logs(fact: Any, abbreviate: Abbreviate) -> str:
    topics = [f"0x{topic.hex()}" if topic else None for topic in fact.filter.topics]
    return filter_text(f"0x{fact.filter.emitter.hex()}", topics, abbreviate)


def _silent_item(fact: Any, abbreviate: Abbreviate) -> str:
    item = f"0x{fact.item.hex()}"
    if fact.is_topic:
        return f"with topic {abbreviate(item)}"
    return filter_text(item, (), abbreviate)


def _requested_transaction(transaction: int | str) -> str:
    return f"transaction {short_hash(str(transaction))}"


def _requested_filter(item: Mapping[str, Any]) -> str:
    if "topic" in item:
        return f"logs with topic {short_hash(item['topic'])}"
    topics = [choices[0] if choices else None for choices in item.get("topics", ())]
    return f"logs {filter_text(item['address'], topics, short_hash)}"


EVENT_DISPLAYS: Mapping[type[BlockFact], EventDisplay] = {
    LogFact: LogDisplay(),
    ReceiptFact: ReceiptDisplay(),
    TransactionFact: TransactionDisplay(),
    WithdrawalFact: WithdrawalDisplay(),
    AbsentTransactionFact: AbsentIndexDisplay("transaction"),
    AbsentWithdrawalFact: AbsentIndexDisplay("withdrawal"),
    AbsentLogFact: AbsentLogDisplay(),
    SilentBlockFact: SilentBlockDisplay(),
}
DISPLAYS: Mapping[type[BlockFact], KindDisplay] = {
    AccountFieldFact: AccountFieldDisplay(),
    SlotFact: SlotDisplay(),
    HeaderFieldFact: HeaderFieldDisplay(),
    BlockAtTimeFact: BlockAtTimeDisplay(),
    **EVENT_DISPLAYS,
}


def fact_display(fact: FactView) -> KindDisplay:
    return DISPLAYS[type(fact.identity)]


def kind_display(kind: str) -> KindDisplay:
    return DISPLAYS[KINDS[kind]]


def fact_name(fact: BlockFact) -> str:
    """The question that the fact answers, such as `log 0 of transaction 3`."""
    return DISPLAYS[type(fact)].name(fact)


def decode_fact(fact: FactView, currency: str) -> DecodedValue:
    return fact_display(fact).decode(fact, currency)


def fact_details(fact: FactView) -> list[tuple[str, str]]:
    """The content of a fact, by name."""
    texts = [(n, f"{value}") for n, value in fact.details.items() if n not in _HIDDEN_NAMES]
    rows = [
        (re.sub("([A-Z])", r" \1", name).lower(), f"{int(text):,}" if text.isdecimal() else text)
        for name, text in texts
    ]
    return [*rows, *(fact_display(fact).parameters(fact) if fact.details else ())]


def fact_picture(
    proof: FactProof, fact: FactView, value: str, registry: Registry | None, currency: str = "ETH"
) -> ProofPicture:
    display = fact_display(fact)
    last = Level("value", value, display.value_reason(proof, fact))
    return proof_picture(proof, fact, [*display.levels(proof, fact, currency), last], registry)


def requested_events(query: QueryView) -> Iterator[str]:
    """The names of the requested items, before they are found in the block."""
    for member in EVENT_MEMBERS:
        for item in query.event_request.get(member, ()):
            yield EVENT_DISPLAYS[requested_kind(member, item)].requested_name(item)
