#!/usr/bin/env python
"""Tacitus's commands: `python manage.py help` lists them.

What an operator can cause is told in one sentence; `--traceback` shows where it came from.
"""

import os
import re
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


# These build, measure or sign and serve nobody, so what production needs is not asked of them. A
# signer may be on a machine that has no site.
WITHOUT_PRODUCTION = {"attest", "build_contracts", "gas_report", "page_speed", "proof_speed"}

# How SQLite and PostgreSQL say that a table or a column is not there.
NO_TABLE = "no such (table|column)|(relation|column) .* does not exist"
ENDED_BY_CTRL_C = 130  # as shells count it


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")
    if WITHOUT_PRODUCTION & set(sys.argv[1:2]):
        os.environ["DEVELOPMENT"] = os.environ.get("DEVELOPMENT") or "1"
    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write("Ended before it was done.\n")
        sys.exit(ENDED_BY_CTRL_C)
    except (ImproperlyConfigured, DatabaseFault, OSError) as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(_sentence(error))


def _sentence(error: Exception) -> str:
    said = " ".join(str(error).split())
    if isinstance(error, ImproperlyConfigured):
        return f"Tacitus cannot start. {said}"
    if isinstance(error, DatabaseFault):
        if re.search(NO_TABLE, said):
            return "The database is not migrated. Run: manage.py migrate"
        return f"The database cannot be used: {said}. DATABASE_URL says which it is."
    return f"Tacitus cannot go on: {said}."


if __name__ == "__main__":
    main()
