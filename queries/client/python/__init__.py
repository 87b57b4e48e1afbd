# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""A client for Tacitus in one file: request past blockchain state, wait, read the proven facts.

Every server serves its own version at /tacitus.py. Use it as a module,

    service = Tacitus("https://proofs.example.org", key)
    query = BlockQuery(1, block=23000000, accounts=["vitalik.eth"], props=["BALANCE"])
    batch = service.submit(build_batch(1, query))
    service.wait(batch.id)
    for fact in service.facts(batch.id):
        print(fact.name, fact.units, fact.read)

or as a command: `python tacitus.py --help`, or `uv run tacitus.py --help`, which installs requests.
Every failure raises a TacitusError with a sentence, a code, and whether a retry can help.
"""

from queries.client.python.batches import BlockQuery, DeliveryRequest, build_batch, log_filter
from queries.client.python.command import main
from queries.client.python.errors import (
    BatchNotDoneError,
    BatchRejectedError,
    DeliveryFailedError,
    FactsLostError,
    NotProvenError,
    RequestRefusedError,
    ResponseLostError,
    ServerUnreachableError,
    TacitusError,
    UnreadableResponseError,
    UsageError,
    WaitTimeoutError,
    WebhookNotGenuineError,
)
from queries.client.python.facts import Event, ProvenFact, ViewCall
from queries.client.python.feeds import FeedRunStatus, FeedStatus
from queries.client.python.layouts import Variable, find_variable
from queries.client.python.positions import Position, mapping_key
from queries.client.python.proofs import verify_proof
from queries.client.python.responses import (
    CostEstimate,
    DeliveryStatus,
    Status,
    StepProgress,
    SubmittedBatch,
    WaitingQuery,
    WitnessProof,
)
from queries.client.python.routes import Route, create2_address
from queries.client.python.service import Tacitus
from queries.client.python.version import __version__
from queries.client.python.webhooks import verify_webhook
from queries.proving import keccak256

__all__ = [
    "BatchNotDoneError",
    "BatchRejectedError",
    "BlockQuery",
    "CostEstimate",
    "DeliveryFailedError",
    "DeliveryRequest",
    "DeliveryStatus",
    "Event",
    "FactsLostError",
    "FeedRunStatus",
    "FeedStatus",
    "NotProvenError",
    "Position",
    "ProvenFact",
    "RequestRefusedError",
    "ResponseLostError",
    "Route",
    "ServerUnreachableError",
    "Status",
    "StepProgress",
    "SubmittedBatch",
    "Tacitus",
    "TacitusError",
    "UnreadableResponseError",
    "UsageError",
    "Variable",
    "ViewCall",
    "WaitTimeoutError",
    "WaitingQuery",
    "WebhookNotGenuineError",
    "WitnessProof",
    "__version__",
    "build_batch",
    "create2_address",
    "find_variable",
    "keccak256",
    "log_filter",
    "main",
    "mapping_key",
    "verify_proof",
    "verify_webhook",
]
