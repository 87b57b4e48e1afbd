"""What calls need: each is tried out on a node before anything is signed.

A piece that needs more gas than a transaction may have is halved until it fits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from queries.chain.calls import AsIf
from queries.chain.errors import CallReverted, TooMuchGas, TransactionRefused
from queries.chain.sender import Destination
from queries.chain.source import nothing
from queries.pipeline.chains import Chains
from queries.pipeline.fees import Need
from queries.pipeline.pieces import Anchor, Call, HashCall, Part, Piece, join, pieces_of
from queries.pipeline.readback import TRUTHS
from queries.pipeline.wanted import Missing
from queries.routes import Registry
from queries.wait_reasons import WaitCode

REFUSED = WaitCode.REGISTRY_REFUSES.value

Refusal = CallReverted | TransactionRefused


def proving_pieces(  # noqa: PLR0913, PLR0917  (what a piece is made of)
    chains: Chains,
    registry: Registry,
    job: int,
    anchor: Anchor,
    lacking: Missing,
    meanwhile: Callable[[], object] = nothing,
) -> list[Piece]:
    """The proofs are fetched and checked here."""
    asked = [(account, slots) for account, (_, slots) in lacking.accounts.items()]
    source = chains.source(registry.source)
    proofs = source.account_proofs(anchor.header, asked, meanwhile)
    TRUTHS.remember(anchor.header, lacking, proofs)
    rules = chains.chain(registry.destination).gas_rules
    return pieces_of(job, anchor, lacking, proofs, rules)


@dataclass(frozen=True, slots=True)
class Pricing:
    """By whom a call is tried out: `destination` may be a view of one node."""

    destination: Destination
    registry: Registry
    sender: str

    def alone(
        self, pieces: Iterable[Part], as_if: AsIf | None = None
    ) -> dict[Part, Need | Refusal]:
        """What each piece needs in a transaction of its own, or why there can be none."""
        found: dict[Part, Need | Refusal] = {}
        untried: list[Part] = [*pieces]
        while untried:
            needs = self._needs([piece.data for piece in untried], as_if)
            tried, untried = zip(untried, needs, strict=True), []
            for piece, need in tried:
                halves = piece.halves() if isinstance(need, TooMuchGas) else ()
                untried += halves
                if not halves:
                    found[piece] = need
        return found

    def together(self, alone: Mapping[Part, Need]) -> list[tuple[Call, Need]]:
        """The pieces in as few calls as they fit in; `CallReverted` where one is refused."""
        apart = {piece.data: need for piece, need in alone.items()}
        calls = [Call(part.data) for part in alone if isinstance(part, HashCall)]
        calls += join([part for part in alone if isinstance(part, Piece)])
        tried = [call.data for call in calls if call.data not in apart]
        needs = apart | dict(zip(tried, self._needs(tried), strict=True))
        fitting: list[tuple[Call, Need]] = []
        for call in calls:
            need = needs[call.data]
            if isinstance(need, CallReverted):
                raise need
            if isinstance(need, TransactionRefused):  # together they are too much
                fitting += [(Call(piece.data, (piece,)), alone[piece]) for piece in call.pieces]
            else:
                fitting.append((call, need))
        return fitting

    def _needs(self, calls: Sequence[bytes], as_if: AsIf | None = None) -> list[Need | Refusal]:
        if not calls:
            return []
        to = self.registry.address
        gas = self.destination.gas_needed_by_each(self.sender, to, calls, as_if)
        data_fees = self.destination.data_fees(calls)
        return [
            self._fitting(Need(each, data_fee)) if isinstance(each, int) else each
            for each, data_fee in zip(gas, data_fees, strict=True)
        ]

    def _fitting(self, need: Need) -> Need | TooMuchGas:
        """With less gas than it needs a transaction fails, and is paid for."""
        cap = self.destination.chain.gas_cap
        if need.gas <= cap:
            return need
        return TooMuchGas(
            f"One fact takes a transaction of {need.gas:,} gas, and none may have more than "
            f"{cap:,} on {self.destination.chain.name}."
        )


def pricing_of(chains: Chains, registry: Registry) -> Pricing:
    return Pricing(chains.destination(registry.destination), registry, chains.sender)


def refusal_of(reverted: CallReverted) -> str:
    """The registry's own word on a call that is not sent, for people."""
    return f"The registry refuses the proof: 0x{reverted.data.hex()[:200]}"
