#!/usr/bin/env python
"""Tacitus's commands: `python manage.py help` lists them.

What an operator can cause is told in one sentence; `--traceback` shows where it came from.
"""

import os
import sys

try:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import Error as DatabaseFault
except ModuleNotFoundError as error:
    sys.exit(
        f"Tacitus's packages are not installed for this Python: there is no {error.name}. After "
        "make setup it is .venv/bin/python manage.py; elsewhere, run: "
        "python -m pip install --require-hashes -r requirements.txt"
    )


# These build or measure and serve nobody, so what production needs is not asked of them.
WITHOUT_PRODUCTION = {"build_contracts", "gas_report", "page_speed", "proof_speed"}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")
    if WITHOUT_PRODUCTION & set(sys.argv[1:2]):
        os.environ["DEVELOPMENT"] = os.environ.get("DEVELOPMENT") or "1"
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, DatabaseFault, OSError) as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(_sentence(error))


def _sentence(error: Exception) -> str:
    said = " ".join(str(error).split())
    if isinstance(error, ImproperlyConfigured):
        return f"Tacitus cannot start. {said}"
    if isinstance(error, DatabaseFault):
        return f"The database cannot be used: {said}. DATABASE_URL says which it is."
    return f"Tacitus cannot go on: {said}."


if __name__ == "__main__":
    main()
