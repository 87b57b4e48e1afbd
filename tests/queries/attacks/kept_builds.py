"""What the compiler made of sources is kept for whoever wants the same again.

A build of all contracts takes a minute of a processor, and each of pytest's processes would make
one. The first does, the others wait for that, and later runs find it, until a source or a setting
changes.
"""

import fcntl
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from queries.chain.solidity import run_compiler

KEPT = Path(__file__).parents[3] / ".pytest_cache" / "builds"  # `make clean` removes it


def compiled(
    sources: Mapping[str, str], settings: Mapping[str, Any], folder: Path = KEPT
) -> Mapping[str, Any]:
    """As `run_compiler`; each source names the version of the compiler."""
    asked = json.dumps([dict(sources), dict(settings)], sort_keys=True)
    file = folder / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            for former in folder.glob("*.json"):
                former.unlink()
            made = file.with_suffix(".new")
            made.write_text(json.dumps(run_compiler(sources, settings)))
            made.rename(file)
        kept: Mapping[str, Any] = json.loads(file.read_text())
    return kept
