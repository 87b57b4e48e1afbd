"""The recorded blocks, as parsed JSON."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def corpus(corpus_folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(corpus_folder.glob("*.json"))]
