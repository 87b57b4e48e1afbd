"""Run the code of a server's guides, as a reader would."""

import html
import os
import re
import shutil
import sys
from pathlib import Path

import requests

from queries.client.join import joined_client
from tests.commands import run_program

REPOSITORY = Path(__file__).parent.parent
# solcjs is in the first one, cast and forge in the second
TOOLS = [
    REPOSITORY / folder / "node_modules" / ".bin" for folder in ("queries/contracts", "tests/js")
]
FILES = {"js": "guide.mjs", "python": "guide.py", "sh": "guide.sh"}


def code_blocks(page: str) -> list[str]:
    blocks = re.findall(r'<pre[^>]*><code(?: id="[\w-]+")?>(.*?)</code></pre>', page, re.DOTALL)
    return [html.unescape(re.sub(r"</?span[^>]*>", "", block)) for block in blocks]


def code_of(site: str, guide: str, text: str) -> str:
    """The only block of code of the guide that contains this text."""
    page = requests.get(f"{site}/docs/{guide}", timeout=30)
    assert page.status_code == 200
    (block,) = [block for block in code_blocks(page.text) if text in block]
    return block


def run(language: str, code: str, folder: Path, *arguments: str, **variables: str) -> str:
    """Run the code beside copies of the clients; returns its output."""
    (folder / FILES[language]).write_text(code)
    (folder / "tacitus.py").write_text(joined_client())
    shutil.copy(REPOSITORY / "queries" / "client" / "typescript" / "tacitus.mjs", folder)
    program = {"js": ["node"], "python": [sys.executable], "sh": ["sh", "-e"]}[language]
    path = ":".join(map(str, [Path(sys.executable).parent, *TOOLS, os.environ["PATH"]]))
    ended = run_program(
        [*program, FILES[language], *arguments],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), **variables},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
