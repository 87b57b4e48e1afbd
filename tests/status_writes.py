"""Where a module writes a status, or may: by assignment, by a query, or when a row is made.

What cannot be read from the source counts as a write: names that come in a variable, and SQL that
is not plainly a SELECT or a PRAGMA.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from tests.references import Module

QUERY_WRITERS = {
    "update", "aupdate", "create", "acreate", "get_or_create", "aget_or_create",
    "update_or_create", "aupdate_or_create", "bulk_update", "abulk_update",
}  # fmt: skip
SQL_RUNNERS = {"execute", "executemany", "raw"}
# Migrations make the columns, and accounts holds nothing that has a status.
WITHOUT_STATUS = re.compile("/migrations/|^accounts/")
HOLDERS = {None, "defaults", "create_defaults", "fields"}  # None: **{…}


def status_writes(module: Module) -> Iterator[int]:
    here = {node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and (node.attr, type(node.ctx)) == ("status", ast.Store):
            yield node.lineno
        if isinstance(node, ast.Call) and (
            (_is_a_writer(node, module, here) and _may_name_status(node))
            or (_runs_sql(node) and not WITHOUT_STATUS.search(module.file))
        ):
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


def _runs_sql(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in SQL_RUNNERS:
        return False
    if not call.args and not call.keywords:  # as what runs commands is called
        return False
    sql = call.args[0] if call.args else None
    return not (isinstance(sql, ast.Constant) and str(sql.value).startswith(("SELECT ", "PRAGMA ")))


def _may_name_status(call: ast.Call) -> bool:
    keywords = {keyword.arg for keyword in call.keywords}
    held = [keyword.value for keyword in call.keywords if keyword.arg in HOLDERS]
    named = [part for holder in held for part in _parts(holder)]
    if not all(isinstance(part, ast.Constant) for part in named):
        return True
    named += [part for argument in call.args for part in _parts(argument)]
    texts = {part.value for part in named if isinstance(part, ast.Constant)}
    return "status" in keywords | texts


def _parts(argument: ast.expr) -> Sequence[ast.expr | None]:
    """The names of a dict, the items of a list, or the argument itself; None for **{**…}."""
    if isinstance(argument, ast.Dict):
        return argument.keys
    if isinstance(argument, ast.List | ast.Tuple | ast.Set):
        return argument.elts
    return [argument]
