"""The recorded blocks and proofs in `tests/corpus`; its README says where each is from."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parent / "corpus"


@pytest.fixture(scope="session")
def corpus_folder() -> Path:
    return CORPUS


def read_json(file: Path) -> Any:
    """The content of a `.json` or `.json.gz` file."""
    content = file.read_bytes()
    return json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
