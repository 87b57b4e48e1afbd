"""The tables, by what they hold. Numbers of 256 bits are stored as 64 hex digits, because a
database's own numbers are shorter or not exact.
"""

from queries.models.batches import IS_BLOCK_QUERY, IS_UNRESOLVED, Batch, Query
from queries.models.chains import Attestation, ChainRecord, LightClient, NodeRecord, RegistryRecord
from queries.models.deliveries import Delivery
from queries.models.facts import HASH_LENGTH, Fact, FactMention, Token
from queries.models.feeds import Feed, FeedRun
from queries.models.jobs import BlockJob, Proof
from queries.models.queue import LeasedRow
from queries.models.totals import ChainCost, DailyCount
from queries.models.transactions import JobTransaction, SentHash, SentTransaction, Share
from queries.models.webhooks import WebhookAttempt, WebhookPost
