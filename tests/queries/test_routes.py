"""The routes file: what it says, and the sentence where it says nothing that can be used."""

import traceback
from pathlib import Path

import pytest

from queries.routes import Chain, NodeAddress, Routes, RoutesUnreadable, read_routes

pytestmark = pytest.mark.no_database

NODES = 'nodes = ["https://node.example/hunter2"]'
CHAIN = f'[chains.1]\nname = "Ethereum"\n{NODES}'


def _nodes(entries: str) -> str:
    return f'[chains.1]\nname = "Ethereum"\nnodes = {entries}'


@pytest.fixture
def routes_file(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("\nhttps://node.example/hunter2\n")
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "latin").write_bytes(b"https://node.example/hunter2\xe9")
    (tmp_path / "text").write_text("hunter2")
    (tmp_path / "lines").write_text("https://node.example/\nhunter2")
    return tmp_path / "routes.toml"


def _refusal(file: Path) -> str:
    with pytest.raises(RoutesUnreadable) as refused:
        read_routes(file)
    assert "hunter2" not in "".join(traceback.format_exception(refused.value))
    return str(refused.value)


def test_without_a_file_there_are_no_chains() -> None:
    assert read_routes(None) == Routes({})


@pytest.mark.parametrize("content", ["", "[chains]"])
def test_a_file_may_name_no_chains(routes_file: Path, content: str) -> None:
    routes_file.write_text(content)
    assert read_routes(routes_file) == Routes({})


def test_chains_have_names_and_nodes(routes_file: Path) -> None:
    secret = routes_file.parent / "secret"
    routes_file.write_text(
        f"""
        [chains.1]
        name = "Ethereum"
        nodes = ["http://u:p@127.0.0.1:8545", {{ file = "secret" }}, "https://other.example/?k=v"]
        [chains.9223372036854775807]
        name = "Último"
        nodes = [{{ file = "{secret}" }}]
        """,
        encoding="utf-8",
    )
    kept = NodeAddress("https://node.example/hunter2")
    first = NodeAddress("http://u:p@127.0.0.1:8545")
    third = NodeAddress("https://other.example/?k=v")
    greatest = 2**63 - 1
    assert read_routes(routes_file) == Routes(
        {
            1: Chain(1, "Ethereum", (first, kept, third)),
            greatest: Chain(greatest, "Último", (kept,)),
        }
    )


def test_a_nodes_address_does_not_show(routes_file: Path) -> None:
    routes_file.write_text(CHAIN)
    routes = read_routes(routes_file)
    assert routes.chains[1].nodes[0].url == "https://node.example/hunter2"
    assert "Ethereum" in str(routes)
    assert "hunter2" not in f"{routes} {routes!r} {routes.chains[1].nodes[0]}"


WRONG = [
    ("chains = 1", "chains: it must be a table"),
    ("chain = 1", "the file: chain is not known; known: chains"),
    ('"https://node.example/hunter2" = 1', "the file: a key that stands there is not known"),
    ("[[chains]]", "chains: it must be a table"),
    ("[chains]\n1 = 2", "chains.1: it must be a table"),
    ("[chains.01]", "chains: 01 is no chain id; a chain is named by its id from 1 to 92233720368"),
    ("[chains.0]", "chains: 0 is no chain id"),
    ("[chains.-1]", "chains: -1 is no chain id"),
    ("[chains.0x1]", "chains: 0x1 is no chain id"),
    ('[chains."\\u0661"]', "chains: a key that stands there is no chain id"),
    ("[chains.9223372036854775808]", "chains: 9223372036854775808 is no chain id"),
    ("[chains.99999999999999999999]", "chains: 99999999999999999999 is no chain id"),
    ("[chains.ethereum]", "chains: ethereum is no chain id"),
    (f'{CHAIN}\nnodse = "hunter2"', "chains.1: nodse is not known; known: name, nodes"),
    (f"[chains.1]\n{NODES}", "chains.1.name: it must be a text"),
    (f"[chains.1]\nname = 1\n{NODES}", "chains.1.name: it must be a text"),
    (f'[chains.1]\nname = ""\n{NODES}', "chains.1.name: it must be a text"),
    (f'[chains.1]\nname = " a"\n{NODES}', "chains.1.name: it must be a text"),
    (f'[chains.1]\nname = "a\\u0007b"\n{NODES}', "chains.1.name: it must be a text"),
    (f'[chains.1]\nname = "{51 * "a"}"\n{NODES}', "chains.1.name: it must be a text of 1 to 50"),
    (f'{CHAIN}\n[chains.2]\nname = "ethereum"\n{NODES}', "chains.1.name: another chain has the"),
    ('[chains.1]\nname = "a"', "chains.1.nodes: it must list at least one node"),
    (_nodes("[]"), "chains.1.nodes: it must list at least one node"),
    (_nodes('"https://node.example/hunter2"'), "chains.1.nodes: it must list at least one node"),
    (_nodes("[1]"), "chains.1.nodes, entry 1: it must be an address, or { file ="),
    (_nodes('[["https://node.example/hunter2"]]'), "chains.1.nodes, entry 1: it must be an addr"),
    (_nodes('["hunter2"]'), "chains.1.nodes, entry 1: it is no http or https address"),
    (_nodes('["wss://node.example/hunter2"]'), "entry 1: it is no http or https address"),
    (_nodes('["file:///hunter2"]'), "entry 1: it is no http or https address"),
    (_nodes('["https://"]'), "entry 1: it is no http or https address"),
    (_nodes('["https:///hunter2"]'), "entry 1: it is no http or https address"),
    (_nodes('["https://[hunter2"]'), "entry 1: it is no http or https address"),
    (_nodes('["https://node.example:hunter2/"]'), "entry 1: it is no http or https address"),
    (_nodes('["https://node.example:0/"]'), "entry 1: it is no http or https address"),
    (_nodes('["https://node.example/hunter2#a"]'), "entry 1: it is no http or https address"),
    (_nodes('["https://node.example/hunter2 "]'), "entry 1: it is no http or https address"),
    (_nodes('["https://nödé.example/hunter2"]'), "entry 1: it is no http or https address"),
    (
        _nodes('["https://node.example/hunter2", { file = "secret" }]'),
        "chains.1.nodes: the same address stands there twice",
    ),
    (_nodes("[{}]"), "chains.1.nodes, entry 1: file must name a file"),
    (_nodes("[{ file = 1 }]"), "entry 1: file must name a file"),
    (_nodes('[{ file = "" }]'), "entry 1: file must name a file"),
    (_nodes('[{ file = "hunter2\\u0000" }]'), "entry 1: file must name a file"),
    (_nodes('[{ url = "hunter2" }]'), "entry 1: url is not known; known: file"),
    (
        _nodes('["https://node.example/", { file = "hunter2" }]'),
        "chains.1.nodes, entry 2: the file it names cannot be read: No such file or directory",
    ),
    (_nodes('[{ file = "empty" }]'), "entry 1: the file it names is empty"),
    (_nodes('[{ file = "latin" }]'), "entry 1: the file it names is not UTF-8 text"),
    (_nodes('[{ file = "text" }]'), "entry 1: it is no http or https address"),
    (_nodes('[{ file = "lines" }]'), "entry 1: it is no http or https address"),
]


@pytest.mark.parametrize(("content", "sentence"), WRONG)
def test_what_is_wrong_is_told_by_its_place(routes_file: Path, content: str, sentence: str) -> None:
    routes_file.write_text(content, encoding="utf-8")
    said = _refusal(routes_file)
    assert said.startswith("ROUTES_FILE, ")
    assert sentence in said
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[chains.1]\nhunter2\n", "ROUTES_FILE is not TOML: look at line 2, column 8."),
        (b'hunter2 = "\n', "ROUTES_FILE is not TOML: look at line 1, column 12."),
        (b"[hunter2]\n[hunter2]", "ROUTES_FILE is not TOML: look at line 2, column 9."),
        (b"[hunter2", "ROUTES_FILE is not TOML: look at its end."),
        (b'a = "hunter2\xe9"', "ROUTES_FILE is not UTF-8 text."),
        (b"a = " + 5000 * b"9", "ROUTES_FILE holds a number that is too long."),
        (b"a = " + 5000 * b"[", "ROUTES_FILE is nested too deeply."),
    ],
)
def test_what_is_no_toml_is_told_by_its_line(
    routes_file: Path, content: bytes, sentence: str
) -> None:
    routes_file.write_bytes(content)
    assert _refusal(routes_file) == sentence


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    said = _refusal(tmp_path / "hunter2")
    assert said == "ROUTES_FILE cannot be read: No such file or directory."
    assert _refusal(tmp_path) == "ROUTES_FILE cannot be read: Is a directory."
