"""The facts that a batch asks for: the placeholders of its deliveries name no others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accounts.wording import format_count, join_names, quote_text
from queries.proving import HeaderField
from queries.schema.checked_batch import CheckedBlock
from queries.schema.paths import JsonPath
from queries.schema.templates import PROOF_KINDS, Placeholder, slot_name, unknown_placeholder

_MAX_LISTED = 5


@dataclass(frozen=True, slots=True)
class RequestedFacts:
    blocks: Sequence[CheckedBlock]
    is_proven: bool = True  # in a registry

    def check(self, placeholder: Placeholder, path: JsonPath) -> None:
        """Refuse a placeholder without one value in this batch."""
        if problem := self._problem(placeholder):
            raise unknown_placeholder(placeholder, path, problem)

    def _problem(self, placeholder: Placeholder) -> str:
        kind = PROOF_KINDS[placeholder.name]
        if kind.needs_registry and not self.is_proven:
            return "but with `prove` false no registry has the facts. Leave `prove` out"
        chains, blocks = len({block.source for block in self.blocks}), len(self.blocks)
        if not kind.is_of_block:
            if chains == 1:
                return ""
            count = format_count(chains, "source chain")
            return (
                f"but the batch has {count}, each with a registry. Submit one batch for each chain"
            )
        if blocks != 1:
            return (
                f"which stands for a value of one block, but the batch has {blocks:,} blocks. "
                "Submit one batch for each block"
            )
        if placeholder.account:
            return self._account_problem(placeholder)
        return self._header_problem(placeholder) if placeholder.facts else ""

    def _account_problem(self, placeholder: Placeholder) -> str:
        name = placeholder.account
        accounts = {account.account: account for account in self.blocks[0].accounts}
        if name not in accounts:
            reason = f"but the batch does not ask for the account {quote_text(name)}"
            return f"{reason}; {_listed('accounts', accounts)}"
        account = accounts[name]
        facts = [*(prop.name for prop in account.props), *map(slot_name, account.slots)]
        for fact in placeholder.facts:
            if fact not in facts:
                reason = f"but the batch does not ask for {_short_name(fact)} of {name}"
                return f"{reason}; {_listed('facts of it', map(_short_name, facts))}"
        return ""

    def _header_problem(self, placeholder: Placeholder) -> str:
        names = self.blocks[0].header_fields
        if {*placeholder.facts} <= {HeaderField[name].name for name in names}:
            return ""
        reason = "but the batch does not ask for this field of the header"
        return f"{reason}; {_listed('fields of the header', names)}"


def _short_name(fact: str) -> str:
    return f"slot {int(fact, 16):#x}" if fact.startswith("0x") else fact


def _listed(noun: str, names: Iterable[str]) -> str:
    """The end of a sentence: which of these the batch asks for."""
    listed = list(names)
    if not listed:
        return f"it asks for no {noun}"
    more = len(listed) - _MAX_LISTED
    shown = listed[:_MAX_LISTED] + ([f"{more:,} more"] if more > 0 else [])
    return f"it asks for these {noun}: {join_names(shown)}"
