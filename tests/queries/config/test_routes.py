"""Reading the routes file, and its error sentences."""

import traceback
from pathlib import Path

import pytest

from queries.config.chains import Chain, NodeAddress
from queries.config.routes_file import RoutesFileError
from queries.sources.routes import Routes, read_routes

pytestmark = pytest.mark.no_database

NODES = 'nodes = ["https://node.example/hunter2"]'
CHAIN = f'[chains.1]\nname = "Ethereum"\n{NODES}'


def _nodes(entries: str) -> str:
    return f'[chains.1]\nname = "Ethereum"\nnodes = {entries}'


def _with_line(line: str) -> str:
    return f"{CHAIN}\n{line}"


ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
OTHER = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
TWO_CHAINS = f'{CHAIN}\n[chains.10]\nname = "OP"\n{NODES}'


def _registry(*lines: str, **overrides: object) -> str:
    """A valid registry table with these changes; None removes a key."""
    defaults = {"kind": '"native"', "source": 1, "destination": 1, "address": f'"{ADDRESS}"'}
    values = [
        f"{key} = {value}" for key, value in (defaults | overrides).items() if value is not None
    ]
    return "\n".join(["[[registries]]", *values, *lines])


def _attested(lines: str) -> str:
    return _registry(lines, kind='"attested"', source=10)


def _registries(*tables: str) -> str:
    return "\n".join([TWO_CHAINS, *tables])


@pytest.fixture
def routes_file(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("\nhttps://node.example/hunter2\n")
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "latin").write_bytes(b"https://node.example/hunter2\xe9")
    (tmp_path / "text").write_text("hunter2")
    (tmp_path / "lines").write_text("https://node.example/\nhunter2")
    return tmp_path / "routes.toml"


def _refusal(file: Path) -> str:
    with pytest.raises(RoutesFileError) as caught:
        read_routes(file)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_without_a_file_there_are_no_chains() -> None:
    assert read_routes(None) == Routes({})


def test_read_chains_with_names_and_nodes(routes_file: Path) -> None:
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
    secret_node = NodeAddress("https://node.example/hunter2")
    first = NodeAddress("http://u:p@127.0.0.1:8545")
    third = NodeAddress("https://other.example/?k=v")
    max_id = 2**63 - 1
    assert read_routes(routes_file) == Routes(
        {
            1: Chain(1, "Ethereum", (first, secret_node, third)),
            max_id: Chain(max_id, "Último", (secret_node,)),
        }
    )


def test_read_all_options_of_a_chain(routes_file: Path) -> None:
    routes_file.write_text(
        f"""
        {CHAIN}
        aliases = ["ETHEREUM", "mainnet-1"]
        finality = 12
        confirmations = 3
        max_gas_price_gwei = 0.25
        daily_budget = 0.05
        free = true
        gas_cap = 30000000
        new_slot_gas = 100000
        floor_byte_gas = 64
        explorer = "https://explorer.example/chain/"
        ens_registry = "{ADDRESS}"
        currency = "xDAI"
        [chains.10]
        name = "OP"
        {NODES}
        finality = "finalized"
        max_gas_price_gwei = 7
        free = false
        """
    )
    nodes = (NodeAddress("https://node.example/hunter2"),)
    first = Chain(
        1,
        "Ethereum",
        nodes,
        aliases=("ETHEREUM", "mainnet-1"),
        finality=12,
        confirmations=3,
        max_gas_price=250_000_000,
        daily_budget=5 * 10**16,
        free=True,
        gas_cap=30_000_000,
        new_slot_gas=100_000,
        floor_byte_gas=64,
        explorer="https://explorer.example/chain",
        ens_registry=ADDRESS,
        currency="xDAI",
    )
    second = Chain(10, "OP", nodes, finality=None, max_gas_price=7 * 10**9, free=False)
    assert read_routes(routes_file) == Routes({1: first, 10: second})


def test_no_representation_shows_a_nodes_address(routes_file: Path) -> None:
    routes_file.write_text(CHAIN)
    routes = read_routes(routes_file)
    assert routes.chains[1].nodes[0].url == "https://node.example/hunter2"
    assert "Ethereum" in str(routes)
    assert "hunter2" not in f"{routes} {routes!r} {routes.chains[1].nodes[0]}"


WRONG = [
    ("chains = 1", "chains: it must be a table"),
    ("chain = 1", "the file: chain is unknown; the keys are chains, limits, registries"),
    ('"https://node.example/hunter2" = 1', "the file: a key there is unknown"),
    ("[chains]\n1 = 2", "chains.1: it must be a table"),
    ("[chains.01]", "chains: 01 is not a chain id; use an id from 1 to 92233720368"),
    ('[chains."\\u0661"]', "chains: a key there is not a chain id"),
    ("limits = 1", "limits: it must be a table"),
    ("[limits]\ntimeout = 1", "limits: timeout is unknown; the keys are abandon_after, "),
    (
        "[limits]\nrequest_timeout = 0",
        "limits.request_timeout: it must be a number from 0.1 to 120",
    ),
    ("[limits]\nrequest_timeout = nan", "limits.request_timeout: it must be a number from"),
    (
        "[limits]\nmax_refusals = 2.0",
        "limits.max_refusals: it must be a whole number from 1 to 100",
    ),
    (
        "[limits]\nmax_retry_delay = 1\ninitial_retry_delay = 2",
        "limits.initial_retry_delay: it must not exceed",
    ),
    ("[limits]\nrequest_timeout = 1", "limits.head_timeout: it must not exceed request_timeout"),
    ("[limits]\nresend_after = 61", "limits.resend_after: it must not exceed replace_after"),
    (f'{CHAIN}\nnodse = "hunter2"', "chains.1: nodse is unknown; the keys are aliases, "),
    (f"[chains.1]\n{NODES}", "chains.1.name: it must be a text"),
    (f'[chains.1]\nname = ""\n{NODES}', "chains.1.name: it must be a text"),
    (f'[chains.1]\nname = "a\\u0007b"\n{NODES}', "chains.1.name: it must be a text"),
    (f'[chains.1]\nname = "{51 * "a"}"\n{NODES}', "chains.1.name: it must be a text of 1 to 50"),
    (f'{CHAIN}\n[chains.2]\nname = "ethereum"\n{NODES}', "chains.1.name: another chain has the"),
    ('[chains.1]\nname = "a"', "chains.1.nodes: it must be a list of at least one node"),
    (_nodes("[1]"), "chains.1.nodes, entry 1: it must be an address, or { file ="),
    (_nodes('[["https://node.example/hunter2"]]'), "chains.1.nodes, entry 1: it must be an addr"),
    (_nodes('["hunter2"]'), "chains.1.nodes, entry 1: it is not an http or https address"),
    (_nodes('["wss://node.example/hunter2"]'), "entry 1: it is not an http or https address"),
    (_nodes('["https://node.example:hunter2/"]'), "entry 1: it is not an http or https address"),
    (_nodes('["https://node.example/hunter2#a"]'), "entry 1: it is not an http or https address"),
    (_nodes('["https://nödé.example/hunter2"]'), "entry 1: it is not an http or https address"),
    (
        _nodes('["https://node.example/hunter2", { file = "secret" }]'),
        "chains.1.nodes: the same address is listed twice",
    ),
    (_nodes("[{}]"), "chains.1.nodes, entry 1: it must be an address, or { file ="),
    (_nodes('[{ file = "hunter2\\u0000" }]'), "entry 1: it must be an address, or { file ="),
    (_nodes('[{ url = "hunter2" }]'), "entry 1: it must be an address, or { file ="),
    (
        _nodes('["https://node.example/", { file = "hunter2" }]'),
        "chains.1.nodes, entry 2: the file it names cannot be read: No such file or directory",
    ),
    (_nodes('[{ file = "empty" }]'), "entry 1: the file it names is empty"),
    (_nodes('[{ file = "latin" }]'), "entry 1: the file it names is not UTF-8 text"),
]

ALIAS_A = 'aliases = ["A"]'
ALIAS = "chains.1.aliases, entry 1: it must be a letter"
FINALITY = 'chains.1.finality: it must be "finalized" or a number of blocks from 0 to 100000'
CONFIRMATIONS = "chains.1.confirmations: it must be a whole number from 0 to 100000"
CURRENCY = "chains.1.currency: it must be a symbol of up to 10 letters and digits"
DAILY_BUDGET = "chains.1.daily_budget: it must be a number of whole coins, more than 0 and at most"
GAS_PRICE = (
    "chains.1.max_gas_price_gwei: it must be a number of gwei, more than 0 and at most 1000000"
)
EXPLORER = "chains.1.explorer: it must be an http or https address"
WRONG_OPTIONS = [
    (_with_line('aliases = "ETHEREUM"'), "chains.1.aliases: it must be a list"),
    (_with_line('aliases = ["10"]'), ALIAS),
    (_with_line(f'aliases = ["{51 * "a"}"]'), ALIAS),
    (_with_line('aliases = ["A", "A"]'), "chains.1.aliases: A is used twice"),
    (
        f'{_with_line(ALIAS_A)}\n[chains.2]\nname = "b"\n{NODES}\naliases = ["B", "A"]',
        "chains.1.aliases: A is used twice",
    ),
    (_with_line('finality = "final"'), FINALITY),
    (_with_line("finality = 100001"), FINALITY),
    (_with_line("confirmations = 100001"), CONFIRMATIONS),
    (_with_line("max_gas_price_gwei = 0"), GAS_PRICE),
    (_with_line("max_gas_price_gwei = 1000001"), GAS_PRICE),
    (_with_line("max_gas_price_gwei = 0.0000000001"), GAS_PRICE),
    (_with_line("daily_budget = 0"), DAILY_BUDGET),
    (_with_line("max_gas_price_gwei = nan"), GAS_PRICE),
    (_with_line("id = 2"), "chains.1: id is unknown; the keys are aliases, "),
    (_with_line("free = 1"), "chains.1.free: it must be true or false"),
    (_with_line('explorer = "etherscan.io"'), EXPLORER),
    (_with_line('explorer = "javascript:hunter2"'), EXPLORER),
    (_with_line('explorer = "https://u:hunter2@explorer.example"'), EXPLORER),
    (_with_line('currency = "=1+1"'), CURRENCY),
    (_with_line('ens_registry = "0x1"'), "chains.1.ens_registry: it must be an address with its"),
]
PLACE = "registries, entry 1"
SIGNER = f'signers = ["{ADDRESS}"]\nthreshold = 1'
CHECKSUM = "it must be an address with its checksum (EIP-55)"
WRONG_REGISTRIES = [
    (f"registries = 1\n{CHAIN}", "registries: each registry is a table that begins"),
    (_registries(_registry(kind='"Native"')), f"{PLACE}.kind: it must be one of native, optimis"),
    (_registries(_registry(source=5)), f"{PLACE}.source: it must be the id of a chain in the fi"),
    (_registries(_registry(destination=5)), "the id of a chain in the file (1, 10)"),
    (_registries(_registry(source=10)), f"{PLACE}: source and destination are equal"),
    (_registries(_registry(SIGNER, kind='"attested"')), "are equal for native registries only"),
    (_registries(_registry(address=f'"{ADDRESS.lower()}"')), f"{PLACE}.address: {CHECKSUM}"),
    (_registries(_registry("range = 1")), f"{PLACE}: range is unknown; the keys are address, "),
    (_registries(_attested("")), "registries, entry 1.signers: it must be set, because the"),
    (_registries(_attested("signers = []")), f"{PLACE}.signers: it must be a list of addresses"),
    (_registries(_registry("horizon = 2100-01-01T00:00:00")), f"{PLACE}.horizon: it must be a day"),
    (_registries(_attested('signers = ["x"]')), f"{PLACE}.signers, entry 1: {CHECKSUM}"),
    (
        _registries(_attested(f'signers = ["{OTHER}", "{OTHER}"]\nthreshold = 2')),
        "an address is listed twice",
    ),
    (_registries(_attested(f'signers = ["{OTHER}"]')), f"{PLACE}.threshold: it must be set"),
    (_registries(_attested(f'signers = ["{OTHER}"]\nthreshold = 2')), "number from 1 to 1"),
    (_registries(_registry("threshold = 1")), f"{PLACE}: threshold is unknown"),
    (
        _registries(_registry(), _registry(address=f'"{OTHER}"')),
        "registries, entry 2: another registry has the same source and destination",
    ),
    (
        _registries(_registry(), _registry(kind='"optimism"', source=10)),
        "registries, entry 2.address: another registry has the same one on this chain",
    ),
]


@pytest.mark.parametrize(("content", "sentence"), [*WRONG, *WRONG_OPTIONS, *WRONG_REGISTRIES])
def test_errors_name_the_place(routes_file: Path, content: str, sentence: str) -> None:
    routes_file.write_text(content, encoding="utf-8")
    refusal = _refusal(routes_file)
    assert refusal.startswith("ROUTES_FILE, ")
    assert sentence in refusal
    assert refusal.endswith(".")
    assert "\n" not in refusal


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
def test_syntax_errors_name_the_line(routes_file: Path, content: bytes, sentence: str) -> None:
    routes_file.write_bytes(content)
    assert _refusal(routes_file) == sentence


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    sentence = _refusal(tmp_path / "hunter2")
    assert sentence == (
        "ROUTES_FILE cannot be read: No such file or directory. Set it to the file that names the "
        "chains."
    )
    assert "relative to the working directory; use an absolute path" in _refusal(Path("hunter2"))
    assert _refusal(tmp_path).startswith("ROUTES_FILE cannot be read: Is a directory. ")
