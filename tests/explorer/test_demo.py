"""The demo, as a newcomer runs it: it proves, compares, can be signed in to, and leaves nothing."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Page, expect

from explorer.demo.chains import HOLDINGS
from queries.client.tacitus import Tacitus
from tests.commands import clean_environment, free_port
from tests.guides import code_of
from tests.rigs.service import until

pytestmark = pytest.mark.no_database

STRANGER = "0x00000000000000000000000000000000DeaDBeef"
STARTED_WITHIN = 100  # seconds; the machine may be busy
LASTS_AT_MOST = 600
AGREED = re.compile(
    r"    the registry says +(?P<kept>[\d.,]+ (?:ETH|HS))\n"
    r"    the source chain says +(?P<true>[\d.,]+ (?:ETH|HS))\n"
)


class Demo:
    """A demo in a process group of its own, and what it has said."""

    def __init__(self, repository: Path, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.site = f"http://127.0.0.1:{self.port}"
        self.said = ""
        self.process = subprocess.Popen(
            ["make", "demo", f"PORT={self.port}", *options],
            cwd=repository,
            env=clean_environment(folder),
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._limit = threading.Timer(LASTS_AT_MOST, os.killpg, (self.process.pid, signal.SIGKILL))
        self._limit.start()

    def say_until(self, words: str) -> None:
        assert self.process.stdout
        while words not in self.said:
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line

    def wait(self) -> int:
        """Also until nobody is left who could write where it writes."""
        rest, _ = self.process.communicate(timeout=STARTED_WITHIN)
        self.said += rest
        return self.process.returncode

    def interrupt(self) -> None:
        """As Ctrl-C does: everything in the terminal's group is told."""
        os.killpg(self.process.pid, signal.SIGINT)

    def processes_of(self, words: str) -> list[int]:
        """Its programs with these words in their commands."""
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,args="], capture_output=True, text=True, check=True
        )
        found = [line.split()[0] for line in listed.stdout.splitlines() if words in line]
        return [int(pid) for pid in found if f"demo-{self.port}/".encode() in _environment(pid)]

    def end(self) -> None:
        self._limit.cancel()
        if self.process.poll() is None:
            self.interrupt()
            try:
                self.wait()
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


def _environment(pid: str) -> bytes:
    """Empty where it has ended since it was listed."""
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
        running.say_until("It stays up until Ctrl-C.")
        yield running


def test_it_proves_three_things(demo: Demo) -> None:
    compared = AGREED.findall(demo.said)
    assert len(compared) == 3
    assert all(kept == true for kept, true in compared)
    assert [kept for kept, _ in compared] == ["123.456789 ETH", "250,000 HS", "123.456789 ETH"]
    assert demo.said.count("  DONE  ✓ ✓ ✓ ✓ ACCOUNT_ACCUMULATED 1/1") == 3
    assert "\x1b" not in demo.said  # plain lines where nobody watches


def test_the_addresses_of_its_registries_prove_their_code(demo: Demo) -> None:
    routes = Tacitus(demo.site).routes()
    assert {each.kind for each in routes} == {"native", "optimism", "attested"}
    for each in routes:
        assert each.proves_its_code
        page = f"{demo.site}/explorer/registry/{each.destination}/{each.registry}"
        assert "Proven by the address" in requests.get(page, timeout=10).text


def test_no_page_of_a_browser_may_ask_the_chains(demo: Demo) -> None:
    for node in re.findall(r"(http://127\.0\.0\.1:\d+)  chain", demo.said):
        question = {"jsonrpc": "2.0", "id": 1, "method": "eth_accounts", "params": []}
        origin = {"Origin": "https://example.org"}
        for method in ("POST", "OPTIONS"):
            told = requests.request(method, node, json=question, headers=origin, timeout=10)
            assert "Access-Control-Allow-Origin" not in told.headers


def test_what_it_says_to_try_works_and_the_guides_vote_counts_it(
    demo: Demo, repository: Path, tmp_path: Path
) -> None:
    """What is for a terminal, as a script. Then the guide's script counts what that has proven."""
    asking, _ = _to_try(demo)
    house = _house(repository, tmp_path)
    assert "3500000000000000000" in _shell(asking, house).stdout.replace(",", "")
    attested = next(each for each in Tacitus(demo.site).routes() if each.kind == "attested")
    asked = re.search(r"--block (\d+) \\\n +--account (0x\w+) .*--key (0x\w+)", demo.said)
    assert asked
    names = {
        "NODE": re.findall(r"Demo A +(http\S+)", demo.said)[0],
        "REGISTRY": attested.registry,
        "BLOCK": asked[1],
        "TOKEN": asked[2],
        "HOLDER": asked[3],
    }
    script = code_of(demo.site, "contracts", "mkdir vote").split("\n", 2)[2]  # without npm install
    (programs := house / "node_modules" / ".bin").mkdir(parents=True)
    for program, folder in (("solcjs", "queries/contracts"), ("cast", "tests/js")):
        installed = repository / folder / "node_modules" / ".bin" / program
        (programs / program).symlink_to(installed.resolve())
    counted = _shell("\n".join([*(f"{k}={v}" for k, v in names.items()), script]), house).stdout
    assert counted.splitlines()[-1].split()[0] == str(HOLDINGS[2])


def _house(repository: Path, folder: Path) -> Path:
    """A folder in which it is as in a clone, for what is written there."""
    for name in (".venv", "manage.py", "explorer", "queries", "accounts", "pyproject.toml"):
        (folder / name).symlink_to(repository / name)
    (folder / "templates").symlink_to(repository / "templates")
    return folder


def _to_try(demo: Demo) -> list[str]:
    """The scripts below the second and the third number."""
    parts = re.split(r"^\d\. .*$", demo.said.partition("Three things")[2], flags=re.MULTILINE)
    return [
        "\n".join(line.strip() for line in part.splitlines() if line.startswith("   "))
        for part in parts[2:]
    ]


def _shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        ["sh", "-ec", script],
        cwd=folder,
        env=clean_environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran


def test_one_signs_in_with_the_demo_wallet(demo: Demo, page: Page) -> None:
    page.goto(f"{demo.site}/sign-in")
    page.get_by_role("button", name="Demo wallet").click()
    expect(page).to_have_url(f"{demo.site}/dashboard")
    expect(page.get_by_text("tct_").first).to_be_visible()


def test_the_demo_wallet_signs_the_message_just_issued_for_this_page_alone(demo: Demo) -> None:
    """Neither for another site's page, nor under a name of its own that leads to this machine."""
    with requests.Session() as browser, requests.Session() as another:
        issued = _issued(browser, demo)
        for wrong in ("I owe you a thousand ether", issued.replace("Nonce: ", "Nonce: 0"), ""):
            assert _sign(browser, demo, wrong).status_code == 400, wrong
        _issued(another, demo)
        told = _sign(another, demo, issued)
        assert (told.status_code, told.json()["code"]) == (400, "message_refused")
        forwarded = _sign(browser, demo, issued, **{"X-Forwarded-For": "203.0.113.9"})
        assert (forwarded.status_code, forwarded.json()["code"]) == (403, "not_allowed")
        for place in ("https://elsewhere.example", f"http://127.0.0.1:{demo.port + 1}", "null"):
            assert _sign(browser, demo, issued, Origin=place).status_code == 403, place
        rebound = {"Host": f"elsewhere.example:{demo.port}"}
        assert _sign(browser, demo, issued, **rebound).status_code == 400
        told = browser.get(f"{demo.site}/demo-wallet", headers=rebound, timeout=10)
        assert told.status_code == 400
        told = browser.get(f"{demo.site}/demo-wallet", timeout=10)
        assert "Access-Control-Allow-Origin" not in told.headers
        assert _sign(browser, demo, issued, Origin=demo.site).status_code == 200


def test_a_program_that_is_killed_ends_it_with_a_sentence(repository: Path, tmp_path: Path) -> None:
    with demo_of(repository, tmp_path) as demo:
        until(lambda: demo.processes_of("run_prover"))
        os.kill(demo.processes_of("run_prover")[0], signal.SIGKILL)
        assert demo.wait() != 0
    assert "CommandError: The prover was ended by SIGKILL." in demo.said
    assert "Traceback" not in demo.said
    _is_gone(demo)


def test_ctrl_c_ends_everything_and_a_proof_outlives_it(
    demo: Demo, repository: Path, tmp_path: Path
) -> None:
    """Also where it is pressed again and again. The last one of this file: the demo is gone."""
    _, checking = _to_try(demo)
    fetch, _, verify = checking.partition("\n")
    _shell(fetch, _house(repository, tmp_path))
    for _ in range(4):
        demo.interrupt()
        time.sleep(0.1)
    demo.wait()
    assert "All programs have stopped.\n" in demo.said
    assert "Traceback" not in demo.said
    assert not demo.processes_of("manage.py")
    _is_gone(demo)
    assert "123.456789" in _shell(verify, tmp_path).stdout


def _is_gone(demo: Demo) -> None:
    with pytest.raises(requests.ConnectionError):
        requests.get(demo.site, timeout=5)
    for node in re.findall(r"http://127\.0\.0\.1:\d+(?=  chain)", demo.said):
        with pytest.raises(requests.ConnectionError):
            requests.post(node, json={}, timeout=5)


def _issued(browser: requests.Session, demo: Demo, address: str = "") -> str:
    browser.get(f"{demo.site}/sign-in", timeout=10)
    account = browser.get(f"{demo.site}/demo-wallet", timeout=10).json()
    asked = account | ({"address": address} if address else {})
    told = browser.post(
        f"{demo.site}/sign-in/message", json=asked, headers=_token(browser), timeout=10
    )
    return str(told.json()["message"])


def _sign(browser: requests.Session, demo: Demo, message: str, **headers: str) -> requests.Response:
    return browser.post(
        f"{demo.site}/demo-wallet/signature",
        json={"message": message},
        headers=_token(browser) | headers,
        timeout=10,
    )


def _token(browser: requests.Session) -> dict[str, str]:
    return {"X-CSRFToken": browser.cookies["visit"]}
