"""All forgeries: importing this module fills their table."""

from tests.queries.attacks import (
    header_forgeries,
    hop_forgeries,
    node_forgeries,
    path_forgeries,
    value_forgeries,
)
from tests.queries.attacks.forgery_parts import FORGERIES, Forgery

__all__ = [
    "FORGERIES",
    "Forgery",
    "header_forgeries",
    "hop_forgeries",
    "node_forgeries",
    "path_forgeries",
    "value_forgeries",
]
