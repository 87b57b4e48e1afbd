"""Variables found by name in solc's layout have the values that a real node stores there."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.client.python import UsageError, find_variable, main
from tests import builds

pytestmark = pytest.mark.no_database

SOURCE = Path(__file__).parent / "sources" / "Kept.sol"
SETTINGS = {
    "evmVersion": "cancun",
    "outputSelection": {"*": {"*": ["evm.bytecode.object", "storageLayout"]}},
}
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
ADDRESS = int(HOLDER, 16)
TEXT = b"a text that is too long for the slot of its length"

# By name: the value that the constructor stores, its size in bytes, and its type.
EXPECTED: dict[str, tuple[int, int, str]] = {
    "_owner": (ADDRESS, 20, "address"),
    "since": (77, 12, "uint96"),
    f"balances[{HOLDER}]": (1001, 32, "uint256"),
    "balances[0x1111111111111111111111111111111111111111]": (0, 32, "uint256"),
    f"nested[{HOLDER}][1]": (2**64 - 2, 8, "int64"),
    'named["north pole"]': (2, 32, "struct Kept.Point[]"),
    'named["north pole"][0].x': (1003, 8, "uint64"),
    "named[north pole][1].y": (1004, 16, "uint128"),
    f"known[{HOLDER}]": (1, 1, "bool"),
    "priced[5]": (1005, 32, "uint256"),
    f"marked[bytes20:{HOLDER}]": (1009, 32, "uint256"),
    f"marked[address:{HOLDER}]": (0, 32, "uint256"),
    f"spent[address:{HOLDER}]": (1010, 32, "uint256"),
    f"spent[{ADDRESS}]": (1010, 32, "uint256"),
    "deep[true][-3][0xabcdef]": (1006, 4, "uint32"),
    "points": (5, 32, "struct Kept.Point[]"),
    "points[4].y": (2004, 16, "uint128"),
    "points[4].tags[2]": (3004, 4, "bytes4"),
    "points[4].seen[0xa9059cbb]": (7, 1, "uint8"),
    "small[0]": (4000, 3, "uint24"),
    "small[22]": (4022, 3, "uint24"),
    "grid[2][1]": (1007, 9, "uint72"),
    "config.on": (1, 1, "bool"),
    "config.owner": (ADDRESS, 20, "address"),
    "config.centre.x": (1008, 8, "uint64"),
    "text": (2 * len(TEXT) + 1, 32, "string"),
    "short_": (int.from_bytes(b"short".ljust(31, b"\0") + b"\x0a"), 32, "string"),
    "$odd": (9, 2, "uint16"),
}


@cache
def compile_cached() -> Mapping[str, Any]:
    return builds.compile_cached({SOURCE.name: SOURCE.read_text()}, SETTINGS)


@pytest.fixture(scope="module")
def address(shared_node: LocalNode) -> str:
    kept = compile_cached()["contracts"][SOURCE.name]["Kept"]
    return shared_node.deploy(bytes.fromhex(kept["evm"]["bytecode"]["object"]))


def word(node: LocalNode, address: str, slot: int) -> int:
    return int(node.rpc.ask("eth_getStorageAt", address, hex(slot), "latest"), 16)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_variable_is_found_by_name(shared_node: LocalNode, address: str, name: str) -> None:
    value, size, kind = EXPECTED[name]
    variable = find_variable(compile_cached(), name, "Kept")
    assert (variable.size, variable.type) == (size, kind)
    stored = word(shared_node, address, variable.position.slot)
    assert stored >> 8 * variable.position.byte_offset & (1 << 8 * size) - 1 == value


def test_a_long_texts_data_is_found(shared_node: LocalNode, address: str) -> None:
    variable = find_variable(compile_cached(), "text", "Kept.sol:Kept")
    assert variable.data
    content = word(shared_node, address, variable.data.slot).to_bytes(32, "big")
    content += word(shared_node, address, variable.data.slot + 1).to_bytes(32, "big")
    assert content.rstrip(b"\0") == TEXT


def test_a_layout_may_be_alone_or_in_an_artifact_or_in_build_output() -> None:
    kept = compile_cached()["contracts"][SOURCE.name]["Kept"]
    expected = find_variable(compile_cached(), "config.on", "Kept")
    for content in (kept["storageLayout"], kept, {"id": "x", "output": compile_cached()}):
        contract = "Kept" if "output" in content else ""
        assert find_variable(content, "config.on", contract) == expected


def test_the_command_describes_the_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "output.json"
    file.write_text(json.dumps(compile_cached()))
    command = ["slot", "--layout", str(file), "--contract", "Kept"]
    for name, sentence in (
        ("since", "uint96: 12 bytes at byte 20 from the slot's low end"),
        ("points[4].y", "uint128: 16 bytes at byte 8 from the slot's low end"),
        ("points", "Its elements, or the bytes of a long text, begin in slot 0x"),
    ):
        variable = find_variable(compile_cached(), name, "Kept")
        assert main([*command, name]) == 0
        printed = capsys.readouterr()
        assert printed.out == f"0x{variable.position.slot:064x}\n"
        assert sentence in printed.err
        assert main([*command, name, "--json"]) == 0
        output = json.loads(capsys.readouterr().out)
        assert (output["bytes"], output["type"]) == (variable.size, variable.type)
    assert main([*command, "since", "--key", "5"]) == 2


@pytest.mark.parametrize(
    ("name", "contract", "sentence"),
    [
        ("balances", "", "Choose one of the contracts with variables: Kept.sol:Inherited, "),
        (
            "nowhere",
            "Kept",
            "'nowhere' is not a unique name. The layout has: _owner, since, balances",
        ),
        ("points[4]y", "Kept", "is not written like"),
        ("points[4].z", "Kept", "struct Kept.Point has no member z."),
        ("points[-1]", "Kept", "An array has no element -1."),
        ("grid[3][0]", "Kept", "has no element 3."),
        ("since[1]", "Kept", "uint96 has no elements."),
        ("balances[5]", "Kept", "is not 0x-hex"),
        ("nested[0x11][1]", "Kept", "An address has 20 bytes"),
        (f"nested[{HOLDER}][256]", "Kept", "256 is not a key of type uint8."),
        ("priced[five]", "Kept", "Write it before the key, such as bytes8:five or "),
        (f"priced[{2**64}]", "Kept", f"{2**64} is not a key of type uint64."),
        (f"marked[{HOLDER}]", "Kept", f"such as bytes20:{HOLDER} or uint160:{HOLDER}."),
    ],
)
def test_an_unknown_name_is_refused(name: str, contract: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_variable(compile_cached(), name, contract)
    assert sentence in raised.value.sentence


@pytest.mark.parametrize(
    "content",
    [
        [], "x", 5, None, {}, {"storage": None}, {"storage": [5]},
        {"storage": [{"label": "a", "slot": "0", "offset": 0, "type": "t"}], "types": {}},
        {"storage": [{"label": "a", "slot": "x", "offset": 0, "type": "t"}], "types": {"t": {}}},
        {"contracts": []}, {"contracts": {"a": {"b": 5}}},
    ],
)  # fmt: skip
def test_a_malformed_layout_is_refused(content: object) -> None:
    with pytest.raises(UsageError):
        find_variable(content, "a")
