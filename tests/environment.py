"""Remove the developer's settings from the environment of tests, except the servers to use.

This is a plugin, because pytest-django reads the settings before it loads conftest.py.
"""

import os
import re
from pathlib import Path
from typing import NoReturn

import pytest

SETTINGS = Path(__file__).parent.parent / "explorer" / "settings" / "__init__.py"
SETTINGS_READ = set(re.findall(r'\benv\.\w+\(\s*"([A-Z_]+)"', SETTINGS.read_text()))

# CI checks more: each page at each width, more examples, and a missing tool fails a test.
IS_THOROUGH = os.environ.get("THOROUGH") == "1"

for name in SETTINGS_READ - {"DATABASE_URL", "CELERY_BROKER"}:
    os.environ.pop(name, None)
    os.environ.pop(f"{name}_FILE", None)
os.environ["DEVELOPMENT"] = "1"


def skip_without(tool: str) -> NoReturn:
    """Skip the test because the machine lacks this; fail where the run has to be thorough."""
    (pytest.fail if IS_THOROUGH else pytest.skip)(f"missing on this machine: {tool}")
