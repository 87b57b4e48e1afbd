#!/usr/bin/env python
"""Tacitus's commands: `python manage.py help` lists them.

What an operator can cause is told in one sentence; `--traceback` shows where it came from.
"""

import os
import re
import sys

try:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import ManagementUtility
    from django.db import Error as DatabaseFault
except ModuleNotFoundError as error:
    sys.exit(
        f"Tacitus's packages are not installed for this Python: there is no {error.name}. After "
        "make setup it is .venv/bin/python manage.py; elsewhere, run: "
        "python -m pip install --require-hashes -r requirements.txt"
    )

from explorer.http.logs import log_what_python_says

# These build, check, plan or sign and serve nobody, so what production needs is not asked of them.
# A signer, or who checks a proof, may be on a machine that has no site.
WITHOUT_PRODUCTION = {
    "attest", "build_contracts", "cost", "init", "publish_proof", "verify_proof",
}  # fmt: skip

# Nor of who only asks which commands there are, or what one takes.
HELP = {"help", "--help", "-h"}

# How SQLite and PostgreSQL say that a table or a column is not there.
NO_TABLE = "no such (table|column)|(relation|column) .* does not exist"
ENDED_BY_CTRL_C, READ_NO_FURTHER = 130, 141  # as shells count them

# The apps whose commands an operator looks for, in their order.
OURS = ("queries", "accounts", "explorer")


class Commands(ManagementUtility):
    """Of the list that Django makes, with a section for each app, ours come first."""

    def main_help_text(self, commands_only: bool = False) -> str:  # noqa: FBT001, FBT002  (Django's)
        text = super().main_help_text(commands_only)
        if commands_only:
            return text
        usage, title, *sections = text.split("\n\n")
        of = {name: section for section in sections for name in OURS if f"[{name}]" in section}
        first = [of[name] for name in OURS if name in of]
        rest = [section for section in sections if section not in first]
        return "\n\n".join([usage, title, *first, *rest])


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")
    if _takes_no_settings(sys.argv[1:]):
        os.environ["DEVELOPMENT"] = os.environ.get("DEVELOPMENT") or "1"
    if sys.argv[1:2] == ["run_prover"]:  # as the server does in each of its processes
        log_what_python_says()
    try:
        Commands(sys.argv).execute()
    except KeyboardInterrupt:
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write("Ended before it was done.\n")
        sys.exit(ENDED_BY_CTRL_C)
    except BrokenPipeError:  # who read it has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READ_NO_FURTHER)
    except (ImproperlyConfigured, DatabaseFault, OSError) as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(_sentence(error))


def _takes_no_settings(arguments: list[str]) -> bool:
    command = arguments[0] if arguments else "help"
    return command in WITHOUT_PRODUCTION | HELP or arguments[1:2] in (["--help"], ["-h"])


def _sentence(error: Exception) -> str:
    said = " ".join(str(error).split())
    if isinstance(error, ImproperlyConfigured):
        return f"Tacitus cannot start. {said}"
    if isinstance(error, DatabaseFault):
        if re.search(NO_TABLE, said):
            return "The database is not migrated. Run: manage.py migrate"
        return f"The database cannot be used: {said}. Check DATABASE_URL or DATABASE_URL_FILE."
    return f"Tacitus cannot go on: {said}."


if __name__ == "__main__":
    main()
