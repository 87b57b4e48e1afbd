#!/usr/bin/env python
"""The command `tacitus` in a checkout: `python manage.py help` lists what it does."""

import sys

try:
    from explorer.command import main
except ModuleNotFoundError as error:
    sys.exit(
        f"Tacitus's packages are not installed for this Python: {error.name} is missing. After "
        "make setup, use .venv/bin/python manage.py; elsewhere, run: "
        "python -m pip install --require-hashes -r requirements.txt"
    )

if __name__ == "__main__":
    main()
