"""No file of the repository holds a secret or ever held one, by what secrets look like."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_database
# What everyone knows: the first key of local chains, and the one of signing libraries' examples.
KNOWN_KEYS = {
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
}
KNOWN_PASSWORDS = {"password", "guest", "%s", "hunter2", "p", "very-secret"}
LOOKS = {
    "an API key": r"tct_[0-9A-Za-z]{32,}",
    "a key in PEM": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a password in an address": r"[a-z]+://[^\s/\"'{}<>:@]+:([^\s/\"'{}<>@]+)@",
    "a node's key": r"(?i)(?:infura|alchemy|quiknode|ankr)[^\s\"']*/[0-9A-Za-z_-]{20,}",
    "a token": r"\b(?:ghp_|github_pat_|AKIA|xox[bp]-|sk_live_|pypi-)[0-9A-Za-z_-]{16,}",
    "a signer's key": (
        r"(?i)(?:key|secret|password|token|signer)\w*[\"']?\s*[=:(]+\s*b?[\"']?(?:0x)?([0-9a-f]{64})\b"
    ),
}


def _found(text: str) -> Iterator[tuple[str, str]]:
    for what, look in LOOKS.items():
        for match in re.finditer(look, text):
            shown = match[1] if match.lastindex else match[0]
            if shown not in KNOWN_KEYS | KNOWN_PASSWORDS:
                yield what, shown[:12]


def test_no_file_holds_one(repository: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=repository, capture_output=True, text=True, check=True
    )
    names = [name for name in listed.stdout.split("\0") if name]
    assert len(names) > 500
    found = {}
    for name in names:
        file = repository / name
        if file.is_file() and file != Path(__file__):
            text = file.read_bytes().decode(errors="replace")
            if some := list(_found(text)):
                found[name] = some
    assert found == {}


def test_no_commit_held_one(repository: Path) -> None:
    """What was committed once is read by whoever clones, although it was taken out again."""
    own = Path(__file__).relative_to(repository).as_posix()
    history = subprocess.run(
        ["git", "log", "--all", "--patch", "--cc", "--unified=0", "--no-ext-diff", "--no-textconv",
         "--format=%B", "--", ".", f":!{own}"],
        cwd=repository,
        capture_output=True,
        timeout=120,
        check=True,
    )  # fmt: skip
    lines = history.stdout.decode(errors="replace").splitlines()
    assert len(lines) > 10_000
    # A line is mostly written again and again as it is.
    written = {line.removeprefix("+") for line in lines if not line.startswith(("-", "@@"))}
    assert list(_found("\n".join(sorted(written)))) == []


@pytest.mark.parametrize(
    "text",
    [
        "curl -H 'api-key: tct_" + "a1" * 20 + "'",
        "-----BEGIN EC " + "PRIVATE KEY-----",
        "DATABASE_URL=postgres://" + "tacitus:9fJ2kd0w@db/tacitus",
        "https://mainnet.infura.io/v3/" + "0a1b2c3d4e5f" * 3,
        "SIGNER_KEY=0x" + "3f" * 32,
        "signer = Signer('" + "3f" * 32 + "')",
        "ghp_" + "aB3" * 12,
    ],
)
def test_one_is_found(text: str) -> None:
    assert list(_found(text))
