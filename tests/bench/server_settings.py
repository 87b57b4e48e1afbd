"""The service's own settings, with the bare views beside its addresses."""

from explorer.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.bare_views"
