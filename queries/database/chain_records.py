"""Records of chains and nodes as of the last poll, shared by the provers on one database."""

from typing import Any

from django.db.models import Case, F, Q, Value, When

from queries.chain import ChainError, ChainHead, RateLimitedError
from queries.database.clock import shared_now
from queries.models import ChainRecord, NodeRecord
from queries.proving import HISTORY_RING, OSAKA, GasRules


def record_head(chain_id: int, head: ChainHead) -> None:
    """Store the head that submissions are compared with."""
    now = shared_now()
    columns: dict[str, Any] = {
        "recorded_at": now,
        "number": head.number,
        "timestamp": head.timestamp,
        "final_number": head.final_number,
    }
    new_block_at = Case(When(number=head.number, then=F("new_block_at")), default=Value(now))
    if not ChainRecord.objects.filter(chain=chain_id).update(new_block_at=new_block_at, **columns):
        row = ChainRecord(chain=chain_id, new_block_at=now, due_at=now, **columns)
        ChainRecord.objects.bulk_create([row], ignore_conflicts=True)


def measured_gas_rules(record: ChainRecord | None) -> GasRules:
    """What provers have measured on the chain; Osaka's rules if nothing yet."""
    if record is None or record.new_slot_gas is None or record.floor_byte_gas is None:
        return OSAKA
    return GasRules(new_slot=record.new_slot_gas, floor_byte=record.floor_byte_gas)


def measure_again() -> None:
    """Have all proof windows measured at the next check: a routes file may name other nodes now."""
    NodeRecord.objects.update(measured_at=None)


def measure_again_if_beyond(chain_id: int, block: int) -> None:
    """Call this with a block that was proven: if it is older than the proof window of every node,
    the windows are measured at the next check.
    """
    nodes = NodeRecord.objects.filter(chain=chain_id)
    covers_block = Q(proof_window__gte=F("number") - block) | Q(proof_window__gte=HISTORY_RING)
    if not nodes.filter(covers_block).exists():
        nodes.update(measured_at=None)


def record_node(
    chain_id: int, position: int, head: ChainHead | ChainError, best_head: ChainHead | None
) -> None:
    """Store the node's head or fault."""
    columns: dict[str, object] = {"recorded_at": shared_now()}
    if isinstance(head, ChainError):
        columns |= {"fault": head.code, "number": None, "lag": None, "can_resolve_names": None}
        if not isinstance(head, RateLimitedError):
            columns["measured_at"] = None  # another node may come back at its address
    else:
        lag = best_head.number - head.number if best_head else None
        columns |= {"fault": "", "number": head.number, "lag": lag}
    NodeRecord.objects.update_or_create(chain=chain_id, position=position, defaults=columns)
