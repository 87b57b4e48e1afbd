"""Contracts written for ICrossL2ProverV2 get logs from the events router, and lies are refused."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.compat.peer_proofs import LogPosition, encode_stored_peer_proof
from queries.contracts.abi import call_data
from queries.contracts.compiler import SOURCES
from queries.proving.block_items import Log, Receipt
from queries.proving.errors import ArgumentMalformedError
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HORIZON, prove_call
from tests.builds import contract_for_tests
from tests.queries.attacks.event_checks import ROUTER_CHECKS
from tests.queries.attacks.hash_sources import SIGNERS
from tests.queries.attacks.switched_checks import Check, assert_needed, switched_build
from tests.queries.contracts.recorded_events import (
    RecordedBlock,
    Verifier,
    block_with,
    prove_events_call,
)
from tests.queries.events.groups import (
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    build_group_witness,
    encode_peer_proof,
)
from tests.rigs.deployed_contracts import DeployedContract, error_name

pytestmark = pytest.mark.no_database

SOURCE, OTHER_SOURCE, UNROUTED = 10, 8453, 1
RECEIPTS, TRANSACTIONS = HeaderField.RECEIPTS_ROOT, HeaderField.TRANSACTIONS_ROOT
TRANSFER = keccak256(b"Transfer(address,address,uint256)")
VALIDATE = "validateEvent(bytes)"


@dataclass(frozen=True)
class Routed:
    """A router over the verifiers of two chains; the first one's registry knows the block."""

    router: DeployedContract
    verifier: Verifier
    block: RecordedBlock

    def proof(self, position: LogPosition) -> bytes:
        return encode_peer_proof(position, self.block.section(RECEIPTS), self.block.receipts)

    def proof_of_groups(self, position: LogPosition, *groups: Group) -> bytes:
        """A proof whose witness is about something else than its position."""
        section = self.block.section(*(group.field for group in groups))
        head = self.proof(position)[:21]
        return head + len(section).to_bytes(3) + section + build_group_witness(groups)

    def log(self, position: LogPosition) -> Log:
        return self.block.receipts[position.transaction].logs[position.log]

    def store(self, position: LogPosition) -> None:
        request = ReceiptRequest(logs=frozenset({position.log}))
        group = ReceiptGroup(self.block.receipts, {position.transaction: request})
        section, witness = self.block.section(RECEIPTS), build_group_witness([group])
        self.verifier.send(prove_events_call(section, witness))

    def validate(self, proof: bytes) -> tuple[int, str, bytes, bytes]:
        answer = self.router.ask(call_data(VALIDATE, proof))
        chain, emitter, topics, data = decode(["uint32", "address", "bytes", "bytes"], answer)
        return chain, emitter, topics, data

    def refusal(self, proof: bytes) -> str:
        """The name of the error of the router, or of the verifier or registry behind it."""
        name = self.router.refusal(call_data(VALIDATE, proof))
        for contract in ("EventsVerifier", "NativeRegistry"):
            name = error_name(contract, bytes.fromhex(name[2:])) if name[:2] == "0x" else name
        return name


def deploy_router(
    node: LocalNode, verifiers: Mapping[int, str] | Sequence[tuple[int, str]], code: bytes = b""
) -> DeployedContract:
    pairs = list(verifiers.items()) if isinstance(verifiers, Mapping) else verifiers
    words = [[chain for chain, _ in pairs], [address for _, address in pairs]]
    arguments = encode(["uint32[]", "address[]"], words)
    return DeployedContract(node, "EventsRouter", arguments, code or None)


def routed_block(node: LocalNode, block: RecordedBlock, code: bytes = b"") -> Routed:
    verifier, other = Verifier(node), Verifier(node)
    verifier.know(block)
    addresses = {SOURCE: verifier.address, OTHER_SOURCE: other.address}
    return Routed(deploy_router(node, addresses, code), verifier, block)


@pytest.fixture(scope="module")
def routed(shared_node: LocalNode, block: RecordedBlock) -> Routed:
    return routed_block(shared_node, block)


@pytest.fixture
def transfer(block: RecordedBlock) -> LogPosition:
    """A transfer of a token, not the first log of its receipt."""
    return next(
        LogPosition(SOURCE, block.number, index, place)
        for index, receipt in enumerate(block.receipts)
        for place, log in enumerate(receipt.logs)
        if 0 < place < len(receipt.logs) - 1
        and log.topics[:1] == (TRANSFER,)
        and len(log.topics) == 3
        and len(log.data) == 32
    )


@pytest.mark.parametrize("form", ["section", "stored root", "stored log"])
def test_a_contract_written_for_the_peer_acts_on_a_transfer(
    shared_node: LocalNode, block: RecordedBlock, transfer: LogPosition, form: str
) -> None:
    routed = routed_block(shared_node, block)
    log = routed.log(transfer)
    words = [routed.router.address, SOURCE, log.emitter]
    arguments = encode(["address", "uint32", "address"], words)
    bridge = shared_node.deploy(contract_for_tests("Bridge") + arguments)
    proof = routed.proof(transfer)
    if form == "stored root":
        shared_node.send(routed.verifier.registry, prove_call([block.section(RECEIPTS)]))
        proof = encode_peer_proof(transfer, b"", block.receipts)
    elif form == "stored log":
        routed.store(transfer)
        proof = encode_stored_peer_proof(transfer, log)
    shared_node.send(bridge, call_data("claim(bytes)", proof))
    recipient = log.topics[2][12:]
    assert shared_node.call(bridge, call_data("credit(address)", recipient)) == log.data
    with pytest.raises(TransactionRevertedError, match=b"claimed before".hex()):
        shared_node.call(bridge, call_data("claim(bytes)", routed.proof(transfer)))


def test_logs_are_returned_as_they_were_emitted(routed: Routed) -> None:
    """Every tenth log of a block: two of them with four topics, many with much data."""
    positions = [
        LogPosition(SOURCE, routed.block.number, index, place)
        for index, receipt in enumerate(routed.block.receipts)
        for place in range(len(receipt.logs))
    ]
    for position in positions[::10]:
        proof, log = routed.proof(position), routed.log(position)
        expected = (SOURCE, f"0x{log.emitter.hex()}", b"".join(log.topics), log.data)
        assert routed.validate(proof) == expected
        answer = routed.router.ask(call_data("inspectLogIdentifier(bytes)", proof))
        identifier = SOURCE, position.block, position.transaction, position.log
        # The peer's older contracts have shorter types for the same values.
        for index_types in (["uint32", "uint32"], ["uint16", "uint8"]):
            assert decode(["uint32", "uint64", *index_types], answer) == identifier


def test_a_log_without_topics_and_data(shared_node: LocalNode) -> None:
    log = Log(b"\x07" * 20, (), b"")
    receipts = (Receipt(2, 1, 21_000, (log,)),)
    block = block_with(RECEIPTS, IndexTrie([receipt.encoding for receipt in receipts]).root)
    routed = routed_block(shared_node, replace(block, receipts=receipts))
    position = LogPosition(SOURCE, block.number, 0, 0)
    routed.store(position)
    for proof in (routed.proof(position), encode_stored_peer_proof(position, log)):
        assert routed.validate(proof) == (SOURCE, "0x" + 20 * "07", b"", b"")


def test_a_proof_names_no_number_that_its_format_cannot_hold(routed: Routed) -> None:
    with pytest.raises(ArgumentMalformedError, match="chain"):
        routed.proof(LogPosition(2**32, routed.block.number, 0, 0))


# Lies


def lie(routed: Routed, position: LogPosition, **changes: int) -> bytes:
    """A true proof of a log, said to be of another."""
    return routed.proof_of_groups(
        replace(position, **changes),
        ReceiptGroup(
            routed.block.receipts,
            {position.transaction: ReceiptRequest(logs=frozenset({position.log}))},
        ),
    )


def of_logs(routed: Routed, position: LogPosition, *logs: int) -> bytes:
    """A proof whose witness states these logs of the receipt."""
    request = ReceiptRequest(receipt=True, logs=frozenset(logs))
    group = ReceiptGroup(routed.block.receipts, {position.transaction: request})
    return routed.proof_of_groups(position, group)


def stored(routed: Routed, position: LogPosition, log: Log | None = None) -> bytes:
    """A proof that says that `log` is stored at a position; the true one is."""
    routed.store(position)
    return encode_stored_peer_proof(position, log or routed.log(position))


LIES: dict[str, tuple[str, Callable[[Routed, LogPosition], bytes]]] = {
    "a_log_of_another_block": ("AnotherLog", lambda r, p: lie(r, p, block=p.block + 1)),
    "a_log_of_another_transaction": (
        "AnotherLog", lambda r, p: lie(r, p, transaction=p.transaction + 1),
    ),
    "another_log_of_a_receipt": ("AnotherLog", lambda r, p: lie(r, p, log=p.log - 1)),
    "a log of another chain": ("BlockNotKnown", lambda r, p: lie(r, p, chain=OTHER_SOURCE)),
    "a chain that is not routed": ("SourceNotRouted", lambda r, p: lie(r, p, chain=UNROUTED)),
    "two logs": ("NotOneLog", lambda r, p: of_logs(r, p, p.log, p.log + 1)),
    "no log": ("NotOneLog", of_logs),
    "a transaction": (
        "NotOneLog",
        lambda r, p: r.proof_of_groups(p, TransactionGroup(r.block.transactions, [p.transaction])),
    ),
    "a changed log": ("RootMismatch", lambda r, p: r.proof(p).replace(r.log(p).data, bytes(32))),
    "a shortened section": ("ProofTooShort", lambda r, p: r.proof(p)[:100]),
    "a shortened head": ("ProofTooShort", lambda r, p: r.proof(p)[:20]),
    "no bytes": ("ProofTooShort", lambda r, p: r.proof(p)[:0]),
    "another form": ("UnknownForm", lambda r, p: b"\x02" + r.proof(p)[1:]),
    "a_stored_log_with_other_data": (
        "LogNotProven", lambda r, p: stored(r, p, replace(r.log(p), data=bytes(32))),
    ),
    "a stored log by another emitter": (
        "LogNotProven", lambda r, p: stored(r, p, replace(r.log(p), emitter=bytes(20))),
    ),
    "a stored log with a topic less": (
        "LogNotProven", lambda r, p: stored(r, p, replace(r.log(p), topics=r.log(p).topics[:2])),
    ),
    "a stored log with a topic as data": (
        "LogNotProven",
        lambda r, p: stored(r, p).replace(b"\x03" + TRANSFER, b"\x02" + TRANSFER),
    ),
    "a log that is not stored": (
        "LogNotProven", lambda r, p: encode_stored_peer_proof(p, r.log(p)),
    ),
    "topics beyond the end": ("ProofTooShort", lambda r, p: stored(r, p)[:100]),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lying_proof_is_refused(
    shared_node: LocalNode, block: RecordedBlock, transfer: LogPosition, name: str
) -> None:
    routed = routed_block(shared_node, block)
    error, forge = LIES[name]
    assert routed.refusal(forge(routed, transfer)) == error


def test_a_changed_proof_returns_no_other_log(
    shared_node: LocalNode, block: RecordedBlock, transfer: LogPosition
) -> None:
    """Each changed or shortened proof is refused, or returns the log that its head names."""
    routed, chosen = routed_block(shared_node, block), random.Random(7)
    routed.store(transfer)
    for proof in (routed.proof(transfer), encode_stored_peer_proof(transfer, routed.log(transfer))):
        changed = [
            proof[:at] + bytes((proof[at] ^ 1 << chosen.randrange(8),)) + proof[at + 1 :]
            for at in range(len(proof))
        ]
        changed += [proof[:at] for at in range(0, len(proof), 7)]
        calls = {call_data(VALIDATE, change): change for change in changed}
        taken = routed.router.taken(list(calls))
        assert len(taken) < len(changed) / 10
        for call in taken:
            answer = routed.router.ask(call_data("inspectLogIdentifier(bytes)", calls[call]))
            position = LogPosition(*decode(["uint32", "uint64", "uint32", "uint32"], answer))
            log = routed.log(position)
            assert (position.chain, position.block) == (SOURCE, block.number)
            expected = (SOURCE, f"0x{log.emitter.hex()}", b"".join(log.topics), log.data)
            assert routed.validate(calls[call]) == expected


def lying_lists(node: LocalNode, routed: Routed) -> dict[str, tuple[str, list[tuple[int, str]]]]:
    """Constructor arguments that are refused."""
    signers = sorted((signer.address for signer in SIGNERS[:2]), key=str.lower)
    types = ["uint256", "uint256", "address[]", "uint256", "uint256"]
    arguments = encode(types, [HORIZON, OTHER_SOURCE, signers, 1, HORIZON])
    registry = DeployedContract(node, "AttestedRegistry", arguments).address
    attested = DeployedContract(node, "EventsVerifier", encode(["address"], [registry])).address
    verifier = routed.verifier.address
    return {
        "a_second_verifier_of_a_chain": (
            "SourceRepeated", [(SOURCE, verifier), (SOURCE, Verifier(node).address)],
        ),
        "a_verifier_of_another_chain": ("SourceMismatch", [(SOURCE, attested)]),
        "an address without code": ("NoContract", [(SOURCE, "0x" + 20 * "66")]),
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["a_second_verifier_of_a_chain", "a_verifier_of_another_chain", "an address without code"],
)
def test_a_lying_list_is_refused(shared_node: LocalNode, routed: Routed, name: str) -> None:
    error, pairs = lying_lists(shared_node, routed)[name]
    with pytest.raises(TransactionRevertedError) as reverted:
        deploy_router(shared_node, pairs)
    assert error_name("EventsRouter", reverted.value.data) == error


# Without a check


@pytest.mark.parametrize("check", [None, *ROUTER_CHECKS], ids=str)
def test_without_a_check_its_lie_is_believed(
    shared_node: LocalNode, block: RecordedBlock, transfer: LogPosition, check: Check | None
) -> None:
    sources = {"EventsRouter": SOURCES["EventsRouter"]}
    code = switched_build(ROUTER_CHECKS, sources)["EventsRouter"]
    routed = routed_block(shared_node, block, code)
    lists = lying_lists(shared_node, routed)

    def is_believed(name: str) -> bool:
        try:
            if name in lists:
                deploy_router(shared_node, lists[name][1], code)
            else:
                routed.validate(LIES[name][1](routed, transfer))
        except TransactionRevertedError:
            return False
        return True

    assert_needed(ROUTER_CHECKS, check, shared_node, is_believed)
