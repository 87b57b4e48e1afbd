"""The bundle: a JSON file that proves a batch's facts and can be checked offline.

    format, version      "tacitus-proof", 1
    batch                the batch's id
    destinationChainId   where its facts can be read
    blocks               by source chain and number, each:
      originChainId, block, blockHash
      header             its RLP
      nextHeader         that of the block after it, where a time is proven to be its own; or null
      registry           address, arguments (of its constructor, encoded), chainId, kind
      accounts           by address, each as eth_getProof answers it
      facts              kind, account (or null), name, word: as the registry holds it
      calls              calldata of prove() for a registry that knows the hash of the last header:
                         each works alone and in any order; together they prove these facts
      transactions       hash and block of those that the service proved them with
    digest               SHA-256 of the file without it, against accidents, not against forgers

Its bytes follow from headers, nodes, what was asked, and what the service says of chains,
registries and transactions: keys in their order, no white space, addresses with their checksum
(EIP-55), other hex in lower case, numbers of a chain in decimal text. `jq -cS` writes so;
`jq -cjS 'del(.digest)' | sha256sum` gives the digest.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import HASH_BYTES, keccak256, number_word
from queries.proving.packing import portions
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from queries.proving.tries import ProvenPath
from queries.proving.witnesses import AccountField, AccountRequest, build_witness

FORMAT, VERSION = "tacitus-proof", 1


class FactKind(StrEnum):
    """What a registry is asked for it with."""

    ACCOUNT_FIELD = "ACCOUNT_FIELD"
    STORAGE_SLOT = "STORAGE_SLOT"
    HEADER_FIELD = "HEADER_FIELD"
    BLOCK_AT_TIME = "BLOCK_AT_TIME"


@dataclass(frozen=True, slots=True)
class Fact:
    """A word that a registry keeps, and of what: a field, a slot, or a time in seconds."""

    kind: FactKind
    account: bytes | None
    name: str
    word: bytes


@dataclass(frozen=True, slots=True)
class ClaimedRegistry:
    """Where the service says that the facts are."""

    kind: str
    address: bytes
    arguments: bytes = b""  # of its constructor, as Solidity encodes them


@dataclass(frozen=True, slots=True)
class ClaimedTransaction:
    """By which the service says that it proved them."""

    hash: bytes
    block: int


@dataclass(frozen=True, slots=True)
class BlockProof:
    """One block, and what is proven of it; accounts ascend, as do the slots of each."""

    chain: int
    destination: int
    header: Header
    next_header: Header | None  # there where `timestamps` are
    header_fields: frozenset[HeaderField]
    timestamps: tuple[int, ...]
    accounts: tuple[AccountRequest, ...]
    registry: ClaimedRegistry
    transactions: tuple[ClaimedTransaction, ...]

    @property
    def rests_on(self) -> Header:
        """The one whose hash must be known: all else follows from it."""
        return self.next_header or self.header

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(_facts(self))

    @property
    def calls(self) -> list[bytes]:
        """Those that prove the facts from `rests_on`."""

        def build(group: Sequence[AccountRequest]) -> bytes:
            witness = build_witness(group) if group else b""
            step = HeaderStep(self.header, witness, accumulate=True, fields=self.header_fields)
            above = (
                [HeaderStep(self.next_header, timestamps=self.timestamps)]
                if self.next_header
                else []
            )
            return prove_call([headers_section([step, *above])])

        return [build(group) for group in portions(self.accounts, build) or [[]]]


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a file holds that was checked."""

    batch: str
    destination: int
    blocks: tuple[BlockProof, ...]


def written(batch: str, destination: int, blocks: Iterable[BlockProof]) -> Iterator[str]:
    """The file, account by account: no more than a block's proofs is held at once."""
    digest = sha256()
    for piece in _before_digest(batch, destination, blocks):
        digest.update(piece.encode())
        yield piece
    rest = f'"format":"{FORMAT}","version":{VERSION}}}'
    digest.update(rest.encode())
    yield f'"digest":"0x{digest.hexdigest()}",{rest}\n'


def canonical(content: object) -> str:
    """The one way in which a bundle's JSON is written."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def account_members(proof: AccountProof) -> dict[str, object]:
    """As `eth_getProof` answers."""
    state = proof.state
    return {
        "accountProof": _nodes(proof.path),
        "address": checksummed(proof.address or b""),
        "balance": hex(state.balance),
        "codeHash": _hex(state.code_hash),
        "nonce": hex(state.nonce),
        "storageHash": _hex(state.storage_root),
        "storageProof": [
            {"key": f"0x{each.slot:064x}", "proof": _nodes(each.path), "value": hex(each.value)}
            for each in proof.slots
        ],
    }


def other_members(block: BlockProof) -> dict[str, object]:
    """All that the file says of a block but its accounts, whose key is the first."""
    return {
        "block": str(block.header.number),
        "blockHash": _hex(block.header.hash),
        "calls": [_hex(call) for call in block.calls],
        "facts": [
            {
                "account": None if each.account is None else checksummed(each.account),
                "kind": each.kind.value,
                "name": each.name,
                "word": _hex(each.word),
            }
            for each in block.facts
        ],
        "header": _hex(block.header.encoded),
        "nextHeader": None if block.next_header is None else _hex(block.next_header.encoded),
        "originChainId": str(block.chain),
        "registry": {
            "address": checksummed(block.registry.address),
            "arguments": _hex(block.registry.arguments),
            "chainId": str(block.destination),
            "kind": block.registry.kind,
        },
        "transactions": [
            {"block": str(each.block), "hash": _hex(each.hash)} for each in block.transactions
        ],
    }


def _before_digest(batch: str, destination: int, blocks: Iterable[BlockProof]) -> Iterator[str]:
    yield f'{{"batch":{canonical(batch)},"blocks":['
    for place, block in enumerate(blocks):
        yield ',{"accounts":[' if place else '{"accounts":['
        for number, each in enumerate(block.accounts):
            yield ("," if number else "") + canonical(account_members(each.proof))
        yield f"],{canonical(other_members(block))[1:]}"
    yield f'],"destinationChainId":"{destination}",'


def _facts(block: BlockProof) -> Iterator[Fact]:
    header = block.header
    for field in sorted(block.header_fields):
        yield Fact(FactKind.HEADER_FIELD, None, field.name, header.word(field))
    for seconds in block.timestamps:
        yield Fact(FactKind.BLOCK_AT_TIME, None, str(seconds), number_word(header.number))
    for request in block.accounts:
        proof, account = request.proof, request.proof.address
        for prop in sorted(request.fields):
            word = account_word(proof, prop)
            yield Fact(FactKind.ACCOUNT_FIELD, account, prop.name, word)
        for slot in proof.slots:
            name = f"0x{slot.slot:064x}"
            yield Fact(FactKind.STORAGE_SLOT, account, name, number_word(slot.value))


def account_word(proof: AccountProof, field: AccountField) -> bytes:
    """What a registry keeps of it."""
    state = proof.state
    return {
        AccountField.NONCE: number_word(state.nonce),
        AccountField.BALANCE: number_word(state.balance),
        AccountField.STORAGE_ROOT: state.storage_root,
        AccountField.CODE_HASH: state.code_hash,
    }[field]


def _nodes(path: ProvenPath) -> list[str]:
    """As most nodes list them: without embedded ones, which are in the node above."""
    encoded = [node.encode() for node in path.nodes]
    return [_hex(each) for at, each in enumerate(encoded) if at == 0 or len(each) >= HASH_BYTES]


def checksummed(address: bytes) -> str:
    """The address in hex, in which capitals check the digits (EIP-55)."""
    digits = address.hex()
    checks = keccak256(digits.encode()).hex()
    pairs = zip(digits, checks, strict=False)
    return "0x" + "".join(digit.upper() if check > "7" else digit for digit, check in pairs)


def _hex(some: bytes) -> str:
    return f"0x{some.hex()}"
