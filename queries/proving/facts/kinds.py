"""The kinds of facts about a block, each a class: its name, its view, its word and its proof.

The names are those of proof files. The API has the same, but for times:

    BALANCE  GAS_USED                the field of an account or of the block's header
    0x<slot>                         the slot of an account
    1700000000                       the block at this Unix time
    LOG:3:0                          the transaction's index, and the log's index in its receipt
    RECEIPT:3  TRANSACTION:3         the transaction's index
    WITHDRAWAL:2                     its position in the block
    ABSENT_TRANSACTION:150           the block has at most 150 transactions
    ABSENT_WITHDRAWAL:16             the block has at most 16 withdrawals
    ABSENT_LOG:3:0x<emitter>:0x<topic>,,0x<topic>
                                     no log of this receipt is by this emitter and has these topics
    SILENT_BLOCK:0x<emitter or topic>
                                     no log of the block has it
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from queries.proving.facts.absences import (
    AbsentIndexFact,
    AbsentLogFact,
    AbsentTransactionFact,
    AbsentWithdrawalFact,
    SilentBlockFact,
)
from queries.proving.facts.accounts import AccountFieldFact, SlotFact
from queries.proving.facts.events import EventFact, ItemFact
from queries.proving.facts.fact import BlockFact
from queries.proving.facts.headers import BlockAtTimeFact, HeaderFieldFact
from queries.proving.facts.logs import LogFact
from queries.proving.facts.receipts import ReceiptFact
from queries.proving.facts.transactions import TransactionFact
from queries.proving.facts.withdrawals import WithdrawalFact

EVENT_KINDS: tuple[type[EventFact], ...] = (
    LogFact,
    ReceiptFact,
    TransactionFact,
    WithdrawalFact,
    AbsentTransactionFact,
    AbsentWithdrawalFact,
    AbsentLogFact,
    SilentBlockFact,
)
ALL_KINDS: tuple[type[BlockFact], ...] = (
    AccountFieldFact,
    SlotFact,
    HeaderFieldFact,
    BlockAtTimeFact,
    *EVENT_KINDS,
)
KINDS = {kind.kind: kind for kind in ALL_KINDS}
# The kinds that define the leaves of a list, by the header field that proves it.
ITEM_KINDS = {kind.field: kind for kind in EVENT_KINDS if issubclass(kind, ItemFact)}
# The kinds that say where a list ends, by the header field that proves it.
END_KINDS = {
    field: kind
    for kind in EVENT_KINDS
    if issubclass(kind, AbsentIndexFact)
    for field in kind.proving_fields
}
EVENT_FIELDS = frozenset(kind.field for kind in EVENT_KINDS)
EVENT_NAME = "|".join(kind.pattern for kind in EVENT_KINDS)
# Which members the items of a request's members may have.
EVENT_FORMS = {
    member: tuple(form for kind in EVENT_KINDS if kind.member == member for form in kind.forms)
    for member in dict.fromkeys(kind.member for kind in EVENT_KINDS)
}
EVENT_MEMBERS = tuple(EVENT_FORMS)


def _name_pattern(kinds: Iterable[type[BlockFact]]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{kind.kind}>{kind.pattern})" for kind in kinds))


_ACCOUNT_NAME = _name_pattern(kind for kind in KINDS.values() if kind.has_account)
_BLOCK_NAME = _name_pattern(kind for kind in KINDS.values() if not kind.has_account)


def parse_fact(name: str, account: bytes = b"") -> BlockFact | None:
    """The fact of this name, or None. `account`: of whom it is, unless of the block.

    >>> parse_fact("LOG:3:0")
    LogFact(key=3, account=b'', log=0)
    """
    match = (_ACCOUNT_NAME if account else _BLOCK_NAME).fullmatch(name)
    if not (match and match.lastgroup):
        return None
    fact = KINDS[match.lastgroup].from_name(name)  # the outermost group ends last
    return replace(fact, account=account) if account else fact


def requested_kind(member: str, item: Any) -> type[EventFact]:
    """The kind of fact that an item of this member of a request asks for."""
    kinds = [kind for kind in EVENT_KINDS if kind.member == member]
    return next(
        (kind for kind in kinds if isinstance(item, dict) and {*item} in kind.forms), kinds[0]
    )
