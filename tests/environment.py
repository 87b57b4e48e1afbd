"""What the developer's shell sets is not what the tests see; only DATABASE_URL is theirs.

A plugin and not a part of conftest.py, because pytest-django reads the settings before that.
"""

import os
import re
from pathlib import Path

SETTINGS = Path(__file__).parent.parent / "explorer" / "settings" / "__init__.py"
SETTINGS_READ = set(re.findall(r'\benv\.\w+\(\s*"([A-Z_]+)"', SETTINGS.read_text()))

for name in SETTINGS_READ - {"DATABASE_URL"}:
    os.environ.pop(name, None)
    os.environ.pop(f"{name}_FILE", None)
os.environ["DEVELOPMENT"] = "1"
