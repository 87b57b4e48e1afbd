"""Facts about a block: a class for each kind, which `kinds.KINDS` lists.

Other packages use the names of this module; `make lint` refuses the rest.
"""

from queries.proving.facts.absences import (
    AbsentLogFact,
    AbsentTransactionFact,
    AbsentWithdrawalFact,
    SilentBlockFact,
)
from queries.proving.facts.accounts import AccountFieldFact, SlotFact
from queries.proving.facts.events import MAX_INDEX, EventFact
from queries.proving.facts.fact import Argument, BlockFact, encode_view_call
from queries.proving.facts.groups import FactGroups, group_facts, registry_words
from queries.proving.facts.headers import BlockAtTimeFact, HeaderFieldFact
from queries.proving.facts.kinds import (
    EVENT_FORMS,
    EVENT_MEMBERS,
    EVENT_NAME,
    KINDS,
    parse_fact,
    requested_kind,
)
from queries.proving.facts.logs import LogFact
from queries.proving.facts.receipts import ReceiptFact
from queries.proving.facts.transactions import TransactionFact
from queries.proving.facts.withdrawals import WithdrawalFact
