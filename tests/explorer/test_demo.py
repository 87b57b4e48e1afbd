"""The demo: it proves facts, allows a sign-in, and leaves no process behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Page, expect

from explorer.demo.chains import HOLDER, HOLDINGS
from explorer.demo.local_node import LocalNode
from queries.client.python import Tacitus
from queries.contracts.abi import call_data, load_artifact
from queries.contracts.create2 import courier_address
from tests.commands import clean_environment, free_port
from tests.guides import code_of, run
from tests.rigs.service import wait_until
from tests.rigs.terminal import run_in_terminal, shown_lines

pytestmark = pytest.mark.no_database

STRANGER = "0x00000000000000000000000000000000DeaDBeef"
START_TIMEOUT = 100  # seconds
TIMEOUT = 600
AGREED = re.compile(
    r"    the registry says +(?P<proven>[\d.,]+ (?:ETH|HS))\n"
    r"    the source chain says +(?P<true>[\d.,]+ (?:ETH|HS))  ✓ the same\n"
)


class Demo:
    """A demo in its own process group."""

    def __init__(self, repository: Path, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.site = f"http://127.0.0.1:{self.port}"
        self.output = ""
        self.process = subprocess.Popen(
            ["make", "demo", f"PORT={self.port}", *options],
            cwd=repository,
            env=clean_environment(folder),
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._limit = threading.Timer(TIMEOUT, os.killpg, (self.process.pid, signal.SIGKILL))
        self._limit.start()

    def await_output(self, text: str) -> None:
        assert self.process.stdout
        while text not in self.output:
            line = self.process.stdout.readline()
            assert line, self.output
            self.output += line

    def wait(self) -> int:
        """Waits for all processes that share its output."""
        rest, _ = self.process.communicate(timeout=START_TIMEOUT)
        self.output += rest
        return self.process.returncode

    def interrupt(self) -> None:
        """Ctrl-C signals the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def processes(self, text: str) -> list[int]:
        """The demo's processes with this text in their commands."""
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,args="], capture_output=True, text=True, check=True
        )
        pids = [line.split()[0] for line in listed.stdout.splitlines() if text in line]
        return [int(pid) for pid in pids if f"demo-{self.port}/".encode() in _environment(pid)]

    def end(self) -> None:
        self._limit.cancel()
        if self.process.poll() is None:
            self.interrupt()
            try:
                self.wait()
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


def _environment(pid: str) -> bytes:
    """Empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@contextmanager
def demo_of(repository: Path, folder: Path, *options: str) -> Iterator[Demo]:
    running = Demo(repository, folder, *options)
    try:
        yield running
    finally:
        running.end()


@pytest.fixture(scope="module")
def demo(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo_of(repository, tmp_path_factory.mktemp("demo")) as running:
        running.await_output("It stays up until Ctrl-C.")
        yield running


def test_four_facts_are_proven_and_equal_to_the_chains(demo: Demo) -> None:
    pairs = AGREED.findall(demo.output)
    assert all(proven == true for proven, true in pairs)
    values = ["123.456789 ETH", "250,000 HS", "123.456789 ETH", "45.5 ETH"]
    assert [proven for proven, _ in pairs] == values
    assert demo.output.count("  DONE  ✓ final  ✓ hash known  ✓ header  ✓ facts ") == 4
    assert "\x1b" not in demo.output  # no colours without a terminal


def test_the_fourth_fact_is_drawn_from_its_beacon_block_down(demo: Demo) -> None:
    path = f"/explorer/fact/31339/1/{HOLDER}/BALANCE?to=31338"
    page = requests.get(f"{demo.site}{path}", timeout=10)
    levels = re.findall(r'<div class="level">\s*<strong>([^<]+)</strong>', page.text)
    known = re.fullmatch(r"Hash of execution block (\d+)", levels[1])
    url = re.search(r"(http\S+)  chain 31339", demo.output)
    assert known
    assert url
    assert levels[0] == "Beacon block"
    assert levels[-4:] == ["Header of block 1", "State trie", "Account", "Value"]
    assert LocalNode(url[1]).block(hex(int(known[1])))["hash"] in page.text


def test_the_lines_of_viem_read_without_a_transaction(
    demo: Demo, repository: Path, tmp_path: Path
) -> None:
    lines = re.search(r"client\.readContract\(\{.*?\}\)", demo.output, re.DOTALL)
    node = re.search(r"with viem, by a client of (http\S+):", demo.output)
    value = re.search(r"the lookup says +([\d.]+) ETH\n.*✓ the same\n", demo.output)
    assert lines
    assert node
    assert value
    (tmp_path / "node_modules").symlink_to(repository / "tests" / "js" / "node_modules")
    program = f"""\
import {{ createPublicClient, formatEther, http, parseAbi }} from "viem";
const client = createPublicClient({{ transport: http("{node[1]}") }});
const [balance] = await {lines[0]};
console.log(formatEther(balance));"""
    assert run("js", program, tmp_path).strip() == value[1]


def test_on_a_terminal_one_line_moves_for_each_batch(repository: Path, tmp_path: Path) -> None:
    output = run_in_terminal(
        [sys.executable, "manage.py", "demo", "--once", "--port", str(free_port())],
        80,
        folder=repository,
        environment=clean_environment(tmp_path, DEVELOPMENT="1"),
    )
    lines = shown_lines(output)
    assert all(len(shown) < 80 for line in lines for shown in line)
    steps = [line for line in lines if len(line) > 1 and line[0].startswith("  ◐ ")]
    assert len(steps) == 3
    batches = [line for line in lines if len(line) > 1 and "○ hash known" in line[0]]
    assert len(batches) == 4
    for line in batches:
        assert line[-1].startswith("  DONE  ✓ final  ✓ hash known  ✓ header  ✓ facts ")
        assert all(re.search(r"[^…] +\d+\.\d s$", shown) for shown in line)
        assert "…" not in "".join(line)
    assert output.count("\x1b[32m✓\x1b[0m the same") == 5  # and the lookup


def test_registry_addresses_prove_their_code_and_have_an_events_verifier(demo: Demo) -> None:
    chains = re.findall(r"(http://127\.0\.0\.1:\d+)  chain (\d+)", demo.output)
    nodes = {int(chain): LocalNode(url) for url, chain in chains}
    named = re.findall(r"Registry  (\w+)  Demo ([ABC]) → Demo ([ABC]) \((\w+)\)", demo.output)
    routes = Tacitus(demo.site).routes()
    names = {31337: "A", 31338: "B", 31339: "C"}
    assert sorted(named) == sorted(
        (route.registry, names[route.source], names[route.destination], route.kind)
        for route in routes
    )
    assert {route.kind for route in routes} == {"native", "optimism", "attested", "beacon"}
    for route in routes:
        # This release does not know the demo's beacon chain, so nobody has compared it.
        assert route.is_genuine is (None if route.kind == "beacon" else True)
        page = f"{demo.site}/explorer/registry/{route.destination}/{route.registry}"
        text = requests.get(page, timeout=10).text
        assert "Its code is proven by its address" in text
        assert route.events_verifier in text
        registry = nodes[route.destination].call(route.events_verifier, call_data("REGISTRY()"))
        assert registry[12:] == bytes.fromhex(route.registry[2:])
        lookup = nodes[route.destination].rpc.ask("eth_getCode", route.lookup, "latest")
        assert len(lookup) > 1_000
        courier = nodes[route.destination].rpc.ask("eth_getCode", courier_address(), "latest")
        assert courier == f"0x{load_artifact('Courier').deployed_bytecode.hex()}"


def test_front_ends_of_any_origin_can_call_the_nodes(demo: Demo) -> None:
    """Pages under development are of other origins, and nothing on these chains has a value."""
    for node in re.findall(r"(http://127\.0\.0\.1:\d+)  chain", demo.output):
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
        answer = requests.post(node, json=request, headers={"Origin": "http://app"}, timeout=10)
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_the_suggested_commands_and_the_vote_of_the_guide_work(
    demo: Demo, repository: Path, tmp_path: Path
) -> None:
    asking, _ = _suggested_scripts(demo)
    clone = _clone(repository, tmp_path)
    assert "3500000000000000000" in _shell(asking, clone).stdout.replace(",", "")
    names = _exports(demo)
    attested = next(route for route in Tacitus(demo.site).routes() if route.kind == "attested")
    assert names["REGISTRY"] == attested.registry
    # npm replaces some variables, such as NODE.
    printed = _shell(f"export {_assignments(names)}; npx -c env", tmp_path).stdout
    assert {*_assignments(names).split()} <= {*printed.split()}
    source = LocalNode(names["SOURCE_RPC_URL"])
    balance = source.rpc.ask("eth_getBalance", names["HOLDER"], "latest")
    assert int(balance, 16)  # for the commands of the guide about deliveries
    script = code_of(demo.site, "contracts", "mkdir vote").split("\n", 2)[2]  # without npm install
    (programs := clone / "node_modules" / ".bin").mkdir(parents=True)
    for program, folder in (("solcjs", "queries/contracts"), ("cast", "tests/js")):
        installed = repository / folder / "node_modules" / ".bin" / program
        (programs / program).symlink_to(installed.resolve())
    output = _shell(f"{_assignments(names)}\n{script}", clone).stdout
    assert output.splitlines()[-1].split()[0] == str(HOLDINGS[2])


def test_the_commands_of_the_guide_about_events_work(demo: Demo, tmp_path: Path) -> None:
    """The guide leads from a transfer on one chain to a contract on the other."""
    settings = _exports(demo)

    def code(text: str) -> str:
        return code_of(demo.site, "events", text)

    parts = ("transfer() {", "--log $TX", "cast keccak", "solcjs", "-o witness.json", "absent")
    script = "\n".join((*map(code, parts), "echo $BLOCK $TX")).replace("npm install", "true #")
    printed = run("sh", script.replace("npx ", ""), tmp_path, **settings).splitlines()
    values = {
        line.split()[0] for line in printed if re.fullmatch(r"(true|false|1000|1500)( \[.*)?", line)
    }
    assert values == {"true", "1000", "1500"}
    block, transaction = printed[-1].split()
    settings |= {"BLOCK": block, "TX": transaction}
    settings["VAULT"] = "0x000000000000000000000000000000000000dEaD"
    for language, text in (("js", "Save as ask.mjs"), ("python", "log_filter")):
        output = run(language, code(text), tmp_path, **settings)
        assert re.search(rf"LOG:\d+:0 {settings['TOKEN']} (0x0*3e8|1000)\n", output), output
    curl = run("sh", code("/submit-batch-query \\"), tmp_path, **settings)
    assert "internalId" in curl
    reading = (settings["RPC_URL"], settings["VERIFIER"], settings["SOURCE_RPC_URL"], transaction)
    assert run("python", code("read_log.py"), tmp_path, *reading) == "True\n"


def _clone(repository: Path, folder: Path) -> Path:
    """A folder with links to the repository, so that scripts write beside them."""
    for name in (".venv", "manage.py", "explorer", "queries", "accounts"):
        (folder / name).symlink_to(repository / name)
    return folder


def _suggested_scripts(demo: Demo) -> list[str]:
    """The commands of the second and the third suggestion."""
    parts = re.split(r"^\d\. .*$", demo.output.partition("Three things")[2], flags=re.MULTILINE)
    return [
        "\n".join(line.strip() for line in part.splitlines() if line.startswith("   "))
        for part in parts[2:]
    ]


def _exports(demo: Demo) -> dict[str, str]:
    """The variables that the second suggestion sets."""
    exports = re.findall(r"^   export (.+)$", demo.output, re.MULTILINE)
    return dict(pair.split("=", 1) for line in exports for pair in line.split())


def _assignments(variables: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())


def _shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        ["sh", "-ec", script],
        cwd=folder,
        env=clean_environment(folder),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran


def test_the_demo_wallet_signs_in(demo: Demo, page: Page) -> None:
    page.goto(f"{demo.site}/sign-in")
    page.get_by_role("button", name="Demo wallet").click()
    expect(page).to_have_url(f"{demo.site}/dashboard")
    page.get_by_role("navigation", name="Dashboard").get_by_role("link", name="Keys").click()
    expect(page.get_by_text("tct_").first).to_be_visible()
    # The first suggestion: an event in a form.
    link = re.search(r"http\S+/new-batch\?\S+&logs=(0x\w{64}:0)", demo.output)
    assert link
    page.goto(link[0])
    expect(page.locator("#logs")).to_have_value(link[1])
    page.get_by_role("button", name="Submit the batch").click()
    expect(page.get_by_role("heading", name="log 0 of transaction")).to_be_visible()
    expect(page.get_by_text("DONE in")).to_be_visible(timeout=60_000)


def test_the_demo_wallet_signs_only_the_issued_message_for_its_own_page(demo: Demo) -> None:
    """Not for another origin, and not through DNS rebinding."""
    with requests.Session() as browser, requests.Session() as another:
        issued = _issued_message(browser, demo)
        for wrong in ("I owe you a thousand ether", issued.replace("Nonce: ", "Nonce: 0"), ""):
            assert _sign(browser, demo, wrong).status_code == 400, wrong
        _issued_message(another, demo)
        answer = _sign(another, demo, issued)
        assert (answer.status_code, answer.json()["code"]) == (400, "message_refused")
        forwarded = _sign(browser, demo, issued, **{"X-Forwarded-For": "203.0.113.9"})
        assert (forwarded.status_code, forwarded.json()["code"]) == (403, "not_allowed")
        for origin in ("https://elsewhere.example", f"http://127.0.0.1:{demo.port + 1}", "null"):
            assert _sign(browser, demo, issued, Origin=origin).status_code == 403, origin
        rebound = {"Host": f"elsewhere.example:{demo.port}"}
        assert _sign(browser, demo, issued, **rebound).status_code == 400
        answer = browser.get(f"{demo.site}/demo-wallet", headers=rebound, timeout=10)
        assert answer.status_code == 400
        answer = browser.get(f"{demo.site}/demo-wallet", timeout=10)
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert _sign(browser, demo, issued, Origin=demo.site).status_code == 200


def test_a_killed_process_ends_the_demo_with_an_error(repository: Path, tmp_path: Path) -> None:
    with demo_of(repository, tmp_path) as demo:
        wait_until(lambda: demo.processes("run_prover"))
        os.kill(demo.processes("run_prover")[0], signal.SIGKILL)
        assert demo.wait() != 0
    assert "\nThe prover was ended by SIGKILL." in demo.output
    assert "Traceback" not in demo.output
    _assert_gone(demo)


def test_ctrl_c_ends_all_processes_and_a_proof_still_verifies(
    demo: Demo, repository: Path, tmp_path: Path
) -> None:
    """Repeated Ctrl-C is harmless. Runs last: it ends the module's demo."""
    _, checking = _suggested_scripts(demo)
    fetch, _, verify = checking.partition("\n")
    _shell(fetch, _clone(repository, tmp_path))
    for _ in range(4):
        demo.interrupt()
        time.sleep(0.1)
    demo.wait()
    assert "All programs have stopped.\n" in demo.output
    assert "Traceback" not in demo.output
    assert not demo.processes("manage.py")
    _assert_gone(demo)
    assert "123.456789" in _shell(verify, tmp_path).stdout


def _assert_gone(demo: Demo) -> None:
    with pytest.raises(requests.ConnectionError):
        requests.get(demo.site, timeout=5)
    for node in re.findall(r"http://127\.0\.0\.1:\d+(?=  chain)", demo.output):
        with pytest.raises(requests.ConnectionError):
            requests.post(node, json={}, timeout=5)


def _issued_message(browser: requests.Session, demo: Demo) -> str:
    browser.get(f"{demo.site}/sign-in", timeout=10)
    account = browser.get(f"{demo.site}/demo-wallet", timeout=10).json()
    answer = browser.post(
        f"{demo.site}/sign-in/message", json=account, headers=_token(browser), timeout=10
    )
    return str(answer.json()["message"])


def _sign(browser: requests.Session, demo: Demo, message: str, **headers: str) -> requests.Response:
    return browser.post(
        f"{demo.site}/demo-wallet/signature",
        json={"message": message},
        headers=_token(browser) | headers,
        timeout=10,
    )


def _token(browser: requests.Session) -> dict[str, str]:
    return {"X-CSRFToken": browser.cookies["visit"]}
