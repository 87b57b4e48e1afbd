"""The proof files of batches that are DONE: each is had, holds what was asked for, and is true of
the blocks that the chains have now, by the command that whoever gets such a file checks it with.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.chaos.asked import Asked
from tests.chaos.evidence import Fact
from tests.chaos.look import Look
from tests.chaos.page_checks import spread
from tests.chaos.programs import REPOSITORY
from tests.chaos.violations import Violation
from tests.commands import clean_environment

KIND = "false proof"
CHECKED = 6  # files, each by a program that has to start
NOWHERE = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "DEVELOPMENT": "1"}


def of_proofs(look: Look) -> Iterator[Violation]:
    for it in spread(look.done, CHECKED):
        headers = {"api-key": look.scene.owners[it.owner].api_key}
        answer = look.scene.page(f"/batch-queries/{it.id}/proof", **headers)
        if not answer.ok:
            yield Violation(KIND, f"of {it.id} there is none: {answer.text}")
            continue
        yield from of_proof(look, it, answer.text)


def of_proof(look: Look, it: Asked, text: str) -> Iterator[Violation]:
    bundle = json.loads(text)
    told = dict(_facts(bundle))
    true = look.scene.true_words(sorted(set(look.facts_of(it))))
    for fact, word in true.items():
        if told.get(fact) != word:
            yield Violation(KIND, f"of {it.id}: {fact} is {word}, and proven as {told.get(fact)}")
    hashes = [f"--hash={each}" for each in _hashes(look, bundle)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "proof.json"
        file.write_text(text)
        ended = subprocess.run(
            [sys.executable, "manage.py", "verify_proof", str(file), *hashes],
            cwd=REPOSITORY,
            env=clean_environment(Path(folder), **NOWHERE),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    if ended.returncode:
        yield Violation(KIND, f"of {it.id} is refused: {ended.stderr.strip()[-300:]}")


def _facts(bundle: Any) -> Iterator[tuple[Fact, int]]:
    destination = int(bundle["destinationChainId"])
    for block in bundle["blocks"]:
        place = int(block["originChainId"]), destination, int(block["block"])
        for each in block["facts"]:
            yield Fact(*place, each["account"] or "", each["name"]), int(each["word"], 16)


def _hashes(look: Look, bundle: Any) -> Iterator[str]:
    """Of the blocks that it rests on, as the chains have them: the one after it for a time."""
    for block in bundle["blocks"]:
        number = int(block["block"]) + (block["nextHeader"] is not None)
        node = look.scene.nodes[int(block["originChainId"])]
        yield node.ask("eth_getBlockByNumber", hex(number), False)["hash"]  # noqa: FBT003
