"""`verify_proof` says what a file proves and on what it rests, or in one sentence why nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from explorer.demo.local_node import LocalNode, local_node
from queries.proving.accounts import check_account_proof
from queries.proving.bundles import BlockProof
from queries.proving.headers import Header, HeaderField, header_from_json
from queries.proving.witnesses import AccountField, AccountRequest
from tests.queries.proving.bundle_parts import BATCH, REGISTRY, SENT, block_proof, file_of, recorded

pytestmark = pytest.mark.no_database
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
CHAIN_ID = 31_337
NOWHERE = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node() as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(15 * 10**17))
        running.rpc.ask("anvil_mine", "0x5", "0x2")
        yield running


def header(node: LocalNode, number: int) -> Header:
    (answer,) = node.rpc.ask_many("eth_getBlockByNumber", [(hex(number), False)])
    return header_from_json(answer)


def of_a_local_block(node: LocalNode, number: int = 2, *, timed: bool = False) -> BlockProof:
    block, account = header(node, number), bytes.fromhex(HOLDER[2:])
    (answer,) = node.rpc.ask_many("eth_getProof", [(HOLDER, ["0x" + 64 * "0"], hex(number))])
    proof = check_account_proof(answer, block.state_root, account, [0])
    return BlockProof(
        CHAIN_ID,
        CHAIN_ID,
        block,
        header(node, number + 1) if timed else None,
        frozenset({HeaderField.TIMESTAMP, HeaderField.COINBASE}),
        (block.timestamp,) if timed else (),
        (AccountRequest(proof, frozenset({AccountField.BALANCE, AccountField.NONCE})),),
        replace(REGISTRY, kind="native"),
        (SENT,),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "proof.json"


def written(file: Path, *blocks: BlockProof) -> Path:
    file.write_bytes(file_of(*blocks))
    return file


def verified(*arguments: object) -> str:
    """What the command prints."""
    printed = StringIO()
    call_command("verify_proof", *map(str, arguments), stdout=printed)
    return printed.getvalue()


def refused(*arguments: object) -> str:
    with pytest.raises(CommandError) as refusal:
        verified(*arguments)
    sentence = str(refusal.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def test_it_says_what_is_proven_and_on_what_it_rests(corpus_folder: Path, file: Path) -> None:
    """With no database, and no network."""
    one = block_proof(recorded(corpus_folder, "goerli_7583802"), chain=5)
    other = block_proof(recorded(corpus_folder, "mainnet_21925176"), chain=6)
    written(file, one, other)
    hashes = [f"0x{each.rests_on.hash.hex()}" for each in (one, other)]
    given = [word for each in hashes for word in ("--hash", each)]
    printed = verified(file, *given)
    assert f"Batch {BATCH}, as the service calls it, for chain 10" in printed
    assert "Block 7,583,802 of chain 5, 2022-09-13" in printed
    for each in (one, other):
        following = each.rests_on.number
        assert (
            f"  that block {following:,} of chain {each.chain} has the hash "
            f"0x{each.rests_on.hash.hex()}, which you gave\n"
        ) in printed
    assert f"Proven: {len(one.facts) + len(other.facts)} facts." in printed
    assert "0x456Cb24d30eaA6AfFC2A6924Dae0d2a0a8c99C73 (there was no such account)" in printed
    assert "Not checked" in printed
    assert "that the attested registry 0x" in printed
    assert "that the registry on chain 10 has these facts now" in printed
    lines = [line for line in printed.splitlines() if line.startswith("      ")]
    assert len(lines) == len(one.facts) + len(other.facts)


def test_values_are_decoded_for_people(file: Path, node: LocalNode) -> None:
    block = of_a_local_block(node, timed=True)
    printed = verified(written(file, block), "--node", node.url)
    assert "has no planted facts: it is unverifiable" in printed  # not the factory's address
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "COINBASE 0x0000000000000000000000000000000000000000" in " ".join(lines)
    assert lines.index(HOLDER) + 1 == lines.index("NONCE 0")
    assert "BALANCE 1.5 (1500000000000000000 wei)" in lines
    assert "slot 0x0 0" in lines
    assert any(each.startswith(f"TIMESTAMP {block.header.timestamp} (20") for each in lines)
    assert any(each.endswith(" UTC block 2 was the last one") for each in lines)
    host = node.url.removeprefix("http://")
    assert f"has the hash 0x{block.rests_on.hash.hex()}, which the node at {host} gives" in (
        printed
    )


def test_another_hash_than_its_own(file: Path, node: LocalNode) -> None:
    block = of_a_local_block(node, timed=True)
    written(file, block)
    strange = f"0x{64 * '7'}"
    assert refused(file, "--hash", strange) == (
        f"Nothing is proven. No block of the proof has the hash {strange} that you gave."
    )
    own = f"0x{block.header.hash.hex()}"
    said = "the last one at the requested time: give the hash of block 3."
    assert said in refused(file, "--hash", own)
    assert "0x and 64 hex digits" in refused(file, "--hash", "0x12")


def test_a_hash_is_not_taken_for_that_of_another_chain(file: Path, node: LocalNode) -> None:
    """A forger tells one block twice, the second time as that of a chain that has it not."""
    block = of_a_local_block(node)
    elsewhere = replace(block, chain=CHAIN_ID + 1, registry=REGISTRY)
    written(file, block, elsewhere)
    sentence = refused(file, "--hash", f"0x{block.header.hash.hex()}")
    assert sentence.startswith("Nothing is proven. In the proof, chains 31337 and 31338 each have ")
    sentence = refused(file, "--node", node.url)
    assert sentence.startswith("Nothing is proven yet: all of it is true if block 2 of chain 31338")


def test_a_node_of_the_chain_with_another_block(file: Path, node: LocalNode) -> None:
    block = of_a_local_block(node)
    written(file, block)
    with local_node("--timestamp", "1600000000") as other:
        assert "does not know block 2 of chain 31337." in refused(file, "--node", other.url)
        other.rpc.ask("anvil_mine", "0x3")
        sentence = refused(file, "--node", other.url, "--node", node.url)
        assert "says that block 2 of chain 31337 has the hash 0x" in sentence
        assert f"but the proof has 0x{block.header.hash.hex()}." in sentence
    with local_node("--chain-id", "5") as other:
        assert "is of chain 5, and the proof has no block of that chain." in refused(
            file, "--node", other.url
        )
    for gone in ("http://127.0.0.1:1/secret", "nonsense", "http://[", "file:///etc/passwd"):
        sentence = refused(file, "--node", gone)
        assert "does not say its chain" in sentence
        assert "secret" not in sentence


def test_a_file_that_is_none(file: Path) -> None:
    assert "cannot be read: No such file or directory." in refused(file)
    file.write_text("{}")
    assert refused(file) == "Nothing is proven. The proof has no batch."


WITHOUT_NETWORK = """
import os, sys

def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "sqlite3.connect"}:
        raise SystemExit(f"{event} {arguments}")

sys.addaudithook(refuse)
sys.argv = ["manage.py", "verify_proof", *sys.argv[1:]]
os.environ["DJANGO_SETTINGS_MODULE"] = "explorer.settings"
import manage
manage.main()
"""


def test_no_socket_is_opened_and_no_database(file: Path, node: LocalNode, repository: Path) -> None:
    block = of_a_local_block(node)
    written(file, block)
    kept: dict[str, Any] = {"PATH": os.environ["PATH"], **NOWHERE}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            WITHOUT_NETWORK,
            str(file),
            "--hash",
            f"0x{block.header.hash.hex()}",
        ],
        cwd=repository,
        env=kept,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Proven: 5 facts." in done.stdout
