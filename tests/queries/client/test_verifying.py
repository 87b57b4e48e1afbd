"""The served file alone, in an interpreter without packages, judges proofs as the server does."""

import json
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from random import Random
from subprocess import CompletedProcess
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from queries.client.python import NotProvenError, verify_proof
from queries.proving.bundles import BlockProof
from tests.commands import run_program
from tests.queries.contracts.recorded_events import recorded_block
from tests.queries.proving.bundle_parts import block_proof, file_of, recorded, with_digest
from tests.queries.proving.test_bundles import CHANGES, all_paths, container
from tests.queries.proving.test_event_bundles import event_proof

pytestmark = pytest.mark.no_database
SEED, TAMPERED = 42, 24

# Prints the verdict about each file, and refuses to open a socket.
PROGRAM = """
import json, sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(event)

sys.addaudithook(refuse)
sys.path.append(".")
import tacitus

assert tacitus.keccak256 is tacitus.python_keccak256
for content, trusted in json.load(sys.stdin):
    try:
        facts = tacitus.verify_proof(content.encode(), trusted)
        print(json.dumps([[fact.block, fact.account, fact.name, fact.word] for fact in facts]))
    except tacitus.NotProvenError as error:
        print(json.dumps(str(error)))
"""


@pytest.fixture(scope="module")
def blocks(corpus_folder: Path) -> tuple[BlockProof, ...]:
    """Of accounts with slots and a time, of one that is absent, and of events."""
    storage = [recorded(corpus_folder, name) for name in ("goerli_7583802", "mainnet_21925176")]
    events = event_proof(recorded_block(22432102))
    return (*(block_proof(block, 5 + i) for i, block in enumerate(storage)), events)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tacitus.py").write_bytes(Client().get("/tacitus.py").content)
    return tmp_path


def bare_python(folder: Path, *arguments: str, **more: Any) -> CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-W", "error", *arguments]
    return run_program(command, cwd=folder, env={}, **more)


def options(*blocks: BlockProof) -> list[str]:
    return [f"--hash=0x{block.trusted_header.hash.hex()}" for block in blocks]


def servers_verdict(file: Path, hashes: list[str]) -> tuple[int, str]:
    output = StringIO()
    try:
        call_command("verify_proof", str(file), *hashes, stdout=output)
    except CommandError as error:
        return 1, str(error).partition("; or name a node")[0]
    return 0, output.getvalue()


def test_the_report_is_that_of_the_server(folder: Path, blocks: tuple[BlockProof, ...]) -> None:
    file, (first, second, events) = folder / "proof.json", blocks
    for proven, hashes in (
        ((first,), options(first)),
        ((second, events), options(second, events)),
        ((events,), []),
        ((events, first), options(first)),
        ((first,), options(events)),
        ((first,), [f"--hash=0x{first.header.hash.hex()}"]),
        ((events, replace(events, chain=7)), options(events)),
    ):
        content = file_of(*sorted(proven, key=lambda block: block.chain))
        file.write_bytes(content)
        ended = bare_python(folder, "tacitus.py", "verify", str(file), *hashes)
        code, verdict = servers_verdict(file, hashes)
        assert ended.returncode == code
        if code:
            assert ended.stderr.strip().startswith(verdict.rstrip("."))
            continue
        proof, _, _ = ended.stdout.partition("Not checked")
        assert proof == verdict.partition("Not checked")[0]
        assert f"Proven: {sum(len(block.words) for block in proven)} facts." in proof


def test_tampered_files_get_the_same_verdicts(folder: Path, blocks: tuple[BlockProof, ...]) -> None:
    """Some changes, of the batch's id or of transactions, are claims that no proof can show."""
    random = Random(SEED)
    originals = [
        (file_of(block).decode(), [f"0x{block.trusted_header.hash.hex()}"]) for block in blocks
    ]
    first, trusted = originals[0]
    files = [*originals, ("{}", []), (first[:-9], trusted), (first.replace("0x1", "0x2"), trusted)]
    for _ in range(TAMPERED):
        content, trusted = random.choice(originals)
        members = json.loads(content)
        path = random.choice(all_paths(members))
        inside = container(members, path)
        inside[path[-1]] = random.choice(CHANGES)(inside[path[-1]], random.randrange(99))
        files.append((with_digest(members).decode(), trusted))
    verdicts: list[object] = []
    for content, trusted in files:
        try:
            facts = verify_proof(content.encode(), trusted)
            verdicts.append([[fact.block, fact.account, fact.name, fact.word] for fact in facts])
        except NotProvenError as error:
            verdicts.append(str(error))
    program = bare_python(folder, "-c", PROGRAM, input=json.dumps(files))
    assert program.stderr == ""
    assert [json.loads(line) for line in program.stdout.splitlines()] == verdicts
    assert [isinstance(verdict, list) for verdict in verdicts[:6]] == 3 * [True] + 3 * [False]
    assert sum(isinstance(verdict, str) for verdict in verdicts) > TAMPERED // 2
