"""What the README shows works as it stands there."""

import json
import re
from pathlib import Path

import pytest

from tests.guides import run
from tests.rigs.service import HELD, HOLDER, REPOSITORY, Service

README = (REPOSITORY / "README.md").read_text()

pytestmark = pytest.mark.either_database


def _block_of(language: str, words: str) -> str:
    found = re.findall(f"```{language}\n(.*?)```", README, re.DOTALL)
    (block,) = [block for block in found if words in block]
    return str(block)


@pytest.mark.parametrize("language", ["sh", "js", "python"])
def test_the_first_request_gets_the_answer_shown_and_is_proven(
    shared: Service, tmp_path: Path, language: str
) -> None:
    chain = shared.chain
    chain.mine(1)
    block = (
        chain.head
    )  # block 17 may have another test's changes, which the node makes to mined state
    chain.mine(2)
    request = _block_of(language, "submit-batch-query").replace("http://127.0.0.1:8000", shared.url)
    assert "block:17" in request
    request = request.replace("block:17", f"block:{block}")
    printed = run(language, request, tmp_path, TACITUS_KEY=shared.keys[0])
    batch = re.findall(r"internalId\W+(\w{26})", printed)[0]
    shown = _block_of("json", "internalId")
    assert all(name in printed for name in json.loads(shown))
    shared.wait(batch)
    # As the README reads it: field 1.
    registry = shared.registries[chain.id, chain.id]
    words = chain.call(registry, "accountField(address,uint256,uint8)", HOLDER, block, 1)
    assert int.from_bytes(words) == HELD
