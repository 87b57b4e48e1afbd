"""Proofs for contracts written for ICrossL2ProverV2, checked and described by EventsRouter.sol."""

from collections.abc import Sequence
from dataclasses import dataclass

from queries.proving.block_items import Log, Receipt
from queries.proving.errors import ArgumentMalformedError
from queries.proving.event_witnesses import ReceiptGroup, ReceiptRequest, build_event_witness

WITNESS_FORM, STORED_FORM = 0, 1
_WIDTHS = {"chain": 4, "block": 8, "transaction": 4, "log": 4}


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Where a log was emitted, as `inspectLogIdentifier` returns it."""

    chain: int
    block: int
    transaction: int  # its index in the block
    log: int  # its index in the transaction's receipt

    def encode(self) -> bytes:
        """Raises `ArgumentMalformedError` if a number is too large, such as a long chain id."""
        for name, width in _WIDTHS.items():
            if not 0 <= getattr(self, name) < 256**width:
                raise ArgumentMalformedError(f"the {name} of a log has at most {width} bytes")
        return b"".join(
            getattr(self, name).to_bytes(width, "big") for name, width in _WIDTHS.items()
        )


def encode_peer_proof(position: LogPosition, section: bytes, receipts: Sequence[Receipt]) -> bytes:
    """Prove a log by its block's receipts and a section that states their root.

    Without a section, the registry has to store the root.
    """
    request = ReceiptRequest(logs=frozenset({position.log}))
    group = ReceiptGroup(receipts, {position.transaction: request})
    witness = build_event_witness([group], None if section else [position.block])
    size = len(section).to_bytes(3, "big")
    return b"".join((bytes((WITNESS_FORM,)), position.encode(), size, section, witness))


def encode_stored_peer_proof(position: LogPosition, log: Log) -> bytes:
    """Name a log that the events verifier stores."""
    topics = bytes((len(log.topics),)) + b"".join(log.topics)
    return b"".join((bytes((STORED_FORM,)), position.encode(), log.emitter, topics, log.data))
