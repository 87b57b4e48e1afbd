"""The service's settings, with the bare view added to its URLs."""

from explorer.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.bare_views"
