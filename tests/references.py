"""What a module's source refers to: every import, and every dotted name that an import began."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Reference:
    file: str
    line: int
    name: str
    imported: bool
    inside_function: bool = False

    def is_of(self, *packages: str) -> bool:
        return any(
            self.name == package or self.name.startswith(f"{package}.") for package in packages
        )


@dataclass(frozen=True)
class Module:
    """A source file, read: its tree, its references, and what its imported names stand for."""

    file: str
    tree: ast.Module
    references: list[Reference]
    bound: dict[str, str]

    def name_of(self, node: ast.AST) -> str:
        return _dotted(node, self.bound)


def read(file: str, text: str) -> Module:
    tree = ast.parse(text)
    imports = list(_imports(file, tree))
    bound = {alias: name for alias, name, _ in imports}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    inner = {node.value for node in attributes}
    uses = [
        Reference(file, node.lineno, _dotted(node, bound), imported=False)
        for node in attributes
        if node not in inner
    ]
    return Module(file, tree, [each for *_, each in imports] + uses, bound)


def _dotted(node: ast.AST, bound: Mapping[str, str]) -> str:
    """`m.Batch` after `from queries import models as m` is `queries.models.Batch`.

    What no import began starts with a dot, so that a variable is not taken for a module.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    root = bound.get(node.id, f".{node.id}") if isinstance(node, ast.Name) else "."
    return ".".join([root, *parts])


def _imports(
    file: str, tree: ast.AST, *, inside: bool = False
) -> Iterator[tuple[str, str, Reference]]:
    """Each import with the name that it binds and what that stands for."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.split(".")[0]
                binds = (alias.asname, alias.name) if alias.asname else (root, root)
                yield (
                    *binds,
                    Reference(file, node.lineno, alias.name, imported=True, inside_function=inside),
                )
        elif isinstance(node, ast.ImportFrom):
            package = list(PurePosixPath(file).parent.parts)
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                name = f"{module}.{alias.name}"
                reference = Reference(
                    file, node.lineno, name, imported=True, inside_function=inside
                )
                yield alias.asname or alias.name, name, reference
        else:
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(file, node, inside=inside or function)
