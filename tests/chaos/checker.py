"""Reads the chains, the database and the pages of a service at rest, and says what is not right.

Its code is its own: it uses nothing of what it checks, but for the command that checks proof files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.batch_page_checks import of_pages
from tests.chaos.clients_checks import of_keys, of_webhooks
from tests.chaos.cost_checks import of_costs
from tests.chaos.count_checks import of_sums
from tests.chaos.fact_checks import of_events, of_facts
from tests.chaos.happened import Happened
from tests.chaos.look import Look
from tests.chaos.outcome_checks import of_outcomes
from tests.chaos.proof_checks import of_proofs
from tests.chaos.revert_checks import of_reverted
from tests.chaos.transaction_checks import of_times, of_transactions
from tests.chaos.violations import Violation
from tests.chaos.webhook_receiver import Told


@dataclass(frozen=True)
class Witnessed:
    """What others saw while it ran."""

    webhooks: Sequence[Told] = ()
    happened: Happened = field(default_factory=Happened)
    handed: Mapping[str, Sequence[float]] = field(default_factory=dict)  # transactions, to nodes


def violations(look: Look, witnessed: Witnessed, causes: frozenset[str]) -> list[Violation]:
    """`causes`: the codes of rejections that the faults of the run may bring about."""
    return [
        *of_outcomes(look, causes),
        *of_facts(look),
        *of_events(look),
        *of_transactions(look, witnessed.happened),
        *of_times(look, witnessed.handed),
        *of_reverted(look, witnessed.happened),
        *of_costs(look),
        *of_sums(look),
        *of_pages(look),
        *of_proofs(look),
        *of_webhooks(look.scene, look.asked, look.batches, witnessed.webhooks),
        *of_keys(look.asked, look.batches),
    ]
