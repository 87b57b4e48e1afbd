"""All forgeries by name."""

from tests.queries.attacks.evidence_forgeries import EVIDENCE
from tests.queries.attacks.header_forgeries import HEADERS
from tests.queries.attacks.hop_forgeries import HOPS
from tests.queries.attacks.value_forgeries import VALUES
from tests.queries.attacks.walk_forgeries import WALKS

FORGERIES = WALKS | VALUES | HEADERS | HOPS | EVIDENCE
