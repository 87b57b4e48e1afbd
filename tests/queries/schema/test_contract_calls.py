"""Calls of contracts are encoded as by eth_abi, and their proofs lead to the values."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import rlp
from eth_abi.abi import decode, encode
from eth_utils.abi import function_signature_to_4byte_selector as selector
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from trie.hexary import HexaryTrie

from queries.proving.headers import Header, decode_header
from queries.schema.contract_calls import (
    CallValueError,
    ValueMissingError,
    ValueUnfitError,
    read_call,
)
from queries.schema.functions import parse_function

pytestmark = pytest.mark.no_database

ADDRESS = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
OTHER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"


@dataclass(frozen=True)
class Values:
    """The values of a recorded block; those that are left out are not known."""

    number: int | None = None
    block_header: Header | None = None
    address: str | None = None
    words: dict[tuple[str, str], bytes] = field(default_factory=dict)
    nodes: dict[tuple[str, bytes], list[bytes]] = field(default_factory=dict)
    proof: bytes | None = None

    def block_number(self) -> int | None:
        return self.number

    def header(self) -> Header | None:
        return self.block_header

    def registry(self) -> str | None:
        return self.address

    def word(self, account: str, fact: str) -> bytes | None:
        return self.words.get((account, fact))

    def account_nodes(self, account: str) -> Sequence[bytes] | None:
        return self.nodes.get((account, b""))

    def slot_nodes(self, account: str, slot: bytes) -> Sequence[bytes] | None:
        return self.nodes.get((account, slot))

    def witness(self) -> bytes | None:
        return self.proof


def word_of(number: int) -> bytes:
    return number.to_bytes(32, signed=number < 0)


def content(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        ("f()", "f()"),
        (" function  transfer ( address to , uint amount ) external returns ( bool ok ) ; ",
         "transfer(address,uint256)"),
        ("f((uint256,bytes)[] items, int8 x) view", "f((uint256,bytes)[],int8)"),
        ("f(tuple(uint a, (bool b, string c)[2] d)[3][] memory e)",
         "f((uint256,(bool,string)[2])[3][])"),
        ("_f$1(address payable a, bytes calldata, bytes1[] calldata b)public payable",
         "_f$1(address,bytes,bytes1[])"),
        ("returns(int)returns(bool)", "returns(int256)"),
    ],
)  # fmt: skip
def test_functions_have_the_selector_of_their_canonical_form(function: str, signature: str) -> None:
    parsed = parse_function(function)
    assert parsed.signature == signature
    assert parsed.selector == selector(signature)


LITERALS: list[tuple[str, Any, Any]] = [
    ("uint256", "0", 0),
    ("uint256", str(2**256 - 1), 2**256 - 1),
    ("uint256", "0x" + 64 * "f", 2**256 - 1),
    ("uint8", 255, 255),
    ("uint64", 2**53 - 1, 2**53 - 1),
    ("int256", str(-(2**255)), -(2**255)),
    ("int8", "-128", -128),
    ("int8", -1, -1),
    ("int24", "0x7fffff", 2**23 - 1),
    ("bool", True, True),
    ("bool", False, False),
    ("address", ADDRESS, ADDRESS),
    ("address", ADDRESS.lower(), ADDRESS),
    ("address", f"0x{ADDRESS[2:].upper()}", ADDRESS),
    ("bytes4", "0x01FFab00", b"\x01\xff\xab\x00"),
    ("bytes32", "0x" + 32 * "07", 32 * b"\x07"),
    ("bytes", "0x", b""),
    ("bytes", "0x" + 33 * "ab", 33 * b"\xab"),
    ("string", "", ""),
    ("string", "\u20ac 5", "\u20ac 5"),
    ("string", "$$5", "$5"),
    ("string", "$$$", "$$"),
    ("string", "5$", "5$"),
    ("uint8[]", [], []),
    ("uint8[2]", ["1", 2], [1, 2]),
    ("string[][2]", [["a"], ["b", "$$c"]], [["a"], ["b", "$c"]]),
    ("uint8[2][]", [["1", "2"], ["3", "4"]], [[1, 2], [3, 4]]),
    ("(uint8,bytes)[]", [["1", "0x02"], ["3", "0x"]], [(1, b"\x02"), (3, b"")]),
    ("(bool,(string,(uint8[],address))[2])", [True, [["a", [["1"], OTHER]], ["b", [[], OTHER]]]],
     (True, [("a", ([1], OTHER)), ("b", ([], OTHER))])),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "arg", "value"), LITERALS)
def test_literals_are_encoded_as_by_eth_abi(kind: str, arg: object, value: object) -> None:
    types = ["bytes", kind, "string"]
    call = read_call(f"f({','.join(types)})", ["0x12", arg, "end"])
    expected = selector(f"f({','.join(types)})") + encode(types, [b"\x12", value, "end"])
    assert call.encode(Values()) == expected
    assert call.placeholders == []


def test_all_literals_together_are_encoded_as_by_eth_abi() -> None:
    types, args, values = zip(*LITERALS, strict=True)
    call = read_call(f"f({','.join(types)})", args)
    expected = selector(f"f({','.join(types)})") + encode(types, values)
    assert call.encode(Values()) == expected


# Placeholders of a recorded block


@dataclass(frozen=True)
class Recorded:
    """An account of a mainnet block with a slot, and the raw nodes of both proofs."""

    state_root: bytes
    account: str
    slot: bytes
    value: int
    account_nodes: list[bytes]
    slot_nodes: list[bytes]

    @property
    def values(self) -> Values:
        proofs = {b"": self.account_nodes, self.slot: self.slot_nodes}
        return Values(nodes={(self.account, key): nodes for key, nodes in proofs.items()})

    @property
    def slot_text(self) -> str:
        return f"0x{self.slot.hex()}"


@pytest.fixture(scope="module", params=["mainnet_21925176", "mainnet_16212738", "mainnet_17654287"])
def recorded(corpus_folder: Path, request: pytest.FixtureRequest) -> Recorded:
    block = json.loads((corpus_folder / f"{request.param}.json").read_text())
    account = next(entry for entry in block["accounts"] if entry.get("storageProof"))
    (proof, *_) = account["storageProof"]
    return Recorded(
        state_root=content(block["block"]["stateRoot"]),
        account=to_checksum_address(account["address"]),
        slot=word_of(int(proof["key"], 16)),
        value=int(proof["value"], 16),
        account_nodes=[content(node) for node in account["accountProof"]],
        slot_nodes=[content(node) for node in proof["proof"]],
    )


def encoded_value(kind: str, placeholder: str, values: Values) -> Any:
    """The argument that a contract gets for a placeholder."""
    calldata = read_call(f"f({kind})", [placeholder]).encode(values)
    assert calldata[:4] == selector(f"f({kind})")
    return decode([kind], calldata[4:])[0]


def check_chain(root: bytes, key: bytes, nodes: Any) -> bytes:
    """Check decoded nodes from the root on, and return the value of the key's leaf."""
    assert keccak(rlp.encode(nodes[0])) == root
    for parent, child in pairwise(nodes):
        assert keccak(rlp.encode(child)) in parent
    value = HexaryTrie.get_from_proof(root, keccak(key), nodes)
    assert value == nodes[-1][1]
    return bytes(value)


def test_proofs_in_rlp_lead_from_the_root_to_the_values(recorded: Recorded) -> None:
    account, slot, values = recorded.account, recorded.slot_text, recorded.values
    nodes = rlp.decode(encoded_value("bytes", f"$accountProof({account.lower()})", values))
    state = rlp.decode(check_chain(recorded.state_root, content(account), nodes))
    slot_nodes = rlp.decode(encoded_value("bytes", f"$storageProof({account},{slot})", values))
    value = check_chain(state[2], recorded.slot, slot_nodes)
    assert int.from_bytes(rlp.decode(value)) == recorded.value != 0
    both = rlp.decode(encoded_value("bytes", f"$proof({account}, {slot})", values))
    assert both == [nodes, slot_nodes]
    twice = f"$storageProof({account}, {slot}, {slot})"
    assert rlp.decode(encoded_value("bytes", twice, values)) == [slot_nodes, slot_nodes]
    thrice = f"$proof({account}, {slot}, {slot})"
    assert rlp.decode(encoded_value("bytes", thrice, values)) == [nodes, slot_nodes, slot_nodes]


def test_proofs_in_lists_are_the_nodes(recorded: Recorded) -> None:
    account, slot, values = recorded.account, recorded.slot_text, recorded.values
    nodes = encoded_value("bytes[]", f"$accountProof({account})", values)
    assert list(nodes) == recorded.account_nodes
    nodes = encoded_value("bytes[]", f"$storageProof({account}, {slot})", values)
    assert list(nodes) == recorded.slot_nodes


@pytest.mark.parametrize("nodes", [[], [b"\x80"]])
def test_the_proof_of_an_empty_trie_has_no_nodes(nodes: list[bytes]) -> None:
    """Nodes answer with either; a contract finds no list in the second one."""
    values = Values(nodes={(ADDRESS, word_of(1)): nodes, (ADDRESS, b""): [b"\xc1\x80"]})
    assert encoded_value("bytes", f"$storageProof({ADDRESS},0x1)", values) == b"\xc0"
    assert encoded_value("bytes[]", f"$storageProof({ADDRESS},0x1)", values) == ()
    both = encoded_value("bytes", f"$proof({ADDRESS},0x1)", values)
    assert rlp.decode(both) == [[[b""]], []]


@pytest.mark.parametrize("name", ["mainnet_21925176", "goerli_7583802"])
def test_the_header_gives_number_time_hash_and_rlp(corpus_folder: Path, name: str) -> None:
    block = json.loads((corpus_folder / f"{name}.json").read_text())["block"]
    header = decode_header(content(block["headerRlp"]))
    values = Values(number=header.number, block_header=header, address=OTHER)
    assert encoded_value("bytes32", "$blockHash", values) == content(block["hash"])
    fields = rlp.decode(encoded_value("bytes", "$header", values))
    assert keccak(rlp.encode(fields)) == encoded_value("bytes32", "$blockHash", values)
    assert int.from_bytes(fields[8]) == encoded_value("uint64", "$block", values)
    assert int.from_bytes(fields[11]) == encoded_value("uint32", "$timestamp", values)
    assert encoded_value("address", "$registry", values) == OTHER.lower()
    assert encoded_value("bytes", "$witness", Values(proof=b"\x01\x02")) == b"\x01\x02"


BALANCE, SLOT = f"$value({ADDRESS}.BALANCE)", f"$value({ADDRESS.lower()}.0x7)"


@pytest.mark.parametrize(
    ("kind", "text", "number", "expected"),
    [
        ("uint256", BALANCE, 2**256 - 1, 2**256 - 1),
        ("uint8", BALANCE, 255, 255),
        ("int8", BALANCE, 127, 127),
        ("int256", BALANCE, 2**255 - 1, 2**255 - 1),
        ("int8", SLOT, -128, -128),
        ("int256", SLOT, -1, -1),
        ("uint256", SLOT, -1, 2**256 - 1),
        ("bytes32", SLOT, 5, word_of(5)),
        ("address", SLOT, int(OTHER, 16), OTHER.lower()),
        ("bool", SLOT, 1, True),
        ("bool", SLOT, 0, False),
        ("uint64", "$value(vitalik.eth.NONCE)", 7, 7),
        ("address", "$value(PROPOSER)", int(OTHER, 16), OTHER.lower()),
        ("uint8", BALANCE, 256, None),
        ("int8", BALANCE, 128, None),
        ("int256", BALANCE, 2**255, None),
        ("int8", SLOT, 128, None),
        ("int8", SLOT, -129, None),
        ("address", SLOT, 2**160, None),
        ("bool", SLOT, 2, None),
    ],
)
def test_values_are_encoded_if_they_fit(
    kind: str, text: str, number: int, expected: object
) -> None:
    names = {BALANCE: (ADDRESS, "BALANCE"), SLOT: (ADDRESS, f"0x{7:064x}")}
    name = names.get(text, ("vitalik.eth", "NONCE") if "eth" in text else ("", "COINBASE"))
    values = Values(words={name: word_of(number)})
    if expected is None:
        with pytest.raises(ValueUnfitError) as caught:
            encoded_value(kind, text, values)
        assert str(caught.value).startswith(f"{text} is ")
        assert str(caught.value).endswith(f", which does not fit into {kind}.")
        assert caught.value.placeholder.text == text
    else:
        assert encoded_value(kind, text, values) == expected


def test_a_block_number_must_fit() -> None:
    assert encoded_value("uint32", "$block", Values(number=2**32 - 1)) == 2**32 - 1
    with pytest.raises(ValueUnfitError):
        encoded_value("uint32", "$block", Values(number=2**32))


PLACEHOLDERS = {
    "$block": "uint64", "$timestamp": "uint64", "$blockHash": "bytes32", "$registry": "address",
    BALANCE: "uint256", "$value(GAS_USED)": "uint256", "$header": "bytes", "$witness": "bytes",
    f"$accountProof({ADDRESS})": "bytes[]", f"$storageProof({ADDRESS},0x1)": "bytes",
    f"$proof({ADDRESS},0x1)": "bytes",
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), PLACEHOLDERS.items())
def test_a_missing_value_is_an_error_that_names_it(text: str, kind: str) -> None:
    with pytest.raises(ValueMissingError) as caught:
        encoded_value(kind, text, Values())
    assert isinstance(caught.value, CallValueError)
    assert str(caught.value) == f"{text} is not known."


def test_a_call_lists_its_placeholders_and_fills_them_in_inside_lists_and_tuples() -> None:
    function = "f((uint256,bytes[])[] a, uint256[2] b, uint64)"
    nodes = f"$accountProof({ADDRESS})"
    same_nodes = f"$accountProof( {ADDRESS.lower()} )"
    args = [[["1", nodes], ["$block", same_nodes]], ["$block", BALANCE], "$block"]
    call = read_call(function, args)
    assert [placeholder.text for placeholder in call.placeholders] == [nodes, "$block", BALANCE]
    values = Values(
        number=9, words={(ADDRESS, "BALANCE"): word_of(3)}, nodes={(ADDRESS, b""): [b"\xc0"]}
    )
    types = ["(uint256,bytes[])[]", "uint256[2]", "uint64"]
    expected = encode(types, [[(1, [b"\xc0"]), (9, [b"\xc0"])], [9, 3], 9])
    assert call.encode(values)[4:] == expected
