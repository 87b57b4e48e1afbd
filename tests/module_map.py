"""`make lint`: the map of modules in contributing.md says what the modules say of themselves.

Below each `<!-- modules: FOLDER -->` stands a line for each module of the folder, with the first
sentence of its docstring. `--write` brings them up to date. Each package has such a place.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAP = ROOT / "explorer" / "docs" / "contributing.md"
PACKAGES = ("queries", "accounts", "explorer")
PLACE = re.compile(r"^<!-- modules: ([\w/]+) -->$(\n.+)*", re.MULTILINE)
LEFT_OUT = {"migrations"}


def first_sentence(module: Path) -> str:
    """The first sentence of the module's docstring; empty if it has none."""
    docstring = ast.get_docstring(ast.parse(module.read_text())) or ""
    sentence = re.split(r"(?<=\.)\s", docstring.partition("\n\n")[0].replace("\n", " "))[0]
    return sentence.strip()


def modules(folder: str) -> Iterator[tuple[str, str]]:
    """The folder's modules by name, with their sentences; without those that have no code."""
    for module in sorted((ROOT / folder).glob("*.py")):
        if module.stem not in {"__init__", "__main__"} and module.read_text().strip():
            yield module.stem, first_sentence(module)


def folders() -> set[str]:
    """The folders that have modules."""
    paths = (path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    all_folders = {path.parent.relative_to(ROOT) for path in paths}
    return {
        str(folder)
        for folder in all_folders
        if not LEFT_OUT & set(folder.parts)
        and "node_modules" not in folder.parts
        and any(modules(str(folder)))
    }


def _lines(match: re.Match[str]) -> str:
    rows = (f"- `{name}`: {sentence}" for name, sentence in modules(match[1]))
    return "\n".join([f"<!-- modules: {match[1]} -->", *rows])


def main() -> int:
    text = MAP.read_text()
    silent = [
        f"{folder}/{name}.py has no docstring with a sentence."
        for folder in sorted(folders())
        for name, sentence in modules(folder)
        if not sentence.endswith(".")
    ]
    places = {match[1] for match in PLACE.finditer(text)}
    silent += [f"contributing.md has no place for {name}." for name in folders() - places]
    current = PLACE.sub(_lines, text)
    if "--write" in sys.argv:
        MAP.write_text(current)
    elif current != text:
        silent.append("The map is not up to date: python -m tests.module_map --write")
    print("\n".join(silent), end="\n" if silent else "")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
