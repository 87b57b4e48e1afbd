"""Hands random witnesses to an events verifier and a router.

All that these return is compared with the blocks and with our own reader.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode
from queries.compat.peer_proofs import LogPosition, encode_stored_peer_proof
from queries.contracts.abi import call_data, selector
from queries.proving.block_items import Log
from queries.proving.errors import ProofError
from queries.proving.event_witness import read_event_witness
from queries.proving.facts.absences import (
    AbsentLogFact,
    AbsentTransactionFact,
    AbsentWithdrawalFact,
    SilentBlockFact,
)
from queries.proving.facts.events import EventFact
from queries.proving.facts.fact import BlockFact
from queries.proving.facts.logs import LogFact
from queries.proving.facts.receipts import ReceiptFact
from queries.proving.facts.transactions import TransactionFact
from queries.proving.facts.withdrawals import WithdrawalFact
from queries.proving.registry_calls import SectionHeader, headers_section, prove_call
from tests.queries.contracts.recorded_events import (
    FIELDS,
    RecordedBlock,
    Verifier,
    log_hash,
    returned_facts,
)
from tests.queries.events.groups import encode_peer_proof
from tests.queries.events.random_blocks import OTHER_SOURCE, SOURCE, Sources, random_sources
from tests.queries.events.random_witnesses import NEWEST_TYPE, Candidate, Forger
from tests.queries.sequences.checker import UntrueFactError
from tests.rigs.deployed_contracts import DeployedContract, Outcome, simulate

VERIFY, PROVE = selector("verify(bytes,bytes)"), selector("prove(bytes,bytes)")
_VALIDATE = "validateEvent(bytes)"
_POSITION_BYTES = 21
_PROVEN = 8  # candidates of a case that are proven
INDEX_KINDS: tuple[type[EventFact], ...] = (
    LogFact,
    ReceiptFact,
    AbsentTransactionFact,
    TransactionFact,
    WithdrawalFact,
    AbsentWithdrawalFact,
)
FactOfBlock = tuple[int, BlockFact]  # with the block's number
Facts = list[tuple[int, BlockFact, bytes]]

# What our reader refuses although it is true: it states nothing.
STRICTER = ("the witness has no groups", "a group names no index")


@dataclass(frozen=True)
class Trial:
    """Contracts, and counts of what they were handed."""

    verifier: Verifier
    other: Verifier
    router: DeployedContract
    overrides: Mapping[str, object]
    counts: Counter[str]

    @classmethod
    def deploy(
        cls,
        node: LocalNode,
        verifier: bytes | None = None,
        router: bytes | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> "Trial":
        known, other = Verifier(node, verifier), Verifier(node, verifier)
        chains, addresses = [SOURCE, OTHER_SOURCE], [known.address, other.address]
        arguments = encode(["uint32[]", "address[]"], [chains, addresses])
        contract = DeployedContract(node, "EventsRouter", arguments, router)
        return cls(known, other, contract, overrides or {}, Counter())

    def check(self, seed: str, forged: int) -> None:
        """Try honest and forged witnesses of random blocks; raise if any proves what is not so."""
        chosen = Random(seed)
        sources = random_sources(chosen)
        try:
            _Case(self, chosen, sources).check(forged)
        except AssertionError as error:
            error.add_note(f"It is the case {seed} of {forged} forged witnesses.")
            raise


class DisagreementError(AssertionError):
    """The contract and our builder or reader of witnesses do not agree."""


Call = tuple[str, bytes]  # the contract's address and the calldata


class _Case:
    """Calls about the same blocks, run one after the other in a simulated block."""

    def __init__(self, trial: Trial, chosen: Random, sources: Sources) -> None:
        self.trial, self.chosen, self.sources = trial, chosen, sources
        self.forger = Forger(chosen, sources)
        self.numbers = {block.number: block for block in sources.blocks}

    def check(self, forged: int) -> None:
        candidates = [self.forger.honest(has_section=has_section) for has_section in (True, False)]
        candidates += [self.forger.forged() for _ in range(forged)]
        proven = [*candidates[:2], *self.chosen.sample(candidates[2:], min(forged, _PROVEN))]
        offline = list(map(self._read, candidates))
        reads = self._reads([facts for facts in offline if isinstance(facts, list)])
        proofs = list(self._proofs(candidates, max(forged // 3, 3)))
        verifier, router = self.trial.verifier.address, self.trial.router.address
        outcomes = iter(
            simulate(
                self.trial.verifier.node,
                [
                    *self._preparations(),
                    *((verifier, candidate.call(VERIFY)) for candidate in candidates),
                    *((router, call_data(_VALIDATE, proof)) for proof in proofs),
                    *((verifier, candidate.call(PROVE)) for candidate in proven),
                    *((router, call_data(_VALIDATE, proof)) for proof in proofs),
                    *((verifier, fact.view_call(number)) for number, fact in reads),
                ],
                self.trial.overrides,
            )
        )
        for _ in self._preparations():
            assert next(outcomes).success
        facts = {id(tried): self._verified(tried, next(outcomes)) for tried in candidates}
        for proof in proofs:
            self._check_validated(proof, next(outcomes), {})
        stored: dict[FactOfBlock, bytes] = {}
        for candidate in proven:
            if next(outcomes).success != (facts[id(candidate)] is not None):
                raise DisagreementError(f"prove() differs from verify(): {candidate}")
            stored |= {(number, fact): word for number, fact, word in facts[id(candidate)] or ()}
        for proof in proofs:
            self._check_validated(proof, next(outcomes), stored)
        for number, fact in reads:
            word = fact.decode(next(outcomes).data)
            if word != stored.get((number, fact)):
                raise UntrueFactError(f"read of block {number}: {fact.name}, {word!r}")
            self.trial.counts["readings" if word is None else "readings of facts"] += 1
        for candidate, read_facts in zip(candidates, offline, strict=True):
            self._compare(candidate, facts[id(candidate)], read_facts)

    # Calls

    def _preparations(self) -> list[Call]:
        """Make the blocks known, and store the roots of the verifier's."""
        first, second, foreign = (*self.sources.blocks, self.sources.foreign)
        registry, other = self.trial.verifier.registry, self.trial.other.registry
        known = ((registry, first), (registry, second), (other, foreign))
        sections = [
            headers_section([SectionHeader(block.header, fields=frozenset(FIELDS))])
            for block in self.sources.blocks
        ]
        return [
            *(
                (address, call_data("setHash(uint256,bytes32)", block.number, block.header.hash))
                for address, block in known
            ),
            (registry, prove_call(sections)),
        ]

    # The verifier

    def _verified(self, candidate: Candidate, outcome: Outcome) -> Facts | None:
        """The facts of a witness that is accepted, all of which are true."""
        end = "accepted" if outcome.success else "refused"
        self.trial.counts[f"{candidate.kind} {end}"] += 1
        if not outcome.success:
            if candidate.kind == "honest":
                raise DisagreementError(f"the contract refuses {candidate}")
            return None
        lists = self.trial.verifier.decode_facts(outcome.data)
        facts = returned_facts(lists)
        for number, fact, word in facts:
            if number not in self.numbers or word != self.numbers[number].truth(fact):
                raise UntrueFactError(f"of block {number}: {fact.name}, {word.hex()}, {candidate}")
        for *_, emitter, topics, data, digest in lists[0]:
            if log_hash(Log(bytes.fromhex(emitter[2:]), tuple(topics), data)) != digest:
                raise UntrueFactError(f"another log than {digest.hex()}: {candidate}")
        for number, index, kind, _ in lists[2]:
            first = self.numbers[number].transactions[index][0]
            if kind != (first if first < 0xC0 else 0):
                raise UntrueFactError(f"transaction {index} of type {kind}: {candidate}")
        self.trial.counts["facts"] += len(facts)
        return facts

    def _compare(
        self, candidate: Candidate, facts: Facts | None, offline: Facts | str | None
    ) -> None:
        if isinstance(offline, str):
            self.trial.counts[f"refused only offline: {offline}"] += facts is not None
        elif (facts and _sorted(facts)) != (offline and _sorted(offline)):
            raise DisagreementError(f"contract: {facts}; reader: {offline}; {candidate}")

    def _read(self, candidate: Candidate) -> Facts | str | None:
        """The same, as read offline; None if it is refused, a text if only our reader may do so."""
        has_section = bool(candidate.section)
        try:
            groups = read_event_witness(candidate.witness, has_blocks=not has_section)
        except ProofError as error:
            return str(error) if str(error) in STRICTER else None
        blocks = [block for block, _ in candidate.stated]
        if not has_section:
            if not {group.block for group in groups} <= self.numbers.keys():
                return None
            blocks = [self.numbers[group.block or 0] for group in groups]
        elif [group.field for group in groups] != [field for _, field in candidate.stated]:
            return None
        facts: Facts = []
        if self.sources.foreign in blocks:
            return None
        for group, block in zip(groups, blocks, strict=True):
            if not group.matches(block.header):
                return None
            facts += [(block.number, fact, word) for fact, word in group.facts]
        return facts

    def _reads(self, stated: Sequence[Facts]) -> list[FactOfBlock]:
        """Questions about what witnesses state, what is next to it, and other blocks."""
        facts = {(number, fact) for part in stated for number, fact, _ in part}
        for number, fact in self.chosen.sample(sorted(facts, key=_order), min(len(facts), 40)):
            shifted = number + self.chosen.choice((0, 1, -1))
            if isinstance(fact, (AbsentLogFact, SilentBlockFact)):
                facts.add((shifted, fact))
                continue
            index = max(fact.key + self.chosen.choice((0, 1, -1)), 0)
            log = max(fact.position[1] + self.chosen.choice((0, 1, -1)), 0)
            kind = self.chosen.choice((type(fact), *INDEX_KINDS))
            other = LogFact(index, log=log) if kind is LogFact else kind(index)
            facts.add((shifted, other))
        return self.chosen.sample(sorted(facts, key=_order), min(len(facts), 60))

    # The router

    def _maybe(self) -> bool:
        return self.chosen.random() < 0.5

    def _proofs(self, candidates: Sequence[Candidate], count: int) -> Iterator[bytes]:
        """Proofs of both forms: true, about something else, and broken."""
        blocks = (*self.sources.blocks, self.sources.foreign)
        logs = [
            (block, fact)
            for block in blocks
            for fact in block.items
            if isinstance(fact, LogFact)
            and block.receipts[fact.key].transaction_type <= NEWEST_TYPE
        ]
        proven = [
            (self.numbers[number], fact)
            for facts in map(self._read, candidates[:2])
            if isinstance(facts, list)
            for number, fact, _ in facts
            if isinstance(fact, LogFact)
        ]
        for _ in range(count if logs else 0):
            block, fact = self.chosen.choice(proven if proven and self._maybe() else logs)
            index, place = fact.key, fact.log
            chain = SOURCE if block in self.sources.blocks else OTHER_SOURCE
            position = LogPosition(chain, block.number, index, place)
            log = block.receipts[index].logs[place]
            named = self._other_position(position) if self._maybe() else position
            form = self.chosen.randrange(4)
            if form == 0:
                proof = self._proof_of(named, self.chosen.choice(candidates))
            elif form == 1:
                proof = encode_peer_proof(position, block.section(FIELDS[1]), block.receipts)
                proof = proof[:1] + named.encode() + proof[_POSITION_BYTES:]
            else:
                proof = encode_stored_peer_proof(named, self._other_log(log) if form == 3 else log)
            yield self.forger.broken(proof) if self.chosen.random() < 0.2 else proof

    @staticmethod
    def _proof_of(position: LogPosition, candidate: Candidate) -> bytes:
        size = len(candidate.section).to_bytes(3)
        return b"".join((b"\0", position.encode(), size, candidate.section, candidate.witness))

    def _other_position(self, position: LogPosition) -> LogPosition:
        return self.chosen.choice(
            (
                replace(position, chain=self.chosen.choice((SOURCE, OTHER_SOURCE, 1))),
                replace(position, block=self.chosen.choice(self.sources.blocks).number),
                replace(position, transaction=self.chosen.randrange(position.transaction + 2)),
                replace(position, log=self.chosen.randrange(position.log + 2)),
            )
        )

    def _other_log(self, log: Log) -> Log:
        return self.chosen.choice(
            (
                replace(log, emitter=self.chosen.choice(self.sources.emitters)),
                replace(log, topics=log.topics[:-1]),
                replace(log, topics=(), data=b"".join(log.topics) + log.data),
                replace(log, topics=log.topics[::-1]),
                replace(log, data=log.data + b"\0"),
                replace(log, data=log.data[:-1]),
            )
        )

    def _check_validated(
        self, proof: bytes, outcome: Outcome, stored: Mapping[FactOfBlock, bytes]
    ) -> None:
        """A log that the router returns was emitted where the proof says."""
        form = "stored" if proof[:1] == b"\1" else "with a witness"
        end = "accepted" if outcome.success else "refused"
        self.trial.counts[f"proof of a log {form} {end}"] += 1
        if not outcome.success:
            return
        chain, emitter, topics, data = decode(["uint32", "address", "bytes", "bytes"], outcome.data)
        number, index, place = (
            int.from_bytes(proof[start:end])
            for start, end in ((5, 13), (13, 17), (17, _POSITION_BYTES))
        )
        block: RecordedBlock | None = self.sources.block(chain, number)
        fact = LogFact(index, log=place)
        words = (topics[start : start + 32] for start in range(0, len(topics), 32))
        digest = log_hash(Log(bytes.fromhex(emitter[2:]), tuple(words), data))
        is_true = block is not None and block.truth(fact) == digest
        if proof[:1] == b"\1":
            is_true = is_true and stored.get((number, fact)) == digest
        if not is_true or chain != int.from_bytes(proof[1:5]):
            raise UntrueFactError(f"a log of block {number} of chain {chain}: {proof.hex()}")


def _order(fact: FactOfBlock) -> tuple[int, str]:
    return fact[0], fact[1].name


def _sorted(facts: Facts) -> list[tuple[int, str, bytes]]:
    return sorted((number, fact.name, word) for number, fact, word in facts)
