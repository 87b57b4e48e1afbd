"""`verify_proof` prints a file's facts and what they rely on, or one sentence why it refuses."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from explorer.demo.local_node import LocalNode, local_node
from queries.proving.accounts import check_account_proof
from queries.proving.bundles import BlockProof
from queries.proving.headers import Header, HeaderField, header_from_json
from queries.proving.witnesses import AccountField, AccountToStore
from tests.commands import run_program
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


def local_block_proof(node: LocalNode, number: int = 2, *, timed: bool = False) -> BlockProof:
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
        (AccountToStore(proof, frozenset({AccountField.BALANCE, AccountField.NONCE})),),
        replace(REGISTRY, kind="native"),
        (SENT,),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "proof.json"


def write_proof(file: Path, *blocks: BlockProof) -> Path:
    file.write_bytes(file_of(*blocks))
    return file


def verify(*arguments: object) -> str:
    output = StringIO()
    call_command("verify_proof", *map(str, arguments), stdout=output)
    return output.getvalue()


def refusal(*arguments: object) -> str:
    with pytest.raises(CommandError) as raised:
        verify(*arguments)
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def test_facts_and_the_hashes_that_they_rely_on_are_printed(
    corpus_folder: Path, file: Path
) -> None:
    first = block_proof(recorded(corpus_folder, "goerli_7583802"), chain=5)
    second = block_proof(recorded(corpus_folder, "mainnet_21925176"), chain=6)
    write_proof(file, first, second)
    options = [f"--hash=0x{block.trusted_header.hash.hex()}" for block in (first, second)]
    printed = verify(file, *options)
    assert f"Batch {BATCH} (the service's id for it), for chain 10" in printed
    assert "Block 7,583,802 of chain 5, 2022-09-13" in printed
    for block in (first, second):
        assert (
            f"  that block {block.trusted_header.number:,} of chain {block.chain} has the hash "
            f"0x{block.trusted_header.hash.hex()}, which you gave\n"
        ) in printed
    assert f"Proven: {len(first.words) + len(second.words)} facts." in printed
    assert "0x456Cb24d30eaA6AfFC2A6924Dae0d2a0a8c99C73 (there was no such account)" in printed
    assert "Not checked" in printed
    assert "that the attested registry 0x" in printed
    assert "that the registry on chain 10 has these facts now" in printed
    lines = [line for line in printed.splitlines() if line.startswith("      ")]
    assert len(lines) == len(first.words) + len(second.words)


def test_values_are_decoded(file: Path, node: LocalNode) -> None:
    block = local_block_proof(node, timed=True)
    printed = verify(write_proof(file, block), "--node", node.url)
    assert "has no planted facts: it is unverifiable" in printed  # not the factory's address
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "COINBASE 0x0000000000000000000000000000000000000000" in " ".join(lines)
    assert lines.index(HOLDER) + 1 == lines.index("NONCE 0")
    assert "BALANCE 1.5 (1500000000000000000 wei)" in lines
    assert "slot 0x0 0" in lines
    assert any(line.startswith(f"TIMESTAMP {block.header.timestamp} (20") for line in lines)
    assert any(line.endswith(" UTC block 2 was the last one") for line in lines)
    host = node.url.removeprefix("http://")
    assert f"has the hash 0x{block.trusted_header.hash.hex()}, which the node at {host} gives" in (
        printed
    )


def test_a_wrong_hash_is_refused(file: Path, node: LocalNode) -> None:
    block = local_block_proof(node, timed=True)
    write_proof(file, block)
    unknown = f"0x{64 * '7'}"
    assert refusal(file, "--hash", unknown) == (
        f"Nothing is proven. The proof has no block {unknown}."
    )
    parent = f"0x{block.header.hash.hex()}"
    advice = "Give the hash of block 3: it shows which block was the last at that time."
    assert advice in refusal(file, "--hash", parent)
    assert "0x and 64 hex digits" in refusal(file, "--hash", "0x12")


def test_a_hash_that_two_chains_share_is_refused(file: Path, node: LocalNode) -> None:
    """A forger lists a block twice, the second time as one of another chain."""
    block = local_block_proof(node)
    copy = replace(block, chain=CHAIN_ID + 1, registry=REGISTRY)
    write_proof(file, block, copy)
    sentence = refusal(file, "--hash", f"0x{block.header.hash.hex()}")
    assert sentence.startswith("Nothing is proven. Chains 31337 and 31338 of the proof share ")
    sentence = refusal(file, "--node", node.url)
    assert sentence.startswith(
        "Nothing is proven yet: the facts are true if block 2 of chain 31338"
    )


def test_a_node_that_does_not_have_the_block_is_reported(file: Path, node: LocalNode) -> None:
    block = local_block_proof(node)
    write_proof(file, block)
    with local_node("--timestamp", "1600000000") as other:
        assert "does not know block 2 of chain 31337." in refusal(file, "--node", other.url)
        other.rpc.ask("anvil_mine", "0x3")
        sentence = refusal(file, "--node", other.url, "--node", node.url)
        assert "says that block 2 of chain 31337 has the hash 0x" in sentence
        assert f"but the proof has 0x{block.header.hash.hex()}." in sentence
    with local_node("--chain-id", "5") as other:
        assert "is of another chain, 5." in refusal(file, "--node", other.url)
    for url in ("http://127.0.0.1:1/secret", "nonsense", "http://[", "file:///etc/passwd"):
        sentence = refusal(file, "--node", url)
        assert "does not report its chain id" in sentence
        assert "secret" not in sentence


def test_a_file_that_is_not_a_proof_is_refused(file: Path) -> None:
    assert "cannot be read: No such file or directory." in refusal(file)
    file.write_text("{}")
    assert refusal(file) == "Nothing is proven. The file has no batch."


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


def test_verifying_opens_no_socket_and_no_database(
    file: Path, node: LocalNode, repository: Path
) -> None:
    block = local_block_proof(node)
    write_proof(file, block)
    option = f"--hash=0x{block.header.hash.hex()}"
    done = run_program(
        [sys.executable, "-c", WITHOUT_NETWORK, str(file), option],
        cwd=repository,
        env={"PATH": os.environ["PATH"], **NOWHERE},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Proven: 5 facts." in done.stdout
