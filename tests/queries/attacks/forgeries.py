"""All forgeries from witnesses: who imports them from here has every point."""

from tests.queries.attacks import node_forgeries, path_forgeries, value_forgeries
from tests.queries.attacks.forgery_parts import FORGERIES, Forgery

__all__ = ["FORGERIES", "Forgery", "node_forgeries", "path_forgeries", "value_forgeries"]
