"""Where a module writes a status: by assignment, by a query, or when a row is made."""

import ast
from collections.abc import Iterator

from tests.references import Module

QUERY_WRITERS = {
    "update", "aupdate", "create", "acreate", "get_or_create", "aget_or_create",
    "update_or_create", "aupdate_or_create", "bulk_update", "abulk_update",
}  # fmt: skip
HOLDERS = {None, "defaults", "create_defaults", "fields"}  # None: **{…}


def status_writes(module: Module) -> Iterator[int]:
    here = {node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and (node.attr, type(node.ctx)) == ("status", ast.Store):
            yield node.lineno
        if isinstance(node, ast.Call) and _is_a_writer(node, module, here) and _names_status(node):
            yield node.lineno


def _is_a_writer(call: ast.Call, module: Module, here: set[str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in QUERY_WRITERS:
        return True
    if isinstance(call.func, ast.Name) and call.func.id == "setattr":
        return True
    *origin, name = module.name_of(call.func).split(".")
    if not module.file.startswith("queries/") or not name[:1].isupper():
        return False
    # A class may be a model's: one of queries.models, or one that nothing here explains. Answers
    # of HTTP and the frozen classes that cross the boundaries have a status too.
    explained = origin != [""] or (name in here and module.file != "queries/models.py")
    return not explained or origin[:2] == ["queries", "models"]


def _names_status(call: ast.Call) -> bool:
    keywords = {keyword.arg for keyword in call.keywords}
    holders = [keyword.value for keyword in call.keywords if keyword.arg in HOLDERS]
    parts = [part for argument in [*call.args, *holders] for part in _parts(argument)]
    texts = {part.value for part in parts if isinstance(part, ast.Constant)}
    return "status" in keywords | texts


def _parts(argument: ast.expr) -> list[ast.expr]:
    """The names of a dict, the items of a list, or the argument itself."""
    if isinstance(argument, ast.Dict):
        return [key for key in argument.keys if key is not None]
    if isinstance(argument, ast.List | ast.Tuple | ast.Set):
        return argument.elts
    return [argument]
