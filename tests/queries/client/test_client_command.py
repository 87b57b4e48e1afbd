"""The client as a command, against a running service."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from queries.client.python import BlockQuery, Tacitus, build_batch, main
from tests.commands import run_program
from tests.rigs.service import HOLDER, Service
from tests.rigs.terminal import run_in_terminal, shown_lines

pytestmark = pytest.mark.either_database
CHAIN_ID = 31337
BLOCKS_AHEAD = 2  # of its chain's head, which a server still accepts


def run(
    shared_service: Service, *arguments: str, **options: Any
) -> subprocess.CompletedProcess[str]:
    completed = run_program(
        [sys.executable, shared_service.client_file, *arguments],
        env={
            "TACITUS_URL": shared_service.url,
            "TACITUS_KEY": shared_service.keys[0],
            "PYTHONUTF8": "1",
        },
        **options,
    )
    assert shared_service.keys[0] not in completed.stdout + completed.stderr
    assert "Traceback" not in completed.stderr
    return completed


def submit(block: int, *options: str) -> list[str]:
    return ["submit", "--to", f"{CHAIN_ID}", "--block", f"{block}", "--account", HOLDER, *options]


def test_the_output_of_a_command_is_the_input_of_the_next(
    shared_service: Service, contract: str, block: int, tmp_path: Path
) -> None:
    slot = run(shared_service, "slot", "2", "--key", "0x" + 20 * "11").stdout.strip()
    file = tmp_path / "batch.json"
    query = BlockQuery(CHAIN_ID, block=block, accounts=[contract], slots=[slot])
    file.write_text(json.dumps(build_batch(CHAIN_ID, query)))
    batch = json.loads(run(shared_service, "submit", "--file", str(file), "--json").stdout)[
        "internalId"
    ]
    done = json.loads(run(shared_service, "wait", batch, "--json").stdout)
    (fact,) = done["facts"]
    assert (done["queryStatus"], fact["name"]) == ("DONE", slot)
    assert int(fact["word"], 16) == 2**184
    status = run(shared_service, "status", batch)
    first, *facts = status.stdout.splitlines()
    assert first.startswith(f"{batch}  DONE  ✓ INITIAL_STATE 1/1 ── ✓ BLOCKHASH_AVAILABLE 1/1 ── ")
    assert facts == [
        line for line in run(shared_service, "wait", batch).stdout.splitlines() if line
    ]
    assert json.loads(run(shared_service, "status", batch, "--json").stdout)["internalId"] == batch
    piped = run(
        shared_service, "submit", "--file", "-", "--idempotency-key", "x", input=file.read_text()
    )
    assert piped.returncode == 0, piped.stderr
    assert len(piped.stdout.strip()) == len(batch)


def test_closed_output_is_no_error_in_the_command(shared_service: Service) -> None:
    """As by `| head`, which closes the pipe after its lines."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        command = [sys.executable, shared_service.client_file, "slot", "3", "--key", "uint64:7"]
        ended = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


def test_the_command_proves_logs(shared_service: Service) -> None:
    chain = shared_service.chain
    chain.deploy("DemoToken", ["address[]", "uint256[]"], [[HOLDER], [1]])
    block = chain.mine() - 1
    (sent,) = chain.transactions_of(chain.payer, since=block)
    for log in (f"{sent['hash']}:0", "0:0", "0"):
        arguments = ["submit", "--to", f"{CHAIN_ID}", "--block", f"{block}", "--log", log]
        done = json.loads(run(shared_service, *arguments, "--wait", "--json").stdout)
        (fact,) = done["facts"]
        assert (fact["name"], fact["event"]["log_index"]) == ("LOG:0:0", 0)
    assert "LOG:0:0" in run(shared_service, *arguments, "--wait").stdout


def test_a_downloaded_proof_verifies_without_the_server(
    shared_service: Service, block: int, tmp_path: Path
) -> None:
    arguments = submit(block, "--prop", "BALANCE", "--wait", "--json")
    batch = json.loads(run(shared_service, *arguments).stdout)["internalId"]
    file = tmp_path / "proof.json"
    completed = run(shared_service, "proof", batch, "--out", str(file))
    assert (completed.returncode, completed.stdout) == (0, ""), completed.stderr
    assert completed.stderr.strip().endswith(f"bytes to {file}.")
    assert run(shared_service, "proof", batch).stdout == file.read_text()
    assert Tacitus(shared_service.url, shared_service.keys[0]).proof(batch) == file.read_bytes()
    verified = shared_service.manage("verify_proof", str(file), "--node", shared_service.chain.url)
    assert HOLDER in verified.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (submit(10**6, "--prop", "BALANCE"), 3, "when the server accepts this block."),
        (submit(1, "--prop", "AGE"), 1, "AGE"),
        (["status", "01J2VM6JSA6VKKZ0ENWGYYPR18"], 1, "No query found"),
        (["status", "x", "--key", "tct_wrong"], 1, "/dashboard/keys shows the one that works."),
        (["status", "x", "--server", "127.0.0.1"], 2, "The server must be a URL such as"),
        (["status", "x", "--server", "http://127.0.0.1:1"], 3, "does not answer"),
        (["submit"], 2, "Name the chain with --to and the values to prove"),
        (["slot", "1", "--key", "dai"], 2, "string:dai"),
        (["slot", "a", "--layout", "/nowhere.json"], 2, "cannot be read"),
    ],
)  # fmt: skip
def test_a_failure_prints_one_sentence_and_sets_the_exit_code(
    shared_service: Service, arguments: list[str], code: int, sentence: str
) -> None:
    completed = run(shared_service, *arguments)
    assert (completed.returncode, completed.stdout) == (code, "")
    assert sentence in completed.stderr
    assert len(completed.stderr.splitlines()) == 1


@pytest.mark.parametrize("key", ["", "tct_wrong"])
def test_a_missing_or_wrong_key_links_to_the_dashboard_once(
    shared_service: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
) -> None:
    """The link comes from the server, which knows its own address."""
    monkeypatch.setenv("TACITUS_KEY", key)
    assert main(["status", "x", "--server", shared_service.url]) == 1
    message = capsys.readouterr().err
    assert message.count("/dashboard") == message.count(f"{shared_service.url}/dashboard") == 1
    assert ("Put it into TACITUS_KEY." in message) is (key == "")


@pytest.mark.parametrize(("columns", "colour"), [(60, False), (200, True)])
def test_on_a_terminal_the_progress_line_moves(
    shared_service: Service, block: int, tmp_path: Path, columns: int, *, colour: bool
) -> None:
    environment = {
        "TACITUS_URL": shared_service.url,
        "TACITUS_KEY": shared_service.keys[0],
        "PYTHONUTF8": "1",
    }
    output = run_in_terminal(
        [sys.executable, shared_service.client_file, *submit(block, "--prop", "NONCE", "--wait")],
        columns,
        folder=tmp_path,
        environment=environment if colour else environment | {"NO_COLOR": "1"},
    )
    link, progress, *facts = shown_lines(output)
    assert "/explorer/query/" in link[0]
    assert progress[-1].startswith("DONE  ✓ ")
    assert all(len(shown) < columns and "…" not in shown for shown in progress)
    assert ("\x1b[32m✓\x1b[0m" in output) is colour
    assert len(facts) == 1


def test_ctrl_c_ends_waiting_with_a_sentence(shared_service: Service) -> None:
    batch = shared_service.submit_balance(
        shared_service.chain.head + BLOCKS_AHEAD
    )  # which is never mined
    settings = {"TACITUS_URL": shared_service.url, "TACITUS_KEY": shared_service.keys[0]}
    command = subprocess.Popen(
        [sys.executable, shared_service.client_file, "wait", batch],
        env={**settings, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stderr
    first = command.stderr.readline()
    assert first.startswith((b"ACCEPTED", b"RECEIVED", b"IN_PROGRESS"))
    command.send_signal(signal.SIGINT)
    _, message = command.communicate(timeout=20)
    assert command.returncode == 130
    assert message.decode().splitlines()[-1].startswith("Interrupted. A submitted batch continues")
    assert b"Traceback" not in message


def test_routes_lists_whether_registry_addresses_prove_their_code(shared_service: Service) -> None:
    """This registry was deployed by hand, at another address."""
    (route,) = Tacitus(shared_service.url).routes()
    assert route.proves_its_code is False
    line = f"{CHAIN_ID} → {CHAIN_ID}  native  {route.registry}  unverifiable: it, "
    assert run(shared_service, "routes").stdout.startswith(line)
    fields = json.loads(run(shared_service, "routes", "--json").stdout)
    assert (fields["kind"], fields["provesItsCode"]) == ("native", False)
