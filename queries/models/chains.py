"""What provers know of chains, their nodes and their registries."""

from typing import ClassVar

from django.db import models

from queries.models.fields import BytesField
from queries.models.queue import LeasedRow


class ChainRecord(LeasedRow):
    """The state of a chain at the provers' last poll. It is due when the chain is polled next."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    polled_at = models.DateTimeField(null=True)  # last poll of its nodes, by any prover
    checked_at = models.DateTimeField(null=True)  # last full check
    # Its head, which submissions are compared with:
    recorded_at = models.DateTimeField(null=True)  # null: no head yet
    number = models.PositiveBigIntegerField(default=0)
    new_block_at = models.DateTimeField(null=True)  # when a prover first saw this number
    timestamp = models.PositiveBigIntegerField(default=0)
    final_number = models.PositiveBigIntegerField(default=0)
    block_seconds = models.FloatField(null=True)  # between blocks, on average
    # Unix times of final blocks, oldest first, from block 0 on: pairs of number and time.
    block_times = models.JSONField(default=list)
    # Whether block 0 has a state root that is not empty; null: its header has not been read.
    genesis_has_accounts = models.BooleanField(null=True)
    # As a source: when logs and values were read for feeds, and how many blocks back its routes
    # need proofs.
    feeds_read_at = models.DateTimeField(null=True)
    needed_window = models.PositiveBigIntegerField(null=True)
    # As a destination: the gas of a new slot and of a byte of calldata, as measured; null: not yet.
    new_slot_gas = models.PositiveBigIntegerField(null=True)
    floor_byte_gas = models.PositiveBigIntegerField(null=True)
    gas_measured_at = models.DateTimeField(null=True)
    signer = models.CharField(max_length=42, default="")
    balance = models.CharField(max_length=64, default="")  # wei
    state_horizons = models.JSONField(default=dict)  # Unix times, by registry address

    def __str__(self) -> str:
        return f"the poll of chain {self.chain}"


class NodeRecord(models.Model):
    """The state of a node at the last poll. Its URL may contain a secret, so it is not stored."""

    chain = models.PositiveBigIntegerField()
    position = models.PositiveSmallIntegerField()  # in the routes file, from 1
    recorded_at = models.DateTimeField()
    fault = models.CharField(max_length=60, default="")  # error code
    number = models.PositiveBigIntegerField(null=True)  # of its latest block; null: it failed
    lag = models.PositiveBigIntegerField(null=True)  # blocks behind the furthest node
    # Whether it can resolve ENS names; null: the chain has no ENS, or the node failed.
    can_resolve_names = models.BooleanField(null=True)
    # How many blocks back it proves: at most 8,191, and also 8,191 if it proves all blocks of a
    # younger chain; -1: not even its latest block.
    proof_window = models.BigIntegerField(null=True)
    measured_at = models.DateTimeField(null=True)  # null: measure the window at the next check
    measured_number = models.PositiveBigIntegerField(default=0)  # its latest block at that time
    client = models.CharField(max_length=60, default="")  # the name of its program, such as Geth

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_node_position", fields=["chain", "position"])
        ]


class LightClient(models.Model):
    """What is final on a chain with beacon nodes, checked by its sync committees."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    checkpoint = models.CharField(max_length=64, default="")  # a block root; empty: not begun
    period = models.PositiveBigIntegerField(default=0)
    committee = BytesField(default=b"")  # of this period, in the beacon chain's encoding
    finalized_slot = models.PositiveBigIntegerField(default=0)  # at first, the checkpoint's
    # Of the finalized execution block; empty and null: no update has been read yet.
    block_hash = models.CharField(max_length=64, default="")
    block_number = models.PositiveBigIntegerField(null=True)
    signers = models.PositiveSmallIntegerField(null=True)  # of the last update, of 512
    checked_at = models.DateTimeField(null=True)  # when beacon nodes answered last
    fault = models.TextField(default="")  # a sentence: why they did not since then


class RegistryRecord(LeasedRow):
    """How long a beacon registry stays awake, as provers saw it. Of a route it is the last one. It
    waits for what keeps the update that is due from being sent, or for a fork that ends it.
    """

    source = models.PositiveBigIntegerField()
    destination = models.PositiveBigIntegerField()
    address = models.CharField(max_length=42)  # checksummed
    # Within a period after it, it stops for good if it learns no more committees; null: not known.
    awake_until = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_registry_route", fields=["source", "destination"])
        ]

    def __str__(self) -> str:
        return f"{self.source} → {self.destination}, {self.address}"


class Attestation(models.Model):
    """A signer's attestation of a block's hash for one registry, until enough signers agree."""

    source = models.PositiveBigIntegerField()
    destination = models.PositiveBigIntegerField()
    registry = models.CharField(max_length=42)
    block = models.PositiveBigIntegerField()
    block_hash = models.CharField(max_length=64)
    signer = models.CharField(max_length=42)
    signature = models.CharField(max_length=130)
    received_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="queries_attestation_signer",
                fields=["source", "destination", "registry", "block", "signer"],
            )
        ]
