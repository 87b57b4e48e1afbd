"""The proof file of a batch works without the service and its operator."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account

from tests.rigs.anvil import ETHER
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, HORIZON, Service, accounts
from tests.scenarios.fixtures import NewService

pytestmark = pytest.mark.either_database

# No database and no routes.
NOWHERE: dict[str, Any] = {
    "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
    "ROUTES_FILE": "/nowhere/routes.toml",
    "SIGNER_KEY": "",
}
ABSENT = "0x000000000000000000000000000000000000dEaD"


@pytest.fixture(scope="module")
def batch(shared_service: Service) -> tuple[str, int]:
    """A DONE batch and its block."""
    block = shared_service.chain.mine(4) - 1
    timestamp = int(shared_service.chain.header(block - 2)["timestamp"], 16)
    entry = accounts(HOLDER, ABSENT, props=["BALANCE", "CODE_HASH"], slots=["0x1"])
    data = {31337: {block: {**entry, "header": ["STATE_ROOT"]}, f"timestamp:{timestamp}": entry}}
    submitted = shared_service.submit(data)
    shared_service.wait(submitted)
    return submitted, block


@pytest.fixture
def file(shared_service: Service, batch: tuple[str, int], tmp_path: Path) -> Path:
    answer = shared_service.get(f"/batch-queries/{batch[0]}/proof")
    page = requests.get(f"{shared_service.url}/explorer/query/{batch[0]}/proof.json", timeout=30)
    assert answer.content == page.content
    header = page.headers["Content-Disposition"]
    assert re.fullmatch('attachment; filename="tacitus-[a-z0-9-]+-proof.json"', header)
    file = tmp_path / "proof.json"
    file.write_bytes(answer.content)
    return file


def hashes(shared_service: Service, *blocks: int) -> list[str]:
    """`--hash` options for these blocks."""
    return [
        word for block in blocks for word in ("--hash", shared_service.chain.header(block)["hash"])
    ]


def test_a_proof_file_is_verified_offline_unless_a_byte_was_changed(
    shared_service: Service, batch: tuple[str, int], file: Path
) -> None:
    # A timestamp's block is proven with the block after it.
    trusted = hashes(shared_service, batch[1] - 1, batch[1])
    report = shared_service.manage("verify_proof", str(file), *trusted, **NOWHERE).stdout
    assert batch[0] in report
    assert f"{HOLDER_BALANCE} wei" in report
    proof = file.read_text()
    content: dict[str, Any] = json.loads(proof)
    hex_texts = [text for text in _texts(content) if re.fullmatch("0x[0-9a-f]{64,}", text)]
    for changed in (hex_texts[0], hex_texts[len(hex_texts) // 2], hex_texts[-1]):
        middle = len(changed) // 2
        digit = "1" if changed[middle] == "0" else "0"
        file.write_text(proof.replace(changed, changed[:middle] + digit + changed[middle + 1 :], 1))
        refused = shared_service.manage("verify_proof", str(file), *trusted, fails=True, **NOWHERE)
        assert (refused.returncode, refused.stdout) == (1, "")
    file.write_text(proof)
    others = hashes(shared_service, batch[1] - 2, batch[1])
    shared_service.manage("verify_proof", str(file), *others, fails=True, **NOWHERE)


def _texts(content: Any) -> list[str]:
    """All strings in a JSON value, in order."""
    if isinstance(content, str):
        return [content]
    parts = content.values() if isinstance(content, dict) else content
    parts = parts if isinstance(parts, list | type({}.values())) else []
    return [text for part in parts for text in _texts(part)]


def test_a_proof_file_is_published_to_another_registry(
    shared_service: Service, batch: tuple[str, int], file: Path, new_service: NewService
) -> None:
    chain, anyone = shared_service.chain, Account.create()
    chain.set_balance(anyone.address, ETHER)
    other = chain.deploy("NativeRegistry", ["uint256"], [HORIZON])
    publish = ["publish_proof", str(file), "--node", chain.url, "--registry", other]
    key = {"SIGNER_KEY": f"0x{bytes(anyone.key).hex()}"}
    # The registry's address does not prove its code, so an option must confirm it.
    refused = shared_service.manage(*publish, fails=True, **(NOWHERE | key))
    assert "is unverifiable" in refused.stderr
    publish.append("--unverifiable")
    shared_service.manage(*publish, **(NOWHERE | key))
    value = chain.call(other, "accountField(address,uint256,uint8)", HOLDER, batch[1], BALANCE)
    assert int.from_bytes(value) == HOLDER_BALANCE
    # Proven facts cost nothing, so no key is needed.
    shared_service.manage(*publish, **NOWHERE)
    # A service with that registry finds the facts there, and still has a proof file of them.
    service = new_service()
    service.add_chain(chain)
    service.add_registry("native", chain, chain, address=other)
    service.serve()
    service.prove()
    second = service.submit({31337: {batch[1]: accounts(HOLDER)}})
    assert service.wait(second)["spent"] == "0"
    file.write_bytes(service.get(f"/batch-queries/{second}/proof").content)
    trusted = hashes(shared_service, batch[1])
    assert (
        f"{HOLDER_BALANCE} wei"
        in service.manage("verify_proof", str(file), *trusted, **NOWHERE).stdout
    )
