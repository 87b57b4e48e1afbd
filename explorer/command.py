"""The command `tacitus`: `tacitus help` lists what it does.

Errors that an operator can cause are one sentence; `--traceback` shows their traceback.
"""

import os
import re
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, execute_from_command_line
from django.core.management.color import color_style, no_style
from django.db import Error as DatabaseError

from accounts.database_state import schema_fault
from explorer.http.logs import log_warnings_and_exceptions
from queries.frames import in_large_frame

# Commands that serve no requests of this site: they run without production's settings, because an
# attester, or somebody who verifies a proof or tries the demo, may use a machine without a site.
NO_SITE_COMMANDS = {
    "attest", "build_contracts", "cost", "demo", "init", "publish_proof", "verify_proof",
}  # fmt: skip
HELP = {"help", "--help", "-h"}

# Messages of SQLite and PostgreSQL for a missing table or column.
MISSING_TABLE = "no such (table|column)|(relation|column) .* does not exist"
EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 130, 141  # as shells do


@in_large_frame
def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")
    if _needs_no_settings(sys.argv[1:]):
        os.environ["DEVELOPMENT"] = os.environ.get("DEVELOPMENT") or "1"
    if os.environ.get("NO_COLOR"):  # Django has a variable of its own
        os.environ["DJANGO_COLORS"] = "nocolor"
    if sys.argv[1:2] == ["run_prover"]:  # `serve` does this itself
        log_warnings_and_exceptions()
    shows_traceback = "--traceback" in sys.argv
    # With it, Django raises errors of commands, instead of printing them with their class.
    raising = [] if _prints_help(sys.argv[1:]) else ["--traceback"]
    try:
        execute_from_command_line([*sys.argv, *raising])
    except KeyboardInterrupt:
        if shows_traceback:
            raise
        sys.stderr.write("Interrupted.\n")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # such as `tacitus … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_BROKEN_PIPE)
    except (CommandError, ImproperlyConfigured, DatabaseError, OSError) as error:
        if shows_traceback:
            raise
        style = color_style() if sys.stderr.isatty() else no_style()
        sys.stderr.write(f"{style.ERROR(_sentence(error))}\n")
        sys.exit(getattr(error, "returncode", 1))


def _prints_help(arguments: list[str]) -> bool:
    return not arguments or arguments[0] in HELP or arguments[1:2] in (["--help"], ["-h"])


def _needs_no_settings(arguments: list[str]) -> bool:
    return _prints_help(arguments) or arguments[0] in NO_SITE_COMMANDS


def _sentence(error: Exception) -> str:
    if isinstance(error, CommandError):
        return str(error)
    message = " ".join(str(error).split())
    if isinstance(error, ImproperlyConfigured):
        return f"Tacitus cannot start. {message}"
    if isinstance(error, DatabaseError):
        if re.search(MISSING_TABLE, message) and (fault := schema_fault()):
            return fault
        return f"The database cannot be used: {message}. Check DATABASE_URL or DATABASE_URL_FILE."
    return f"Tacitus cannot continue: {message}."
