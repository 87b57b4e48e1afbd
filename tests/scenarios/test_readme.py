"""The README's examples work as printed."""

import json
import re
from pathlib import Path

import pytest

from tests.guides import run
from tests.rigs.service import HOLDER, HOLDER_BALANCE, REPOSITORY, Service

README = (REPOSITORY / "README.md").read_text()

pytestmark = pytest.mark.either_database


def _code_block(language: str, words: str) -> str:
    blocks = re.findall(f"```{language}\n(.*?)```", README, re.DOTALL)
    (block,) = [block for block in blocks if words in block]
    return str(block)


@pytest.mark.parametrize("language", ["sh", "js", "python"])
def test_the_first_request_gets_the_printed_answer_and_is_proven(
    shared_service: Service, tmp_path: Path, language: str
) -> None:
    chain = shared_service.chain
    # Not block 17: other tests may have changed its state, because Anvil changes mined state.
    block = chain.mine()
    chain.mine(2)
    request = _code_block(language, "submit-batch-query").replace(
        "http://127.0.0.1:8000", shared_service.url
    )
    assert "block:17" in request
    request = request.replace("block:17", f"block:{block}")
    printed = run(language, request, tmp_path, TACITUS_KEY=shared_service.keys[0])
    batch = re.findall(r"internalId\W+(\w{26})", printed)[0]
    answer = _code_block("json", "internalId")
    assert all(name in printed for name in json.loads(answer))
    shared_service.wait(batch)
    # As in the README.
    registry = shared_service.registries[chain.id, chain.id]
    words = chain.call(registry, "accountField(address,uint256,uint8)", HOLDER, block, 1)
    assert int.from_bytes(words) == HOLDER_BALANCE
