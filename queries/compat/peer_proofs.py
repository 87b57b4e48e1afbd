"""Proofs for contracts written for ICrossL2ProverV2, checked and described by EventsRouter.sol."""

from dataclasses import dataclass

from queries.proving import ArgumentMalformedError, Log

STORED_FORM = 1  # 0: a witness, which this service does not send
_WIDTHS = {"chain": 4, "block": 8, "transaction": 4, "log": 4}


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The position of a log on its chain, as `inspectLogIdentifier` returns it."""

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


def encode_stored_peer_proof(position: LogPosition, log: Log) -> bytes:
    """Name a log that the events verifier stores."""
    topics = bytes((len(log.topics),)) + b"".join(log.topics)
    return b"".join((bytes((STORED_FORM,)), position.encode(), log.emitter, topics, log.data))
