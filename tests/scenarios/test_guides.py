"""Examples of the guides work as copied from the pages."""

import json
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path

import pytest
import requests
from mcp import Client, StdioServerParameters

from tests.commands import clean_environment, run_program
from tests.guides import code_of, run
from tests.rigs.agents import converse
from tests.rigs.anvil import Chain
from tests.rigs.receiver import receiver
from tests.rigs.service import HOLDER, HOLDER_BALANCE, REPOSITORY, SIGNER_KEY, Service, wait_until
from tests.scenarios.fixtures import Install

pytestmark = pytest.mark.either_database

PROGRAMS = {"js": "first-fact.mjs", "python": "first_fact.py", "sh": "tacitus.py submit"}
READS = {"js": "read-fact.mjs", "python": "read_fact.py", "sh": "cast call"}
KEYS = {"js": '/api-key", {', "python": "requests.get", "sh": "/api-key -H"}
DOWNLOADS = {"js": "get-proof.mjs", "python": "get_proof.py", "sh": "-o proof.json"}
TOKENS = 777
EXAMPLE_ID = "01J2VM6JSA6VKKZ0ENWGYYPR18"


@pytest.fixture(scope="module")
def live(install: Install) -> Iterator[Service]:
    """A service on a chain that mines every second, whose blocks the guides name."""
    with ExitStack() as stack:
        chain = stack.enter_context(closing(Chain(block_time=1)))
        service = stack.enter_context(install())
        service.add_native_chain(chain)
        chain.deploy("Courier", by_factory=True)
        service.settings["ALLOW_PRIVATE_WEBHOOKS"] = "1"
        service.serve()
        service.prove()
        wait_until(lambda: code_of(service.url, "first-fact", "export BLOCK").count("=17") == 0)
        yield service


@pytest.fixture(scope="module")
def batch(live: Service, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """Id and block of the batch that the first guide's curl command submits."""
    block = _named_block(live)
    code = code_of(live.url, "first-fact", "-d '{")
    folder = tmp_path_factory.mktemp("curl")
    printed = run("sh", code, folder, TACITUS_KEY=live.keys[0], BLOCK=block)
    batch_id: str = json.loads(printed)["internalId"]
    live.wait(batch_id)
    return batch_id, int(block)


def _named_block(live: Service) -> str:
    """The block that the first guide names by now."""
    (block,) = re.findall(r"BLOCK=(\d+)", code_of(live.url, "first-fact", "export BLOCK"))
    return str(block)


def test_the_curl_commands_show_the_proven_balance(
    live: Service, tmp_path: Path, batch: tuple[str, int]
) -> None:
    code = code_of(live.url, "first-fact", "batchQueryId=$ID").replace(EXAMPLE_ID, batch[0])
    printed = run("sh", code, tmp_path, TACITUS_KEY=live.keys[0])
    balance = live.chain.balance(HOLDER, batch[1])
    assert json.loads(printed)["queries"][0]["values"]["BALANCE"] == f"0x{balance:064x}"


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_first_guides_programs_show_the_balance(
    live: Service, tmp_path: Path, language: str
) -> None:
    code = code_of(live.url, "first-fact", PROGRAMS[language])
    variables = {"TACITUS_KEY": live.keys[0], "BLOCK": _named_block(live)}
    printed = run(language, code, tmp_path, **variables)
    assert f"{live.chain.balance(HOLDER)}" in printed.replace(",", "")


@pytest.mark.parametrize("language", READS)
def test_the_first_fact_is_read_on_chain(
    live: Service, tmp_path: Path, batch: tuple[str, int], language: str
) -> None:
    """Also if the page names a newer block by now. An unproven block is reported in words."""
    wait_until(lambda: _named_block(live) != f"{batch[1]}")
    code = _with_node(live.chain, code_of(live.url, "first-fact", READS[language]))
    printed = run(language, code, tmp_path, BLOCK=f"{batch[1]}")
    assert f"{live.chain.balance(HOLDER, batch[1])}" in printed
    later = "1000000"
    if language == "sh":
        assert run(language, code, tmp_path, BLOCK=later).split() == ["false", "0"]
    else:
        with pytest.raises(AssertionError, match=f"not proven in block {later}"):
            run(language, code, tmp_path, BLOCK=later)


def test_the_typescript_client_proves_and_viem_reads(live: Service, tmp_path: Path) -> None:
    """The program is TypeScript too."""
    modules = REPOSITORY / "tests" / "js" / "node_modules"
    install = code_of(live.url, "first-fact", "npm install http").strip().removesuffix(" viem")
    run("sh", f"{install} --no-save --no-audit --no-fund", tmp_path)
    for name in ("viem", "@types"):  # instead of downloads, and after npm, which deletes others
        (tmp_path / "node_modules" / name).symlink_to(modules / name)
    code = code_of(live.url, "first-fact", 'from "tacitus"')
    (tmp_path / "program.mts").write_text(code)
    options = ("--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--noEmit")
    environment = ("--module", "nodenext", "--target", "es2022", "--types", "node")
    compiler = str(modules / ".bin" / "tsc")
    compiled = run_program([compiler, *options, *environment, "program.mts"], cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stdout
    assert len(code.splitlines()) <= 25
    printed = run("js", _with_node(live.chain, code), tmp_path, TACITUS_KEY=live.keys[0])
    ether = f"{Decimal(live.chain.balance(HOLDER)).scaleb(-18).normalize():f}"
    assert f"{ether} ether in block" in printed.splitlines()[-1]


@pytest.mark.parametrize("language", KEYS)
def test_the_first_api_call_answers_in_each_language(
    live: Service, tmp_path: Path, language: str
) -> None:
    code = code_of(live.url, "api", KEYS[language])
    assert "limits" in run(language, code, tmp_path, TACITUS_KEY=live.keys[0])


def test_a_program_exits_with_an_error_if_it_is_refused(live: Service, tmp_path: Path) -> None:
    code = code_of(live.url, "api", "from tacitus import BlockQuery")
    run("python", code, tmp_path, TACITUS_KEY=live.keys[0])
    with pytest.raises(AssertionError, match="API key"):
        run("python", code, tmp_path, TACITUS_KEY="tct_nonsense")


@pytest.mark.parametrize("library", ["ethers", "viem/accounts"])
def test_a_program_gets_a_key_with_a_signature(live: Service, tmp_path: Path, library: str) -> None:
    (tmp_path / "node_modules").symlink_to(REPOSITORY / "tests" / "js" / "node_modules")
    code = code_of(live.url, "api", f'from "{library}"')
    key = run("js", code, tmp_path, WALLET_KEY=f"0x{secrets.token_hex(32)}").strip()
    assert requests.get(f"{live.url}/api-key", headers={"api-key": key}, timeout=30).ok


def test_the_slot_command_finds_an_entry_of_a_mapping(live: Service, tmp_path: Path) -> None:
    _use_local_compiler(tmp_path)
    (tmp_path / "MyToken.sol").write_text(
        "contract MyToken { uint256[3] before; mapping(address => uint256) balances; }"
    )
    printed = [
        run("sh", code_of(live.url, "api", words), tmp_path) for words in ("--key", "--layout")
    ]
    assert printed[0] == printed[1] != ""


def test_the_batch_that_asks_for_everything_is_done(live: Service) -> None:
    batch = json.loads(code_of(live.url, "api", '"slots": ["0x0", "0x1"]'))
    status = live.wait(live.post("/submit-batch-query", batch).json()["internalId"])
    assert {name for query in status["queries"] for name in query["values"]} > {
        "NONCE",
        "TIMESTAMP",
    }


@pytest.mark.parametrize("language", DOWNLOADS)
def test_a_proof_file_is_downloaded(
    live: Service, tmp_path: Path, batch: tuple[str, int], language: str
) -> None:
    code = code_of(live.url, "proofs", DOWNLOADS[language]).replace(EXAMPLE_ID, batch[0])
    run(language, code, tmp_path, batch[0])
    assert json.loads((tmp_path / "proof.json").read_text())["digest"]


def test_a_proof_is_checked_and_published(
    live: Service, tmp_path: Path, batch: tuple[str, int]
) -> None:
    code = code_of(live.url, "proofs", "-o proof.json")
    run("sh", code.replace(EXAMPLE_ID, batch[0]), tmp_path)
    (tmp_path / "key").write_text(SIGNER_KEY)
    block_hash = live.chain.header(batch[1])["hash"]
    offline = code_of(live.url, "proofs", "tacitus.py verify")
    printed = run("sh", offline.replace("0xYOUR_BLOCK_HASH", block_hash), tmp_path)
    assert "Proven: 1 fact." in printed
    for words in (
        "verify_proof proof.json --hash",
        "verify_proof proof.json --node",
        "publish_proof",
    ):
        command = _with_node(live.chain, code_of(live.url, "proofs", words))
        if words == "publish_proof":
            command += " --unverifiable"  # scenarios deploy at addresses that do not prove the code
        printed = _run_in_clone(command.replace("0xYOUR_BLOCK_HASH", block_hash), tmp_path)
        assert HOLDER in printed or "all there already" in printed


def test_a_webhook_is_tried_on_a_local_receiver(live: Service, tmp_path: Path) -> None:
    with receiver() as hook:
        code = code_of(live.url, "webhooks", "127.0.0.1:9000").replace("9000", str(hook.port))
        printed = run("sh", code, tmp_path, TACITUS_KEY=live.keys[0])
        wait_until(lambda: hook.deliveries)
        assert json.loads(hook.deliveries[0].body)["batchQueryId"] in printed


def test_the_integration_works_as_it_is_written(live: Service, tmp_path: Path) -> None:
    """All blocks of the page: its commands run as one script, the program and the contract too."""
    page = requests.get(f"{live.url}/docs/integrate.md", timeout=30).text
    assert len(page.splitlines()) <= 200
    blocks = re.findall(
        r"^```(\w+).*?\n(.*?)^```", _with_node(live.chain, page), re.MULTILINE | re.DOTALL
    )
    by_language: dict[str, list[str]] = {}
    for language, code in blocks:
        by_language.setdefault(language, []).append(code)
    assert {*by_language} == {"sh", "python", "solidity", "json"}
    (contract,), (program,) = by_language["solidity"], by_language["python"]
    (tmp_path / "Balances.sol").write_text(contract)
    _use_local_compiler(tmp_path)
    token = live.chain.deploy("DemoToken", ["address[]", "uint256[]"], [[HOLDER], [TOKENS]])
    block = live.chain.head
    variables = _variables(live) | {"TOKEN": token, "BLOCK": f"{block}"}
    printed = run("sh", "".join(by_language["sh"]), tmp_path, **variables)
    assert printed.count(f"{TOKENS}\n") == 3  # from `wait`, the contract and the registry
    assert f"{int(live.chain.header(block)['timestamp'], 16)} [" in printed
    assert "Proven: 2 facts." in printed
    assert f" {TOKENS} " in run("python", program, tmp_path, **variables)
    variables["BLOCK"] = f"{block - 1}"  # another request, which the first one's key would refuse
    assert f"{block - 1:064x}" in run("python", program, tmp_path, **variables)
    (configuration,) = by_language["json"]
    server = json.loads(configuration)["mcpServers"]["tacitus"]
    assert server["env"]["TACITUS_URL"] == live.url
    # uv would download the SDK, which is installed here.
    assert [server["command"], *server["args"][:2]] == ["uv", "run", "--with"]
    command = StdioServerParameters(
        command=sys.executable,
        args=[arg.replace("/path/to", str(tmp_path)) for arg in server["args"][3:]],
        env=server["env"] | {"TACITUS_KEY": live.keys[0]},
    )
    tools = converse(command, _tools)
    assert {f"`{name}`" for name in tools} <= {*re.findall("`[a-z_]+`", page)}


def test_a_delivery_works_as_it_is_written(live: Service, tmp_path: Path) -> None:
    """The commands of the page, as one script."""
    page = requests.get(f"{live.url}/docs/deliver.md", timeout=30).text
    commands = re.findall(
        r"^```sh.*?\n(.*?)^```", _with_node(live.chain, page), re.MULTILINE | re.DOTALL
    )
    _use_local_compiler(tmp_path)
    head = live.chain.head
    printed = run("sh", "".join(commands), tmp_path, **_variables(live)).splitlines()
    *_, number, feed, delivery, catch_up = printed
    assert ("every 300 blocks" in feed, catch_up.split()) == (True, ["catch-up", "latest"])
    assert delivery.split()[:3] == ["deliver", "update(uint256)", "of"]
    assert f"{HOLDER_BALANCE}" in [line.split(" ")[0] for line in printed]
    assert head < int(number) <= live.chain.head


def test_a_chain_of_commands_ends_if_the_contract_was_not_deployed(
    live: Service, tmp_path: Path
) -> None:
    """With forge as npm installs it, which exits with 0, and with the programs in its packages."""
    modules = REPOSITORY / "tests" / "js" / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    _use_local_compiler(tmp_path)
    page = requests.get(f"{live.url}/docs/integrate.md", timeout=30).text
    (path,) = re.findall("`(export PATH=.*?)`", page)
    with pytest.raises(AssertionError):
        run("sh", f"{path}\nforge nonsense", tmp_path)
    variables = _variables(live) | {"RPC_URL": "http://127.0.0.1:1"}
    for guide in ("integrate", "deliver"):
        with pytest.raises(AssertionError, match="Connection refused"):
            run("sh", code_of(live.url, guide, "feed create --file"), tmp_path, **variables)
        assert (tmp_path / "deployed.txt").exists()
        assert not (tmp_path / "feed.toml").exists()


def test_a_contract_is_tested_on_a_fork_as_it_is_written(live: Service, tmp_path: Path) -> None:
    """At a block that is final when it is asked for."""

    def code(text: str) -> str:
        return code_of(live.url, "testing", text)

    token = live.chain.deploy("DemoToken", ["address[]", "uint256[]"], [[HOLDER], [TOKENS]])
    deployed = live.chain.head
    wait_until(lambda: int(live.chain.header("finalized")["number"], 16) >= deployed)
    run("sh", code("tacitus-contracts.tgz"), tmp_path)
    _use_local_compiler(tmp_path, code("remappings"))
    sources = {"src/TokenBalances.sol": "TokenBalances {", "test/Fork.t.sol": "ForkTest {"}
    for path, text in sources.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(code(f"contract {text}"))
    commands = (
        code("block-number finalized"),
        "export BLOCK",
        "SLOT=$(python3 tacitus.py slot 3 --key $HOLDER)",
        "ROUTE='--from '$SOURCE' --to '$DESTINATION",
        "python3 tacitus.py submit $ROUTE --block $BLOCK --account $TOKEN --slot $SLOT --wait",
        code("--fork-url"),
    )
    printed = run("sh", "\n".join(commands), tmp_path, **_variables(live) | {"TOKEN": token})
    assert "1 tests passed, 0 failed, 0 skipped" in printed


def _use_local_compiler(folder: Path, settings: str = "[profile.default]\nsrc = '.'") -> None:
    solc = REPOSITORY / "tests" / "forge" / "solc"
    (folder / "foundry.toml").write_text(f'{settings}\nsolc = "{solc}"\n')


def _variables(live: Service) -> dict[str, str]:
    """Those that the guides have the reader export."""
    return {
        "TACITUS_KEY": live.keys[0],
        "TACITUS_URL": live.url,
        "SOURCE": f"{live.chain.id}",
        "DESTINATION": f"{live.chain.id}",
        "SOURCE_RPC_URL": live.chain.url,
        "RPC_URL": live.chain.url,
        "REGISTRY": live.registries[live.chain.id, live.chain.id],
        "HOLDER": HOLDER,
    }


async def _tools(client: Client) -> list[str]:
    """The tools of an MCP server, after it answered one."""
    assert not (await client.call_tool("routes", {})).is_error
    return [tool.name for tool in (await client.list_tools()).tools]


def _with_node(chain: Chain, code: str) -> str:
    """Fill in the node, which the server cannot."""
    return code.replace(f"https://your-node-of-chain-{chain.id}.example", chain.url)


def _run_in_clone(command: str, folder: Path) -> str:
    here = command.replace("tacitus ", f"{sys.executable} {REPOSITORY}/manage.py ")
    result = run_program(
        ["sh", "-ec", here], cwd=folder, env=clean_environment(folder, DEVELOPMENT="1")
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
