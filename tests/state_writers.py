"""`make lint`: only `queries/transitions` writes a status or a state."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

QUERIES = Path(__file__).parents[1] / "queries"
ELSEWHERE = {"transitions.py", "chain", "client", "proving", "webhooks"}  # have others
COLUMNS = {"status", "state"}


def writes(tree: ast.AST) -> Iterator[int]:
    """The lines that update a column, or assign an attribute, of such a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            keywords = {keyword.arg for keyword in node.keywords}
            if node.func.attr in {"update", "create"} and keywords & COLUMNS:
                yield node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [node.lineno] * (node.attr in COLUMNS)


def main() -> None:
    found = [
        f"{path.relative_to(QUERIES.parent)}:{line}: write states in queries/transitions.py"
        for path in sorted(QUERIES.rglob("*.py"))
        if path.relative_to(QUERIES).parts[0] not in ELSEWHERE
        for line in writes(ast.parse(path.read_text()))
    ]
    sys.exit("\n".join(found) or 0)


if __name__ == "__main__":
    main()
