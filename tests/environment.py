"""Remove the developer's settings from the environment of tests, except the servers to use.

This is a plugin, because pytest-django reads the settings before it loads conftest.py.
"""

import os
import re
from pathlib import Path

SETTINGS = Path(__file__).parent.parent / "explorer" / "settings" / "__init__.py"
SETTINGS_READ = set(re.findall(r'\benv\.\w+\(\s*"([A-Z_]+)"', SETTINGS.read_text()))

for name in SETTINGS_READ - {"DATABASE_URL", "CELERY_BROKER"}:
    os.environ.pop(name, None)
    os.environ.pop(f"{name}_FILE", None)
os.environ["DEVELOPMENT"] = "1"
