"""A node's address out of a file, for commands.

It often holds a key, and every user of a machine sees with which words its programs were called.
"""

from pathlib import Path

from django.core.management.base import CommandError

IN_A_FILE = "a file with the address, to keep it out of the process list"


def address_in(file: Path, option: str) -> str:
    """No refusal repeats the file's name: the node's address may have been given in its place."""
    named = f"The file that {option} names"
    try:
        words = file.read_text(encoding="utf-8").split()
    except OSError as fault:
        raise CommandError(f"{named} cannot be read: {fault.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{named} is not UTF-8 text.") from None
    if len(words) != 1:
        raise CommandError(f"{named} must hold one address and nothing else.")
    return words[0]
