"""What the README shows to be copied: the script, and the batch that it sends."""

import re
from pathlib import Path

SCRIPT = re.compile(r"```python\n(import json.*?)```", re.DOTALL)
BATCH = re.compile(r"```json\n(.*?)```", re.DOTALL)


def text(repository: Path) -> str:
    return (repository / "README.md").read_text()


def script(repository: Path) -> str:
    return _first(SCRIPT, repository)


def batch_of(repository: Path, account: str, block: int) -> str:
    """Of a local chain; what the reader is to fill in is filled in."""
    return _first(BATCH, repository).replace("BLOCK", str(block)).replace("ACCOUNT", account)


def _first(pattern: re.Pattern[str], repository: Path) -> str:
    found = pattern.search(text(repository))
    assert found
    return found[1]
