"""Read files that hold a secret, such as a key or an address with one."""

from pathlib import Path


def read_secret_file(path: Path) -> str:
    """The file's only text. `ValueError` says what is wrong, without the path or the content."""
    try:
        content = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    if not content:
        raise ValueError("is empty")
    return content
