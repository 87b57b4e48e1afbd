"""The rules of the house: who may import whom, and who may write what.

`violations` takes the sources as text, so that a test can show each rule a break of it.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

# queries/proving is pure: arithmetic on bytes, nothing that could ask anyone or know the time.
PURE = {
    "__future__", "abc", "binascii", "bisect", "collections", "dataclasses", "enum", "functools",
    "hashlib", "itertools", "json", "math", "operator", "re", "struct", "types", "typing",
    "rlp", "eth_hash", "queries.proving",
}  # fmt: skip
NETWORK = {
    "aiohttp", "asyncio", "ftplib", "http.client", "httpx", "requests", "smtplib", "socket",
    "ssl", "urllib.request", "urllib3", "web3", "websockets",
}  # fmt: skip
TALKS = re.compile(r"queries/(chain/|webhooks\.py)")
LISTENS = "explorer/management/commands/serve.py"
SIGNALS = {"django.dispatch", "django.db.models.signals", "django.core.signals"}
STARTERS = {"manage.py", "explorer/wsgi.py"}


@dataclass(frozen=True)
class Import:
    file: str
    line: int
    name: str
    inside_function: bool

    def is_of(self, *packages: str) -> bool:
        return any(
            self.name == package or self.name.startswith(f"{package}.") for package in packages
        )


def _imports(file: str, tree: ast.AST, *, inside: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, inside)
        elif isinstance(node, ast.ImportFrom):
            package = list(PurePosixPath(file).parent.parts)
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                yield Import(file, node.lineno, f"{module}.{alias.name}", inside)
        else:
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(file, node, inside=inside or function)


def _status_writes(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (node.attr, type(node.ctx)) == ("status", ast.Store):
            yield node.lineno
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"update", "update_or_create", "bulk_update"}
            and any(keyword.arg == "status" for keyword in node.keywords)
        ):
            yield node.lineno


def _environment_reads(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}:
            yield node.lineno


IMPORT_RULES: dict[str, Callable[[Import], bool]] = {
    "proving is pure": lambda i: i.file.startswith("queries/proving/") and not i.is_of(*PURE),
    "only chain and webhooks talk to a network": lambda i: (
        i.is_of(*NETWORK) and not TALKS.match(i.file) and i.file != LISTENS
    ),
    "accounts imports neither queries nor explorer": lambda i: (
        i.file.startswith("accounts/") and i.is_of("queries", "explorer")
    ),
    "queries never imports explorer": lambda i: (
        i.file.startswith("queries/") and i.is_of("explorer")
    ),
    "pages use reading, never models": lambda i: (
        i.file.startswith("explorer/") and i.is_of("queries.models", "accounts.models")
    ),
    "no Django signals": lambda i: i.is_of(*SIGNALS),
    "no import inside a function": lambda i: i.inside_function,
}


def violations(sources: Mapping[str, str]) -> list[str]:
    """Every break of a rule in `sources` (path → text), as a line to read."""
    found: list[str] = []
    celery_users: set[str] = set()
    for file, text in sources.items():
        tree = ast.parse(text)
        for each in _imports(file, tree):
            found += [
                f"{rule}: {file}:{each.line} imports {each.name}"
                for rule, broken in IMPORT_RULES.items()
                if broken(each)
            ]
            if each.is_of("celery"):
                celery_users.add(file)
        if file != "queries/transitions.py":
            found += [
                f"only transitions writes a status: {file}:{line}" for line in _status_writes(tree)
            ]
        if file != "explorer/settings.py" and file not in STARTERS:
            found += [
                f"only settings reads the environment: {file}:{line}"
                for line in _environment_reads(tree)
            ]
    if len(celery_users) > 1:
        found.append(f"only one module imports celery: {', '.join(sorted(celery_users))}")
    return found
