"""The light clients of chains with beacon nodes, as provers have followed them.

Any prover may follow one. What it stores depends on the row that it read, so that a slower one
changes nothing.
"""

from queries.chain import CheckedFinality, LightClientState
from queries.config.chains import Chain
from queries.database.clock import shared_now
from queries.models import LightClient
from queries.proving import SyncCommittee


def light_client_row(chain: Chain) -> LightClient:
    row, _ = LightClient.objects.get_or_create(chain=chain.id)
    return row


def stored_state(row: LightClient, chain: Chain) -> LightClientState | None:
    """The state; None if it has not begun with the configured checkpoint."""
    if row.checkpoint != chain.beacon_checkpoint.hex():
        return None
    return LightClientState(
        chain.beacon_checkpoint,
        row.period,
        SyncCommittee.decode(row.committee),
        row.finalized_slot,
        bytes.fromhex(row.block_hash),
        row.block_number,
        row.signers,
    )


def store_state(row: LightClient, state: LightClientState) -> None:
    """Store what follows from this row, unless another prover has changed it."""
    rows = LightClient.objects.filter(
        chain=row.chain,
        checkpoint=row.checkpoint,
        period=row.period,
        finalized_slot=row.finalized_slot,
    )
    answered = {"checked_at": shared_now(), "fault": ""}
    block_hash = state.block_hash.hex()
    if (row.checkpoint, row.block_hash) == (state.checkpoint.hex(), block_hash):
        rows.update(**answered)  # without writing the committee again
        return
    rows.update(
        checkpoint=state.checkpoint.hex(),
        period=state.period,
        committee=state.committee.encoded,
        finalized_slot=state.finalized_slot,
        block_hash=block_hash,
        block_number=state.block_number,
        signers=state.signers,
        **answered,
    )


def store_fault(row: LightClient, sentence: str) -> None:
    """Store why the light client could not be followed."""
    LightClient.objects.filter(chain=row.chain).update(fault=sentence)


def checked_finality(chain: Chain) -> CheckedFinality:
    """The newest block that the light client has shown to be final."""
    columns = "checkpoint", "block_number", "finalized_slot", "fault"
    row = LightClient.objects.filter(chain=chain.id).only(*columns).first()
    if row is None:
        return CheckedFinality()
    if row.checkpoint != chain.beacon_checkpoint.hex():
        return CheckedFinality(fault=row.fault)
    return CheckedFinality(row.block_number, row.finalized_slot, row.fault)
