"""What the guides show, as a reader copies it from the page and runs it."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import requests

REPOSITORY = Path(__file__).parent.parent
# solcjs is in the first one, cast and forge in the second
TOOLS = [REPOSITORY / each / "node_modules" / ".bin" for each in ("queries/contracts", "tests/js")]
FILES = {"js": "guide.mjs", "python": "guide.py", "sh": "guide.sh"}


def shown_in(page: str) -> list[str]:
    """The text of each block of code, in their order."""
    found = re.findall(r'<pre[^>]*><code(?: id="[\w-]+")?>(.*?)</code></pre>', page, re.DOTALL)
    return [html.unescape(each) for each in found]


def code_of(site: str, guide: str, words: str) -> str:
    """The one block of a running server's guide that has these words."""
    page = requests.get(f"{site}/docs/{guide}", timeout=30)
    assert page.status_code == 200
    (found,) = [each for each in shown_in(page.text) if words in each]
    return found


def run(language: str, code: str, folder: Path, *arguments: str, **variables: str) -> str:
    """What it prints; tacitus.py is beside it, as a reader has downloaded it."""
    (folder / FILES[language]).write_text(code)
    (folder / "tacitus.py").write_bytes(
        (REPOSITORY / "queries" / "client" / "tacitus.py").read_bytes()
    )
    program = {"js": ["node"], "python": [sys.executable], "sh": ["sh", "-e"]}[language]
    path = ":".join(map(str, [Path(sys.executable).parent, *TOOLS, os.environ["PATH"]]))
    ended = subprocess.run(
        [*program, FILES[language], *arguments],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
