"""The client as a command, against the whole service as it is run."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from queries.client import tacitus
from queries.client.tacitus import Ask, Tacitus, batch_of
from tests.rigs.service import HELD, HOLDER, Service

pytestmark = pytest.mark.either_database
CHAIN_ID = 31337
AHEAD = 2  # blocks that a server takes before its chain has them


def run(shared: Service, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, tacitus.__file__, *arguments],
        env={"TACITUS_URL": shared.url, "TACITUS_KEY": shared.keys[0], "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )
    assert shared.keys[0] not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def asking(block: int, *more: str) -> list[str]:
    return ["submit", "--to", f"{CHAIN_ID}", "--block", f"{block}", "--account", HOLDER, *more]


def test_the_command_submits_waits_and_shows_what_was_proven(shared: Service, block: int) -> None:
    ended = run(shared, *asking(block, "--prop", "BALANCE", "--header", "GAS_USED", "--wait"))
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    balance = f"{CHAIN_ID}  {block:,}  {HOLDER}  BALANCE"
    assert f"{balance}   {HELD / 10**18} ({HELD:,} wei)" in lines
    assert [line.split()[:3] for line in lines if HOLDER not in line] == [
        [f"{CHAIN_ID}", f"{block:,}", "GAS_USED"]
    ]
    assert f"{shared.url}/explorer/query/" in ended.stderr
    assert ended.stderr.splitlines()[-1] == "DONE"


def test_the_commands_follow_each_other(
    shared: Service, contract: str, block: int, tmp_path: Path
) -> None:
    ones = "0x" + 20 * "11"
    slot = run(shared, "slot", "2", "--key", ones).stdout.strip()
    file = tmp_path / "batch.json"
    asked = Ask(CHAIN_ID, block=block, accounts=[contract], slots=[slot])
    file.write_text(json.dumps(batch_of(CHAIN_ID, asked)))
    told = json.loads(run(shared, "submit", "--file", str(file), "--json").stdout)
    batch = told["internalId"]
    waited = json.loads(run(shared, "wait", batch, "--json").stdout)
    (fact,) = waited["facts"]
    assert (waited["queryStatus"], fact["name"]) == ("DONE", slot)
    assert int(fact["word"], 16) == 2**184
    status = run(shared, "status", batch)
    first, *facts = status.stdout.splitlines()
    assert first.startswith(f"{batch}  DONE  ✓ INITIAL_STATE 1/1 ── ✓ BLOCKHASH_AVAILABLE 1/1 ── ")
    assert facts == [line for line in run(shared, "wait", batch).stdout.splitlines() if line]
    assert json.loads(run(shared, "status", batch, "--json").stdout)["internalId"] == batch
    piped = run(shared, "submit", "--file", "-", "--idempotency-key", "x", input=file.read_text())
    assert piped.returncode == 0, piped.stderr
    assert len(piped.stdout.strip()) == len(batch)


def test_a_proof_is_a_file_that_is_checked_without_the_server(
    shared: Service, block: int, tmp_path: Path
) -> None:
    asked = asking(block, "--prop", "BALANCE", "--wait", "--json")
    batch = json.loads(run(shared, *asked).stdout)["internalId"]
    file = tmp_path / "proof.json"
    ended = run(shared, "proof", batch, "--out", str(file))
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert ended.stderr.strip().endswith(f"bytes are in {file}.")
    assert run(shared, "proof", batch).stdout == file.read_text()
    assert Tacitus(shared.url, shared.keys[0]).proof(batch) == file.read_bytes()
    checked = shared.manage("verify_proof", str(file), "--node", shared.chain.url)
    assert HOLDER in checked.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (asking(10**6, "--prop", "BALANCE"), 3, "Trying again may help."),
        (asking(1, "--prop", "AGE"), 1, "AGE"),
        (["status", "01J2VM6JSA6VKKZ0ENWGYYPR18"], 1, "No query found"),
        (["status", "x", "--key", "tct_wrong"], 1, "/dashboard shows the one that works."),
        (["status", "x", "--server", "127.0.0.1"], 2, "The server must be a URL such as"),
        (["status", "x", "--server", "http://127.0.0.1:1"], 3, "does not answer"),
        (["submit"], 2, "Say what to prove and --to which chain"),
        (["slot", "1", "--key", "dai"], 2, "string:dai"),
        (["slot", "a", "--layout", "/nowhere.json"], 2, "cannot be read"),
    ],
)  # fmt: skip
def test_a_failure_is_a_sentence_and_a_code(
    shared: Service, arguments: list[str], code: int, said: str
) -> None:
    ended = run(shared, *arguments)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("key", ["", "tct_wrong"])
def test_where_the_right_key_is_shown_is_said_once(
    shared: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    """By the server, which knows its own address."""
    monkeypatch.setenv("TACITUS_KEY", key)
    assert tacitus.main(["status", "x", "--server", shared.url]) == 1
    said = capsys.readouterr().err
    assert said.count("/dashboard") == said.count(f"{shared.url}/dashboard") == 1
    assert ("Put it into TACITUS_KEY." in said) is (key == "")


def waiting(shared: Service, stderr: int) -> subprocess.Popen[bytes]:
    """A command that waits for a block that nobody makes."""
    batch = shared.submit_balance(shared.chain.head + AHEAD)
    own = {"TACITUS_URL": shared.url, "TACITUS_KEY": shared.keys[0]}
    return subprocess.Popen(
        [sys.executable, tacitus.__file__, "wait", batch],
        env={**own, "COLUMNS": "60", "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=stderr,
    )


def test_ctrl_c_ends_it_in_a_sentence(shared: Service) -> None:
    command = waiting(shared, subprocess.PIPE)
    assert command.stderr
    first = command.stderr.readline()
    assert first.startswith((b"ACCEPTED", b"RECEIVED", b"IN_PROGRESS"))
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=20)
    assert command.returncode == 130
    assert said.decode().splitlines()[-1].startswith("Interrupted. What was submitted goes on")
    assert b"Traceback" not in said


def test_routes_say_what_their_addresses_prove(shared: Service) -> None:
    """This registry was deployed by hand, at another address."""
    (route,) = Tacitus(shared.url).routes()
    assert route.proves_its_code is False
    line = f"{CHAIN_ID} → {CHAIN_ID}  native  {route.registry}  unverifiable: this is not"
    assert run(shared, "routes").stdout.startswith(line)
    said = json.loads(run(shared, "routes", "--json").stdout)
    assert (said["kind"], said["provesItsCode"]) == ("native", False)
