"""The bundle: a JSON file that proves a batch's facts and can be checked offline.

    format, version      "tacitus-proof", 1
    batch                the batch's id
    destinationChainId   where its facts can be read
    blocks               ascending by source chain and number:
      originChainId, block, blockHash
      header             its RLP
      nextHeader         the RLP of the next header if a time is proven, or null
      registry           address, arguments (of its constructor, encoded), chainId, kind
      accounts           ascending by address, in the format of eth_getProof
      facts              kind, account (or null), name, word (as the registry stores it)
      calls              calldata of prove() for a registry that knows the hash of the last header;
                         the calls are independent, and together they prove these facts
      events             only if facts of events are proven: their witnesses, in ascending order
      eventCalls         with `events`: calldata of prove(bytes,bytes) for its events verifier
      transactions       hash and block of the service's transactions that proved the facts
    digest               SHA-256 of the file without it, against accidents, not against forgers

The same content always gives the same bytes: sorted keys, no white space, checksummed addresses
(EIP-55), other hex in lower case, and decimal text for chain numbers, like `jq -cS`.
`jq -cjS 'del(.digest)' | sha256sum` gives the digest.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from operator import attrgetter

from queries.proving.accounts import AccountProof
from queries.proving.block_items import Log
from queries.proving.event_witness import EventGroups, encode_event_groups, prove_events_call
from queries.proving.facts.events import EventFact
from queries.proving.facts.fact import BlockFact
from queries.proving.facts.groups import registry_words
from queries.proving.headers import Header, HeaderField
from queries.proving.json_values import encode_hex
from queries.proving.keccak import checksum_address
from queries.proving.packing import split_accounts
from queries.proving.registry_calls import SectionHeader, headers_section, prove_call
from queries.proving.witnesses import AccountToStore, build_witness

BUNDLE_FORMAT, BUNDLE_VERSION = "tacitus-proof", 1
_ORDER = attrgetter("sort_key")


@dataclass(frozen=True, slots=True)
class ClaimedRegistry:
    """The registry that has the facts, according to the service."""

    kind: str
    address: bytes
    arguments: bytes = b""  # of its constructor, as Solidity encodes them


@dataclass(frozen=True, slots=True)
class ClaimedTransaction:
    """A transaction that proved facts, according to the service."""

    hash: bytes
    block: int


@dataclass(frozen=True, slots=True)
class BlockProof:
    """A block and what is proven of it. Accounts ascend, and so do the slots of an account."""

    chain: int
    destination: int
    header: Header
    next_header: Header | None  # present if `timestamps` are
    header_fields: frozenset[HeaderField]
    timestamps: tuple[int, ...]
    accounts: tuple[AccountToStore, ...]
    registry: ClaimedRegistry
    transactions: tuple[ClaimedTransaction, ...]
    events: tuple[EventGroups, ...] = ()  # ascending
    event_facts: frozenset[EventFact] = frozenset()  # that these witnesses prove

    @property
    def trusted_header(self) -> Header:
        """The header whose hash must be known; everything else follows from it."""
        return self.next_header or self.header

    @property
    def words(self) -> dict[BlockFact, bytes]:
        """The facts and their words, in the order of the file."""
        facts = self.header_fields, self.timestamps, self.accounts
        return dict(registry_words(self.header, *facts)) | self.event_words

    @property
    def event_words(self) -> dict[BlockFact, bytes]:
        """The facts of events and their words."""
        groups = chain.from_iterable(self.events)
        words = {fact: word for group in groups for fact, word in group.facts}
        return {fact: words[fact] for fact in sorted(self.event_facts & words.keys(), key=_ORDER)}

    @property
    def logs(self) -> dict[str, Log]:
        """The logs by the names of their facts."""
        groups = chain.from_iterable(self.events)
        return {fact.name: log for group in groups for fact, log in group.logs}

    @property
    def calls(self) -> list[bytes]:
        """The registry's calls that prove the facts, given the hash of `trusted_header`."""

        def build(group: Sequence[AccountToStore]) -> bytes:
            witness = build_witness(group) if group else b""
            entry = SectionHeader(self.header, witness, accumulate=True, fields=self.header_fields)
            return prove_call([self._section(entry)])

        groups = split_accounts(self.accounts, build)
        if self.header_fields or self.timestamps:
            groups = groups or [[]]
        return [build(group) for group in groups]

    @property
    def event_calls(self) -> list[bytes]:
        """The same for the events verifier."""
        calls = []
        for groups in self.events:
            entry = SectionHeader(self.header, fields=frozenset(group.field for group in groups))
            calls.append(prove_events_call(self._section(entry), encode_event_groups(groups)))
        return calls

    def _section(self, entry: SectionHeader) -> bytes:
        headers = [entry]
        if self.next_header:
            headers.append(SectionHeader(self.next_header, timestamps=self.timestamps))
        return headers_section(headers)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The content of a checked file."""

    batch: str
    destination: int
    blocks: tuple[BlockProof, ...]


def write_bundle(batch: str, destination: int, blocks: Iterable[BlockProof]) -> Iterator[str]:
    """The file in pieces, so that only the proofs of a single block are in memory."""
    digest = sha256()
    for piece in _pieces_before_digest(batch, destination, blocks):
        digest.update(piece.encode())
        yield piece
    rest = f'"format":"{BUNDLE_FORMAT}","version":{BUNDLE_VERSION}}}'
    digest.update(rest.encode())
    yield f'"digest":"0x{digest.hexdigest()}",{rest}\n'


def canonical_json(content: object) -> str:
    """Encode JSON in the only form that a bundle may have."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def account_members(proof: AccountProof) -> dict[str, object]:
    """The account in the format of `eth_getProof`."""
    state = proof.state
    return {
        "accountProof": list(map(encode_hex, proof.path.hashed_nodes)),
        "address": checksum_address(proof.address or b""),
        "balance": hex(state.balance),
        "codeHash": encode_hex(state.code_hash),
        "nonce": hex(state.nonce),
        "storageHash": encode_hex(state.storage_root),
        "storageProof": [
            {
                "key": f"0x{slot.slot:064x}",
                "proof": list(map(encode_hex, slot.path.hashed_nodes)),
                "value": hex(slot.value),
            }
            for slot in proof.slots
        ],
    }


def block_members(block: BlockProof) -> dict[str, object]:
    """All members of a block except `accounts`, whose key comes first."""
    members: dict[str, object] = {
        "block": str(block.header.number),
        "blockHash": encode_hex(block.header.hash),
        "calls": [encode_hex(call) for call in block.calls],
        "facts": [
            {
                "account": checksum_address(fact.account) if fact.account else None,
                "kind": fact.kind,
                "name": fact.name,
                "word": encode_hex(word),
            }
            for fact, word in block.words.items()
        ],
        "header": encode_hex(block.header.rlp),
        "nextHeader": None if block.next_header is None else encode_hex(block.next_header.rlp),
        "originChainId": str(block.chain),
        "registry": {
            "address": checksum_address(block.registry.address),
            "arguments": encode_hex(block.registry.arguments),
            "chainId": str(block.destination),
            "kind": block.registry.kind,
        },
        "transactions": [
            {"block": str(transaction.block), "hash": encode_hex(transaction.hash)}
            for transaction in block.transactions
        ],
    }
    if block.events:
        members["eventCalls"] = [encode_hex(call) for call in block.event_calls]
        members["events"] = [encode_hex(encode_event_groups(groups)) for groups in block.events]
    return members


def _pieces_before_digest(
    batch: str, destination: int, blocks: Iterable[BlockProof]
) -> Iterator[str]:
    yield f'{{"batch":{canonical_json(batch)},"blocks":['
    for block_index, block in enumerate(blocks):
        yield ',{"accounts":[' if block_index else '{"accounts":['
        for index, account in enumerate(block.accounts):
            yield ("," if index else "") + canonical_json(account_members(account.proof))
        yield f"],{canonical_json(block_members(block))[1:]}"
    yield f'],"destinationChainId":"{destination}",'
